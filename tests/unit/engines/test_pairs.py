"""All pairwise tables at once, against plain counting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from conftest import schema_of
from understudy.engines.memory import MemoryEngine
from understudy.schema import Axis

SIZES = {"a": 2, "b": 3, "c": 1, "d": 2, "e": 8, "f": 300}


def columns(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(seed)
    return {
        name: generator.integers(0, size, rows).astype(np.uint8 if size <= 256 else np.uint16)
        for name, size in SIZES.items()
    }


def plain(left: np.ndarray, right: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    out = np.zeros(shape, dtype=np.int64)
    np.add.at(out, (left, right), 1)
    return out


@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 5000, 40_000])
def test_every_pair_is_exact(rows: int) -> None:
    """Blocks of rows and of words included."""
    data = columns(rows)
    engine = MemoryEngine(data, rows, schema_of(SIZES, max(1, rows)))
    found = engine.pairs(tuple(Axis(name) for name in SIZES))
    for (i, a), (j, b) in itertools.permutations(enumerate(SIZES), 2):
        assert (found.table(i, j) == plain(data[a], data[b], (SIZES[a], SIZES[b]))).all()


def test_generalised_axes_and_bits() -> None:
    data = columns(500)
    schema = schema_of(SIZES, 500)
    axes = (Axis("e", bit=0), Axis("e", bit=2), Axis("b"))
    found = MemoryEngine(data, 500, schema).pairs(axes)
    left, right = schema.view_map(axes[1])[data["e"]], data["b"]
    assert (found.table(1, 2) == plain(left, right, (2, 3))).all()
