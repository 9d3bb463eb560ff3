"""Every engine counts an attribute with `fine` on its fine grid too, and alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from understudy.engines.opening import PrivateData, open_engine
from understudy.privacy.questions import FineDetails
from understudy.schema import Axis, Schema

SCHEMA = """
[table]
name = "t"
rows = 3000
[attributes.amount]
kind = "integer"
edges = [0, 10, 300, 1000]
points = [0, 7]
missing = true
fine = "wavelet"
[attributes.km]
kind = "number"
range = [0, 50]
bins = 4
other = "missing"
fine = "wavelet"
fine_cells = 8
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    generator = np.random.default_rng(3)
    amounts = generator.exponential(150, 3000).astype(int)
    table = pa.table({
        "amount": pa.array(amounts, mask=np.arange(3000) % 8 == 0),
        "km": generator.normal(20, 20, 3000),
    })  # fmt: skip
    parquet.write_table(table, tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("engine", ["mapped", "duckdb"])
def test_engines_agree_on_fine_grids(engine: str, data: Path) -> None:
    if engine == "duckdb":
        pytest.importorskip("duckdb", reason="the DuckDB engine needs the package duckdb")
    schema = Schema.from_toml(SCHEMA)
    workload = [(Axis("amount (fine)"),), (Axis("km (fine)"),), (Axis("amount"),), (Axis("km"),)]
    counted, details = [], []
    for name in ("memory", engine):
        opened = open_engine(PrivateData(str(data), name), schema)
        try:
            assert opened.columns == ("amount", "km")
            counted.append([np.asarray(table) for table in opened.engine.marginals(workload)])
            details.append(FineDetails("amount", 3).exact(opened.engine, schema))
        finally:
            opened.engine.close()
    assert all((a == b).all() for a, b in zip(*counted)) and (details[0] == details[1]).all()
    fine, coarse = counted[0][0], counted[0][2]
    grid = schema["amount"].finest_grid
    assert grid is not None and fine.sum() == coarse.sum() == 3000 and abs(details[0]).sum() > 0
    bins = np.bincount(grid.bin, weights=fine[grid.fine.bin_codes])
    assert (bins == coarse[schema["amount"].domain.bin_codes]).all()  # type: ignore[union-attr]
