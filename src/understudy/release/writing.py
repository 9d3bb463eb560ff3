"""Writing: coded rows become a typed table again, and the table a file in the schema's dialect, whole or not at all."""

from __future__ import annotations

import codecs
import gzip
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.models.model import Rows
from understudy.release.cells import csv_cells, written
from understudy.release.replacement import replacing
from understudy.schema import MAX_ROWS, Attribute, CsvDialect, Schema
from understudy.schema.patterns import FreshIds

Values = dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]  # by attribute: values, and where there is none
Settle = Callable[[Rows, np.random.Generator], tuple[Rows, Values]]  # codes for decoding, and values settled already

WRITTEN = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")  # what the name of an output file ends with
CHUNK_CELLS = 1 << 22  # what is decoded at a time, so that the rows in memory are the coded ones


# -- codes to values -----------------------------------------------------------------------------------------


def decode_rows(
    rows: Rows,
    schema: Schema,
    order: Sequence[str] | None,
    generator: np.random.Generator,
    first: int = 1,
    fresh: Mapping[str, FreshIds] | None = None,
    values: Values | None = None,
) -> Any:
    """Return a pyarrow.Table of the coded rows: typed columns in `order` (or the schema's), missing as null.

    Ids are fresh numbers from `first`, or texts by their pattern, of which rows before `first` had others if they came
    from the same `fresh` ids. Dropped columns are left out. `values` are those of columns that are decoded already.
    """
    import pyarrow as pa

    count = len(next(iter(rows.values())))
    attributes = [schema[name] for name in order] if order is not None else schema.attributes
    fresh = fresh_ids(schema, generator) if fresh is None else fresh
    settled = values or {}

    def column(attribute: Attribute) -> Any:
        if attribute.name in settled and attribute.intervals is not None:
            return attribute.intervals.scale.to_arrow(*settled[attribute.name])
        if schema.person is not None and attribute.name in schema.person.constant:
            return _constant(attribute, rows[attribute.name], rows[schema.person.id], generator)
        if schema.person is not None and attribute.name in (schema.person.order, *schema.person.rising):
            found = attribute.to_arrow(rows[attribute.name], generator)
            return _in_order(found, rows[attribute.name], rows[schema.person.id])
        if attribute.modelled:
            return attribute.to_arrow(rows[attribute.name], generator)
        if attribute.name in rows:  # whose row it is: the same id for every row of a person
            return _ids_of(rows[attribute.name], fresh.get(attribute.name), generator)
        if attribute.name in fresh:
            return pa.array(fresh[attribute.name].texts(first - 1, count, generator), pa.string())
        return pa.array(np.arange(first, first + count))

    return pa.table({a.name: column(a) for a in attributes if a.published})


def _constant(
    attribute: Attribute, codes: NDArray[Any], persons: NDArray[np.int64], generator: np.random.Generator
) -> Any:
    """Return one value for each person, in all of the person's rows."""
    import pyarrow as pa

    _, first, own = np.unique(persons, return_index=True, return_inverse=True)
    return attribute.to_arrow(codes[first], generator).take(pa.array(own))


def _in_order(column: Any, codes: NDArray[Any], persons: NDArray[np.int64]) -> Any:
    """Return the values with those of one person in one bin ascending, so that they do not fall where codes do not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ranks, taken = np.empty(len(codes), dtype=np.int64), np.empty(len(codes), dtype=np.int64)
    ranks[pc.sort_indices(column).to_numpy()] = np.arange(len(codes))
    taken[np.lexsort((codes, persons))] = np.lexsort((ranks, codes, persons))
    return column.take(pa.array(taken))


def _ids_of(persons: NDArray[np.int64], fresh: FreshIds | None, generator: np.random.Generator) -> Any:
    """Return a fresh id for each person, whose numbers begin at 0 and ascend."""
    import pyarrow as pa

    if fresh is None:
        return pa.array(persons + 1)
    low, high = (int(persons[0]), int(persons[-1])) if len(persons) else (0, -1)
    return pa.array(fresh.texts(low, high + 1 - low, generator), pa.string()).take(pa.array(persons - low))


def fresh_ids(schema: Schema, generator: np.random.Generator) -> dict[str, FreshIds]:
    """Return the ids of one sample for every attribute with a pattern."""
    return {name: pattern.keyed(generator) for name, pattern in schema.id_patterns.items()}


def decode_chunks(
    batches: Iterable[Rows],
    schema: Schema,
    order: Sequence[str] | None,
    generator: np.random.Generator,
    settle: Settle | None = None,
) -> Iterator[Any]:
    """Yield tables of decoded rows a chunk at a time; at least one for each batch, even without rows."""
    step = max(1, CHUNK_CELLS // len(schema.attributes)) if schema.person is None else MAX_ROWS  # whole people
    fresh = fresh_ids(schema, generator)
    first = 1
    for rows in batches:
        count = len(next(iter(rows.values())))
        for start in range(0, max(count, 1), step):
            chunk = {name: codes[start : start + step] for name, codes in rows.items()}
            chunk, values = settle(chunk, generator) if settle is not None else (chunk, None)
            yield decode_rows(chunk, schema, order, generator, first + start, fresh, values)
        first += count


# -- files ---------------------------------------------------------------------------------------------------


def check_output(path: str | Path) -> Literal["csv", "parquet"]:
    """Return what kind of file this name asks for; refuse, before any work, what could not be written."""
    path = Path(path)
    name = path.name.lower()
    if not name.endswith(WRITTEN):
        raise UsageError(f"{path.name!r}: output is written to .csv, .tsv (or these with .gz) or .parquet")
    if path.is_dir():
        raise UsageError(f"{path.name!r} is a folder: name the file to write")
    if not path.absolute().parent.is_dir():
        raise UsageError(f"the folder of {str(path)!r} does not exist: create it first")
    if not os.access(path.absolute().parent, os.W_OK):
        raise UsageError(f"the folder of {str(path)!r} may not be written to: choose another")
    return "parquet" if name.endswith(".parquet") else "csv"


def write_table(tables: Any, path: str | Path, schema: Schema) -> None:
    """Write a table, or tables that follow each other, in the format the file's name asks for."""
    write = _write_parquet if check_output(path) == "parquet" else _write_csv
    with _one_ahead(iter([tables] if hasattr(tables, "column_names") else tables)) as ready:
        write(ready, Path(path), schema)


