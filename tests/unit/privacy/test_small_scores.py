"""Score R of small tables, which numpy works out, is that of the compiled loops, to the last unit."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import columns_of, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.privacy.scores import INDEPENDENCE, independence, kernels
from understudy.schema import Axis

SIZES = {"a": 2, "b": 5, "c": 8, "d": 300, "e": 1, "f": 3}
ROWS = 500


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_scores_of_few_pairs_are_those_of_the_compiled_loops(neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours)
    axes = tuple(Axis(a.name) for a in schema.modelled)
    engine = MemoryEngine(columns_of(SIZES, ROWS), ROWS, schema)
    ours = INDEPENDENCE.all_pairs(engine, axes, schema)
    monkeypatch.setattr(independence, "FEW_PAIRS", 0)
    assert np.array_equal(ours, INDEPENDENCE.all_pairs(engine, axes, schema))
    monkeypatch.setattr(kernels, "SMALL_TABLE", 0)
    assert np.array_equal(ours, INDEPENDENCE.all_pairs(engine, axes, schema))
    assert ours.any()


@pytest.mark.parametrize("scale", [1, 10**5, 2**31, 2**32])
def test_r_is_exact_up_to_2_to_the_40_rows(scale: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(scale).integers(0, 20, (5, 4)).astype(np.int64) * scale
    n, rows, columns = int(table.sum()), table.sum(1).tolist(), table.sum(0).tolist()
    exact = sum(abs(n * int(count) - rows[i] * columns[j]) for (i, j), count in np.ndenumerate(table))
    for small in (10**9, 0):  # by numpy, by the compiled loop
        monkeypatch.setattr(kernels, "SMALL_TABLE", small)
        high, low = kernels.r_deviation(table, n)
        assert int(high) * 2**20 + int(low) == exact and 0 <= low < 2**20
