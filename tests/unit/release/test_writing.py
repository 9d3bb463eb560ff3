"""Writing: what is written reads back to the same codes, in every dialect and format; a crash leaves nothing half."""

from __future__ import annotations

import csv
import gzip
import os
import re
import subprocess
import sys
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

from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.errors import UnderstudyError, UsageError
from understudy.privacy.custodian import ExactTable
from understudy.release import replacement, writing
from understudy.release.frames import library_of, to_frame
from understudy.release.replacement import replacing
from understudy.release.writing import check_output, decode_chunks, decode_rows, write_table
from understudy.schema import Attribute, Booleans, Categories, CsvDialect, Dropped, Identifier, Intervals, Schema
from understudy.schema.spreadsheet import neutral, neutral_forms

DAY = 86_400.0
ATTRIBUTES = (
    Attribute("id", Identifier()),
    Attribute("whole", Intervals("integer", (-10.5, -1.0, 4.5, 90.5), (0.0,)), missing=("-99",)),
    Attribute("amount", Intervals("number", (-1.0, 0.001, 0.002, 1e3, 1e7), (0.0, 0.5)), missing=("", "NA")),
    Attribute("tiny", Intervals("number", (0.0, 1e-9, 2e-9))),
    Attribute("text", Categories(("plain", "a,b;c\td", 'say "hi"', "two\r\nlines", "ünï", "", "-5")), missing=("?",)),
    Attribute("flag", Booleans(("Y", "yes"), ("N",)), missing=("",)),
    Attribute("simple", Booleans()),
    Attribute("day", Intervals("date", (-3000.0, 0.0, 20_000.0), (7.0,)), missing=("",)),
    Attribute("tag", Intervals("date", (-3000.0, 0.0, 20_000.0), format="%d.%m.%Y"), missing=("31.12.9999",)),
    Attribute("month", Intervals("date", (-3000.0, 0.0, 20_000.0), format="%d %b %Y")),
    Attribute("moment", Intervals("datetime", (-3000 * DAY, 0.0, 20_000 * DAY)), missing=("",)),
    Attribute("zeit", Intervals("datetime", (-3000 * DAY, 0.0, 20_000 * DAY), format="%d.%m.%Y, %H:%M:%S")),
    Attribute("junk", Dropped()),
)
ORDER = ("text", "junk", "moment", "id", "whole", "amount", "tiny", "flag", "simple", "day", "tag", "month", "zeit")
DIALECTS = [
    CsvDialect(),
    CsvDialect(";", "cp1252", ","),
    CsvDialect("\t", "utf-8", ","),
    CsvDialect("|", "utf-16"),
    CsvDialect(",", "utf-8-sig"),
]


def write_rows(rows: Any, path: Path, schema: Schema, order: tuple[str, ...] | None, generator: Any) -> None:
    write_table(decode_chunks([rows], schema, order, generator), path, schema)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def table(*attributes: Attribute, dialect: CsvDialect = DIALECTS[0]) -> Schema:
    return Schema("t", attributes or ATTRIBUTES, neighbours="add-remove", csv=dialect)


def every_code(schema: Schema, count: int = 400) -> dict[str, Any]:
    random = np.random.default_rng(8)
    return {a.name: random.permutation(np.resize(np.arange(a.size, dtype=np.uint8), count)) for a in schema.modelled}


def assert_same(path: Any, schema: Schema, rows: dict[str, Any]) -> None:
    found = encode_table(open_source(path, schema.csv, "declared"), schema)  # types of ours follow the schema
    for name, codes in rows.items():
        assert found.columns[name].tolist() == codes.tolist(), name


def without_junk(schema: Schema) -> Schema:
    return schema.project([a.name for a in schema.attributes if a.kind != "drop"])


# -- there and back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: f"{d.delimiter}{d.encoding}{d.decimal}")
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_every_code_of_every_kind_comes_back(tmp_path: Path, dialect: CsvDialect, suffix: str) -> None:
    schema = table(dialect=dialect)
    rows = every_code(schema)
    path = tmp_path / f"out{suffix}"
    write_rows(rows, path, schema, ORDER, rng())
    assert_same(path, without_junk(schema), rows)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_code_comes_back_through_a_frame(library: str) -> None:
    schema = table(*ATTRIBUTES, *LISTS)
    rows = every_code(schema)
    frame = to_frame(decode_rows(rows, schema, None, rng()), schema, library)
    assert type(frame).__module__.startswith(library)
    assert_same(frame, without_junk(schema), rows)


