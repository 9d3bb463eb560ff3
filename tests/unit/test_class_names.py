"""A name means one thing: no two classes of the program have the same, so that whoever reads one knows which it is."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import understudy

SOURCE = Path(understudy.__file__).parent


def places(programs: dict[str, str]) -> dict[str, list[str]]:
    """Return the files of each class that other files can import, by its name."""
    found = defaultdict(list)
    for file, text in programs.items():
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file)
    return found


def test_no_two_classes_have_one_name() -> None:
    programs = {f.relative_to(SOURCE).as_posix(): f.read_text(encoding="utf-8") for f in SOURCE.rglob("*.py")}
    known = places(programs)
    assert len(known) > 400
    assert {name: files for name, files in known.items() if len(files) > 1} == {}


def test_a_second_one_would_be_seen() -> None:
    assert places({"a.py": "class Grid: ...", "b.py": "class Grid: ..."})["Grid"] == ["a.py", "b.py"]
