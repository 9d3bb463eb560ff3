"""Writing: what is written reads back to the same codes, in every dialect and format; a crash leaves nothing half."""

from __future__ import annotations

import csv
import gzip
from datetime import date, datetime
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
from understudy.release import writing
from understudy.release.cells import neutral
from understudy.release.frames import FrameType, to_frame
from understudy.release.writing import check_output, decode_rows, write_csv, write_rows, write_table
from understudy.schema import Attribute, Booleans, Categories, Dialect, Dropped, Identifier, Intervals, Schema

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
    Dialect(),
    Dialect(";", "cp1252", ","),
    Dialect("\t", "utf-8", ","),
    Dialect("|", "utf-16"),
    Dialect(",", "utf-8-sig"),
]


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def table(*attributes: Attribute, dialect: Dialect = DIALECTS[0]) -> Schema:
    return Schema("t", attributes or ATTRIBUTES, neighbours="add-remove", csv=dialect)


def every_code(schema: Schema, count: int = 400) -> dict[str, Any]:
    random = np.random.default_rng(8)
    return {a.name: random.permutation(np.resize(np.arange(a.size, dtype=np.uint8), count)) for a in schema.modelled}


def assert_same(path: Any, schema: Schema, rows: dict[str, Any]) -> None:
    found = encode_table(open_source(path, schema.csv, "declared"), schema)  # what we write follows the schema
    for name, codes in rows.items():
        assert found.columns[name].tolist() == codes.tolist(), name


def without_junk(schema: Schema) -> Schema:
    return schema.project([a.name for a in schema.attributes if a.kind != "drop"])


# -- there and back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda d: f"{d.delimiter}{d.encoding}{d.decimal}")
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".tsv", ".parquet"])
def test_every_code_of_every_kind_comes_back(tmp_path: Path, dialect: Dialect, suffix: str) -> None:
    schema = table(dialect=dialect)
    rows = every_code(schema)
    path = tmp_path / f"out{suffix}"
    write_rows(rows, path, schema, ORDER, rng())
    assert_same(path, without_junk(schema), rows)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_code_comes_back_through_a_frame(library: str) -> None:
    schema = table()
    rows = every_code(schema)
    frame = to_frame(decode_rows(rows, schema, ORDER, rng()), library)
    assert type(frame).__module__.startswith(library)
    assert_same(frame, without_junk(schema), rows)


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
    schema = table(attribute, *more, dialect=Dialect(delimiter))
    rows = every_code(schema, 3 * len(values))
    path = tmp_path_factory.mktemp("text") / "t.csv"
    write_rows(rows, path, schema, None, rng())
    ambiguous = {f"'{v}" for v in values if neutral(v) != v} & set(values)
    if not ambiguous:
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
    schema = table(*attributes, dialect=Dialect(";", "cp1252", ","))
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


@pytest.mark.parametrize("text", ["-5", "+5", "-5.25", "-.5", "1e-3", "-1E5", "", "x=1", "a-b", "'=x"])
def test_numbers_and_plain_texts_stay(text: str) -> None:
    assert neutral(text) == text


def test_no_rows_and_one_column(tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("x",)), missing=("",)))
    write_rows({"a": np.zeros(0, np.uint8)}, tmp_path / "t.csv", schema, None, rng())
    assert (tmp_path / "t.csv").read_bytes() == b"a\n"
    write_rows({"a": np.asarray([0, 1, 1], np.uint8)}, tmp_path / "t.csv", schema, None, rng())
    assert (tmp_path / "t.csv").read_bytes() == b'a\nx\n""\n""\n'


def test_a_table_and_an_order(tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("x",))), Attribute("b", Intervals("integer", (0.5, 1.5))))
    write_csv(pa.table({"a": ["x"], "b": [1]}), tmp_path / "t.csv", schema, ("b", "a"))
    assert (tmp_path / "t.csv").read_bytes() == b"b,a\n1,x\n"
    write_table(pa.table({"a": ["x"], "b": [1]}), tmp_path / "t.parquet", schema, ("b", "a"))
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


def test_a_full_disk_is_a_typed_error(tmp_path: Path) -> None:
    def full() -> Any:
        yield pa.table({"a": ["x"]})
        raise OSError(28, "No space left on device")

    with pytest.raises(UnderstudyError, match="No space left"):
        write_table(full(), tmp_path / "t.csv", table(Attribute("a", Categories(("x",)))))


def test_a_character_the_encoding_lacks(tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("漢",))), dialect=Dialect(encoding="cp1252"))
    with pytest.raises(UsageError, match="utf-8"):
        write_rows({"a": np.zeros(1, np.uint8)}, tmp_path / "t.csv", schema, None, rng())
    assert not list(tmp_path.iterdir())


def test_gzip_says_neither_when_nor_under_which_name(tmp_path: Path) -> None:
    schema = table(Attribute("a", Categories(("x",))))
    write_rows({"a": np.zeros(2, np.uint8)}, tmp_path / "t.csv.gz", schema, None, rng())
    packed = (tmp_path / "t.csv.gz").read_bytes()
    assert packed[3:8] == b"\0\0\0\0\0"
    assert gzip.decompress(packed) == b"a\nx\nx\n"


