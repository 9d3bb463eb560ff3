"""TOML as text: keys, strings, wrapped arrays and nested groups, for schema files that people will read and edit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_WIDTH = 110


def key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else string(name)


def string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def comment(text: str) -> str:
    """Return a comment of one line, whatever the text holds."""
    return "# " + " ".join(re.sub(r"[\x00-\x1f\x7f]", " ", text).split())


def remarked(line: str, remark: str) -> str:
    return f"{line:<31} {comment(remark)}"


def array(items: Sequence[str]) -> str:
    """Return an array of items that are TOML already, on one line or wrapped."""
    line = f"[{', '.join(items)}]"
    if len(line) <= _WIDTH - 10:
        return line
    lines, row = [], ""
    for item in items:
        if row and len(row) + len(item) + 2 > _WIDTH:
            lines.append(row)
            row = ""
        row += f"{' ' if row else ''}{item},"
    return "[\n" + "".join(f"  {row}\n" for row in [*lines, row]) + "]"


def strings(texts: Sequence[str]) -> str:
    return array([string(text) for text in texts])


def groups(path: str, tree: Mapping[str, Any]) -> list[str]:
    """Return a taxonomy as tables: lists of values first, then a table for each group of groups."""
    flat = [f"{key(name)} = {strings(below)}" for name, below in tree.items() if not isinstance(below, Mapping)]
    lines = ["", f"[{path}]", *flat] if flat else []
    for name, below in tree.items():
        if isinstance(below, Mapping):
            lines += groups(f"{path}.{key(name)}", below)
    return lines
