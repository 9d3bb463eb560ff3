"""Coding: the fast paths give exactly the codes of `Attribute.encode`, and a misfit names only the attribute."""

from __future__ import annotations

import re
import sqlite3
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.engines.cell_coder import CellCoder
from understudy.engines.coding import CodedTable, encode_table, misfits
from understudy.engines.misfit_sql import finding_sql
from understudy.engines.sources import open_source
from understudy.errors import DataError, UsageError
from understudy.schema import Attribute, Booleans, Categories, CsvDialect, Intervals, Schema
from understudy.schema.scales import ordered_scale

CANARY = "canary-4711"

TOML = """
[table]
name = "people"
rows = 3
[table.csv]
delimiter = ";"
encoding = "cp1252"
decimal = ","
[attributes.pid]
kind = "id"
[attributes.age]
kind = "integer"
range = [0, 100]
missing = ["", "-9"]
[attributes.income]
kind = "number"
range = [0, 1000]
bins = 300
points = [0]
[attributes.city]
kind = "category"
values = ["Köln", "Aachen", "=x"]
other = "Köln"
[attributes.smokes]
kind = "boolean"
true = ["Y", "J"]
false = ["N"]
[attributes.born]
kind = "date"
range = [2023-01-01, 2024-12-31]
format = "%d.%m.%Y"
missing = true
[attributes.notes]
kind = "drop"
"""
TABLE = """notes;pid;age;income;city;smokes;born
"a;b
";;17;0;Köln;Y;31.12.2024
;x;-9;1,5;Bonn;J;
;;;999,99;'=x;N;1.2.1930
"""


def failing_attributes(source: Any, schema: Schema) -> list[str | None]:
    return list(dict.fromkeys(m.attribute for m in misfits(source, schema) if m.attribute is not None))


def schema() -> Schema:
    return Schema.from_toml(TOML)


def one(attribute: Attribute, rows: int | None = None, decimal: str = ".") -> Schema:
    if rows is None:
        return Schema("t", (attribute,), neighbours="add-remove", csv=CsvDialect(";", decimal=decimal))
    return Schema("t", (attribute,), rows=rows, csv=CsvDialect(";", decimal=decimal))


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode("cp1252"))
    return path


def code(data: Any, schema: Schema, types: Any = None) -> CodedTable:
    return encode_table(open_source(data, schema.csv, types), schema)


def codes_of(values: Any, attribute: Attribute, types: Any = None) -> list[int]:
    return code(pa.table({attribute.name: values}), one(attribute), types).columns[attribute.name].tolist()


# -- a whole table ---------------------------------------------------------------------------------------------


def test_a_table_of_every_kind_in_a_german_dialect(tmp_path: Path) -> None:
    table = code(write(tmp_path, TABLE), schema())
    assert table.rows == 3
    assert table.order == ("notes", "pid", "age", "income", "city", "smokes", "born")
    assert list(table.columns) == ["age", "income", "city", "smokes", "born"]
    assert table.columns["age"].tolist() == [17, 101, 101]
    assert table.columns["income"].tolist() == [0, 1, 300]
    assert table.columns["city"].tolist() == [0, 0, 2]  # Bonn goes to `other`; '=x is our own neutralised =x
    assert table.columns["smokes"].tolist() == [1, 1, 0]
    assert table.columns["born"].dtype == np.uint16
    assert table.columns["born"].tolist() == [730, 731, 0]  # the last is clamped


def test_one_byte_up_to_256_codes_then_two() -> None:
    for size, dtype in ((256, np.uint8), (257, np.uint16)):
        attribute = Attribute("a", Categories(tuple(map(str, range(size)))))
        table = code(pa.table({"a": list(map(str, range(size)))}), one(attribute))
        assert table.columns["a"].dtype == dtype
        assert table.columns["a"].tolist() == list(range(size))


# -- the fast paths agree with the schema's own parser -----------------------------------------------------------


