"""Sources: every file and frame gives its cells as they are, no row is lost, and no error echoes a cell."""

from __future__ import annotations

import csv
import gzip
import io
from datetime import date, datetime
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

from understudy.engines import delimited
from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.errors import DataError, SchemaError, UnderstudyError, UsageError
from understudy.schema import Attribute, Categories, CsvDialect, Schema

CANARY = "canary-4711"


def cells(source: Any, names: list[str] | None = None) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {name: [] for name in names or source.columns}
    for name, piece in source.pieces(list(found)):
        found[name] += piece.to_pylist()
    return found


def write(folder: Path, data: bytes, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


def read(folder: Path, data: bytes, name: str = "t.csv", **dialect: str) -> dict[str, list[Any]]:
    return cells(open_source(write(folder, data, name), CsvDialect(**dialect)))


def refused(folder: Path, data: bytes, kind: type[UnderstudyError] = DataError, **dialect: str) -> UnderstudyError:
    with pytest.raises(kind) as caught:
        read(folder, data, **dialect)
    assert CANARY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


# -- what a cell is ------------------------------------------------------------------------------------------


def test_every_cell_is_text_and_nothing_is_guessed(tmp_path: Path) -> None:
    assert read(tmp_path, b"a,b\n007,NA\n1.0,\nnull,true\n") == {"a": ["007", "1.0", "null"], "b": ["NA", "", "true"]}


def test_quotes_delimiters_and_line_ends_inside_cells(tmp_path: Path) -> None:
    data = b'"a","b,c"\r\n"x\r\ny","say ""hi"""\r\n"",plain\r\n'
    assert read(tmp_path, data) == {"a": ["x\r\ny", ""], "b,c": ['say "hi"', "plain"]}


@pytest.mark.parametrize(
    "data", [b"a,b\n1,2\n", b"a,b\r\n1,2\r\n", b"a,b\r1,2\r", b"a,b\n1,2", b"\xef\xbb\xbfa,b\n1,2"]
)
def test_line_ends_and_byte_order_mark(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data) == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    data = 'größe;b\n"ä\n";é\n'.encode(encoding)
    assert read(tmp_path, data, delimiter=";", encoding=encoding) == {"größe": ["ä\n"], "b": ["é"]}


def test_gzip_and_tabs(tmp_path: Path) -> None:
    assert read(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv.gz") == {"a": ["1"], "b": ["2"]}
    assert read(tmp_path, gzip.compress(b"a\tb\n1,5\t2\n"), "t.tsv.gz") == {"a": ["1,5"], "b": ["2"]}
    assert read(tmp_path, b"a;b\n1;2\n", "t.tsv", delimiter=";") == {"a": ["1"], "b": ["2"]}


def test_a_bare_quote_inside_a_cell_is_read_as_it_is(tmp_path: Path) -> None:
    assert read(tmp_path, b'a,b\n5" pipe,x\n"q,r",y"\n') == {"a": ['5" pipe', "q,r"], "b": ["x", 'y"']}


def test_only_the_columns_asked_for_are_decoded(tmp_path: Path) -> None:
    source = open_source(write(tmp_path, b"a,b\n1,\xff\n"))
    assert cells(source, ["a"]) == {"a": ["1"]}


# -- one column: a blank line is an empty cell ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"a\n1\n\n2\n", ["1", "", "2"]),
        (b"a\n1\n", ["1"]),
        (b"a\n1\n\n", ["1", ""]),
        (b"a\r\n1\r\n\r\n", ["1", ""]),
        (b'a\n""\n', [""]),
        (b"a\n\n", [""]),
        (b'a\nx"y\n\n', ['x"y', ""]),
    ],
)
def test_blank_lines_in_one_column(tmp_path: Path, data: bytes, found: list[str]) -> None:
    assert read(tmp_path, data) == {"a": found}


# -- rows are never lost ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"a,b\n1,2\ncanary-4711\n",
        b"a,b\n1,2,canary-4711\n",
        b"a,b\ncanary-4711,1\n\n1,2\n",
        b"a,b\n1,2\n\n",
        b"a,b\r\n1,2\r\n\r\n3,4\r\n",
        b"a,b\n\n1,2\n",
        b'a,b\n"1",2\n"canary-4711"\n',
        b'a,b\nx"y,1\ncanary-4711\n',
        b'a,b\nx"y,1\n\n',
    ],
)
def test_a_ragged_row_is_refused_without_echo(tmp_path: Path, data: bytes) -> None:
    error = refused(tmp_path, data)
    assert "2 cells" in error.message
    assert error.exit_code == 4


