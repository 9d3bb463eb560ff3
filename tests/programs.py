"""The program's own files as trees, parsed once for all tests that look at how it is written."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import understudy

SOURCE = Path(understudy.__file__).parent


def nodes_of(program: str) -> tuple[ast.AST, ...]:
    """Return the module of a program and every node in it."""
    return tuple(ast.walk(ast.parse(program)))


@cache
def programs() -> dict[str, tuple[ast.AST, ...]]:
    """Return the nodes of each file of the program, by its path inside the package."""
    return {f.relative_to(SOURCE).as_posix(): nodes_of(f.read_text(encoding="utf-8")) for f in SOURCE.rglob("*.py")}
