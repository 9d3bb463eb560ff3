"""Wider tables that hold the asked ones: none is lost, none is too large, and there are fewer."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import columns_of, schema_of
from understudy.engines import cached
from understudy.engines.covering import cover
from understudy.engines.memory import MemoryEngine
from understudy.schema import Axis

SIZES = {"a": 2, "b": 3, "c": 1, "d": 2, "e": 8, "f": 5, "g": 4, "h": 30}
SCHEMA = schema_of(SIZES, 1000)
KEYS = st.lists(st.sets(st.sampled_from([Axis(n) for n in SIZES]), min_size=1, max_size=4), min_size=1, max_size=20)


@pytest.mark.costly
@settings(max_examples=200, deadline=None)
@given(keys=KEYS, most=st.sampled_from([1, 10, 100, 1000, 10_000]))
def test_every_key_is_inside_a_table(keys: list[set[Axis]], most: int) -> None:
    asked = [tuple(sorted(key)) for key in keys]
    found = cover(asked, SCHEMA, most)
    assert len(found) <= len(set(asked))
    for key in asked:
        assert any(set(key) <= set(table) for table in found)
    for table in found:
        assert SCHEMA.cells(table) <= most or table in asked
        assert list(table) == sorted(table)


def test_all_triples_of_twenty_columns_take_a_few_tables() -> None:
    names = [Axis(f"c{i:02}") for i in range(20)]
    schema = schema_of({axis.attribute: 4 for axis in names}, 1000)
    triples = list(itertools.combinations(names, 3))
    assert len(cover(triples, schema, 4**3)) == len(triples) == 1140
    assert len(cover(triples, schema, 4**6)) < 200  # 57 would be the least, were there a perfect design


def test_counts_by_way_of_wider_tables_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = columns_of(SIZES, 1000)
    workload = [tuple(map(Axis, names)) for width in (3, 2, 1) for names in itertools.permutations("abdefgh", width)][
        ::7
    ]
    direct = MemoryEngine(columns, 1000, SCHEMA)
    expected = list(direct.marginals(workload))
    monkeypatch.setattr(cached, "COVER_ROWS", 0)
    monkeypatch.setattr(cached, "COVER_CELLS", 900)
    covered = MemoryEngine(columns, 1000, SCHEMA)
    assert all((a == b).all() for a, b in zip(expected, covered.marginals(workload), strict=True))
    assert covered.tables_counted < direct.tables_counted / 2
