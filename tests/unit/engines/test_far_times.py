"""Times beyond the years that Python counts: a misfit or a code, in every kind and engine, and never an accident."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import DataError, UsageError
from understudy.schema import Attribute, Axis, Booleans, Categories, Intervals, Schema

KINDS = {
    "category": Attribute("a", Categories(("x", "y")), other="x"),
    "category of dates": Attribute("a", Categories(("2024-01-01", "1970-01-01", "1970-01-01T00:00:00")), other="2024-01-01"),
    "date": Attribute("a", Intervals("date", (0.0, 10_000.0, 20_000.0)), other="missing"),
    "datetime": Attribute("a", Intervals("datetime", (0.0, 1e8, 1e9)), other="missing"),
    "number": Attribute("a", Intervals("number", (0.0, 1.0)), other="missing"),
    "boolean": Attribute("a", Booleans(), missing=("",)),
}  # fmt: skip
FAR = {
    **{f"{unit} {zone}": pa.array([ticks, 0, -(2**62)], pa.timestamp(unit, zone))
       for unit, ticks in (("s", 300_000_000_000), ("ms", 2**62), ("us", 2**62), ("ns", 2**62)) for zone in (None, "UTC")},
    "date32": pa.array([2**31 - 1, 0, -(2**31)], pa.date32()),
    "date64": pa.array([86_400_000 * 3_000_000, 0, None], pa.date64()),
    "time": pa.array([86_399, 0, None], pa.time32("s")),
    "duration": pa.array([2**62, 0, None], pa.duration("ns")),
}  # fmt: skip


@pytest.mark.parametrize("types", ["inferred", "declared"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("kind", KINDS)
def test_times_beyond_year_9999(kind: str, engine: str, types: str, tmp_path: Path) -> None:
    schema = Schema("t", (KINDS[kind],), rows=3)
    coded = 0
    for name, column in FAR.items():
        path = tmp_path / "t.parquet"
        try:
            parquet.write_table(pa.table({"a": column}), path)
        except pa.ArrowInvalid:  # Parquet's smallest units do not reach that far
            continue
        for data in (path, pa.table({"a": column})) if engine == "memory" else (path,):
            coded += counts(data, schema, engine, types, name)
    assert coded or kind not in ("date", "datetime")


def counts(data: Any, schema: Schema, engine: str, types: str, name: str) -> bool:
    """Whether the rows were counted; if not, the refusal is of a kind that a person can act on."""
    try:
        opened = open_engine(PrivateData(data, engine, types=types), schema)
    except (DataError, UsageError) as error:
        assert "11476" not in error.message and "9223372036" not in error.message, name
        return False
    try:
        assert next(iter(opened.engine.marginals([(Axis("a"),)]))).sum() == 3, name
    finally:
        opened.engine.close()
    return True


def test_far_times_of_a_pandas_frame() -> None:
    frame = pd.DataFrame({"a": pd.array([300_000_000_000, 0, -1], dtype="int64").astype("datetime64[s]")})
    for kind, attribute in KINDS.items():
        for types in ("inferred", "declared"):
            found = counts(frame, Schema("t", (attribute,), rows=3), "memory", types, kind)
            assert found or kind not in ("date", "datetime")
