"""Pages whose figures differ from run to run: their commands run in order, and end and complain as the page shows."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import understudy
from conftest import seeded_environment
from understudy.demo import write_demo
from understudy.privacy.random_source import seeded_generator

ROOT = Path(__file__).parents[2]
GUIDES = ROOT / "docs" / "guide"
MARK = "@@@ step"
SMALLER = {  # what is large in a page, and what is put in its place here
    "large-files": [("1_000_000", "5_000"), ("range(20)", "range(2)"), ("20_000_000", "10_000"), ("--rows 1000000", "--rows 1000"), ("20000000", "3000")],
    "wide-tables": [("200", "40"), ("50_000", "2_000"), ("50000", "2000")],
}  # fmt: skip
LEFT_OUT = {  # a command of a page that is not run, and why
    "TMPDIR=tiny": "needs a file system of 8 MB",
    "--schema other.toml": "stands for three schemas; tests/unit/schema has their messages",
    "sed -n 11,21p": "a look at what was bought, which differs from run to run",
}
PYTHON = {"queries": "import understudy\n", "report": ""}
Prepare = Callable[[Path], None]


def with_income(folder: Path) -> None:
    """people.toml is the demo's schema with the income that the page declares, and so are commutes and its table."""
    schema = (folder / "demo" / "schema.toml").read_text("utf-8")
    (folder / "people.toml").write_text(replaced(schema, "income", tomls("bins")[0]), encoding="utf-8")
    (folder / "commutes.toml").write_text(replaced(schema, "commute_km", tomls("bins")[1]), encoding="utf-8")
    with (folder / "demo" / "people.csv").open(encoding="utf-8", newline="") as source:
        rows = list(csv.DictReader(source))
    with (folder / "commutes.csv").open("w", encoding="utf-8", newline="") as copy:
        writer = csv.DictWriter(copy, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"commute_km": row["commute_km"] or "12.803"} for row in rows)


def with_fine(folder: Path) -> None:
    schema, page = (folder / "demo" / "schema.toml").read_text("utf-8"), tomls("ranges")[0]
    for name in ("age", "income"):
        own = re.search(rf"\[attributes\.{name}\].*?(?=\n\[|\Z)", page, re.DOTALL)
        assert own is not None
        schema = replaced(schema, name, own[0])
    (folder / "fine.toml").write_text(schema, encoding="utf-8")


def with_uses(folder: Path) -> None:
    schema = (folder / "demo" / "schema.toml").read_text("utf-8")
    (folder / "schema.toml").write_text(f"{schema}\n{tomls('uses')[0]}", encoding="utf-8")


def with_jobs(folder: Path) -> None:
    draw, rows = np.random.default_rng(1), 5000
    names = ["job", "age", "income", "born", "sex", "idc", "zip"]
    born = (np.datetime64("1950-01-01") + draw.integers(0, 18_000, rows)).astype(str)
    columns = [
        draw.choice(["clerk", "cook", "driver", "nurse", "teacher"], rows), draw.integers(18, 90, rows),
        draw.lognormal(10, 0.5, rows).round(2), born, draw.choice(["F", "M"], rows), np.arange(100_000, 100_000 + rows),
        draw.choice(["01003", "20095", "80331"], rows),
    ]  # fmt: skip
    lines = [",".join(map(str, row)) for row in zip(*columns)]
    (folder / "people.csv").write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    (folder / "schema.toml").write_text(tomls("discovery")[0], encoding="utf-8")


def with_release(folder: Path) -> None:
    shutil.copy(folder / "demo" / "synthetic.release.zip", folder / "people.release.zip")


def nothing(folder: Path) -> None:
    """The page makes its own table."""


PAGES: dict[str, Prepare] = {
    "bins": with_income, "discovery": with_jobs, "duckdb": nothing, "evaluation": nothing, "inference": with_release,
    "large-files": nothing, "long-lists": nothing, "queries": nothing, "ranges": with_fine, "report": nothing,
    "uses": with_uses, "wide-tables": nothing,
}  # fmt: skip


def tomls(page: str) -> list[str]:
    return re.findall(r"```toml\n(.*?)```", (GUIDES / f"{page}.md").read_text("utf-8"), re.DOTALL)


def replaced(schema: str, name: str, body: str) -> str:
    """Return a schema file with another table for this attribute."""
    found, many = re.subn(rf"\[attributes\.{name}\].*?(?=\n\[|\Z)", lambda _: body, schema, flags=re.DOTALL)
    assert many == 1
    return found


def steps(page: str) -> list[tuple[str, list[str]]]:
    """Return the commands with the lines shown below each; a command goes on until its quotes are closed."""
    text = (GUIDES / f"{page}.md").read_text("utf-8")
    for large, small in SMALLER.get(page, []):
        assert large in text, large
        text = text.replace(large, small)
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found[-1][0].replace('\\"', "").count('"') % 2:
                found[-1] = (f"{found[-1][0]}\n{line}", [])
            else:
                found[-1][1].append(line)
    return [(command, shown) for command, shown in found if not any(part in command for part in LEFT_OUT)]


def shape(line: str) -> str:
    """Return a line without its figures, which differ."""
    return re.sub(r"[\d.,]+", "0", line).strip()


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `understudy demo -o demo` leaves, of fewer people."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    write_demo(folder, seeded_generator(1), rows=5000)
    release = understudy.publish(
        folder / "people.csv", folder / "schema.toml", epsilon=1, ledger=folder / "understudy-ledger.db",
        save=folder / "synthetic.release.zip", progress=False,
    )  # fmt: skip
    release.write(folder / "synthetic.csv")
    return folder


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="the pages are written for a POSIX shell")
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page(page: str, demo: Path, tmp_path: Path) -> None:
    for needed in {"duckdb": ["duckdb"], "evaluation": ["sklearn"], "report": ["sklearn"]}.get(page, []):
        pytest.importorskip(needed)
    shutil.copytree(demo, tmp_path / "demo")
    PAGES[page](tmp_path)
    for number, (command, shown) in enumerate(listed := steps(page)):
        if command.startswith("cat "):
            (tmp_path / command[4:]).write_text("\n".join(shown) + "\n", encoding="utf-8")
            listed[number] = ("true", [])
    script = "\n".join(f"{command}\ncode=$?; echo; echo '{MARK}' {i} $code" for i, (command, _) in enumerate(listed))
    where = seeded_environment(LC_ALL="C", PYTHONUTF8="1", UNDERSTUDY_STATE=str(tmp_path / "state"))
    where.pop("UNDERSTUDY_LEDGER", None)
    where["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{where['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=where, timeout=1200, text=True, encoding="utf-8",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    parts = re.split(rf"{MARK} (\d+) (\d+)\n", done.stdout)
    assert len(parts) == 3 * len(listed) + 1, done.stdout
    for i, (command, shown) in enumerate(listed):
        output, code = parts[3 * i], int(parts[3 * i + 2])
        complaints = [line for line in shown if line.startswith("understudy: ")]
        assert (code != 0) == bool(complaints), f"{command}\n{output}"
        said = {shape(line) for line in output.splitlines()}
        for line in complaints:
            assert shape(line) in said, f"{command}\nshould say: {line}\n{output}"
    assert "Traceback" not in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PYTHON)
def test_the_python_of_a_page(page: str, demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(demo, tmp_path / "demo")
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", (GUIDES / f"{page}.md").read_text("utf-8"), re.DOTALL):
        exec(compile(PYTHON[page] + block, page, "exec"), {})