@pytest.mark.costly
@settings(max_examples=40, deadline=None)
@given(
    values=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=6),
        min_size=1,
        max_size=8,
        unique=True,
    ),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    columns=st.integers(1, 2),
)
def test_any_text_comes_back(
    tmp_path_factory: pytest.TempPathFactory, values: list[str], delimiter: str, columns: int
) -> None:
    attribute = Attribute("a", Categories(tuple(values)))
    more = (Attribute("b", Categories(tuple(values))),) if columns == 2 else ()
    schema = table(attribute, *more, dialect=CsvDialect(delimiter))
    rows = every_code(schema, 3 * len(values))
    path = tmp_path_factory.mktemp("text") / "t.csv"
    write_rows(rows, path, schema, None, rng())
    forms = [form for value in values for form in neutral_forms(value)]
    if len({*forms, *values}) == len(forms) + len(values):  # else one cell could mean two values
        assert_same(path, schema, rows)
    if "\r" not in "".join(values):
        with path.open(encoding="utf-8", newline="") as file:
            found = [row[0] for row in list(csv.reader(file, delimiter=delimiter))[1:]]
        assert found == [neutral(values[code]) for code in rows["a"]]


def test_chunks_make_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = table(*(a for a in ATTRIBUTES if a.kind in ("category", "boolean", "id")))
    rows = every_code(schema)
    write_rows(rows, tmp_path / "whole.csv", schema, None, rng())
    monkeypatch.setattr(writing, "CHUNK_CELLS", 28)
    write_rows(rows, tmp_path / "chunks.csv", schema, None, rng())
    write_rows(rows, tmp_path / "chunks.parquet", schema, None, rng())
    assert (tmp_path / "whole.csv").read_bytes() == (tmp_path / "chunks.csv").read_bytes()
    assert pq.read_table(tmp_path / "chunks.parquet")["id"].to_pylist() == list(range(1, 401))


# -- values and types ----------------------------------------------------------------------------------------------


def test_columns_have_types_order_fresh_ids_and_nulls() -> None:
    schema = table()
    found = decode_rows(every_code(schema), schema, ORDER, rng())
    assert found.column_names == [name for name in ORDER if name != "junk"]
    assert {name: str(found.schema.field(name).type) for name in found.column_names} == {
        "text": "string", "moment": "timestamp[s]", "id": "int64", "whole": "int64", "amount": "double",
        "tiny": "double", "flag": "bool", "simple": "bool", "day": "date32[day]", "tag": "date32[day]",
        "month": "date32[day]", "zeit": "timestamp[s]",
    }  # fmt: skip
    assert found["id"].to_pylist() == list(range(1, 401))
    for name in ("text", "whole", "flag", "day"):
        absent = every_code(schema)[name] == schema[name].missing_code
        assert found[name].is_null().to_pylist() == absent.tolist()
    assert decode_rows(every_code(schema), schema, None, rng()).column_names[0] == "id"


def test_a_file_in_a_german_dialect(tmp_path: Path) -> None:
    attributes = (
        Attribute("n", Identifier()),
        Attribute("x", Intervals("number", (0.0, 10.0), (1.5,)), missing=("NA",)),
        Attribute("c", Categories(("ä;b", "=1+1", "-5", "-5 a", "@x", "-1,5"))),
        Attribute("j", Booleans(("Ja",), ("Nein",))),
        Attribute("d", Intervals("date", (0.0, 10.0), (3.0,), format="%d.%m.%Y")),
    )
    schema = table(*attributes, dialect=CsvDialect(";", "cp1252", ","))
    rows = {"x": [1, 2, 1, 1, 1, 1], "c": [0, 1, 2, 3, 4, 5], "j": [1, 0, 0, 0, 0, 0], "d": [1] * 6}
    write_rows({n: np.asarray(c, np.uint8) for n, c in rows.items()}, tmp_path / "t.csv", schema, None, rng())
    lines = (tmp_path / "t.csv").read_bytes().decode("cp1252").split("\n")
    assert lines == [
        "n;x;c;j;d", '1;1,5;"ä;b";Ja;04.01.1970', "2;NA;'=1+1;Nein;04.01.1970", "3;1,5;-5;Nein;04.01.1970",
        "4;1,5;'-5 a;Nein;04.01.1970", "5;1,5;'@x;Nein;04.01.1970", "6;1,5;-1,5;Nein;04.01.1970", "",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["=x", "+x", "-x", "@x", "\tx", "\rx", "-", "+49 30", "-1,5", "--1", "=1"])