@pytest.mark.parametrize("data", [b'a,b\n1,"canary-4711\n2,y\n', b'a,b\n1,"x\n2,"canary-4711\n3,z\n', b'a,b\n1,"x"y\n'])
def test_a_quote_that_would_swallow_rows_is_refused(tmp_path: Path, data: bytes) -> None:
    assert "quote" in refused(tmp_path, data).message


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.lists(st.text(alphabet='ab"\n\r, ;é€', max_size=4), min_size=2, max_size=2), max_size=12),
    block=st.integers(1, 40),
    ends=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_MINIMAL]),
)
def test_any_table_survives_any_block_size(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], block: int, ends: str, quoting: Any
) -> None:
    text = io.StringIO()
    if quoting == csv.QUOTE_MINIMAL and ends == "\n":  # Python would then write a bare carriage return
        rows = [[cell.replace("\r", "") for cell in row] for row in rows]
    csv.writer(text, lineterminator=ends, quoting=quoting).writerows([["a", "b"], *rows])
    path = write(tmp_path_factory.mktemp("blocks"), text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK", block)
        found = cells(open_source(path))
    assert list(zip(found["a"], found["b"])) == [tuple(row) for row in rows]


# -- what cannot be read ---------------------------------------------------------------------------------------


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(UsageError):
            open_source(path)
    with pytest.raises(UsageError, match=r"\.parquet"):
        open_source(write(tmp_path, b"a\n1\n", "t.xls"))


@pytest.mark.parametrize("data", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file(tmp_path: Path, data: bytes) -> None:
    assert "empty" in refused(tmp_path, data).message


def test_headers_that_name_nothing_or_twice(tmp_path: Path) -> None:
    assert "blank" in refused(tmp_path, b"\n1,2\n").message
    assert "columns 1 and 3" in refused(tmp_path, b"canary-4711,b,canary-4711\n1,2,3\n").message
    assert "columns 1 and 2" in refused(tmp_path, b"column_2,\n1,2\n").message
    assert read(tmp_path, b"a,\n1,2\n") == {"a": ["1"], "column_2": ["2"]}
    assert "quote" in refused(tmp_path, b'"a"x,b\n1,2\n').message


def test_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    for data in (b"a,b\n", b"a,b", b"a,b\r\n"):
        assert read(tmp_path, data) == {"a": [], "b": []}


def test_undecodable_bytes(tmp_path: Path) -> None:
    assert "encoding" in refused(tmp_path, b"a,b\n1,canary-4711\xff\n").message
    assert "encoding" in refused(tmp_path, b"a,b\n1,canary-4711\x81\n", encoding="cp1252").message
    assert "encoding" in refused(tmp_path, b"\xffa,b\n1,2\n").message
    assert "UTF-8 mark" in refused(tmp_path, b"\xef\xbb\xbfa,b\n1,2\n", encoding="cp1252").message


def test_dialects_that_cannot_be(tmp_path: Path) -> None:
    refused(tmp_path, b"a\n1\n", SchemaError, encoding="klingon")
    refused(tmp_path, b"a\n1\n", SchemaError, encoding="rot13")
    refused(tmp_path, b"a\n1\n", SchemaError, delimiter='"')
    refused(tmp_path, b"a\n1\n", SchemaError, delimiter="§")


def test_damaged_gzip_and_parquet(tmp_path: Path) -> None:
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 100_000)
    for data in (packed[:-20], packed[: len(packed) // 2], b"a,b\n1,2\n"):
        with pytest.raises(DataError, match="damaged"):
            read(tmp_path, data, "t.csv.gz")
    with pytest.raises(DataError, match="damaged"):
        read(tmp_path, b"PAR1 nothing", "t.parquet")


# -- parquet and frames ----------------------------------------------------------------------------------------


def frames() -> list[Any]:
    data = {"n": [1, 2, None], "t": ["x", None, "y"]}
    return [pd.DataFrame(data), pl.DataFrame(data), pa.table(data), pa.RecordBatch.from_pydict(data)]


@pytest.mark.parametrize("frame", frames(), ids=lambda f: type(f).__module__)
def test_frames(frame: Any) -> None:
    source = open_source(frame)
    assert source.columns == ("n", "t")
    assert cells(source) == {"n": [1, 2, None], "t": ["x", None, "y"]}
    assert set(source.types) == {"n", "t"}


def test_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, 2], "t": ["x", None]}), tmp_path / "t.parquet")
    source = open_source(tmp_path / "t.parquet")
    assert cells(source, ["t"]) == {"t": ["x", None]}
    assert source.types == {"n": pa.int64(), "t": pa.string()}


