"""Coding by SQL is coding: every cell of every kind of column gets the code that the embedded engines give it."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from servers import PASSWORD, PostgreSQL, need_spark
from understudy.engines.addresses import address_of
from understudy.engines.coding import coder_of
from understudy.engines.sql import coded_rows
from understudy.engines.sql_coding import UNREADABLE
from understudy.schema import Attribute, Booleans, Categories, CsvDialect, Intervals, Schema
from understudy.schema.endings import Endings
from understudy.schema.readings import Readings
from understudy.schema.rounding_classes import RoundingClasses, rounding_of
from understudy.schema.tree_grid import TreeGrid

NUMERALS = [
    "5", " 5 ", "+5", "-0", "5.", ".5", "5.0", "5.50", "1e2", "1E+2", "1e-05", "1e999", "٣", "5\u00a0", "", None, "NA",
    "x", "1_000", "0x10", "inf", "nan", "5\n", "\x1c5", "1,5", "1,0", "12345678901234567890", "0" * 120 + "5", "'-9",
    "-9", "99999999999", "- 5", "5 5", "--5", "1e5e", "e5", "+", ".", "5f", "5d", "0.3", "0.29999999999999999", "7'",
    "Köln", "1e0005", "9" * 400, "49.999999999999999", "-1e-300",
]  # fmt: skip
DATES = [
    "2020-02-29", "2019-02-29", "2020-02-30", "0000-01-01", "0001-01-01", "9999-12-31", "20200101", "2020-W01-1",
    "2020-1-1", " 2020-01-01", "2020-01-01\n", "2020-01-01T00:00:00", "", None, "NA", "x", "1900-02-29", "2000-02-29",
    "1969-12-31", "2020-13-01", "2020-00-10", "2020-01-00", "٢٠٢٠-01-01", "2020-06-31",
]  # fmt: skip
GERMAN = [
    "1.2.2020", "01.02.2020", " 1.2.2020", "31.04.2020", "29.2.2021", "29.2.2020", "٣.2.2020", "1.2.20", "1.2.2020 ",
    "1-2-2020", "", None, "NA", "1.13.2020", "32.1.2020", "0.1.2020", "1.2.0000", "x", "1.2.2020\n", "10.10.1999",
]  # fmt: skip
MOMENTS = [
    "2020-01-01 10:00:00", "2020-01-01T10:00", "2020-01-01", "2020-01-01T10", "2020-01-01T10:00:00.5",
    "2020-01-01T10:00:00.123", "2020-01-01T10:00:00.123456", "2020-01-01T10:00:00+02:00", "2020-01-01T10:00:00Z",
    "2020-01-01x10:00:00", "2020-01-01T24:00:00", "20200101T101010", "2020-02-30T10:00:00", "1969-12-31T23:59:59.999",
    "", None, "NA", "x", "2019-12-31 23:59:59",
]  # fmt: skip
WORDS = [
    "a", "A", "a ", " a", "b'c", "b\\c", 'd"e', "ü", "=x", "'=x", "'a", "${user}", "%s", "", None, "NA", "na", "ß", "SS",
    "a\n", "-1", "'-1", "e\u0301", "é", "\\n", "x;--",
]  # fmt: skip
DAYS = [
    dt.date(2020, 1, 1),
    dt.date(1900, 1, 1),
    None,
    dt.date(1969, 12, 31),
    dt.date(9999, 12, 31),
    dt.date(2020, 2, 29),
]
TIMES = [
    dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 10), None, dt.datetime(1969, 12, 31, 23, 59, 59, 999999),
    dt.datetime(1960, 5, 5), dt.datetime(2020, 1, 1, 0, 0, 0, 1), dt.datetime(2300, 1, 1, 1, 1, 1, 5),
]  # fmt: skip
CLOCKS = [
    "08:15", "08:15:30", "8:15", "08:15:30.5", "08:15:30.999999999", "08:15:30.", "24:00", "23:59:60", "23:60", "8:5", "",
    None, "NA", "x", " 08:15", "08:15 ", "08:15\n", "٠٨:15", "0815", "08:15Z", "08:15 AM", "00:00", "23:59:59", "12:00:00",
]  # fmt: skip
HANDS = [
    dt.time(8, 15), dt.time(8, 15, 30, 999999), None, dt.time(0), dt.time(23, 59, 59), dt.time(12), dt.time(12, 0, 1)
]  # fmt: skip
DAY = Intervals("date", tuple(float(day) for day in range(18200, 18400, 7)))
CLOCK = Intervals("time", tuple(float(h) for h in range(0, 86_400, 900)), (43_200.0,))
HOURS = Intervals("datetime", tuple(1577800800.0 + 3600 * h for h in range(100)))


@dataclass(frozen=True)
class Case:
    """A declaration, and cells to read by it; `unreadable` is how many of them SQL may refuse instead."""

    attribute: Attribute
    cells: Any
    unreadable: int = 0
    decimal: str = "."
    known: dict[str, int] = field(default_factory=dict)


def numbers(kind: str, edges: list[float], **more: Any) -> Attribute:
    points, format = more.pop("points", ()), more.pop("format", None)
    return Attribute("a", Intervals(kind, tuple(edges), points, format), **more)  # type: ignore[arg-type]


def words(*values: str, **more: Any) -> Attribute:
    return Attribute("a", Categories(values), **more)


def rounding_classes(grid: TreeGrid) -> RoundingClasses:
    """The rounding classes of a range whose bins a tree finds."""
    rounding = rounding_of(grid)
    assert rounding is not None
    return RoundingClasses.of(grid, rounding)


WHOLE = [float(edge) for edge in range(101)]
FLOATS = pa.array([0.5, 1.0, np.nan, None, np.inf, -np.inf, 0.1, 1e-7, 20.0, -0.0, 99.9, 100.0, 1e300, 0.3])
UNITS = tuple(Fraction(unit) for unit in ("1000", "50", "10", "5", "1", "1/2", "1/10", "1/200"))
ROUNDED = RoundingClasses("number", (-2.5, 5000.0), units=UNITS)
MINUTES = rounding_classes(TreeGrid("datetime", -2e9, 2e9))
QUARTERS = rounding_classes(TreeGrid("time", 0.0, 86_399.0))
EPOCHS = [
    None if second is None else dt.datetime(1970, 1, 1) + dt.timedelta(seconds=second)
    for second in (
        0,
        -86_400,
        -3_600,
        -1_800,
        -900,
        -300,
        -60,
        -61,
        -1,
        -0.5,
        1,
        29,
        30,
        31,
        60,
        3_600,
        86_400,
        3e9,
        None,
    )
]
ENDINGS = Endings("number", (-2.5, 5000.0), precision=2, digits=3)
ROUND = pa.array(
    [5e-324, -1e-320, 1e-310, 0.0, 0.05, 0.1, -2.5, -2.45, 45.1, 45.09375, 300.25, 1e300, -9.9, None, 150.0]
)
CASES = {
    "rounding": Case(Attribute("a", ROUNDED, missing=("-9.9",)), ROUND),
    "rounding of reals": Case(Attribute("a", ROUNDED, missing=("-9.9",)), ROUND.cast(pa.float32(), safe=False)),
    "rounding text": Case(Attribute("a", ROUNDED, missing=("NA",), other="missing"), NUMERALS, 7),
    "rounding of moments": Case(
        Attribute("a", RoundingClasses("datetime", (0.0, 2e9), units=UNITS[:3]), missing=("NA",)),
        pa.array([0, 86_400_000_000, 50_000_001, -5, 10**17, None, 1000_000_000], pa.timestamp("us")),
    ),
    "rounding of moments about 1970": Case(Attribute("a", MINUTES, missing=("NA",)), pa.array(EPOCHS, pa.timestamp("us"))),
    "rounding of moments about 1970, text": Case(
        Attribute("a", MINUTES, missing=("NA",)), [None if m is None else m.isoformat() for m in EPOCHS], 1
    ),
    "rounding of days about 1970": Case(Attribute("a", MINUTES), pa.array([-1, 0, 1, 20_000, None], pa.date32())),
    "rounding of times": Case(Attribute("a", QUARTERS, other="missing"), pa.array(HANDS, pa.time64("us"))),
    "rounding of times, text": Case(Attribute("a", QUARTERS, other="missing"), CLOCKS),
    "rounding of times of timestamps": Case(Attribute("a", QUARTERS), pa.array(EPOCHS, pa.timestamp("us"))),
    "endings": Case(Attribute("a", ENDINGS, missing=("-9.9",)), ROUND),
    "endings of reals": Case(Attribute("a", ENDINGS, missing=("-9.9",)), ROUND.cast(pa.float32(), safe=False)),
    "endings text": Case(Attribute("a", ENDINGS, missing=("NA",), other="missing"), NUMERALS, 7),
    "endings, whole of doubles": Case(
        Attribute("a", Endings("integer", (-100.0, 90.0), digits=1), other="missing"), FLOATS
    ),
    "rounding, whole of doubles": Case(
        Attribute("a", RoundingClasses("integer", (0.0, 100.0), units=UNITS[2:4]), other="missing"), FLOATS
    ),
    "fine units of reals": Case(numbers("number", [k / 100 for k in range(6000)]), ROUND.cast(pa.float32(), safe=False)),
    "integer text": Case(numbers("integer", WHOLE, missing=("NA", "", "-9")), NUMERALS, 4),
    "integer text, other": Case(numbers("integer", WHOLE, other="missing"), NUMERALS, 4),
    "number text": Case(numbers("number", [0, 0.3, 5, 50], points=(5.0,), other="missing", missing=("NA",)), NUMERALS, 7),
    "number text, comma": Case(numbers("number", [0, 1, 1.5, 50], other="0"), NUMERALS, 7, ","),
    "number text, no rule": Case(numbers("number", [-1, 0, 1]), NUMERALS, 7),
    "many bins": Case(numbers("number", [k / 7 for k in range(700)], points=(1.0, 3.5)), FLOATS),
    "many bins text": Case(numbers("number", [k / 7 for k in range(700)]), NUMERALS, 7),
    "whole, wide bins": Case(numbers("integer", [0, 10, 20, 30, 40, 50]), pa.array([-5, 0, 9, 10, 49, 50, 51, None])),
    "whole, unit bins, points": Case(
        numbers("integer", WHOLE, missing=("999", "NA")), pa.array([0, 1, 99, 100, 101, 999, -1, None, 2**60])
    ),
    "whole, points": Case(numbers("integer", [0, 5, 50, 500], points=(7.0, 0.0)), pa.array([-1, 0, 1, 4, 5, 6, 7, 8, 500, 501])),
    "whole of doubles": Case(numbers("integer", WHOLE, other="missing"), FLOATS),
    "whole of reals": Case(numbers("integer", WHOLE, other="7"), FLOATS.cast(pa.float32())),
    "doubles": Case(numbers("number", [0, 0.1, 0.3, 1, 100], points=(0.5,), missing=("1e300",)), FLOATS),
    "decimals": Case(
        numbers("number", [0, 0.1, 0.3, 1, 90], missing=("99",)),
        pa.array([Decimal("0.10"), Decimal("0.30"), Decimal("99.00"), Decimal("1000.00"), None], pa.decimal128(10, 2)),
    ),
    "date text": Case(Attribute("a", DAY, missing=("NA", "")), DATES, 3),
    "date text, other": Case(Attribute("a", DAY, other="missing"), DATES, 3),
    "date text, format": Case(Attribute("a", Intervals("date", DAY.edges, format="%d.%m.%Y"), other="missing"), GERMAN, 2),
    "date of whole numbers": Case(
        Attribute("a", Intervals("date", DAY.edges, format="%Y%m%d"), missing=("0",)),
        pa.array([20200101, 20191231, 20200230, 0, None, 2020111, 2020131, -5]), 3,
    ),
    "date of ISO numbers": Case(Attribute("a", DAY, other="missing"), pa.array([20200101, 5, None]), 1),
    "moment text": Case(Attribute("a", HOURS, other="missing", missing=("NA",)), MOMENTS, 6),
    "moment text, format": Case(
        Attribute("a", Intervals("datetime", HOURS.edges, format="%Y/%m/%d %H:%M"), other="missing"),
        ["2020/01/01 10:05", "2020/1/1 9:5", "2020/01/01  10:05", "2020/01/01 24:00", "2020/02/30 10:00", None], 1,
    ),
    "dates": Case(Attribute("a", DAY, missing=("9999-12-31",)), pa.array(DAYS, pa.date32())),
    "moments of dates": Case(Attribute("a", HOURS), pa.array(DAYS, pa.date32())),
    "dates of timestamps": Case(Attribute("a", DAY, other="missing"), pa.array(TIMES, pa.timestamp("us"))),
    "timestamps": Case(Attribute("a", HOURS, missing=("NA",)), pa.array(TIMES, pa.timestamp("us"))),
    "instants": Case(Attribute("a", HOURS, missing=("NA",)), pa.array(TIMES, pa.timestamp("us", "UTC"))),
    "time text": Case(Attribute("a", CLOCK, missing=("NA", "")), CLOCKS),
    "time text, other": Case(Attribute("a", CLOCK, other="missing"), CLOCKS),
    "time text, format": Case(
        Attribute("a", Intervals("time", (0.0, 29_700.0, 43_200.0, 86_399.0), format="%H.%M"), other="missing"),
        ["08.15", "8.15", "8.5", "24.00", "08.60", " 8.15", "08:15", "٨.15", "", None, "0815"], 2,
    ),
    "time text, digits": Case(
        Attribute("a", Intervals("time", (0.0, 29_700.0, 43_200.0, 86_399.0), format="%H%M"), other="missing"),
        ["0815", "815", "1200", "2460", "12", "", None], 2,
    ),
    "times of timestamps": Case(Attribute("a", CLOCK, other="missing"), pa.array(TIMES, pa.timestamp("us"))),
    "times of instants": Case(Attribute("a", CLOCK, other="missing"), pa.array(TIMES, pa.timestamp("us", "UTC"))),
    "times of dates": Case(Attribute("a", CLOCK), pa.array(DAYS, pa.date32())),
    "times": Case(Attribute("a", CLOCK, missing=("23:59:59", "NA")), pa.array(HANDS, pa.time64("us"))),
    "times of seconds": Case(Attribute("a", CLOCK, other="08:15"), pa.array(HANDS[:1] + HANDS[2:], pa.time32("s"))),
    "booleans": Case(Attribute("a", Booleans()), pa.array([True, False, None])),
    "booleans, missing": Case(Attribute("a", Booleans(), missing=("?",)), pa.array([True, False, None])),
    "boolean text": Case(Attribute("a", Booleans(("j", "1"), ("n", "0")), missing=("",)), ["j", "n", "1", "0", "J", "", None, "true"]),
    "boolean of numbers": Case(Attribute("a", Booleans()), pa.array([0, 1, 2, None])),
    "words": Case(words("a", "b'c", "b\\c", 'd"e', "ü", "=x", "${user}", "%s", "é", "\\n", "x;--", missing=("NA", "-1")), WORDS),
    "words, other": Case(words("a", "B", "ss", other="a"), WORDS),
    "many words": Case(words(*(f"w{i}" for i in range(300)), "=x", "a", "é", missing=("",)), [*WORDS, "w0", "w299", "w300", "W0"]),
    "words of whole numbers": Case(words("1", "-2", "3", "4", "9223372036854775807", missing=("0",)), pa.array([1, -2, 3, 4, 0, None, 2**63 - 1])),
    "words of doubles": Case(words("0.5", "1", "20", "0.1", "1e-07", "inf", "0", missing=("100",)), FLOATS),
    "words of reals": Case(words("0.5", "1", "0.1", "0.3", "0"), FLOATS.cast(pa.float32())),
    "words of decimals": Case(
        words("0.1", "5", "1000"),
        pa.array([Decimal("0.10"), Decimal("5.00"), Decimal("1000.00"), Decimal("0.01"), None], pa.decimal128(10, 2)),
    ),
    "words of booleans": Case(words("true", "False"), pa.array([True, False, None])),
    "words of dates": Case(words("2020-01-01", "20200101", "1969-12-31"), pa.array(DAYS, pa.date32())),
    "words of timestamps": Case(
        words("2020-01-01T00:00:00", "2020-01-01 10:00:00", "2020-01-01T00:00:00.000001"), pa.array(TIMES, pa.timestamp("us"))
    ),
}  # fmt: skip
LENGTH = max(len(case.cells) for case in CASES.values())


def column(case: Case) -> pa.Array:
    cells = case.cells if isinstance(case.cells, pa.Array) else pa.array(case.cells, pa.string())
    return pa.concat_arrays([cells, pa.nulls(LENGTH - len(cells), cells.type)])


def table(decimal: str, types: str = "declared", times: bool = True) -> tuple[pa.Table, Schema, list[Case]]:
    """All cases with this decimal sign that are not refused, and a column that numbers the rows."""
    cases = [
        case
        for case in CASES.values()
        if case.decimal == decimal and (times or not pa.types.is_time(column(case).type))
    ]
    if types == "inferred":
        cases = [case for case in cases if Readings(case.attribute, decimal).fault is None]
        assert len(cases) > (20 if decimal == "." else 0)
    names = [f"c{i}" for i in range(len(cases))]
    attributes = [
        Attribute(n, c.attribute.domain, None, c.attribute.missing, c.attribute.other) for n, c in zip(names, cases)
    ]
    place = Attribute("row", Intervals("integer", tuple(float(i) for i in range(LENGTH + 1))))
    columns = {n: column(c) for n, c in zip(names, cases)} | {"row": pa.array(range(LENGTH))}
    schema = Schema("people", (*attributes, place), rows=LENGTH, csv=CsvDialect(decimal=decimal))
    return pa.table(columns), schema, cases


def compare(rows: list[tuple[int, ...]], cases: list[Case], schema: Schema, types: Any = "declared") -> None:
    by_row = sorted(rows, key=lambda row: row[-1])
    for i, case in enumerate(cases):
        cells = column(case)
        expected = coder_of(schema.attributes[i], case.decimal, types).code(cells).tolist()
        found = [row[i] for row in by_row]
        refused = [at for at, code in enumerate(found) if code == UNREADABLE]
        wrong = [
            (cells[at].as_py(), found[at], expected[at])
            for at in range(LENGTH)
            if found[at] not in (expected[at], UNREADABLE)
        ]
        name = next(name for name, known in CASES.items() if known is case)
        assert not wrong, (name, wrong)
        if types == "declared":
            assert len(refused) <= case.unreadable, (name, [cells[at].as_py() for at in refused])
        else:  # texts that a reader might have taken for something else
            assert all(re.search(r"\d|[^\x00-\x7f]|inf", str(cells[at].as_py())) for at in refused), name


@pytest.mark.costly
@pytest.mark.parametrize("types", ["declared", "inferred"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_duckdb(decimal: str, types: Any, tmp_path: Path) -> None:
    from understudy.engines.duckdb_rows import DuckDBRows

    data, schema, cases = table(decimal, types)
    parquet.write_table(data, tmp_path / "t.parquet")
    warehouse = DuckDBRows(tmp_path / "t.parquet", types)
    try:
        rows = warehouse._connection.execute(f"SELECT * FROM {coded_rows(warehouse, schema)}").fetchall()
    finally:
        warehouse.close()
    compare(rows, cases, schema, types)


@pytest.mark.parametrize("decimal", [".", ","])
def test_postgresql(decimal: str, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch) -> None:
    from understudy.engines.postgresql_rows import PostgreSQLRows

    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    data, schema, cases = table(decimal)
    warehouse = PostgreSQLRows(address_of(postgresql.load("cells", data)))
    try:
        rows = warehouse._connection.execute(f"SELECT * FROM {coded_rows(warehouse, schema)}").fetchall()
    finally:
        warehouse.close()
    compare(rows, cases, schema)


@pytest.mark.engines
@pytest.mark.slow
@pytest.mark.parametrize("types", ["declared", "inferred"])
def test_spark(types: Any, tmp_path: Path) -> None:
    """From the private copy, which is gone afterwards."""
    from understudy.engines.spark_rows import FOLDER, SparkRows

    need_spark()
    for at, decimal in enumerate((".", ",")):
        data, schema, cases = table(decimal, types, times=False)  # Spark has no such type
        parquet.write_table(data, tmp_path / f"{at}.parquet")
        warehouse = SparkRows(str(tmp_path / f"{at}.parquet"), "local[1]", types)
        try:
            warehouse._session.conf.unset(FOLDER)  # another test of this process may have set it for its cluster
            kept = warehouse.keep(coded_rows(warehouse, schema))
            assert warehouse._scratch is not None and warehouse._scratch.path.stat().st_mode & 0o777 == 0o700
            rows = [tuple(row) for row in warehouse._session.sql(f"SELECT * FROM {kept}").collect()]
        finally:
            warehouse.close()
        assert not warehouse._scratch.path.exists()
        compare(rows, cases, schema, types)
