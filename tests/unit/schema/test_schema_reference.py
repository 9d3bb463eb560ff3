"""The reference page and the editors' JSON schema are those of the code that reads schemas."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from understudy.schema import Schema
from understudy.schema.draft import drafted

FOLDER = Path(__file__).parents[3] / "docs" / "reference"
AGAIN = "run: python docs/reference/schema_reference.py"
_SPEC = importlib.util.spec_from_file_location("schema_reference", FOLDER / "schema_reference.py")
assert _SPEC is not None and _SPEC.loader is not None
reference = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(reference)


def test_the_page_is_current() -> None:
    assert (FOLDER / "schema.md").read_text(encoding="utf-8") == reference.page(), AGAIN
    assert json.loads((FOLDER / "schema.json").read_text(encoding="utf-8")) == reference.json_schema(), AGAIN


def test_a_key_that_is_not_explained_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "TABLE_KEYS", (*reference.TABLE_KEYS, "new"))
    with pytest.raises(AssertionError, match="new"):
        reference.page()


def test_the_examples_are_read() -> None:
    head = '[table]\nname = "t"\nrows = 9\n'
    for key, (_, _, example) in reference.TABLE.items():
        if key not in ("name", "rows", "csv", "neighbours", "file"):
            Schema.from_toml(f'{head}{example}\n[attributes.a]\nkind = "boolean"\n')
    for key, (_, _, example) in reference.CSV.items():
        also = 'delimiter = ";"\n' if key == "decimal" else ""
        Schema.from_toml(f'{head}[table.csv]\n{also}{example}\n[attributes.a]\nkind = "boolean"\n')


def test_a_draft_has_no_key_that_editors_would_refuse() -> None:
    import tomllib

    document = tomllib.loads(drafted(["age", "zeta", "visit_date"], origin="first line").text)
    schema = reference.json_schema()["properties"]
    assert set(document["table"]) <= set(schema["table"]["properties"])
    known = set(schema["attributes"]["additionalProperties"]["properties"])
    assert all(set(body) <= known for body in document["attributes"].values())