def orderly(kind: str, decimal: str) -> st.SearchStrategy[str]:
    if kind in ("integer", "number"):
        digits = "0123456789+-eE ._" + decimal + "٣"
        plain = (
            st.floats(-1e6, 1e6).map(repr) | st.integers(-200, 200).map(str) | st.sampled_from(["", "-999", "-999.0"])
        )
        return st.text(digits, max_size=6) | plain | plain.map(lambda t: t.replace(".", decimal))
    moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda m: m.replace(microsecond=0))
    wild = st.text("0123456789-.: TZ", max_size=20)
    formats = ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%d.%m.%Y %H:%M"]
    near = st.sampled_from(["", "9999-12-31", "2023-02-29",
                            "29.02.2024", "30.02.2024", "2024-1-1", "0000-01-01", "2024-01-01T24:00:00",
                            "2024-01-01 23:59:60", "31.12.2024 7:05", "2024-12-31T10:00:00+02:00"])  # fmt: skip
    return wild | near | st.tuples(moments, st.sampled_from(formats)).map(lambda pair: pair[0].strftime(pair[1]))


DAY0, DAY1 = -40_000.0, 40_000.0
DOMAINS = [
    (Intervals("integer", (-100.5, 0.5, 100.5)), "."),
    (Intervals("number", (-100.0, 0.25, 3.0, 100.0), (0.0, 1.5)), "."),
    (Intervals("number", (-100.0, 0.25, 3.0, 100.0), (0.0, 1.5)), ","),
    (Intervals("integer", (-100.5, 0.5, 100.5)), ","),
    (Intervals("date", (DAY0, 0.0, 7_000.0, DAY1)), "."),
    (Intervals("date", (DAY0, 0.0, 7_000.0, DAY1), format="%d.%m.%Y"), "."),
    (Intervals("datetime", (DAY0 * 86400, 0.0, DAY1 * 86400)), "."),
    (Intervals("datetime", (DAY0 * 86400, 0.0, DAY1 * 86400), format="%d.%m.%Y %H:%M"), "."),
    (Intervals("date", (DAY0, 0.0, DAY1), format="%d %b %Y"), "."),
]


@pytest.mark.costly
@pytest.mark.parametrize(("domain", "decimal"), DOMAINS, ids=lambda x: getattr(x, "kind", x))
def test_text_is_coded_as_the_schema_codes_it(domain: Intervals, decimal: str) -> None:
    attribute = Attribute("a", domain, missing=("", "-999", "9999-12-31"))

    @settings(max_examples=80, deadline=None)
    @given(texts=st.lists(orderly(domain.kind, decimal), min_size=1, max_size=8))
    def agrees(texts: list[str]) -> None:
        expected = attribute.encode(texts, decimal)
        table = pa.table({"a": texts})
        if (expected < 0).any():
            assert failing_attributes(open_source(table, types="declared"), one(attribute, decimal=decimal)) == ["a"]
        else:
            found = code(table, one(attribute, decimal=decimal), "declared")
            assert found.columns["a"].tolist() == expected.tolist()

    agrees()


def test_integers_with_point_zero_and_markers_are_compared_as_text() -> None:
    attribute = Attribute("a", Intervals("integer", (-5.5, 0.5, 10.5)), missing=("-9",))
    assert codes_of(["5", "5.0", "-9", "-9.0"], attribute, "declared") == [1, 1, 2, 0]
    assert codes_of(["5", "5.0", "-9", "-9.0"], attribute) == [1, 1, 2, 2]  # a reader may have made numbers of them


# -- typed columns -----------------------------------------------------------------------------------------------


def test_typed_numbers_and_nulls() -> None:
    attribute = Attribute("a", Intervals("integer", (-0.5, 4.5, 9.5)), missing=("", "-9"))
    for values in ([1, 7, None, -9], pa.array([1.0, 7.0, float("nan"), -9.0]), pa.array([1, 7, None, -9], pa.int8())):
        assert codes_of(values, attribute) == [0, 1, 2, 2]
    assert codes_of(pa.array([Decimal("1.00"), None]), attribute) == [0, 2]
    assert codes_of(pa.array([1, 7, None]).dictionary_encode(), attribute) == [0, 1, 2]