def test_formulas_are_neutralised(text: str) -> None:
    assert neutral(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("a\n=cmd|' /C calc'!A0", "a\n'=cmd|' /C calc'!A0"),
        ("a\r\n+1", "a\r\n'+1"),
        ("a\r@x\n-y", "a\r'@x\n'-y"),
        ("a\n\tx", "a\n'\tx"),
        ("=a\n=b", "'=a\n'=b"),
        ("\r=a", "'\r'=a"),
        ("\n=a", "\n'=a"),
    ],
)
def test_formulas_after_a_line_break_are_neutralised(text: str, harmless: str, tmp_path: Path) -> None:
    """A reader that does not heed quotes begins a cell there."""
    assert neutral(text) == harmless
    for attribute in (
        Attribute("a", Categories((text, "x"))),
        Attribute("a", Booleans((text,), ("x",))),
        Attribute("a", Categories(("y", "x")), missing=(text,)),
    ):
        schema = table(attribute, Attribute("b", Booleans()))
        rows = {name: np.asarray(codes, np.uint8) for name, codes in every_code(schema, 6).items()}
        write_rows(rows, tmp_path / "t.csv", schema, None, rng())
        lines = re.split("[\n\r]", (tmp_path / "t.csv").read_bytes().decode())
        assert not any(re.match('"?[=+@\t-]', line) for line in lines)
        if "\r" not in text:
            assert_same(tmp_path / "t.csv", schema, rows)


@pytest.mark.parametrize("name", ["=cmd|' /C calc'!A0", "+x", "-x", "@x", "\tx", "a\n=cmd", "a;b\n@c"])
@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".csv.gz"])
def test_formulas_in_the_header_are_neutralised(name: str, suffix: str, tmp_path: Path) -> None:
    """Names come from the schema of a release, which may be a stranger's. Our own evaluation still knows them."""
    schema = table(Attribute("b", Booleans()), Attribute(name, Categories(("x", "y"))), Attribute("i", Identifier()))
    rows = every_code(schema, 8)
    path = tmp_path / f"t{suffix}"
    write_rows(rows, path, schema, (name, "b", "i"), rng())
    content = gzip.decompress(path.read_bytes()) if suffix.endswith("gz") else path.read_bytes()
    lines = content.decode().splitlines()
    assert not any(re.match('"?[=+@\t-]', line) for line in lines)
    assert neutral(name) in content.decode() and neutral(name) != name
    stand_in = ExactTable.stand_in(path, schema)
    assert stand_in.codes(name).tolist() == rows[name].tolist()


@pytest.mark.parametrize("delimiter", list("0-.e:T"))
def test_a_delimiter_that_numbers_are_written_with(delimiter: str, tmp_path: Path) -> None:
    kept = ("id", "whole", "amount", "day", "moment")
    dialect = CsvDialect(delimiter, decimal="," if delimiter == "." else ".")
    schema = table(*(a for a in ATTRIBUTES if a.name in kept), dialect=dialect)
    rows = every_code(schema, 40)
    write_rows(rows, tmp_path / "t.csv", schema, None, rng())
    assert_same(tmp_path / "t.csv", schema, rows)


@pytest.mark.parametrize("encoding", ["utf-7", "iso2022_jp", "utf-16", "utf-32"])
def test_an_encoding_with_shifts_is_written_to_its_end(encoding: str, tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("漢",))), dialect=CsvDialect(encoding=encoding))
    write_rows({"a": np.zeros(3, np.uint8)}, tmp_path / "t.csv", schema, None, rng())
    assert (tmp_path / "t.csv").read_bytes() == "a\n漢\n漢\n漢\n".encode(encoding)


@pytest.mark.parametrize("text", ["-5", "+5", "-5.25", "-.5", "1e-3", "-1E5", "", "x=1", "a-b", "'=x"])
def test_numbers_and_plain_texts_stay(text: str) -> None:
    assert neutral(text) == text


def test_no_rows_and_one_column(tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("x",)), missing=("",)))
    write_rows({"a": np.zeros(0, np.uint8)}, tmp_path / "t.csv", schema, None, rng())
    assert (tmp_path / "t.csv").read_bytes() == b"a\n"
    write_rows({"a": np.asarray([0, 1, 1], np.uint8)}, tmp_path / "t.csv", schema, None, rng())
    assert (tmp_path / "t.csv").read_bytes() == b'a\nx\n""\n""\n'


def test_a_table_as_it_is(tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("x",))), Attribute("b", Intervals("integer", (0.5, 1.5))))
    write_table(pa.table({"b": [1], "a": ["x"]}), tmp_path / "t.csv", schema)
    assert (tmp_path / "t.csv").read_bytes() == b"b,a\n1,x\n"
    write_table(pa.table({"b": [1], "a": ["x"]}), tmp_path / "t.parquet", schema)
    assert pq.read_table(tmp_path / "t.parquet").column_names == ["b", "a"]


