"""Odd input, drawn from a number: delimited files and Parquet files that are damaged, strange or hostile.

Every private cell is a canary or one of the plain values; `CANARY` finds what is left of one in a text.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

CANARY = re.compile(r"aphod|Zapho|471147|114711|prefect", re.IGNORECASE)
_CANARIES = ("Zaphod", "Zaphod Beeblebrox", "47114711", "4711471.1", "Ford Prefect", 'Za"phod "Zaphod"', "ZaphodÄ")
_NUMERALS = (
    "1e999", "-1e999", "NaN", "inf", "-0", "٣", "１２", "1_000", "0x10", "1.", ".5", "+7", " 7", "7 ", "1e-400", "0" * 300,
    "9" * 400, "1e5", "--1", "1,5", "½", "\x1f7", "7\x00", "1e", "e1", "2^53", "9007199254740993", "true", "None",
)  # fmt: skip
_MOMENTS = (
    "2024-02-30", "0000-01-01", "9999-12-31", "10000-01-01", "2024-W01-1", "2024-01-01T25:00", "2024-01-01T00:00:00+99:99",
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "31.12.2024", "2024-1-1", "20240101", "12:30",
)  # fmt: skip
_BYTES = (
    b'"', b'""', b'"""', b",", b";", b"\t", b"\n", b"\r", b"\r\n", b"\n\n", b"\x00", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf",
    b"\xc3", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\xf0\x9f\x8e\xad", b"=", b"'", b"\\", b" ", b"\x1a", b"\x85", b"\x0b",
)  # fmt: skip

SCHEMA = """\
[table]
name = "people"
{table}

[attributes.id]
kind = "id"

[attributes.note]
kind = "drop"

[attributes.age]
kind = "integer"
range = [0, 99]
bins = 5
{age}
[attributes.sex]
kind = "category"
values = ["Female", "Male"]
{sex}
[attributes.town]
kind = "category"
values = ["Anders", "Brae", "Cormont", "Dunmere"]
taxonomy = {{ North = ["Anders", "Brae"], South = ["Cormont", "Dunmere"] }}
missing = ["?"]

[attributes.smokes]
kind = "boolean"
true = "Y"
false = "N"
missing = true

[attributes.income]
kind = "number"
range = [0, 1000]
bins = 4
points = [0]
{income}
[attributes.born]
kind = "date"
range = [1950-01-01, 2020-12-31]
bins = 7
{born}
[attributes.seen]
kind = "datetime"
range = [2024-01-01T00:00:00, 2025-01-01T00:00:00]
bins = 4
"""
NAMES = ["id", "note", "age", "sex", "town", "smokes", "income", "born", "seen"]


@dataclass(frozen=True)
class Odd:
    """One case: the data and schema files, and the flags for `init`."""

    data: Path
    schema: Path
    init: tuple[object, ...]


def first_line(path: Path) -> str:
    """What a reader may take for a header, by the crudest rule there is."""
    raw = path.read_bytes()
    if raw[:2] == b"\x1f\x8b":
        stream, packed, raw = zlib.decompressobj(31), raw, b""
        with contextlib.suppress(zlib.error):  # as far as it goes
            for at in range(len(packed)):
                raw += stream.decompress(packed[at : at + 1])
    return re.split(rb"[\r\n]", raw, maxsplit=1)[0].decode("utf-8", errors="replace")


def odd_csv(number: int, folder: Path) -> Odd:
    draw = random.Random(f"csv {number}")
    dialect = draw.choice([",", ",", ",", ";", "\t", "|"])
    headless = draw.random() < 0.25
    rows = [plain_row(draw) for _ in range(draw.choice([0, 1, 2, 5, 30]))]
    lines = [
        dialect.join([_quoted(draw, cell, dialect) for cell in row]) for row in ([] if headless else [NAMES]) + rows
    ]
    raw = (draw.choice(["\n", "\n", "\r\n", "\r"]).join(lines) + draw.choice(["\n", ""])).encode()
    raw = _encoded(draw, raw)
    for _ in range(draw.choice([0, 1, 1, 2, 4])):
        raw = damaged(draw, raw)
    name = draw.choice(["t.csv", "t.csv", "t.csv", "t.tsv", "t.csv.gz", "t.CSV", "t.parquet", "t.txt"])
    if name.endswith(".gz") or draw.random() < 0.05:
        raw = gzip.compress(raw)
        raw = damaged(draw, raw) if draw.random() < 0.4 else raw
    data, schema = folder / name, folder / "schema.toml"
    data.write_bytes(raw)
    schema.write_text(schema_text(draw, len(rows), dialect, headless), encoding="utf-8")
    return Odd(data, schema, _init_flags(draw, folder))


