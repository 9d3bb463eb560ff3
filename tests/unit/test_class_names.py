"""A name means one thing: no two classes of the program have the same, so that whoever reads one knows which it is."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest

from programs import nodes_of, programs


def places(files: Mapping[str, Sequence[ast.AST]]) -> dict[str, list[str]]:
    """Return the files of each class that other files can import, by its name."""
    found = defaultdict(list)
    for file, (module, *_) in files.items():
        assert isinstance(module, ast.Module)
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file)
    return found


@pytest.mark.costly
def test_no_two_classes_have_one_name() -> None:
    known = places(programs())
    assert len(known) > 400
    assert {name: files for name, files in known.items() if len(files) > 1} == {}


def test_a_second_one_would_be_seen() -> None:
    one = nodes_of("class Grid: ...")
    assert places({"a.py": one, "b.py": one})["Grid"] == ["a.py", "b.py"]