# -- all or nothing --------------------------------------------------------------------------------------------------


def test_names_that_cannot_be_written(tmp_path: Path) -> None:
    for name in ("t.xlsx", "t", "t.parquet.gz"):
        with pytest.raises(UsageError, match=r"\.parquet"):
            check_output(tmp_path / name)
    (tmp_path / "folder.csv").mkdir()
    for path in (tmp_path / "folder.csv", tmp_path / "none" / "t.csv"):
        with pytest.raises(UsageError, match="folder"):
            check_output(path)
    assert check_output(tmp_path / "T.CSV.GZ") == "csv"
    assert check_output(tmp_path / "t.parquet") == "parquet"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_failure_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    schema = table(Attribute("a", Categories(("x",))))
    (tmp_path / name).write_bytes(b"old")

    def broken() -> Any:
        yield pa.table({"a": ["x"]})
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write_table(broken(), tmp_path / name, schema)
    assert (tmp_path / name).read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


KILLED = """
import os, signal, sys
from pathlib import Path
from understudy.release.replacement import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def parts(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.endswith(".part")]


@pytest.mark.costly
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t [1]*.csv", "t.release.zip", "t.custodian.html"])
def test_a_killed_write_is_cleared_away_by_the_next_one(tmp_path: Path, name: str) -> None:
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / name)]).returncode == -9
    assert 1 <= len(parts(tmp_path)) <= 2 and not (tmp_path / name).exists()
    with replacing(tmp_path / name) as file:
        file.write(b"whole")
        assert len(parts(tmp_path)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_bytes() == b"whole"


def test_what_is_not_abandoned_stays(tmp_path: Path) -> None:
    """Two writes to one target at a time; files of other targets, of other names, and no files at all."""
    others = [".u.csv.1-1.part", ".t.csv.part", ".t.csv.1-x.part", "t.csv.1-1.part", ".t.csv.1-1.part.bak"]
    for other in others:
        (tmp_path / other).write_bytes(b"")
    (tmp_path / ".t.csv.1-2.part").mkdir()
    (tmp_path / "precious").write_bytes(b"kept")
    (tmp_path / ".t.csv.1-3.part").symlink_to(tmp_path / "precious")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / ".t.csv.1-4.part")
    before = len(list(tmp_path.iterdir()))
    with replacing(tmp_path / "t.csv") as first:
        first.write(b"first")
        with replacing(tmp_path / "t.csv") as second:
            second.write(b"second")
        assert (tmp_path / "t.csv").read_bytes() == b"second"
    assert (tmp_path / "t.csv").read_bytes() == b"first" and (tmp_path / "precious").read_bytes() == b"kept"
    assert len(list(tmp_path.iterdir())) == before + 1


@pytest.mark.skipif(os.name != "posix", reason="flock")
def test_a_file_taken_for_an_abandoned_one_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its creation and its lock another write may remove it."""
    held = replacement._held
    removed: list[Path] = []

    def late(file: Any, part: Path) -> bool:
        if len(removed) < 3:
            removed.append(part)
            replacement.remove_abandoned(tmp_path / "t.csv")
            assert not part.exists()
        return held(file, part)

    monkeypatch.setattr(replacement, "_held", late)
    with replacing(tmp_path / "t.csv") as file:
        file.write(b"whole")
    assert len(set(removed)) == 3 and [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_a_full_disk_is_a_typed_error(tmp_path: Path) -> None:
    def full() -> Any:
        yield pa.table({"a": ["x"]})
        raise OSError(28, "No space left on device")

    with pytest.raises(UnderstudyError, match="No space left"):
        write_table(full(), tmp_path / "t.csv", table(Attribute("a", Categories(("x",)))))


def test_a_character_the_encoding_lacks(tmp_path: Path) -> None:
    for encoding, value in (("cp1252", "漢"), ("idna", "x" * 70)):
        schema = table(Attribute("a", Categories((value,))), dialect=CsvDialect(encoding=encoding))
        with pytest.raises(UsageError, match="utf-8"):
            write_rows({"a": np.zeros(1, np.uint8)}, tmp_path / "t.csv", schema, None, rng())
        assert not list(tmp_path.iterdir())


def test_gzip_says_neither_when_nor_under_which_name(tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("x",))))
    write_rows({"a": np.zeros(2, np.uint8)}, tmp_path / "t.csv.gz", schema, None, rng())
    packed = (tmp_path / "t.csv.gz").read_bytes()
    assert packed[3:8] == b"\0\0\0\0\0"
    assert gzip.decompress(packed) == b"a\nx\nx\n"