WHOLE = [Attribute("a", Intervals("integer", (0.0, 10.0, 20.0, 99.0), points=(5.0,)), missing=("", "-9")),
         Attribute("a", Intervals("number", (-50.0, 0.0, 2.5, 99.0)), missing=("999",), other="missing"),
         Attribute("a", Intervals("integer", (0.0, 50.0, 99.0)))]  # fmt: skip


@pytest.mark.parametrize("attribute", WHOLE)
@pytest.mark.parametrize("type", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float64()])
@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_few_whole_numbers_are_coded_as_many_are(attribute: Attribute, type: Any, nulls: float) -> None:
    """A long column of few numbers takes a shorter way; floats never do, and give the same codes."""
    generator = np.random.default_rng(3)
    values = generator.choice([-128, -50, -9, -1, 0, 1, 5, 9, 10, 20, 98, 99, 100, 127], 2000)
    column = pa.array(values, pa.int64(), mask=generator.random(2000) < nulls).cast(type)
    coder = CellCoder(attribute, ".")
    assert (attribute.ordered.scale.whole(column) is None) == (type == pa.float64())
    values, absent = attribute.ordered.scale.numbers(column)
    codes = attribute.encode_numbers(values, absent)
    codes[absent] = coder.null_code
    assert coder.code(column).tolist() == codes.tolist()


def test_whole_numbers_far_apart_or_huge_take_the_long_way() -> None:
    for values in ([2**53, 2**53 - 1], [-(2**53)], [0, 10**6], [2**64 - 1]):
        column = pa.array(values, pa.uint64() if values[0] > 2**63 else pa.int64())
        assert ordered_scale("integer").whole(column) is None
    assert ordered_scale("integer").whole(pa.nulls(3, pa.int32())) is None
    assert ordered_scale("datetime").whole(pa.array([1, 2, 3])) is None


def test_long_columns_of_dates() -> None:
    days = np.random.default_rng(1).integers(19_000, 19_400, 3000)
    attribute = Attribute("a", Intervals("date", (19_000.0, 19_100.0, 19_350.0, 19_399.0)))
    column = pa.array(days.astype(np.int32), mask=days == 19_399).cast(pa.date32())
    whole, texts = (codes_of_piece(attribute, piece) for piece in (column, column.cast(pa.string())))
    assert ordered_scale("date").whole(column) is not None
    assert whole == texts


def codes_of_piece(attribute: Attribute, piece: Any) -> list[int]:
    found: list[int] = CellCoder(attribute, ".").code(piece).tolist()
    return found


def test_a_dictionary_longer_than_the_column_is_cut() -> None:
    """A row group's texts come with each of its batches: only those that stand in the rows are coded."""
    texts = [str(i) for i in range(1000)]
    piece = pa.DictionaryArray.from_arrays(pa.array([3, 1, None, 1]), pa.array(texts))
    attribute = Attribute("a", Categories(("1", "3")), missing=("",))
    coder = CellCoder(attribute, ".")
    assert coder.code(piece).tolist() == [1, 0, 2, 0]
    assert set(coder.known) <= {"1", "3", ""}


def test_a_fraction_is_no_integer() -> None:
    attribute = Attribute("a", Intervals("integer", (-0.5, 4.5, 9.5)), missing=("",))
    assert failing_attributes(open_source(pa.table({"a": [1.5, 2.0]})), one(attribute)) == ["a"]


def test_typed_dates_and_datetimes() -> None:
    day = Attribute("a", Intervals("date", (0.0, 100.0, 20_000.0)), missing=("",))
    moments = [datetime(1970, 1, 2), datetime(2020, 1, 1), None]
    for type in (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.date32(), pa.date64()):
        assert codes_of(pa.array(moments, type), day) == [0, 1, 2]
    late = pa.table({"a": [datetime(1970, 1, 2, 12)]})
    assert failing_attributes(open_source(late), one(day)) == ["a"]
    second = Attribute("a", Intervals("datetime", (0.0, 10.0, 1e9)), missing=("",))
    assert codes_of(pa.array([9_999, 10_000, -1, None], pa.timestamp("ms")), second) == [0, 1, 0, 2]
    assert codes_of(pa.array([date(1970, 1, 1), date(1970, 1, 2)]), second) == [0, 1]


