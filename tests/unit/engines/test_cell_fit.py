"""The fit of cells: counts by brute force over every source, the cells that are shown, and what would read the rest."""

from __future__ import annotations

import math
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from understudy.engines.cell_fit import CellFit
from understudy.engines.opening import PrivateData, fit_of_cells
from understudy.engines.remedies import remedies
from understudy.schema import Schema

SCHEMA = """
[table]
name = "t"
rows = 8
[attributes.age]
kind = "integer"
range = [0, 99]
missing = ["999", ""]
[attributes.pay]
kind = "number"
range = [0.0, 10.0]
bins = 4
missing = true
[attributes.day]
kind = "date"
range = [2000-01-01, 2000-12-31]
missing = true
[attributes.sex]
kind = "category"
values = ["F", "M"]
other = "M"
missing = true
"""
AGES = ["0", "99", "100", "-1", "999", "", "12", "7"]
PAYS = ["0", "10", "10.5", "-0.25", "", "3", "3", "1e3"]
DAYS = ["2000-01-01", "2000-12-31", "2001-01-01", "1999-12-31", "", "2000-02-29", "2000-02-29", "2000-02-29"]
SEXES = ["F", "M", "X", "x", "", "F", "F", "F"]
EXPECTED = {"age": (2, 1, 1, 0), "pay": (1, 1, 2, 0), "day": (1, 1, 1, 0), "sex": (1, 0, 0, 2)}


def counts(found: list[CellFit]) -> dict[str, tuple[int, int, int, int]]:
    assert all(fit.rows == 8 for fit in found)
    return {fit.attribute: (fit.missing, fit.below, fit.above, fit.undeclared) for fit in found}


def write_csv(folder: Path) -> Path:
    lines = ["age,pay,day,sex", *map(",".join, zip(AGES, PAYS, DAYS, SEXES))]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    return folder / "t.csv"


def typed_table() -> pa.Table:
    def column(texts: list[str], type: str) -> pa.Array:
        return pa.array([text or None for text in texts]).cast(type)

    return pa.table(
        {
            "age": column(AGES, "int64"),
            "pay": column(PAYS, "float64"),
            "day": column(DAYS, "date32"),
            "sex": column(SEXES, "string"),
        }
    )


@pytest.mark.parametrize("source", ["csv", "parquet", "arrow", "pandas", "declared", "duckdb"])
def test_every_source_counts_alike(tmp_path: Path, source: str) -> None:
    schema = Schema.from_toml(SCHEMA)
    data: object = write_csv(tmp_path)
    engine = types = None
    if source in ("parquet", "declared", "duckdb"):
        parquet.write_table(typed_table(), tmp_path / "t.parquet")
        data, types = tmp_path / "t.parquet", "declared" if source == "declared" else None
        engine = "duckdb" if source == "duckdb" else None
        if engine:
            pytest.importorskip("duckdb")
    elif source in ("arrow", "pandas"):
        data = typed_table() if source == "arrow" else typed_table().to_pandas()
    assert counts(fit_of_cells(PrivateData(data, engine, types=types), schema)) == EXPECTED


def test_the_counts_are_those_of_the_parser(tmp_path: Path) -> None:
    """Each cell classified by the domain's own parser; a count that forgot `missing` before `above` would differ."""
    schema = Schema.from_toml(SCHEMA)
    found = counts(fit_of_cells(PrivateData(write_csv(tmp_path)), schema))
    for name, texts, low, high in (("age", AGES, 0, 99), ("pay", PAYS, 0, 10)):
        attribute = schema[name]
        values = [math.nan if t in attribute.missing else attribute.domain.parse(t) for t in texts]  # type: ignore[union-attr]
        below, above = sum(v < low for v in values), sum(v > high for v in values)
        assert found[name][1:3] == (below, above)
        careless = sum(attribute.domain.parse(t) > high for t in texts)  # type: ignore[union-attr]
        assert name != "age" or careless != above  # the broken twin: 999 is above, but means missing


def test_cells_are_kept_only_when_asked_for(tmp_path: Path) -> None:
    data, schema = write_csv(tmp_path), Schema.from_toml(SCHEMA)
    assert all(not fit.cells for fit in fit_of_cells(PrivateData(data), schema))
    shown = {fit.attribute: fit.cells for fit in fit_of_cells(PrivateData(data), schema, show=1)}
    assert shown["age"] == {"below": (("-1", 1),), "above": (("100", 1),)}
    assert len(shown["sex"]["undeclared"]) == 1


def test_a_file_that_cannot_be_read_has_no_fit(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,pay,day,sex\n1,2\n")
    assert fit_of_cells(PrivateData(tmp_path / "t.csv"), Schema.from_toml(SCHEMA)) == []


@pytest.mark.parametrize(
    ("body", "cells", "said"),
    [
        ('kind = "date"\nrange = [2000-01-01, 2030-01-01]', ["31.12.2020", "01.02.2021"], '"%d.%m.%Y"'),
        ('kind = "date"\nrange = [2000-01-01, 2030-01-01]', ["01/02/2020"], 'format = "%d/%m/%Y" or "%m/%d/%Y"'),
        ('kind = "date"\nrange = [2000-01-01, 2030-01-01]', ["2020-01-02 12:30:00"], 'kind = "datetime"'),
        ('kind = "date"\nrange = [2000-01-01, 2030-01-01]', ["soon", "31.12.2020"], "no usual format"),
        ('kind = "date"\nrange = [2000-01-01, 2030-01-01]', ["08:15"], 'kind = "time"'),
        ('kind = "time"\nrange = ["00:00", "23:59"]', ["8h15", "12h30"], 'format = "%Hh%M" reads them'),
        ('kind = "time"\nrange = ["00:00", "23:59"]', ["soon"], "some are no times"),
        ('kind = "time"\nrange = ["00:00", "23:59"]', ["31.12.2020 08:15"], 'kind = "datetime"'),
        ('kind = "integer"\nrange = [0, 9]', ["1.5", "2"], 'kind = "number"'),
        ('kind = "number"\nrange = [0, 9]\nbins = 3', ["1,5"], 'decimal = ","'),
        ('kind = "number"\nrange = [0, 9]\nbins = 3', ["$1,500", "12 %"], "signs of thousands"),
        ('kind = "integer"\nrange = [0, 9]', ["", "NA"], 'missing = ["", "NA"]'),
        ('kind = "integer"\nrange = [0, 9]', [""], "missing = true"),
        ('kind = "category"\nvalues = ["a"]', [" a"], "trim = true"),
        ('kind = "category"\nvalues = ["a"]', ["A"], "upper and lower case"),
        ('kind = "category"\nvalues = ["a"]', ["b"], "`other`"),
        ('kind = "boolean"\ntrue = ["y"]\nfalse = ["n"]', ["Y"], "upper and lower case"),
    ],
)
def test_remedies(body: str, cells: list[str], said: str) -> None:
    schema = Schema.from_toml(f'[table]\nname = "t"\nrows = 1\n[attributes.x]\n{body}\n')
    assert said in " ".join(remedies(schema["x"], dict.fromkeys(cells, 1)))


def test_nothing_to_remedy() -> None:
    assert remedies(Schema.from_toml(SCHEMA)["age"], {}) == ()