# -- frames ----------------------------------------------------------------------------------------------------------


PANDAS = {
    "id": "int64", "whole": "float64", "amount": "float64", "tiny": "float64", "text": "str", "flag": "object",
    "simple": "bool", "day": "datetime64[ms]", "tag": "datetime64[ms]", "month": "datetime64[ms]",
    "moment": "datetime64[s]", "zeit": "datetime64[s]", "step": "int64", "grade": "float64", "postcode": "str",
}  # fmt: skip
POLARS = {
    "id": pl.Int64, "whole": pl.Int64, "amount": pl.Float64, "tiny": pl.Float64, "text": pl.String, "flag": pl.Boolean,
    "simple": pl.Boolean, "day": pl.Date, "tag": pl.Date, "month": pl.Date, "moment": pl.Datetime("ms"),
    "zeit": pl.Datetime("ms"), "step": pl.Int64, "grade": pl.Int64, "postcode": pl.String,
}  # fmt: skip
LISTS = (
    Attribute("step", Categories(("-1", "0", "20"))),
    Attribute("grade", Categories(("1", "2")), missing=("?",)),
    Attribute("postcode", Categories(("01067", "10115"))),
)


@pytest.mark.parametrize("rows", [0, 1, 400])
def test_types_follow_the_schema(rows: int) -> None:
    """However many rows were drawn, and whether a missing value is among them."""
    schema = table(*ATTRIBUTES, *LISTS)
    coded = {name: codes[:rows] for name, codes in every_code(schema).items()}
    if rows == 1:
        coded = {name: np.zeros(1, np.uint8) for name in coded}
    typed = decode_rows(coded, schema, None, rng())
    text = str(pd.Series(["x"]).dtype)  # "str" from pandas 3 on, "object" before
    pandas = {name: text if dtype == "str" else dtype for name, dtype in PANDAS.items()}
    assert {name: str(dtype) for name, dtype in to_frame(typed, schema, "pandas").dtypes.items()} == pandas
    assert dict(to_frame(typed, schema, "polars").schema) == POLARS
    assert to_frame(typed, schema, "pyarrow") is typed


def test_lists_of_whole_numbers_are_integers() -> None:
    schema = table(*LISTS)
    rows = {"step": [0, 1, 2], "grade": [0, 1, 2], "postcode": [0, 1, 1]}
    typed = decode_rows({n: np.asarray(c, np.uint8) for n, c in rows.items()}, schema, None, rng())
    assert typed["step"].to_pylist() == [-1, 0, 20] and typed["grade"].to_pylist() == [1, 2, None]
    assert typed["postcode"].to_pylist() == ["01067", "10115", "10115"]
    for values in (["1", "-0"], ["1", "+2"], ["1.0"], ["1", ""], ["1", "9" * 16], ["1", "2 "], ["1", "٣"]):
        assert not Categories(tuple(values)).are_whole


def test_values_of_a_frame() -> None:
    schema = table()
    coded = every_code(schema)
    found = to_frame(decode_rows(coded, schema, None, rng()), schema, "pandas")
    for name in ("whole", "flag", "day", "text"):
        assert found[name].isna().tolist() == (coded[name] == schema[name].missing_code).tolist()
    assert {type(value) for value in found["flag"]} == {bool, type(None)}


def test_the_library_of_a_frame() -> None:
    class Own(pd.DataFrame):
        """A frame of a caller's own making."""

    assert library_of(Own({"a": [1]})) == "pandas" and library_of(pl.DataFrame()) == "polars"
    assert library_of(pa.table({"a": [1]})) == library_of(pa.record_batch({"a": [1]})) == "pyarrow"
    assert library_of("people.csv") is None and library_of(Path()) is None
    schema = table(Attribute("a", Categories(("x",))))
    drawn = decode_rows({"a": np.zeros(2, np.uint8)}, schema, None, rng())
    assert isinstance(to_frame(drawn, schema), pd.DataFrame)
    with pytest.raises(UsageError, match="library"):
        to_frame(drawn, schema, "excel")


@pytest.mark.slow
def test_a_million_rows_come_back(tmp_path: Path) -> None:
    schema = table()
    rows = every_code(schema, 1_000_000)
    for name in ("t.csv", "t.parquet"):
        write_rows(rows, tmp_path / name, schema, ORDER, rng())
        found = encode_table(open_source(tmp_path / name, schema.csv, "declared"), without_junk(schema))
        assert all((found.columns[n] == codes).all() for n, codes in rows.items())
