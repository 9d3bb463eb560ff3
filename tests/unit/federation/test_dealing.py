"""Dealing rows out: cells may be long, and reading them changes nothing for the rest of the process."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from conftest import schema_of
from understudy.errors import DataError
from understudy.federation.dealing import deal


@pytest.mark.parametrize("rows", [["0,1", "1,0"], ["0,1", "1"]])
def test_the_longest_cell_that_python_reads_is_what_it_was(rows: list[str], tmp_path: Path) -> None:
    data = tmp_path / "people.csv"
    data.write_text("\n".join(["a,b", *rows]) + "\n", encoding="utf-8")
    before = csv.field_size_limit()
    schema, whole = schema_of({"a": 2, "b": 2}, 2), all("," in row for row in rows)
    if whole:
        deal(str(data), schema, tmp_path, ["ada", "bea"], "by:a")
        assert [(tmp_path / name / "rows.csv").read_text(encoding="utf-8").count("\n") for name in ("ada", "bea")] == [
            2,
            2,
        ]
    else:
        with pytest.raises(DataError):
            deal(str(data), schema, tmp_path, ["ada", "bea"], "by:b")
    assert csv.field_size_limit() == before
