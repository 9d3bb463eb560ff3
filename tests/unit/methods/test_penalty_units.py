"""kappa: a penalty in rows is worth the same whatever the score is, because every score has its unit."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import private_table, schema_of
from understudy.errors import UsageError
from understudy.methods import Fit, method_named
from understudy.privacy.budget import Budget
from understudy.privacy.scores import INDEPENDENCE, REFERENCE_DISTANCE, SCORES, Pair, Penalty
from understudy.schema import MAX_ROWS, Axis, Schema
from understudy.testing import SeededSource

SIZES = dict.fromkeys("abcdef", 2)
NEIGHBOURS = ("replace-one", "add-remove")


def public_schema(rows: int, neighbours: str) -> Schema:
    return schema_of(SIZES, rows if neighbours == "replace-one" else None, neighbours, rows_max=min(2 * rows, MAX_ROWS))


def chain(rows: int, change: float) -> dict[str, np.ndarray]:
    """Coins, each equal to the one before it but for so many of the rows, where it is the other side."""
    generator = np.random.default_rng(0)
    before, columns = generator.integers(0, 2, rows), {}
    for name in SIZES:
        columns[name] = before.astype(np.uint8)
        before = np.where(generator.random(rows) < change, 1 - before, before)
    return columns


def fit(columns: dict[str, np.ndarray], neighbours: str, ledger: Path, epsilon: int, **options: object) -> Fit:
    schema = public_schema(len(columns["a"]), neighbours)
    table = private_table(schema, columns, Budget(epsilon), ledger, SeededSource(1))
    return method_named("privbayes", {"encoding": "vanilla", **options}, schema).fit(table)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("score", ["R", "F", "I"])
def test_a_penalty_leaves_what_is_worth_it(score: str, neighbours: str, ledger_path: Path) -> None:
    """With F the network used to come out empty: every pair was off by 0.45."""
    columns = chain(20_000, 0.05)
    found = fit(columns, neighbours, ledger_path, 1, score=score, kappa=0.3)
    assert sum(len(pair["parents"]) for pair in found.facts["network"]) >= 5
    for names in itertools.combinations(SIZES, 2):
        table = np.zeros((2, 2))
        np.add.at(table, tuple(columns[name] for name in names), 1 / 20_000)
        assert abs(found.model.project(names).table - table).sum() / 2 < 0.02


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("score", ["R", "F", "I"])
def test_a_penalty_takes_away_what_is_not(score: str, neighbours: str, ledger_path: Path) -> None:
    """With I it used to do nothing: coins that have nothing to do with each other got parents all the same.

    Most of the budget is for the structure, so that choices are sharp and tables noisy: no parent is worth its noise.
    """
    found = fit(chain(300, 0.5), neighbours, ledger_path, 30, score=score, kappa=10, beta=0.95)
    assert [pair["parents"] for pair in found.facts["network"]] == [[]] * 6


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("rows", [1000, 2**30, 2**40])
def test_what_two_equal_coins_are_worth_in_rows(rows: int, neighbours: str) -> None:
    """Half of the rows by total variation distance (R and F, over coins that are independent), a bit a row by I."""
    schema = public_schema(rows, neighbours)
    equal = np.array([[rows // 2, 0], [0, rows // 2]], dtype=np.int64)
    apart = np.full((2, 2), rows // 4, dtype=np.int64)
    for score, worth in (("R", Fraction(1, 2)), ("F", Fraction(1, 2)), ("I", Fraction(1))):
        rule = SCORES[score]
        gained = rule.value(equal, rows, schema) - rule.value(apart, rows, schema)
        assert gained == worth * rows * rule.unit(schema)


def test_the_unit_of_d_is_that_of_a_total_variation_distance() -> None:
    """A table whose counts are off by so many rows, which are then missing elsewhere, has twice that distance in L1."""
    schema = public_schema(1000, "replace-one")
    assert REFERENCE_DISTANCE.unit(schema) == 2 == REFERENCE_DISTANCE.sensitivity(Pair(Axis("a")), schema)


def test_a_penalty_of_another_score_is_refused(ledger_path: Path) -> None:
    """A penalty knows its score: one in the wrong unit is refused before anything is charged."""
    schema = public_schema(100, "replace-one")
    table = private_table(schema, chain(100, 0.1), Budget(1), ledger_path, SeededSource(1))
    wrong, a, b = REFERENCE_DISTANCE.penalty(1, schema), Axis("a"), Axis("b")
    for ask in (
        lambda: table.choose([Pair(b, (a,))], INDEPENDENCE, Fraction(1, 2), "structure", [wrong]),
        lambda: table.choose_child((b,), (a,), Fraction(1, 2), "structure", wrong),
        lambda: table.choose_edge(
            (b,), (a,), INDEPENDENCE, Fraction(1, 2), "structure", cells=4, penalty_per_cell=wrong
        ),
    ):
        with pytest.raises(UsageError, match="score D cannot count against score R"):
            ask()
    right = INDEPENDENCE.penalty(0.5, schema)
    assert (right, right.for_cells(3), INDEPENDENCE.penalty(0.5, schema, cells=3)) == (100, 300, 300)
    assert isinstance(right.for_cells(3), Penalty)
    assert table.choose([Pair(b, (a,))], INDEPENDENCE, Fraction(1, 2), "structure", [right]) == Pair(b, (a,))
