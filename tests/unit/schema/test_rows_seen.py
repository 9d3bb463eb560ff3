"""The note that rows were seen: it stands from the first look, and names what was declared otherwise since."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from understudy.errors import SchemaError, UsageError
from understudy.schema import Schema
from understudy.schema.rows_seen import AFTER_SEEING_ROWS, FILE_NAME, declared_after, note_rows_seen, with_sight

TEXT = """
[table]
name = "t"
rows = 8
[attributes.age]
kind = "integer"
range = [0, 99]
[attributes.sex]
kind = "category"
values = ["F", "M"]
"""


def saved(folder: Path, text: str = TEXT) -> Schema:
    (folder / "s.toml").write_text(text)
    return Schema.open(folder / "s.toml")


def test_without_a_note_nothing_is_said(tmp_path: Path) -> None:
    schema = saved(tmp_path)
    assert declared_after(schema) == () and with_sight(schema) is schema


def test_what_changed_since_the_first_look(tmp_path: Path) -> None:
    note_rows_seen(saved(tmp_path))
    assert declared_after(saved(tmp_path)) == ()
    wider = saved(tmp_path, TEXT.replace("99", "110"))
    note_rows_seen(wider)  # a second look does not wash the first away
    assert declared_after(wider) == ("age",)
    seen = with_sight(wider)
    assert seen["age"].provenance == AFTER_SEEING_ROWS and seen["sex"].provenance == "declared"
    assert seen.hash != wider.hash and Schema.from_toml(seen.to_toml()).hash == seen.hash
    assert declared_after(saved(tmp_path)) == ()  # what is as it was then is not marked


def test_a_new_attribute_was_declared_after(tmp_path: Path) -> None:
    note_rows_seen(saved(tmp_path))
    more = TEXT + '[attributes.smokes]\nkind = "boolean"\n'
    assert declared_after(saved(tmp_path, more)) == ("smokes",)


def test_settling_a_point_is_no_other_declaration(tmp_path: Path) -> None:
    note_rows_seen(saved(tmp_path, TEXT.replace("range = [0, 99]", 'range = [0, 99]\nconfirm = ["range"]')))
    assert declared_after(saved(tmp_path)) == ()


def test_another_account_has_its_own_note(tmp_path: Path) -> None:
    note_rows_seen(saved(tmp_path))
    other = TEXT.replace("rows = 8", 'rows = 8\naccount = "others"').replace("99", "110")
    assert declared_after(saved(tmp_path, other)) == ()


def test_the_note_holds_digests_alone(tmp_path: Path) -> None:
    note = note_rows_seen(saved(tmp_path)).read_text()
    assert {len(digest) for digest in json.loads(note)["t"].values()} == {64}


@pytest.mark.parametrize("text", ["{", "[]", "null"])
def test_a_damaged_note_is_not_taken_for_none(tmp_path: Path, text: str) -> None:
    schema = saved(tmp_path)
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(UsageError, match="rows were shown"):
        declared_after(schema)


def test_a_rule_that_was_written_after_the_look(tmp_path: Path) -> None:
    """Whoever sees that no woman is above 60 and declares it as a rule has published it at no price."""
    early = "[[rules]]\nrule = 'age >= 1'\n"
    note_rows_seen(saved(tmp_path, TEXT + early))
    assert declared_after(saved(tmp_path, TEXT + early)) == ()
    late = "[[rules]]\nrule = \"sex == 'F' implies age <= 60\"\n"
    assert declared_after(saved(tmp_path, TEXT + early + late)) == ("age", "sex")
    assert declared_after(saved(tmp_path, TEXT + early.replace("1", "2"))) == ("age",)


def test_a_schema_without_a_file_has_its_note_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of a schema that was made in Python lies in the folder where the program runs."""
    monkeypatch.chdir(tmp_path)
    note_rows_seen(Schema.from_toml(TEXT))
    wider = Schema.from_toml(TEXT.replace("99", "110"))
    assert declared_after(wider, tmp_path / "elsewhere") == ("age",)


def test_provenances(tmp_path: Path) -> None:
    for good in ("after seeing rows", "codebook: SPSS", "proposed: age", "public (declared)"):
        text = TEXT.replace("range = [0, 99]", f'range = [0, 99]\nprovenance = "{good}"')
        assert Schema.from_toml(text)["age"].provenance == good
    with pytest.raises(SchemaError, match="provenance"):
        Schema.from_toml(TEXT.replace("range = [0, 99]", 'range = [0, 99]\nprovenance = "rows"'))