def odd_parquet(number: int, folder: Path) -> Odd:
    """Columns of any type under attributes of any kind; half of the files are damaged as bytes."""
    draw = random.Random(f"parquet {number}")
    rows = draw.choice([0, 1, 3, 12])
    names = [*NAMES]
    if draw.random() < 0.2:
        names[draw.randrange(len(names))] = draw.choice(
            ["", "age", "Zaphod 12345", " sex", "7", "x" * 200, "ä\x00", "a.b"]
        )
    arrays = [_array(draw, rows) for _ in names]
    metadata = {"pandas": "Zaphod {", "note": "47114711"} if draw.random() < 0.3 else None
    table = pa.Table.from_arrays(
        arrays, schema=pa.schema([pa.field(n, a.type) for n, a in zip(names, arrays)], metadata)
    )
    sink = io.BytesIO()
    try:
        pq.write_table(table, sink, compression=draw.choice(["snappy", "none", "zstd", "gzip"]),
                       use_dictionary=draw.random() < 0.5, row_group_size=draw.choice([1, 5, 1000]))  # fmt: skip
    except (pa.ArrowException, ValueError):
        sink = io.BytesIO()
        pq.write_table(pa.table({"age": [1, 2], "sex": ["Zaphod", None]}), sink)
    raw = sink.getvalue()
    if draw.random() < 0.5:
        for _ in range(draw.choice([1, 1, 3, 10])):
            raw = damaged(draw, raw)
    data, schema = folder / draw.choice(["t.parquet", "t.parquet", "t.pq", "t.PARQUET"]), folder / "schema.toml"
    data.write_bytes(raw)
    schema.write_text(schema_text(draw, rows, ",", False), encoding="utf-8")
    return Odd(data, schema, ("--header",) if draw.random() < 0.2 else ())


# -- parts -------------------------------------------------------------------------------------------------------


def plain_row(draw: random.Random, odd: bool = True) -> list[str]:
    plain = [
        draw.choice(_CANARIES[:2]), draw.choice(_CANARIES[:2]), str(draw.randrange(100)), draw.choice(["Female", "Male"]),
        draw.choice(["Anders", "Brae", "Cormont", "Dunmere", "?"]), draw.choice(["Y", "N", ""]),
        f"{draw.random() * 1000:.2f}", f"19{draw.randrange(50, 99)}-0{draw.randrange(1, 9)}-10", "2024-03-04T05:06:07",
    ]  # fmt: skip
    while odd and draw.random() < 0.3:
        plain[draw.randrange(len(plain))] = draw.choice([*_CANARIES, *_NUMERALS, *_MOMENTS, ""])
    return plain


def _quoted(draw: random.Random, cell: str, delimiter: str) -> str:
    if '"' in cell or delimiter in cell or "\n" in cell or draw.random() < 0.05:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _encoded(draw: random.Random, raw: bytes) -> bytes:
    encoding = draw.choice(["utf-8"] * 6 + ["utf-8-sig", "cp1252", "latin-1", "utf-16", "utf-16-le", "utf-32", "utf-7"])
    return raw.decode().encode(encoding, errors="replace")


def schema_text(draw: random.Random, rows: int, delimiter: str, headless: bool) -> str:
    count = f"rows = {rows}" if rows and draw.random() < 0.8 else 'neighbours = "add-remove"'
    right = draw.random() < 0.9
    csv = "".join(
        (f"delimiter = {delimiter!r}\n".replace("'", '"') if delimiter != "," and right else "",
         "header = false\n" if headless and right else "",
         f'encoding = "{draw.choice(["cp1252", "utf-16", "latin-1", "utf-8-sig", "utf-7", "shift_jis"])}"\n'
         if draw.random() < 0.2 else "",
         'decimal = ","\n' if draw.random() < 0.1 and delimiter != "," else "")
    )  # fmt: skip
    other = {
        "age": draw.choice(["", "", 'missing = ["999"]\n', 'other = "0"\n', "missing = true\nother = 'missing'\n"]),
        "sex": draw.choice(["", "", "missing = true\n", 'other = "Male"\n', 'missing = ["x"]\nother = "missing"\n']),
        "income": draw.choice(["", 'other = "0"\n', "missing = true\n", "", "", 'fine = "wavelet"\n']),
        "born": draw.choice(["", 'format = "%d.%m.%Y"\n', "missing = true\nother = 'missing'\n", "", ""]),
    }
    return SCHEMA.format(table=count + (f"\n[table.csv]\n{csv}" if csv else ""), **other)


def _init_flags(draw: random.Random, folder: Path) -> tuple[object, ...]:
    names = folder / "names.txt"
    names.write_text("\n".join(NAMES) if draw.random() < 0.8 else draw.choice(["", "a", "a,b\nc", "\x00", "a\na"]))
    book = folder / "book.csv"
    book.write_text(
        "attribute,kind\n" + "".join(f"{name},\n" for name in NAMES)
        + draw.choice(["", "[table],encoding\n", "[table],delimiter,;\n"])
        if draw.random() < 0.8 else draw.choice(["", "attribute", '"', "a,b\n"])
    )  # fmt: skip
    return draw.choice(((), (), ("--header",), ("--no-header",), ("--names", names), ("--codebook", book)))