# -- the caller's frames ---------------------------------------------------------------------------------------------


def typed() -> Any:
    return pa.table(
        {
            "i": [1, 2], "n": [1, None], "x": [0.5, 1.5], "c": ["u", "v"], "b": [True, False],
            "d": [date(2024, 1, 1), date(2024, 1, 2)], "t": pa.array([datetime(2024, 1, 1), None], pa.timestamp("s")),
        }
    )  # fmt: skip


PANDAS = {
    "i": "int32", "n": "Int16", "x": "float32", "c": "category", "b": "bool", "d": "datetime64[ns]",
    "t": "datetime64[ns, Europe/Berlin]",
}  # fmt: skip


def test_pandas_types() -> None:
    example = pd.DataFrame({name: pd.Series([], dtype=dtype) for name, dtype in PANDAS.items()})
    found = to_frame(typed(), example)
    assert {name: str(dtype) for name, dtype in found.dtypes.items()} == PANDAS
    assert found["n"].tolist() == [1, pd.NA]
    assert found["t"][0] == pd.Timestamp("2024-01-01", tz="UTC")
    arrow = pd.DataFrame({"i": pd.Series([], dtype=pd.ArrowDtype(pa.int8())), "c": pd.Series([], dtype="string")})
    assert [str(t) for t in to_frame(typed().select(["i", "c"]), arrow).dtypes] == ["int8[pyarrow]", "string"]


def test_a_type_that_cannot_hold_the_values_is_not_forced() -> None:
    values = pa.table({"i": [300, 1], "n": [1, None], "b": [True, None]})
    found = to_frame(
        values, pd.DataFrame({"i": np.array([], "int8"), "n": np.array([], "int64"), "b": np.array([], "bool")})
    )
    assert found["i"].tolist() == [300, 1]
    assert found["n"].isna().tolist() == [False, True]
    assert found["b"].tolist() == [True, None]
    found = to_frame(values, pl.DataFrame(schema={"i": pl.Int8, "n": pl.Int64, "b": pl.Boolean}))
    assert found["i"].to_list() == [300, 1]
    found = to_frame(values, pa.schema([("i", pa.int8()), ("n", pa.int16())]))
    assert [str(t) for t in found.schema.types] == ["int64", "int16", "bool"]


def test_polars_types_and_arrow_types() -> None:
    wanted = {
        "i": pl.UInt8,
        "x": pl.Float32,
        "c": pl.Categorical,
        "d": pl.Datetime("us"),
        "t": pl.Datetime("ms", "UTC"),
    }
    found = to_frame(typed(), pl.DataFrame(schema=wanted))
    assert {name: found.schema[name] for name in wanted} == {
        name: pl.DataFrame(schema=wanted).schema[name] for name in wanted
    }
    rare = to_frame(typed(), pl.DataFrame(schema={"c": pl.Enum(["u", "v", "only in the rows"])}))
    assert rare["c"].dtype == pl.Enum(["u", "v"])
    schema = pa.schema([("c", pa.dictionary(pa.int8(), pa.string())), ("x", pa.float32())])
    assert [str(t) for t in to_frame(typed().select(["c", "x"]), schema).schema.types] == [str(t) for t in schema.types]


def test_categories_of_the_rows_are_not_kept() -> None:
    example = pd.DataFrame({"c": pd.Categorical(["u"], categories=["u", "only in the rows"])})
    assert "only in the rows" not in repr(FrameType.of(example))
    assert to_frame(typed().select(["c"]), example)["c"].cat.categories.tolist() == ["u", "v"]


def test_columns_that_were_text_stay_text() -> None:
    schema = table(
        Attribute("b", Booleans(("Y",), ("N",))), Attribute("d", Intervals("date", (0.0, 20_000.0), format="%d.%m.%Y"))
    )
    values = typed().select(["b", "d"])
    for example in (
        pd.DataFrame({"b": ["Y"], "d": ["31.12.2024"]}),
        pd.DataFrame({"b": ["Y"], "d": ["31.12.2024"]}, dtype=object),
        pl.DataFrame({"b": ["Y"], "d": ["31.12.2024"]}),
        pa.table({"b": ["Y"], "d": ["31.12.2024"]}),
    ):
        found = to_frame(values, example, schema)
        assert list(found["b"].to_numpy()) == ["Y", "N"]
        assert list(found["d"].to_numpy()) == ["01.01.2024", "02.01.2024"]


def test_frames_without_an_example() -> None:
    assert isinstance(to_frame(typed()), pd.DataFrame)
    assert to_frame(typed(), "pyarrow").equals(typed())
    with pytest.raises(UsageError, match="library"):
        to_frame(typed(), "excel")
    with pytest.raises(UsageError, match="frames"):
        to_frame(typed(), 42)


@pytest.mark.slow
def test_a_million_rows_come_back(tmp_path: Path) -> None:
    schema = table()
    rows = every_code(schema, 1_000_000)
    for name in ("t.csv", "t.parquet"):
        write_rows(rows, tmp_path / name, schema, ORDER, rng())
        found = encode_table(open_source(tmp_path / name, schema.csv, "declared"), without_junk(schema))
        assert all((found.columns[n] == codes).all() for n, codes in rows.items())
