"""The guide is a transcript: its commands run in order, in one shell, and print the lines it shows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import seeded_environment
from servers import free_port

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guide"
MARK = "@@@ step"


def transcript(path: Path) -> list[tuple[str, list[str]]]:
    """Commands and the lines shown under each, with a free port in place of the one that is written there."""
    steps: list[tuple[str, list[str]]] = []
    text = path.read_text(encoding="utf-8").replace(":8443", f":{free_port()}")
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            else:
                steps[-1][1].append(line.strip())
    return steps


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="the guide is written for a POSIX shell")
@pytest.mark.parametrize(
    "guide",
    ["hospital", "federation", "ledger", "drafts", "check", "types", "formats", "promise", "rules", "panels", "tables"],
)
def test_the_guide(tmp_path, guide):
    if guide == "federation":
        pytest.importorskip("cryptography")
    steps = transcript(GUIDES / f"{guide}.md")
    assert len(steps) > 4
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = "\n".join(f"{command}\necho '{MARK}' {i} $?" for i, (command, _) in enumerate(steps))
    environment = seeded_environment(LC_ALL="C", PYTHONUTF8="1")
    environment.pop("UNDERSTUDY_LEDGER", None)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environment, timeout=1200, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    parts = re.split(rf"{MARK} (\d+) (\d+)\n", done.stdout)
    assert len(parts) == 3 * len(steps) + 1, done.stdout
    for i, (command, shown) in enumerate(steps):
        output, code = parts[3 * i], int(parts[3 * i + 2])
        lines = [line.strip() for line in output.splitlines()]
        assert code == 0, f"{command}\n{output}"
        for line in shown:
            assert line in lines, f"{command}\nshould print: {line}\n{output}"
    assert not list(tmp_path.glob("hospital/again*"))
    assert "Traceback" not in done.stdout