def test_headers(tmp_path: Path) -> None:
    found = open_source(write(tmp_path, b"a;b\n1;\xff\n"), CsvDialect(delimiter=";"))
    assert (found.columns, found.types) == (("a", "b"), {})
    found = open_source(pd.DataFrame({"n": pd.array([1, None], "Int32"), "c": pd.Categorical(["u", "v"])}))
    assert found.columns == ("n", "c")
    assert found.types["n"] == pa.int32()


def test_frames_that_cannot_be_read() -> None:
    with pytest.raises(DataError, match="two columns"):
        open_source(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="two columns"):
        open_source(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(DataError, match="not text"):
        open_source(pd.DataFrame([[1, 2]]))
    for thing in (42, {"a": [1]}, pl.LazyFrame({"a": [1]}), pd.Series([1])):
        with pytest.raises(UsageError, match="frame"):
            open_source(thing)


def test_a_column_of_objects_is_read_cell_by_cell() -> None:
    """Arrow would take the first cell's type for all: a datetime after a date would lose its hours."""
    objects = [1, "x", True, 2.0, None, float("nan"), pd.NaT, pd.NA, Decimal("0.7"), date(2024, 1, 2), datetime(2024, 1, 2, 3),
               np.int8(4), np.datetime64("2024-01-02"), 10**30]  # fmt: skip
    expected = ["1", "x", "true", "2", None, None, None, None, "0.7", "2024-01-02", "2024-01-02T03:00:00", "4", "2024-01-02",
                str(int(1e30))]  # fmt: skip
    assert cells(open_source(pd.DataFrame({"a": pd.Series(objects, dtype=object)})))["a"] == expected


def test_columns_that_arrow_has_no_type_for() -> None:
    wide = pl.DataFrame({"a": pl.Series([10**25, None], dtype=pl.Int128), "b": pl.Series([1, "x"], dtype=pl.Object)})
    assert cells(open_source(wide)) == {"a": [str(int(1e25)), None], "b": ["1", "x"]}
    assert "a" not in open_source(wide).types
    with pytest.raises(DataError, match="mixes cells"):
        cells(open_source(wide, types="declared"))


def test_a_declared_column_of_objects_is_of_one_type() -> None:
    for objects in (
        [True, None, False, pd.NA],
        [1, None, 2.0],
        [date(2024, 1, 2), None],
        ["x", float("nan")],
        [pd.Timestamp(2024, 1, 2)],
    ):
        assert cells(open_source(pd.DataFrame({"a": pd.Series(objects, dtype=object)}), types="declared"))["a"]
    for mixed in ([date(2024, 1, 2), datetime(2024, 1, 2, 3)], [1.0, True], [1, "x"], [b"x", "y"], [Decimal(1), 1]):
        with pytest.raises(DataError, match="mixes cells"):
            cells(open_source(pd.DataFrame({"a": pd.Series(mixed, dtype=object)}), types="declared"))


@pytest.mark.parametrize(
    "objects",
    [[1, CANARY], [object(), CANARY], [[1], CANARY], [{CANARY: 1}], [1 + 2j, CANARY], ["x", f"\ud800{CANARY}"]],
    ids=["a number and a text", "an object", "a list", "a dictionary", "a complex number", "half a character"],
)
def test_a_column_of_mixed_types_is_named_and_not_echoed(objects: list[Any]) -> None:
    """Where types are declared, a column has one; where they are inferred, cells are texts, numbers, dates or booleans."""
    frame = pd.DataFrame({"a": pd.Series(objects, dtype=object)})
    for types in ("declared", "inferred") if objects != [1, CANARY] else ("declared",):
        with pytest.raises(DataError) as caught:
            encode_table(open_source(frame, types=types), Schema("t", (Attribute("a", Categories(("x",))),), rows=2))
        assert caught.value.attribute == "a"
        assert CANARY not in str(caught.value) and caught.value.__cause__ is None
