"""Rows seen: a note, beside a schema, of what it declared when `check --show` first showed cells of the table.

Whoever has seen cells and then changes a declaration may have taken the change from the rows; epsilon does not cover
such a choice. So `publish` compares: attributes that are declared otherwise than at the first look, or were not
declared then, or that a rule speaks of which was not there then, get `provenance = "after seeing rows"`, which is in
the hashed schema, in the release and on the card.
The note has digests of declarations and nothing about rows. It knows an account in one folder; it does not know what
a person saw in another program, and whoever deletes it deletes a record, as with a ledger.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.errors import UsageError
from understudy.schema.attribute import Attribute
from understudy.schema.table import Schema

AFTER_SEEING_ROWS = "after seeing rows"
FILE_NAME = "understudy-rows-seen.json"
_UNCOUNTED = ("confirm", "provenance")  # not part of what is declared about values


def note_rows_seen(schema: Schema) -> Path:
    """Note, before cells are shown, what the schema declares now; a first note of the account stays as it is."""
    folder = schema.path.parent if schema.path is not None else Path()
    path = folder / FILE_NAME
    noted = _read(path)
    if schema.account not in noted:
        noted[schema.account] = {a.name: digest(a) for a in schema.attributes} | _rules(schema)
        try:
            path.write_text(json.dumps(noted, indent=1, sort_keys=True), encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"cells are shown only once it is noted that they were, in {str(path)!r}, which cannot be written: "
                f"{error.strerror}"
            ) from None
    return path


def declared_after(schema: Schema, *folders: Path) -> tuple[str, ...]:
    """Return the attributes that are declared otherwise than when rows were first shown; none without a note."""
    own = schema.path.parent if schema.path is not None else Path()  # where `note_rows_seen` writes
    notes = [_read(folder / FILE_NAME).get(schema.account) for folder in dict.fromkeys([own, *folders])]
    first = [note for note in notes if isinstance(note, dict)]
    new = {rule for rule, found in _rules(schema).items() if any(note.get(rule) != found for note in first)}
    ruled = {name for name, rules in _ruled(schema).items() if rules & new}
    return tuple(
        a.name for a in schema.modelled if a.name in ruled or any(note.get(a.name) != digest(a) for note in first)
    )


def with_sight(schema: Schema, *folders: Path) -> Schema:
    """Return the schema with `provenance = "after seeing rows"` where it was changed after rows were shown."""
    if schema.tables:  # rows of each were shown, if at all, by a schema of its own on the same account
        owns = [with_sight(replace(child.schema, path=schema.path), *folders) for child in schema.tables]
        children = tuple(replace(child, schema=own) for child, own in zip(schema.tables, owns))
        schema = schema if children == schema.tables else replace(schema, tables=children, text=None)
    changed = set(declared_after(schema, *folders))
    if not changed:
        return schema
    attributes = tuple(replace(a, provenance=AFTER_SEEING_ROWS) if a.name in changed else a for a in schema.attributes)
    return replace(schema, attributes=attributes, text=None)


def digest(attribute: Attribute) -> str:
    """Return the digest of what an attribute declares about values."""
    from understudy.schema.writing import attribute_as_dict

    body = {key: value for key, value in attribute_as_dict(attribute).items() if key not in _UNCOUNTED}
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _rules(schema: Schema) -> dict[str, str]:
    """Return the digest of each rule, by a name that no attribute has."""
    texts = {rule.text: json.dumps(rule.as_json(), sort_keys=True) for rule in schema.rules}
    return {_rule(text): hashlib.sha256(body.encode()).hexdigest() for text, body in texts.items()}


def _rule(text: str) -> str:
    return f"[[rules]] {text}"


def _ruled(schema: Schema) -> dict[str, set[str]]:
    """Return the rules that speak of each attribute."""
    found: dict[str, set[str]] = {}
    book = schema.rule_book
    for name, known in book.determined.items():
        for spoken_of in (name, *known.sources):
            found.setdefault(spoken_of, set()).add(_rule(schema.rules[known.rule].text))
    for constraint in book.constraints:
        for name in constraint.names:
            found.setdefault(name, set()).add(_rule(constraint.text))
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return found
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        pass
    raise UsageError(f"{path.name!r} notes that rows were shown, and cannot be read: restore it")