def test_typed_booleans_and_the_texts_of_typed_cells() -> None:
    assert codes_of([True, False], Attribute("a", Booleans(("Y",), ("N",)))) == [1, 0]
    assert codes_of([1, 0], Attribute("a", Booleans())) == [1, 0]
    texts = Attribute("a", Categories(("True", "5", "0.1", "2024-01-31", "1000000000000000000")))
    numbers = Attribute("a", Categories(("True", "5", "0.1", "6", "1000000000000000000")))
    for attribute, types in ((texts, "declared"), (numbers, None), (numbers, "declared")):
        assert codes_of([True], attribute, types) == [0]
        assert codes_of(pa.array([True]).dictionary_encode(), attribute, types) == [0]
        assert codes_of([5], attribute, types) == [1]
        assert codes_of([5.0, 0.1, 1e18], attribute, types) == [1, 2, 4]
        assert codes_of(pa.array([5.0, 0.1], pa.float32()), attribute, types) == [1, 2]
        assert codes_of(pa.array([Decimal("5.00"), Decimal("0.10")]), attribute, types) == [1, 2]
    assert codes_of([date(2024, 1, 31)], texts, "declared") == [3]


def test_a_null_is_an_empty_cell_or_the_missing_value() -> None:
    for missing in (("",), ("NA",)):
        assert codes_of(["x", None], Attribute("a", Categories(("x",)), missing=missing)) == [0, 1]
    assert codes_of(["x", None], Attribute("a", Categories(("x", "")))) == [0, 1]
    assert codes_of(["x", None], Attribute("a", Categories(("y", "x")), other="y")) == [1, 0]
    bare = one(Attribute("a", Categories(("x",))))
    assert failing_attributes(open_source(pa.table({"a": ["x", None]})), bare) == ["a"]
    assert codes_of(["x", "", None], Attribute("a", Categories(("x", "")), missing=("NA",)), "declared") == [0, 1, 2]
    number = Attribute("a", Intervals("number", (0.0, 1.0)), other="missing")
    assert codes_of([0.5, None], number) == [0, 1]


def test_unused_categories_of_a_frame_do_not_matter() -> None:
    attribute = Attribute("a", Categories(("x", "y")))
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y", "x"], categories=["x", CANARY, "y"])})
    assert code(frame, one(attribute)).columns["a"].tolist() == [0, 1, 0]


