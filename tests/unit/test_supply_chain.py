"""The supply chain: hashed requirements that fit the pinned versions, and a wheel that is the same bytes every time."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "requirements.txt").read_text(encoding="utf-8")
PINS = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", TEXT, re.MULTILINE))


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_versions_are_those_of_the_constraints() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    pinned = {plain(name): version for name, version in (line.split("==") for line in lines)}
    assert {name: pinned[name] for name in PINS} == PINS


def test_everything_the_base_needs_is_there_with_a_hash() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {plain(re.split(r"[<>=]", line)[0]) for line in project["dependencies"]}
    assert needed <= set(PINS)
    for name in PINS:
        own = TEXT.split(f"\n{name}==")[1].split("\n", 1)[1].split("==")[0]
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", own), name


def test_it_names_no_place() -> None:
    assert not re.search(r"https?:|file:|--index|--find-links", TEXT)


@pytest.mark.slow
def test_a_wheel_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    digests = set()
    for number in range(2):
        done = subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / str(number), ROOT],
            capture_output=True, text=True, timeout=600, env={**os.environ, "SOURCE_DATE_EPOCH": "1577836800"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]
        (wheel,) = (tmp_path / str(number)).glob("*.whl")
        digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(digests) == 1
