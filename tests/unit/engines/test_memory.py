"""The in-memory engine against plain counting, and the promise that nothing is counted twice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import columns_of, schema_of
from understudy.engines import cached, counting
from understudy.engines.memory import MemoryEngine
from understudy.errors import TooLarge
from understudy.schema import Attribute, Axis, Categories, Schema, Taxonomy

VALUES = tuple("abcdefg")
TREE = {"left": {"low": ["a", "b"], "c": "c"}, "right": ["e", "f"]}


def mixed_schema(rows: int) -> Schema:
    domain = Categories(VALUES)
    return Schema(
        "t",
        (
            Attribute("x", domain, Taxonomy.of_groups(TREE, domain)),
            Attribute("y", Categories(("0", "1"))),
            Attribute("z", Categories(tuple(str(i) for i in range(300)))),
            Attribute("w", Categories(("0", "1"))),
        ),
        rows=rows,
    )


def mixed_columns(rows: int, seed: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {
        "x": generator.integers(0, 7, rows).astype(np.uint8),
        "y": generator.integers(0, 2, rows).astype(np.uint8),
        "z": generator.integers(0, 300, rows).astype(np.uint16),
        "w": generator.integers(0, 2, rows).astype(np.uint8),
    }


def plain(columns: dict[str, np.ndarray], schema: Schema, axes: tuple[Axis, ...]) -> np.ndarray:
    if not axes:
        return np.array(len(columns["x"]))
    table = np.zeros(schema.sizes(axes), dtype=np.int64)
    np.add.at(table, tuple(schema.view_map(axis)[columns[axis.attribute]] for axis in axes), 1)
    return table


AXES = [
    Axis("x"), Axis("x", level=1), Axis("x", level=2), Axis("y"), Axis("z"), Axis("w"),
    Axis("x", bit=0), Axis("x", bit=2, gray=True), Axis("z", bit=8),
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    workload=st.lists(st.lists(st.sampled_from(AXES), unique=True, max_size=4), min_size=1, max_size=6),
    rows=st.sampled_from([1, 63, 64, 65, 500]),
    seed=st.integers(0, 10),
    few=st.booleans(),
)
def test_counts_are_exact(workload: list[list[Axis]], rows: int, seed: int, few: bool) -> None:
    """By numpy, as for small tables, and by the compiled loops, as for all others."""
    schema, columns = mixed_schema(rows), mixed_columns(rows, seed)
    engine = MemoryEngine(columns, rows, schema)
    wanted = [tuple(axes) for axes in workload]
    with pytest.MonkeyPatch.context() as patch:
        if not few:
            patch.setattr(counting, "FEW_COUNTS", -1)
            patch.setattr(cached, "FEW_ONES", 0)
        for _ in range(2):  # fresh, then from the cache
            for axes, counts in zip(wanted, engine.marginals(wanted), strict=True):
                assert (counts == plain(columns, schema, axes)).all()
                assert counts.sum() == rows and counts.dtype == np.int64


@pytest.mark.costly
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_chunks_and_tables(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many chunks and few, a short last one, tables that fit into no group: the same counts."""
    rows = 9_000
    schema, columns = mixed_schema(rows), mixed_columns(rows, 3)
    monkeypatch.setattr(counting, "threads", lambda: threads)
    monkeypatch.setattr(counting, "_FEW", 0)
    monkeypatch.setattr(counting, "FEW_COUNTS", -1)
    monkeypatch.setattr(cached, "FEW_ONES", 0)
    workload = [axes for width in (1, 2, 3) for axes in itertools.combinations(AXES, width)]
    for chunk, group in ((128, 1 << 22), (4096, 1 << 22), (1 << 17, 1 << 22), (1024, 50)):
        monkeypatch.setattr(counting, "CHUNK", chunk)
        monkeypatch.setattr(counting, "GROUP_CELLS", group)
        engine = MemoryEngine(columns, rows, schema)
        for axes, counts in zip(workload, engine.marginals(workload), strict=True):
            assert (counts == plain(columns, schema, axes)).all()
        found = engine.pairs((Axis("x"), Axis("y"), Axis("w")))
        assert (found.table(0, 2) == plain(columns, schema, (Axis("x"), Axis("w")))).all()


def test_nothing_is_counted_twice() -> None:
    schema, columns = schema_of({"a": 3, "b": 4, "c": 5}, 500), columns_of({"a": 3, "b": 4, "c": 5}, 500)
    engine = MemoryEngine(columns, 500, schema)
    a, b, c = Axis("a"), Axis("b"), Axis("c")
    list(engine.marginals([(a, b, c), (c, b, a), (a, b), (b,), ()]))
    assert engine.tables_counted == 1  # the widest; the others are its projections
    list(engine.marginals([(b, c), (a,), (c, a)]))
    assert engine.tables_counted == 1


def test_generalised_tables_are_sums() -> None:
    schema, columns = mixed_schema(500), mixed_columns(500, 1)
    engine = MemoryEngine(columns, 500, schema)
    workload = [(Axis("x", level=level), Axis("y")) for level in range(3)]
    list(engine.marginals(workload))
    assert engine.tables_counted == 1


def test_the_cache_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.engines.cached.CACHE_CELLS", 50)
    sizes = dict.fromkeys("abcdefgh", 4)
    schema, columns = schema_of(sizes, 300), columns_of(sizes, 300)
    engine = MemoryEngine(columns, 300, schema)
    for pair in itertools.combinations("abcdefgh", 2):
        axes = tuple(Axis(name) for name in pair)
        (counts,) = engine.marginals([axes])
        assert (counts == plain(columns, schema, axes)).all()
    assert engine._cached_cells <= 50


def test_a_table_too_large_is_refused_before_allocation() -> None:
    sizes = {"a": 60_000, "b": 60_000}
    engine = MemoryEngine(columns_of(sizes, 10), 10, schema_of(sizes, 10))
    with pytest.raises(TooLarge):
        list(engine.marginals([(Axis("a"), Axis("b"))]))
