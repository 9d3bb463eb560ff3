"""The glossary of docs/how-it-works names files that are there, and names that stand in them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-it-works" / "README.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.partition("## Glossary")[2].splitlines() if line.startswith("| ")][1:]


def test_every_file_is_there() -> None:
    files = [file for line in LINES for file in re.findall(r"`([a-z_/]+\.py)`", line)]
    assert len(files) > len(LINES)
    assert [file for file in files if not (ROOT / "src" / "understudy" / file).is_file()] == []


def test_every_name_is_in_its_file() -> None:
    named = [found for line in LINES for found in re.findall(r"`([A-Za-z_.]+)` in `([a-z_/]+\.py)`", line)]
    assert len(named) > 10
    for name, file in named:
        text = (ROOT / "src" / "understudy" / file).read_text(encoding="utf-8")
        assert all(re.search(rf"\b{word}\b", text) for word in name.split(".")), (name, file)
