"""Tables of a clique by stretches of its cells, against sums over numpy's axes."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.calibration import Projections
from understudy.schema import Axis

SIZES = {Axis(name): size for name, size in zip("abcdef", (2, 3, 1, 4, 2, 5))}


def drawn(seed: int) -> tuple[list[tuple[int, tuple[Axis, ...], int, tuple[Axis, ...]]], int, int]:
    """Some cliques with some tables each, one after the other; how many cells and table cells there are."""
    generator = np.random.default_rng(seed)
    tables, cell, own = [], 0, 0
    for _ in range(3):
        names = list(SIZES)
        clique = tuple(names[i] for i in generator.permutation(len(names))[: generator.integers(0, 5)])
        for _ in range(generator.integers(0, 4)):
            kept = tuple(axis for axis in clique if generator.random() < 0.5)
            tables.append((cell, clique, own, kept))
            own += cells(kept)
        cell += cells(clique)
    return tables, cell, own


def cells(axes: tuple[Axis, ...]) -> int:
    return int(np.prod([SIZES[a] for a in axes], dtype=int))


@pytest.mark.parametrize("seed", range(40))
def test_spread_and_gather_are_the_sums_over_the_axes_left_out(seed: int) -> None:
    tables, most, own = drawn(seed)
    generator = np.random.default_rng(seed)
    clique_cells, values = generator.normal(size=most), generator.normal(size=own)
    spread, gathered = clique_cells.copy(), values.copy()
    for cell, clique, first, kept in tables:
        shape = [SIZES[a] for a in clique]
        gone = tuple(i for i, a in enumerate(clique) if a not in kept)
        table = values[first : first + cells(kept)].reshape([SIZES[a] if a in kept else 1 for a in clique])
        spread[cell : cell + cells(clique)] += np.broadcast_to(table, shape).ravel()
        gathered[first : first + cells(kept)] += (
            clique_cells[cell : cell + cells(clique)].reshape(shape).sum(gone).ravel()
        )

    projections = Projections.of(tables, SIZES)
    added, summed = clique_cells.copy(), values.copy()
    projections.spread(values, added)
    projections.gather(clique_cells, summed)
    assert added == pytest.approx(spread)
    assert summed == pytest.approx(gathered)


def test_a_stretch_is_as_long_as_the_table_runs_or_stands() -> None:
    a, b, _, d, _, f = SIZES
    one = Projections.of([(0, (a, b, d, f), 0, (a, b, d, f)), (0, (a, b, d, f), 120, (a,))], SIZES)
    assert one.rows[:, 2:4].tolist() == [[120, 1], [60, 0]]
    assert one.index.tolist() == [0, 0, 1]
