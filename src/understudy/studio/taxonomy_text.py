"""The text of a taxonomy in a form: `prefix:1,3`, or groups as the table `taxonomy` of the schema file has them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from understudy.errors import SchemaError

_SPELLING = 'write prefix:1,3, or groups as in the schema file, one a line: North = ["Aby", "Bly"]'


def taxonomy_text(tree: Any) -> str:
    """Return the text for a taxonomy of the schema; "" where there is none."""
    import tomlkit

    return tomlkit.dumps(tree).strip() if isinstance(tree, Mapping) else str(tree or "")


def taxonomy_of_text(text: str) -> str | dict[str, Any] | None:
    """Return the taxonomy that a text means, None for an empty one; what it says is checked with the schema."""
    plain = text.strip()
    if not plain:
        return None
    unquoted = plain.strip("\"'").strip()
    if unquoted.lower().startswith("prefix:") and "=" not in plain:  # a group may be called so, too
        return "prefix:" + unquoted[len("prefix:") :]
    try:
        return _table(plain) or None
    except (tomllib.TOMLDecodeError, RecursionError):
        raise SchemaError(f"the groups cannot be read: {_SPELLING}") from None


def _table(text: str) -> dict[str, Any]:
    """Return a table of groups: lines, an inline table, or such a table after `taxonomy =`."""
    if re.match(r"\[\s*attributes\s*\.", text):
        raise SchemaError(f"leave out the line [attributes. … .taxonomy], which is about this column: {_SPELLING}")
    named = re.match(r"(taxonomy\s*=\s*)?\{", text)
    if named is None:
        return tomllib.loads(text)
    found = tomllib.loads(f"taxonomy = {text[named.end() - 1 :]}")
    if len(found) > 1:
        raise SchemaError(f"one table of groups, and nothing after it: {_SPELLING}")
    inner: dict[str, Any] = found["taxonomy"]
    return inner