def _write_parquet(tables: Iterator[Any], path: Path, schema: Schema) -> None:
    from pyarrow import parquet

    head = next(tables)
    with replacing(path) as file, parquet.ParquetWriter(file, head.schema) as writer:
        for table in chain([head], tables):
            writer.write_table(table)


def _write_csv(tables: Iterator[Any], path: Path, schema: Schema) -> None:
    dialect = _dialect(path, schema.csv)
    with replacing(path) as file, _compressed(file, path) as sink:
        encode = _encoder(dialect.encoding)
        for number, table in enumerate(tables):
            if dialect.header and not number:
                names = (written(name, dialect) for name in table.column_names)
                sink.write(encode((dialect.delimiter.join(names) + "\n").encode()))
            for batch in table.to_batches(max_chunksize=max(1, CHUNK_CELLS // table.num_columns)):
                sink.write(encode(_records(batch, schema, dialect)))
        sink.write(encode(b"", final=True))


def _records(batch: Any, schema: Schema, dialect: CsvDialect) -> Any:
    """Return the records of a batch as UTF-8: Arrow joins the columns' texts, and its buffer is the file's text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    alone = batch.num_columns == 1
    cells = [csv_cells(batch.column(name), schema[name], dialect, alone=alone) for name in batch.schema.names]
    end = pa.scalar("\n", pa.large_string())
    cells[-1] = pc.binary_join_element_wise(cells[-1], pa.scalar("", pa.large_string()), end)
    lines = cells[0] if alone else pc.binary_join_element_wise(*cells, pa.scalar(dialect.delimiter, pa.large_string()))
    if not len(lines):
        return b""
    _, ends, text = lines.buffers()
    return memoryview(text)[: np.frombuffer(ends, np.int64)[len(lines)]]


def _encoder(encoding: str) -> Callable[..., Any]:
    """Return a function from pieces of UTF-8 to pieces of the file; the last call says so with `final`."""
    if codecs.lookup(encoding).name == "utf-8":
        return lambda text, final=False: text
    encoder = codecs.getincrementalencoder(encoding)()

    def encode(text: Any, final: bool = False) -> bytes:
        try:
            return encoder.encode(str(text, "utf-8"), final)
        except UnicodeError:
            raise UsageError(
                f"a declared value or name has a character that the encoding {encoding!r} lacks: "
                'declare encoding = "utf-8" in [table.csv], or write .parquet'
            ) from None

    return encode


@contextmanager
def _one_ahead(tables: Iterator[Any]) -> Iterator[Iterator[Any]]:
    """Yield the same tables, the next one made on another core while this one is written."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, tables, None)

        def ready() -> Iterator[Any]:
            nonlocal waiting
            while (table := waiting.result()) is not None:
                waiting = pool.submit(next, tables, None)
                yield table

        yield ready()


def _dialect(path: Path, dialect: CsvDialect) -> CsvDialect:
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz")) and dialect.delimiter == ","
    return replace(dialect, delimiter="\t") if tabs else dialect


@contextmanager
def _compressed(file: BinaryIO, path: Path) -> Iterator[Any]:
    if path.suffix.lower() != ".gz":
        yield file
        return
    # neither the time nor the temporary name goes into the file
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, compresslevel=4, mtime=0) as packed:
        yield packed
