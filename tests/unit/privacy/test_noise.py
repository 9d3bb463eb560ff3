"""The exact law of `choose` on small cases, scales that never cost more than was paid, and sensitivities of tables."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.errors import UsageError
from understudy.privacy.accounting import PURE, ZCDP
from understudy.privacy.noise import as_integers
from understudy.privacy.random_source import SystemSource, gaussian_measurement, laplace_measurement
from understudy.privacy.scores import SCORES, Pair
from understudy.privacy.sensitivity import Sensitivity, table_sensitivity
from understudy.schema import Attribute, Axis, Categories, Schema


def permute_and_flip_law(scores: list[int], scale: float) -> list[float]:
    """By definition: options in random order, each accepted with probability e^((score − best)/scale)."""
    best = max(scores)
    accept = [math.exp((s - best) / scale) for s in scores]
    law = [0.0] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for i in order:
            law[i] += left * accept[i] / len(orders)
            left *= 1 - accept[i]
    return law


def exponential_law(scores: list[int], scale: float) -> list[float]:
    weights = [math.exp((s - max(scores)) / scale) for s in scores]
    return [w / sum(weights) for w in weights]


def small_schema(rows: int | None, neighbours: str) -> Schema:
    attributes = tuple(Attribute(n, Categories(("0", "1"))) for n in "abc")
    return Schema("t", attributes, rows=rows, neighbours=neighbours)


def score_of(rows: tuple[tuple[int, ...], ...], pair: Pair, score: str, schema: Schema) -> int:
    columns = {"a": 0, "b": 1, "c": 2}
    table = np.zeros((2, 2), dtype=np.int64)
    for row in rows:
        table[row[columns[pair.parents[0].attribute]], row[columns[pair.child.attribute]]] += 1
    return SCORES[score].value(table, len(rows), schema)


OPTIONS = [Pair(Axis(x), (Axis(p),)) for x, p in (("a", "b"), ("a", "c"), ("b", "c"))]
ROWS = list(itertools.product((0, 1), repeat=3))


def worst_loss(score: str, neighbours: str, epsilon: Fraction, n: int, shrink: int = 1) -> float:
    """The largest log ratio of the exact output laws over all neighbouring tables of n rows of three bits."""
    schema = small_schema(n if neighbours == "replace-one" else None, neighbours)
    sensitivity = max(SCORES[score].sensitivity(pair, schema) for pair in OPTIONS)
    scale = PURE.selection_scale(sensitivity, epsilon) / shrink

    def law(rows: tuple[tuple[int, ...], ...]) -> list[float]:
        return permute_and_flip_law([score_of(rows, pair, score, schema) for pair in OPTIONS], scale)

    worst = 0.0
    for rows in itertools.combinations_with_replacement(ROWS, n):
        own = law(rows)
        if neighbours == "replace-one":
            near = [rows[:i] + (new,) + rows[i + 1 :] for i in range(n) for new in ROWS if new != rows[i]]
        else:
            near = [(*rows, new) for new in ROWS]
        for other in near:
            worst = max(worst, max(abs(math.log(a / b)) for a, b in zip(own, law(other))))
    return worst


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("score", ["R", "F"])
def test_exact_output_law_of_a_choice_is_within_epsilon(score: str, neighbours: str) -> None:
    for n in (1, 2, 3):
        assert worst_loss(score, neighbours, Fraction(1), n) <= 1 + 1e-12


def test_the_law_test_catches_half_the_noise() -> None:
    assert worst_loss("F", "replace-one", Fraction(1), 3, shrink=2) > 1


@pytest.mark.slow
def test_the_sampler_has_the_law() -> None:
    """opendp's selection against both laws: chi-squared, three degrees of freedom, and each must fail the other's."""
    scores, scale, draws = [0, 3, 5, 9], 4.0, 20_000
    source = SystemSource()
    for accounting, law, other in (
        (PURE, permute_and_flip_law, exponential_law),
        (ZCDP, exponential_law, permute_and_flip_law),
    ):
        seen = np.bincount([accounting.select(scores, scale, source) for _ in range(draws)], minlength=4)

        def distance(expected: list[float], seen: np.ndarray = seen) -> float:
            return float(sum((s - draws * e) ** 2 / (draws * e) for s, e in zip(seen, expected)))

        assert distance(law(scores, scale)) < 45  # one in 10⁹ by chance
        assert distance(other(scores, scale)) > 45  # where a thousand is expected


@pytest.mark.parametrize(
    "cost", [Fraction(1, 10), Fraction(112, 100), Fraction(1, 3), Fraction(10**6, 7), Fraction(1, 10**9)]
)
@pytest.mark.parametrize("sensitivity", [1, 2, 28, 4 * 45221, 6 * 45222 + 4])
def test_scales_never_cost_more_than_was_paid(cost: Fraction, sensitivity: int) -> None:
    laplace = PURE.noise.for_cost(Sensitivity(sensitivity, sensitivity**2), cost).scale
    assert Fraction(laplace_measurement(laplace).map(sensitivity)) <= cost
    assert laplace == pytest.approx(sensitivity / float(cost), rel=1e-9)
    gauss = ZCDP.noise.for_cost(Sensitivity(sensitivity, 2 * sensitivity**2), cost).scale
    assert Fraction(gaussian_measurement(gauss).map(math.sqrt(2) * sensitivity)) <= cost * (1 + Fraction(1, 10**12))
    for accounting in (PURE, ZCDP):
        scale = accounting.selection_scale(sensitivity, cost)
        assert Fraction(accounting.selection_measurement(scale).map(sensitivity)) <= cost


def test_opendp_rounds_a_plain_quotient_over_the_cost() -> None:
    """Why scales are raised: the quotient itself maps to more than was paid (PRIVACY m.4)."""
    assert Fraction(laplace_measurement(28 / 1.12).map(28)) > Fraction(112, 100)


def test_a_table_moves_as_far_as_claimed_and_no_further() -> None:
    """L1 and squared L2 of one table, by trying every neighbour, for one and for several rows a person."""
    for neighbours in ("replace-one", "add-remove"):
        for k in (1, 2, 3):
            schema = Schema(
                "t", (Attribute("a", Categories(("0", "1", "2"))),), rows=5 if neighbours == "replace-one" else None,
                neighbours=neighbours, rows_per_person=k,
            )  # fmt: skip
            l1 = l2 = 0
            for start in itertools.product(range(3), repeat=5):
                before = np.bincount(start, minlength=3)
                changes = itertools.product(range(3), repeat=k)
                for new in changes:
                    if neighbours == "replace-one":
                        after = np.bincount((*new, *start[k:]), minlength=3)
                    else:
                        after = before + np.bincount(new, minlength=3)
                    l1 = max(l1, int(np.abs(after - before).sum()))
                    l2 = max(l2, int(((after - before) ** 2).sum()))
            assert (l1, l2) == table_sensitivity(schema)


def test_the_private_path_takes_integers_only() -> None:
    with pytest.raises(TypeError):
        as_integers(np.array([1.0, 2.0]))
    with pytest.raises(UsageError, match="too large"):
        PURE.select([0, 2**62], 1.0, SystemSource())
    with pytest.raises(UsageError):
        PURE.noise.for_cost(Sensitivity(2, 2), Fraction(0))
