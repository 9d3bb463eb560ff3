"""Float32 and float16 cells of inferred columns: one reading, whatever one odd cell turned their column into."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from understudy.engines.coding import encode_table
from understudy.engines.duckdb_rows import DuckDBRows
from understudy.engines.inferred_sql import InferredWriter
from understudy.engines.sources import open_source
from understudy.engines.sql import coded_rows
from understudy.engines.sql_coding import Column
from understudy.engines.sql_dialects import DuckDBSyntax
from understudy.errors import DataError
from understudy.schema import Attribute, Booleans, Categories, Intervals, Schema
from understudy.schema.rounding_classes import RoundingClasses

CELLS = (0.1, 0.2, 0.7, 2.5, 3.0)
CODES = [0, 1, 2, 3, 4]
LISTED = Attribute("a", Categories(("0.1", "0.2", "0.7", "2.5", "3", "no")), other="no")


def schema_of(attribute: Attribute) -> Schema:
    return Schema("t", (attribute,), neighbours="add-remove")


def codes(data: Any, attribute: Attribute = LISTED, types: Any = None) -> list[int]:
    coded = encode_table(open_source(data, types=types), schema_of(attribute)).columns["a"]
    return [int(code) for code in coded]


def frames(width: str) -> dict[str, Any]:
    """The cells in a narrow column, in each library and in what one odd cell may have made of the column."""
    narrow = np.array(CELLS, dtype=width)
    column = pd.Series(narrow)
    found = {
        "pandas": column,
        "widened": column.astype("float64"),
        "objects": column.astype(object),
        "narrow objects": pd.Series(list(narrow), dtype=object),
        "objects and a text": pd.concat([column.astype(object), pd.Series(["x"])]),
        "narrow objects and a text": pd.Series([*narrow, "x"], dtype=object),
        "objects and a number": pd.Series([*narrow, 1e300], dtype=object),
        "categorical": column.astype("float64").astype("category"),
        "texts": pd.Series([str(cell) for cell in narrow]),
        "not narrowed": pd.Series(CELLS),
    }
    tables: dict[str, Any] = {name: pd.DataFrame({"a": cells}) for name, cells in found.items()}
    tables["pyarrow"] = pa.table({"a": pa.array(narrow)})
    tables["pyarrow, dictionary"] = pa.table({"a": pa.array(narrow).dictionary_encode()})
    if width == "float32":
        tables |= {
            "pandas, nullable": pd.DataFrame({"a": column.astype("Float32")}),
            "pandas, Arrow types": pd.DataFrame({"a": column.astype("float32[pyarrow]")}),
            "polars": pl.DataFrame({"a": narrow}),
            "polars, texts": pl.DataFrame({"a": narrow}).cast(pl.String),
        }
    return tables


@pytest.mark.parametrize("width", ["float32", "float16"])
def test_a_narrow_cell_has_one_code_in_every_column(width: str) -> None:
    for name, frame in frames(width).items():
        assert codes(frame)[:5] == CODES, name


@pytest.mark.parametrize("width", ["float32", "float16"])
def test_so_in_parquet_and_in_duckdb(width: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": pa.array(np.array(CELLS, dtype=width))}), path)
    assert codes(path) == CODES
    assert duckdb_codes(path) == CODES


def duckdb_codes(path: Path, attribute: Attribute = LISTED) -> list[int]:
    warehouse = DuckDBRows(path, "inferred")
    try:
        sql = coded_rows(warehouse, schema_of(attribute))
        return [int(code) for (code,) in warehouse._connection.execute(f"SELECT * FROM {sql}").fetchall()]
    finally:
        warehouse.close()


@pytest.mark.parametrize("width", ["float32", "float16"])
@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        (Attribute("a", Intervals("number", (-1.0, 0.1, 0.7, 1000.0))), [1, 1, 2, 2, 2]),
        (Attribute("a", Intervals("number", (-1.0, 0.2, 0.7, 1000.0), points=(0.1,))), None),
        (Attribute("a", Intervals("number", (0.3, 0.5, 1000.0)), missing=("0.2", "0.1")), None),
        (Attribute("a", Intervals("number", tuple(at / 100 for at in range(-1, 1000)))), None),
    ],
    ids=["edges", "a point", "missing", "many edges"],
)
def test_a_narrow_cell_on_an_edge_is_on_it(width: str, attribute: Attribute, expected: Any, tmp_path: Path) -> None:
    """The float32 nearest to 0.7 lies below it, and so does the float16 nearest to 0.1."""
    expected = expected or codes(pd.DataFrame({"a": CELLS}), attribute)
    tables = {name: frame for name, frame in frames(width).items() if "and a text" not in name}
    for name, frame in tables.items():
        assert codes(frame, attribute)[:5] == expected, name
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": pa.array(np.array(CELLS, dtype=width))}), path)
    assert codes(path, attribute) == expected
    assert sorted(duckdb_codes(path, attribute)) == sorted(expected)  # with many edges its rows come in another order


def test_other_numbers_beside_an_edge_stay_where_they_are(tmp_path: Path) -> None:
    attribute = Attribute("a", Intervals("number", (-1.0, 0.7, 1000.0)))
    twin = float(np.float32(0.7))
    cells = [float(np.nextafter(twin, 0)), twin, float(np.nextafter(twin, 1)), float(np.nextafter(0.7, 0)), 0.7]
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": cells}), path)
    assert codes(path, attribute) == duckdb_codes(path, attribute) == [0, 1, 0, 0, 1]
    assert codes(path, attribute, types="declared") == [0, 0, 0, 0, 1]


def test_a_narrow_cell_nearest_to_two_values_is_neither() -> None:
    """In doubles the two are told apart as ever."""
    attribute = Attribute("a", Categories(("13.404954", "13.4049541", "no")), other="no")
    assert codes(pd.DataFrame({"a": [13.404954, 13.4049541]}), attribute) == [0, 1]
    assert codes(pd.DataFrame({"a": np.array([13.404954, 13.4049541], dtype="float32")}), attribute) == [2, 2]


def test_a_listed_value_is_itself_before_it_is_anothers_float32() -> None:
    attribute = Attribute("a", Categories(("0.1", "0.10000000149011612")))
    assert codes(pd.DataFrame({"a": [0.1, 0.10000000149011612]}), attribute) == [0, 1]


def test_booleans_and_values_beyond_the_narrow_types() -> None:
    attribute = Attribute("a", Booleans(("0.1",), ("0.2",)))
    assert codes(pd.DataFrame({"a": np.array([0.1, 0.2], dtype="float32")}), attribute) == [1, 0]
    wide = Attribute("a", Categories(("1e+300", "1e-300", "70000.1", "9000000.5", "0.9999")), other="missing")
    with pytest.raises(DataError):  # 1e+300 is written otherwise
        codes(pd.DataFrame({"a": [0.5]}), wide)
    wide = Attribute("a", Categories(("1e-300", "70000.1", "9000000.5", "0.9999")), other="missing")
    assert codes(pd.DataFrame({"a": np.array([70000.1, 1.0, 0.0], dtype="float32")}), wide) == [1, 4, 4]
    assert codes(pd.DataFrame({"a": [1e-300, 9000000.5]}), wide) == [0, 2]


def test_a_column_that_mixes_widths_is_not_of_a_declared_type() -> None:
    """Arrow makes float32 of all float32 and doubles of all where one is a double."""
    narrow = pd.Series([np.float32(0.1), np.float32(0.2)], dtype=object)
    assert codes(pd.DataFrame({"a": narrow}), types="declared") == [0, 1]
    for odd in (0.2, 1, np.float64(0.2), np.float16(0.2)):
        with pytest.raises(DataError, match="mixes cells"):
            codes(pd.DataFrame({"a": pd.Series([np.float32(0.1), odd], dtype=object)}), types="declared")


# -- rounding classes ------------------------------------------------------------------------------------------

UNITS = tuple(Fraction(unit) for unit in ("100", "10", "5", "1", "1/2", "1/10", "1/20", "1/100", "1/1000"))
ROUND = Attribute("a", RoundingClasses("number", (-2.3, 2000.0), units=UNITS), missing=("-9.9",))
ROUND_CELLS = (45.1, 0.7, 12.25, 812.5, 30.0, -2.3, -9.9, 0.001, 1.05)


def of_texts(cells: Any) -> list[int]:
    return [int(code) for code in ROUND.encode([str(cell) for cell in cells])]


@pytest.mark.parametrize("width", ["float32", "float16"])
def test_a_narrow_cell_is_as_round_as_its_text(width: str, tmp_path: Path) -> None:
    """One odd cell makes texts of the column: then 45.1 is 45.1, and not the float32 45.099998474121094."""
    narrow = np.array(ROUND_CELLS, dtype=width)
    expected = of_texts(narrow)
    assert len(set(expected)) >= 6
    for column in (pd.Series(narrow), pd.Series(narrow.astype(float)), pd.Series([str(cell) for cell in narrow])):
        assert codes(pd.DataFrame({"a": column}), ROUND) == expected
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": pa.array(narrow)}), path)
    assert codes(path, ROUND) == duckdb_codes(path, ROUND) == expected


def test_doubles_that_no_narrow_type_holds_are_as_round_as_they_are(tmp_path: Path) -> None:
    cells = [45.1, 45.1001, 45.10000001, float(np.nextafter(45.1, 0)), 1234.56, 0.001, 0.0015]
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": cells}), path)
    expected = of_texts(cells)
    assert codes(pd.DataFrame({"a": cells}), ROUND) == codes(path, ROUND) == duckdb_codes(path, ROUND) == expected


@pytest.mark.parametrize(
    "units", [UNITS, UNITS[:4], (*UNITS, Fraction(1, 10**7))], ids=["thousandths", "whole", "fine"]
)
def test_so_for_every_float16_and_many_a_float32(units: tuple[Fraction, ...], tmp_path: Path) -> None:
    attribute = Attribute("a", RoundingClasses("number", (-70.0, 900.0), units=units))
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    draw = np.random.default_rng(4)
    singles = np.concatenate([draw.uniform(-80, 1000, 3000).round(at).astype(np.float32) for at in range(8)])
    for narrow in (halves[np.isfinite(halves)], np.append(singles, draw.random(999).astype(np.float32))):
        path = tmp_path / f"{narrow.dtype}.parquet"
        parquet.write_table(pa.table({"a": narrow.astype(np.float64)}), path)
        found = codes(path, attribute)
        assert found == duckdb_codes(path, attribute)
        texts = [str(cell) for cell in narrow]
        half = narrow == narrow.astype(np.float16)
        for at in np.flatnonzero(half):
            cell = float(narrow[at])
            itself = cell == round(cell, attribute.domain.most_decimals)
            texts[at] = str(cell) if itself else str(np.float16(narrow[at]))
        assert found == attribute.encode(texts).tolist()


@pytest.mark.parametrize(
    "range, places", [((-3, 60), 2), ((0, 1_000_000), 2), ((1_000_000, 1_000_010), 1), ((-74.3, -73.7), 4)], ids=str
)
def test_a_narrow_cell_has_the_unit_of_its_text(range: tuple[float, float], places: int, tmp_path: Path) -> None:
    """Of a range whose bins a tree finds; units are finer than float32s a million away from 0."""
    body = f'[attributes.a]\nkind = "number"\nrange = {list(range)}\n'
    attribute = Schema.from_toml(f'[table]\nname = "t"\nneighbours = "add-remove"\n{body}')["a"]
    cells = np.random.default_rng(1).uniform(*range, 2000).round(places).astype(np.float32)
    texts = pd.DataFrame({"a": [str(cell) for cell in cells]})
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": cells}), path)
    expected = codes(texts, attribute)
    assert codes(pd.DataFrame({"a": cells}), attribute) == codes(path, attribute) == expected
    assert sorted(duckdb_codes(path, attribute)) == sorted(expected)


@pytest.mark.parametrize("domain", ["units", "classes"])
def test_a_declared_number_is_itself_before_it_is_a_float32(domain: str, tmp_path: Path) -> None:
    """As a missing code or a point, whether it comes as a number or as a text."""
    odd, other = float(np.float32(-0.1)), float(np.float32(0.7))
    units = Intervals("number", (0.0, 0.1, 0.5, 1.0), points=(other,))
    found = units if domain == "units" else RoundingClasses("number", (0.0, 1.0), units=UNITS)
    attribute, cells = Attribute("a", found, missing=(repr(odd),)), [odd, -0.1, other, 0.7]
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": cells}), path)
    expected = codes(pd.DataFrame({"a": [*map(repr, cells), "1.0"]}), attribute)[:4]
    assert codes(path, attribute) == duckdb_codes(path, attribute) == expected
    assert expected[0] == attribute.missing_code != expected[1] and (expected[2] != expected[3]) == (domain == "units")


def test_a_fraction_is_no_whole_number_of_any_class(tmp_path: Path) -> None:
    """As in SQL, and as for the attribute beside which the classes stand."""
    attribute = Attribute(
        "a", RoundingClasses("integer", (0.0, 100.0), units=(Fraction(10),)), missing=("",), other="missing"
    )
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [3.5, 30.0, None, 3.0]}), path)
    assert codes(path, attribute) == duckdb_codes(path, attribute) == [3, 1, 3, 2]
    assert codes(path, attribute, types="declared") == attribute.encode(["3.5", "30", "", "3.0"]).tolist()


def test_sql_reads_a_real_column_as_doubles() -> None:
    for attribute in (LISTED, Attribute("a", Intervals("date", (0.0, 1.0), format="%Y%m%d"))):
        found = InferredWriter(attribute, Column("a", "real", "FLOAT"), 0, DuckDBSyntax(), ".").expression()
        assert 'CAST("a" AS DOUBLE PRECISION)' in found.read["x0"]
