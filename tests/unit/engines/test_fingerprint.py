"""The keyed fingerprint of a table: the same in every engine and order, another for every other table or key."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from conftest import schema_of
from servers import PASSWORD
from understudy.engines import fingerprint as module
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import PrivateData, open_engine

KEY, OTHER = b"k" * 32, b"o" * 32
SIZES = {"a": 2, "b": 3, "c": 300}


def engine(columns: dict[str, list[int]]) -> MemoryEngine:
    rows = len(columns["a"])
    schema = schema_of(SIZES, rows=rows)
    return MemoryEngine({n: np.array(v) for n, v in columns.items()}, rows, schema)


def drawn(rows: int = 400) -> dict[str, list[int]]:
    g = np.random.default_rng(3)
    return {name: g.integers(size, size=rows).tolist() for name, size in SIZES.items()}


def test_order_does_not_matter_and_every_cell_does(monkeypatch):
    monkeypatch.setattr(module, "_PASS", 64)
    columns = drawn()
    own = engine(columns).fingerprint(KEY)
    order = np.random.default_rng(4).permutation(400)
    assert engine({n: [v[i] for i in order] for n, v in columns.items()}).fingerprint(KEY) == own
    assert engine(columns).fingerprint(OTHER) != own
    for name, size in SIZES.items():
        for row in (0, 63, 64, 399):
            changed = {n: list(v) for n, v in columns.items()}
            changed[name][row] = (changed[name][row] + 1) % size
            assert engine(changed).fingerprint(KEY) != own
    assert engine({n: v[:-1] for n, v in columns.items()}).fingerprint(KEY) != own


def test_tables_with_the_same_columns_one_by_one_differ():
    """Equal one-way and pairwise counts: only whole rows tell them apart."""
    cells = list(product((0, 1), repeat=3))
    even = [c for c in cells if sum(c) % 2 == 0]
    odd = [c for c in cells if sum(c) % 2 == 1]
    tables = [{n: [c[i] for c in rows] for i, n in enumerate(SIZES)} for rows in (even, odd)]
    assert all(Counter(tables[0][n]) == Counter(tables[1][n]) for n in SIZES)
    assert engine(tables[0]).fingerprint(KEY) != engine(tables[1]).fingerprint(KEY)


def test_engines_agree(tmp_path):
    columns = drawn()
    schema = schema_of(SIZES, rows=400)
    texts = pa.table({n: [str(v) for v in values] for n, values in columns.items()})
    parquet.write_table(texts, tmp_path / "t.parquet")
    own = engine(columns).fingerprint(KEY)
    for name in ("memory", "mapped", "duckdb"):
        for key in (KEY, None):  # found in the pass that looks for misfits, or in one of its own
            opened = open_engine(PrivateData(tmp_path / "t.parquet", name), schema, key=key)
            try:
                assert opened.engine.fingerprint(KEY) == own, name
            finally:
                opened.engine.close()


def test_postgresql_agrees(postgresql, monkeypatch):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    columns = drawn(200)
    texts = pa.table({n: [str(v) for v in values] for n, values in columns.items()})
    opened = open_engine(PrivateData(postgresql.load("fingerprinted", texts)), schema_of(SIZES, rows=200), key=KEY)
    try:
        assert opened.engine.fingerprint(KEY) == engine(columns).fingerprint(KEY)
    finally:
        opened.engine.close()