def damaged(draw: random.Random, raw: bytes, filler: bytes = b"Zaphod") -> bytes:
    at = draw.randrange(len(raw) + 1)
    to = min(len(raw), at + draw.choice([1, 1, 2, 8, 40, len(raw)]))
    other = draw.randrange(len(raw) + 1)
    ways: list[Callable[[], bytes]] = [
        lambda: raw[:at] + draw.choice(_BYTES) + raw[at:],
        lambda: raw[:at] + draw.choice(_BYTES) + raw[at + 1 :],
        lambda: raw[:at] + raw[to:],
        lambda: raw[:at] + raw[at:to] * 2 + raw[to:],
        lambda: raw[:at] + bytes([draw.randrange(256)]) + raw[at + 1 :],
        lambda: raw[:at],
        lambda: raw[:other] + raw[at:to] + raw[other:],
        lambda: raw[:at] + draw.choice([filler * 30_000, (filler + b",") * 300, b"[" * 500, b"a." * 300]) + raw[at:],
        lambda: raw[:at] + bytes(draw.randrange(256) for _ in range(20)) + raw[at:],
        lambda: draw.choice([b"", b"\n", b'"', b"\x1f\x8b", b"PAR1", raw + raw]),
    ]
    return draw.choices(ways, [6, 6, 4, 4, 6, 2, 3, 1, 2, 1])[0]()


def _array(draw: random.Random, rows: int) -> Any:
    """A column of any type; what can hold a canary does."""
    texts = [
        draw.choice([*_CANARIES, "Female", "Male", "Brae", "?", "Y", "", None, "7", *_NUMERALS[:6]])
        for _ in range(rows)
    ]
    whole = [draw.choice([0, 1, 7, 99, None, -5, 120]) for _ in range(rows)]
    real = [draw.choice([0.0, 0.5, 471147.11, None, float("nan"), float("inf"), -1e300]) for _ in range(rows)]
    days = [draw.choice([date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), None]) for _ in range(rows)]
    times = [
        draw.choice([datetime(2024, 3, 4, 5), datetime(1, 1, 1), datetime(9999, 12, 31), None]) for _ in range(rows)
    ]
    made: list[Callable[[], Any]] = [
        lambda: pa.array(texts, draw.choice([pa.string(), pa.large_string(), pa.string_view()])),
        lambda: pa.array(texts, pa.string()).dictionary_encode(),
        lambda: pa.array([t and t.encode() for t in texts], draw.choice([pa.binary(), pa.large_binary()])),
        lambda: pa.array([b"Zaph"] * rows, pa.binary(4)),
        lambda: pa.array(whole, draw.choice([pa.int8(), pa.int16(), pa.int32(), pa.int64()])),
        lambda: pa.array([w and abs(w) for w in whole], draw.choice([pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()])),
        lambda: pa.array([draw.choice([2**63 - 1, -(2**63), 47114711, None]) for _ in range(rows)], pa.int64()),
        lambda: pa.array([draw.choice([2**64 - 1, 47114711]) for _ in range(rows)], pa.uint64()),
        lambda: pa.array(real, draw.choice([pa.float64(), pa.float32()])),
        lambda: pa.array([None if r is None else r for r in real], pa.float64()).cast(pa.float16(), safe=False),
        lambda: pa.array([draw.choice([True, False, None]) for _ in range(rows)], pa.bool_()),
        lambda: pa.nulls(rows),
        lambda: pa.array([draw.choice([Decimal("471147.11"), Decimal("7"), None]) for _ in range(rows)], pa.decimal128(38, 2)),
        lambda: pa.array([draw.choice([Decimal(10) ** 60, Decimal("7"), None]) for _ in range(rows)], pa.decimal256(76, 0)),
        lambda: pa.array(days, draw.choice([pa.date32(), pa.date64()])),
        lambda: pa.array([draw.choice([2**31 - 1, -(2**31), 0]) for _ in range(rows)], pa.int32()).cast(pa.date32()),
        lambda: pa.array(times, draw.choice([pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "Europe/Vienna")])),
        lambda: pa.array([draw.choice([2**63 - 1, -(2**62), 0]) for _ in range(rows)], pa.int64()).cast(
            draw.choice([pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns")])
        ),
        lambda: pa.array([time(1, 2, 3)] * rows, draw.choice([pa.time32("s"), pa.time64("us")])),
        lambda: pa.array([timedelta(seconds=47114711)] * rows, pa.duration("s")),
        lambda: pa.array([["Zaphod"]] * rows, draw.choice([pa.list_(pa.string()), pa.large_list(pa.string())])),
        lambda: pa.array([{"a": "Zaphod"}] * rows, pa.struct([("a", pa.string())])),
        lambda: pa.array([[("Zaphod", 1)]] * rows, pa.map_(pa.string(), pa.int8())),
    ]  # fmt: skip
    return draw.choice(made)()