def test_frames_and_files_of_the_same_table_agree(tmp_path: Path) -> None:
    attributes = (
        Attribute("n", Intervals("number", (0.0, 1.0, 2.0)), missing=("",)),
        Attribute("c", Categories(("x", "y")), missing=("",)),
        Attribute("b", Booleans()),
        Attribute("d", Intervals("date", (0.0, 100.0, 20_000.0))),
    )
    table = Schema("t", attributes, rows=2)
    frame = pl.DataFrame(
        {"n": [0.5, None], "c": ["y", None], "b": [True, False], "d": [date(1970, 1, 1), date(2020, 1, 1)]}
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    found = [
        code(x, table) for x in (frame, frame.to_pandas(), frame.to_arrow(), tmp_path / "t.csv", tmp_path / "t.parquet")
    ]
    for other in found:
        assert {n: c.tolist() for n, c in other.columns.items()} == {"n": [0, 2], "c": [1, 2], "b": [1, 0], "d": [0, 1]}
    found = [code(frame.with_columns(pl.col("c").cast(pl.Categorical)), table)]
    assert found[0].columns["c"].tolist() == [1, 2]


# -- what does not fit --------------------------------------------------------------------------------------------


def refused(folder: Path, text: str, schema: Schema) -> DataError:
    with pytest.raises(DataError) as caught:
        code(write(folder, text), schema)
    assert CANARY not in str(caught.value)
    assert caught.value.exit_code == 4
    return caught.value


@pytest.mark.parametrize(
    ("good", "bad", "name"),
    [
        ("17;0;", f"{CANARY};0;", "age"),
        (";0;Köln", f";{CANARY};Köln", "income"),
        (";0;Köln", ";0.5;Köln", "income"),
        ("Y;31.12.2024", f"{CANARY};31.12.2024", "smokes"),
        ("31.12.2024\n", f"{CANARY}\n", "born"),
        ("31.12.2024\n", "2024-12-31\n", "born"),
        (";Y;", ";;", "smokes"),
    ],
)
def test_a_bad_cell_names_only_the_attribute(tmp_path: Path, good: str, bad: str, name: str) -> None:
    error = refused(tmp_path, TABLE.replace(good, bad, 1), schema())
    assert error.attribute == name
    assert f"'{name}'" in error.message
    assert not re.search(r"\b1\b", error.message)  # nor how many


def test_columns_and_attributes_that_do_not_match(tmp_path: Path) -> None:
    error = refused(tmp_path, TABLE.replace("notes;", "note;"), schema())
    assert (
        error.attribute is None and "column 1 of the data is not in the schema. Did you mean 'notes'?" in error.message
    )
    assert 'kind = "drop"' in error.message
    table = pa.table({"pid": [1]})
    found = misfits(open_source(table), schema())
    assert [m.attribute for m in found] == ["age", "income", "city", "smokes", "born", "notes"]
    assert {m.reason for m in found} == {"absent"}
    assert "delimiter" in refused(tmp_path, "a,b\n1,2\n", schema()).message


def test_the_row_count_is_checked_and_the_true_one_not_told(tmp_path: Path) -> None:
    text = TABLE + ";;1;1;Köln;N;1.1.2000\n" * 8_000
    error = refused(tmp_path, text, schema())
    assert "rows = 3" in error.message
    assert "8003" not in error.message.replace(",", "")
    assert "no rows" in refused(tmp_path, TABLE.split("\n")[0] + "\n", schema()).message
    attribute = Attribute("a", Categories(("x",)))
    capped = Schema("t", (attribute,), neighbours="add-remove", rows_max=2)
    assert "rows_max" in refused(tmp_path, "a\nx\nx\nx\n", capped).message


def test_check_lists_everything_in_order(tmp_path: Path) -> None:
    text = TABLE.replace("notes;", "extra;").replace("17;0;", f"{CANARY};{CANARY};").replace("31.12.2024", CANARY)
    source = open_source(write(tmp_path, text + ";;1;1;Köln;N;1.1.2000\n"), schema().csv)
    found = misfits(source, schema())
    assert [(m.reason, m.attribute) for m in found] == [
        ("undeclared", None), ("absent", "notes"), ("cells", "age"), ("cells", "income"), ("cells", "born"),
        ("rows", None),
    ]  # fmt: skip
    assert not any(CANARY in m.message for m in found)
    assert failing_attributes(source, schema()) == ["notes", "age", "income", "born"]
    ragged = open_source(write(tmp_path, TABLE + CANARY + "\n"), schema().csv)
    assert [m.reason for m in misfits(ragged, schema())] == ["file"]


def test_ids_and_dropped_columns_are_never_read(tmp_path: Path) -> None:
    data = {"pid": [b"\xff", [1]], "notes": [{"x": 1}, None]}
    frame = pa.table({"pid": pa.array([b"\xff"]), "notes": pa.array([data["notes"][0]]), "a": ["x"]})
    attributes = tuple(a for a in schema().attributes if not a.modelled)
    table = Schema("t", (*attributes, Attribute("a", Categories(("x",)))), rows=1)
    assert code(frame, table).columns["a"].tolist() == [0]


def test_a_type_that_no_kind_reads_is_refused_by_name() -> None:
    attribute = Attribute("a", Categories(("x",)))
    with pytest.raises(DataError) as caught:
        code(pa.table({"a": [[CANARY]]}), one(attribute))
    assert caught.value.attribute == "a"
    assert CANARY not in str(caught.value)


# -- the SQL that finds the cells -----------------------------------------------------------------------------------


def test_sql_finds_undeclared_values() -> None:
    attribute = Attribute("it's", Categories(("x", "o'clock")), missing=("",))
    sql = finding_sql("it's", one(attribute), "my table")
    with sqlite3.connect(":memory:") as database:
        database.execute('CREATE TABLE "my table" ("it\'s" VARCHAR)')
        database.executemany(
            'INSERT INTO "my table" VALUES (?)', [("x",), ("o'clock",), (None,), ("",), ("bad",), ("bad",)]
        )
        assert database.execute(sql).fetchall() == [("bad", 2)]
    database.close()


def sql_matches(pattern: str, text: str) -> bool:
    return re.search(pattern.replace("[[:space:]]", r"\s"), text) is not None


@pytest.mark.parametrize(("domain", "decimal"), DOMAINS[:-1], ids=lambda x: getattr(x, "kind", x))
def test_sql_patterns_find_what_does_not_parse(domain: Intervals, decimal: str) -> None:
    pattern = domain.scale.cell_pattern(domain.format, decimal)
    assert pattern is not None

    @settings(max_examples=100, deadline=None)
    @given(text=orderly(domain.kind, decimal).filter(str.isascii))
    def agrees(text: str) -> None:
        fits = domain.encode([text], decimal)[0] >= 0
        if not fits:
            assert not sql_matches(pattern, text.rstrip("\n")) or "0000" in text
        elif domain.format or domain.kind not in ("date", "datetime"):
            assert sql_matches(pattern, text)

    agrees()


def test_sql_patterns_know_the_calendar() -> None:
    domain = Intervals("date", (DAY0, DAY1))
    pattern = domain.scale.cell_pattern(domain.format, ".")
    assert pattern is not None
    for offset in range(-3_000, 16_000, 1):
        assert sql_matches(pattern, (date(1970, 1, 1) + timedelta(offset)).isoformat())
    for text in ("2023-02-29", "1900-02-29", "2024-04-31", "2024-13-01", "2024-00-10", "2024-01-32"):
        assert not sql_matches(pattern, text)


def test_sql_for_every_kind_and_source() -> None:
    table = schema()
    assert "NOT IN ('Y', 'J', 'N')" in finding_sql("smokes", table)
    assert finding_sql("city", table).count("FALSE") == 1  # `other` takes everything
    assert "NOT IN ('', '-9')" in finding_sql("age", table)
    assert "read_csv('a.csv', header = true, all_varchar = true, delim = ';'" in finding_sql("age", table, "a.csv")
    assert "FROM 'a.parquet'" in finding_sql("age", table, "a.parquet")
    named = one(Attribute("d", Intervals("date", (DAY0, 0.0, DAY1), format="%d %b %Y")))
    assert "TRY_STRPTIME" in finding_sql("d", named)
    with pytest.raises(UsageError):
        finding_sql("pid", table)


# -- size -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_million_rows(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    count = 1_000_000
    values = tuple(f"value {i}" for i in range(40))
    codes = random.integers(0, 40, count)
    numbers = np.round(random.random(count) * 1000, 2)
    frame = pa.table({"c": np.asarray(values)[codes], "x": numbers})
    attributes = (Attribute("c", Categories(values)), Attribute("x", Intervals("number", tuple(range(1001)))))
    table = Schema("t", attributes, rows=count)
    pq.write_table(frame, tmp_path / "t.parquet")
    pl.from_arrow(frame).write_csv(tmp_path / "t.csv")  # type: ignore[union-attr]
    for data in (frame, tmp_path / "t.parquet", tmp_path / "t.csv"):
        found = code(data, table)
        assert found.rows == count
        assert (found.columns["c"] == codes).all()
        assert (found.columns["x"] == np.minimum(np.floor(numbers), 999)).all()
