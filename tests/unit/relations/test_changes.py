"""Every change is a function of two codes, and applying it leads to where it came from."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.relations.changes import Change, Coarse, Flip, Moves, StepChanges
from understudy.relations.tilts import Move

CHANGES: list[tuple[Change, int]] = [
    (Flip(), 2),
    (Moves(5), 5),
    (StepChanges(7), 7),
    (StepChanges(3), 3),
    (StepChanges(40), 40),
    (StepChanges(7, missing=True), 8),
    (StepChanges(20, missing=True), 21),
]


@pytest.mark.parametrize(("change", "size"), CHANGES, ids=str)
def test_a_change_is_possible_where_it_happened_and_can_lead_back_there(change: Change, size: int) -> None:
    before, now = np.divmod(np.arange(size * size), size)
    code = change.code(before, now)
    assert code.min() >= 0 and code.max() < change.size
    assert change.possible(before)[np.arange(len(code)), code].all()
    generator, hit = np.random.default_rng(0), np.zeros(len(code), dtype=bool)
    for _ in range(400):
        found = change.apply(before, code, generator)
        assert (change.code(before, found) == code).all()
        hit |= found == now
    assert hit.all()


@pytest.mark.parametrize(("change", "size"), CHANGES, ids=str)
def test_only_changes_that_some_value_makes_are_possible(change: Change, size: int) -> None:
    made = np.zeros((size, change.size), dtype=bool)
    before, now = np.divmod(np.arange(size * size), size)
    made[before, change.code(before, now)] = True
    assert (change.possible(np.arange(size)) == made).all()
    assert ((Move(change, size).reach(np.arange(size)) > 0) == made).all()


def test_a_gap_never_goes_back() -> None:
    gap = StepChanges(31, upward=True)
    before, now = np.triu_indices(31)
    code = gap.code(before, now)
    drawn = gap.apply(before, code, np.random.default_rng(0))
    assert (drawn >= before).all() and (drawn <= 30).all() and (gap.code(before, drawn) == code).all()


@pytest.mark.parametrize("units", [2, 32, 33, 100, 5001])
def test_coarse_units_are_drawn_from_their_own_part(units: int) -> None:
    coarse = Coarse(units)
    code = coarse.code(np.arange(units))
    assert code[0] == 0 and code.max() == coarse.size - 1 and (np.diff(code) >= 0).all()
    drawn = coarse.draw(code, np.random.default_rng(0))
    assert (coarse.code(drawn) == code).all()


def test_weights_lead_histories_to_the_values_that_were_measured() -> None:
    move = Move(Moves(3), 3)
    shares = np.tile([0.7, 0.1, 0.1, 0.1], (3, 1))
    first = np.asarray([[0.1, 0.1, 0.1], [0.1, 0.1, 0.1], [0.2, 0.1, 0.1]])
    wanted = np.asarray([0.6, 0.3, 0.1])
    fitted = move.fitted(shares, first, wanted)
    kernel = fitted.kernel(shares) * fitted.weights
    kernel /= kernel.sum(axis=1, keepdims=True)
    once, twice = first[1:] @ kernel, first[2:] @ kernel @ kernel
    reached = once.sum(axis=0) + twice.sum(axis=0)
    assert np.allclose(reached / reached.sum(), wanted, atol=1e-3)
    assert not np.allclose(fitted.weights, fitted.weights[0])
