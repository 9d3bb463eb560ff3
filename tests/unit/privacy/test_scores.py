"""Every score against brute force: all small tables, all neighbours, and a wrong claim that must be caught."""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

from understudy.privacy.scores import (
    INDEPENDENCE,
    MAXIMUM_JOINT,
    MUTUAL_INFORMATION,
    SCORES,
    Pair,
    mutual_information,
    score_named,
)
from understudy.privacy.scores.independence import R_UNIT
from understudy.privacy.scores.kernels import f_distance, r_deviation
from understudy.schema import Attribute, Axis, Categories, Schema

PAIR = Pair(Axis("x"), (Axis("p"),))


def schema_of(x: int, p: int, rows: int | None, neighbours: str = "replace-one", rows_max: int | None = None) -> Schema:
    attributes = tuple(
        Attribute(name, Categories(tuple(str(v) for v in range(size)))) for name, size in (("x", x), ("p", p))
    )
    return Schema("t", attributes, rows=rows, neighbours=neighbours, rows_max=rows_max)  # type: ignore[arg-type]


def tables(x: int, p: int, rows: int) -> Iterator[tuple[int, ...]]:
    """All tables of `rows` rows over p × x cells, as flat counts."""
    cells = x * p
    for bars in itertools.combinations(range(rows + cells - 1), cells - 1):
        edges = (-1, *bars, rows + cells - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def worst_change(score: str, x: int, p: int, rows: int, neighbours: str) -> float:
    """The largest change of the score between any two neighbours with this many rows."""
    rule = score_named(score)
    public = schema_of(x, p, rows if neighbours == "replace-one" else None, neighbours, rows_max=rows + 1)

    def value(flat: tuple[int, ...]) -> int:
        return rule.value(np.asarray(flat, dtype=np.int64).reshape(p, x), sum(flat), public)

    known = {flat: value(flat) for flat in tables(x, p, rows)}
    worst = 0
    for flat, own in known.items():
        for i in range(len(flat)):
            more = tuple(c + (j == i) for j, c in enumerate(flat))
            if neighbours == "add-remove":
                worst = max(worst, abs(value(more) - own))
                continue
            for k in range(len(flat)):
                if k != i and flat[k]:
                    other = tuple(c - (j == k) for j, c in enumerate(more))
                    worst = max(worst, abs(known[other] - own))
    return worst


CASES = [(2, 2, 6), (2, 3, 5), (3, 2, 5), (3, 3, 4), (2, 4, 4), (2, 2, 9), (1, 3, 4), (2, 1, 5), (4, 3, 3)]


@pytest.mark.costly
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("score", ["R", "F", "I"])
@pytest.mark.parametrize(("x", "p", "rows"), CASES)
def test_no_neighbours_differ_by_more_than_the_sensitivity(
    score: str, x: int, p: int, rows: int, neighbours: str
) -> None:
    if score == "F" and x > 2:
        pytest.skip("F is for a binary attribute")
    for n in range(1, rows + 1):
        public = schema_of(x, p, n if neighbours == "replace-one" else None, neighbours, rows_max=n + 1)
        claimed = SCORES[score].sensitivity(PAIR, public)
        assert worst_change(score, x, p, n, neighbours) <= claimed


def test_a_wrong_claim_is_caught() -> None:
    """The broken twins: R of a 3 × 3 table with the bound for a binary side, and I in bits with a bound in nats."""
    assert worst_change("R", 3, 3, 6, "replace-one") > 4 * (6 - 1)
    nats = MUTUAL_INFORMATION.sensitivity(PAIR, schema_of(2, 2, 6)) * math.log(2)
    assert worst_change("I", 2, 2, 6, "replace-one") > nats


@pytest.mark.parametrize("rows", [2, 3, 6, 9])
def test_binary_bounds_are_tight(rows: int) -> None:
    """2(n−1)/n² for R and Lemma 4.1 for I are attained, so no smaller claim could stand."""
    public = schema_of(2, 2, rows)
    assert worst_change("R", 2, 2, rows, "replace-one") == INDEPENDENCE.sensitivity(PAIR, public) == 4 * (rows - 1)
    assert worst_change("F", 2, 2, rows, "replace-one") == 2
    claimed = MUTUAL_INFORMATION.sensitivity(PAIR, public)
    assert 0 <= claimed - worst_change("I", 2, 2, rows, "replace-one") <= 14


def test_r_is_the_distance_from_independence() -> None:
    generator = np.random.default_rng(1)
    table = generator.integers(0, 50, (7, 3)).astype(np.int64)
    n = int(table.sum())
    joint = table / n
    r = 0.5 * np.abs(joint - joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)).sum()
    high, low = r_deviation(table, n)
    assert high * 2**20 + low == pytest.approx(2 * n * n * r)
    public = schema_of(3, 7, None, "add-remove")
    assert INDEPENDENCE.value(table, n, public) == pytest.approx(R_UNIT * n * r, abs=1)
    assert INDEPENDENCE.value(np.zeros((7, 3), dtype=np.int64), 0, public) == 0


def test_i_is_mutual_information_in_bits() -> None:
    generator = np.random.default_rng(2)
    table = generator.integers(0, 50, (4, 3)).astype(np.int64)
    n = int(table.sum())
    joint = table / n
    outside = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    information = float((joint[joint > 0] * np.log2((joint / outside)[joint > 0])).sum())
    assert MUTUAL_INFORMATION.value(table, n, schema_of(3, 4, n)) == pytest.approx(2**40 * n * information, abs=30)


def exhaustive_f(table: np.ndarray, rows: int) -> int:
    best = 10**9
    for side in itertools.product((0, 1), repeat=len(table)):
        sums = [0, 0]
        for line, s in zip(table.tolist(), side):
            sums[s] += line[s]
        best = min(best, max(0, rows - 2 * sums[0]) + max(0, rows - 2 * sums[1]))
    return best


def test_f_equals_exhaustive_search() -> None:
    generator = np.random.default_rng(3)
    for trial in range(1500):
        size = int(generator.integers(1, 9))
        table = generator.integers(0, int(generator.integers(2, 60)), (size, 2)) * generator.integers(0, 2, (size, 2))
        if trial % 3:
            table[:, trial % 2] *= int(generator.integers(1, 8))
        rows = int(table.sum())
        assert f_distance(table.astype(np.int64), rows) == exhaustive_f(table, rows)


def test_f_worked_by_hand() -> None:
    """Zeros 6 of 10 in one column, ones 1 in each: the best is a = 6, b = 3, so (10−12)⁺ + (10−6)⁺ = 4 and F = −0.2."""
    table = np.array([[6, 1], [0, 1], [0, 1], [0, 1]], dtype=np.int64)
    assert -f_distance(table, 10) / 20 == pytest.approx(-0.2)


def test_refusals_name_the_way_out() -> None:
    assert "score R" in (MAXIMUM_JOINT.refusal(PAIR, schema_of(3, 2, 5)) or "")
    assert "rows_max" in (MUTUAL_INFORMATION.refusal(PAIR, schema_of(3, 2, None, "add-remove")) or "")
    assert MUTUAL_INFORMATION.refusal(PAIR, schema_of(3, 2, None, "add-remove", rows_max=10)) is None


def test_i_stays_below_the_integer_limit_for_large_tables() -> None:
    public = schema_of(2, 2, 2**40)
    n = public.rows or 0
    table = np.array([[n // 2, 0], [0, n - n // 2]], dtype=np.int64)
    assert 0 < MUTUAL_INFORMATION.value(table, n, public) < 2**62


def test_information_does_not_depend_on_the_callers_decimals() -> None:
    """A program that keeps four decimal digits gets the same scores and the same sensitivity."""
    schema = schema_of(2, 2, 200)
    table = np.array([[90, 7], [11, 92]])
    rule = MUTUAL_INFORMATION
    expected = rule.value(table, 200, schema), rule.sensitivity(PAIR, schema)
    mutual_information.term.cache_clear()
    with decimal.localcontext() as context:
        context.prec = 4
        assert (rule.value(table, 200, schema), rule.sensitivity(PAIR, schema)) == expected
    mutual_information.term.cache_clear()


def test_score_r_of_very_many_rows_is_on_the_scale_of_counts() -> None:
    rule = INDEPENDENCE
    assert rule.sensitivity(PAIR, schema_of(3, 3, 2**30 - 1)) == 6 * (2**30 - 1) + 4
    assert rule.sensitivity(PAIR, schema_of(3, 3, 2**30)) == 3 * R_UNIT + 1  # 2^20·(3 + 2/n), rounded up
    assert rule.sensitivity(PAIR, schema_of(2, 3, 2**30)) == 2 * R_UNIT  # 2^20·2(n − 1)/n
    assert [rule.unit(schema_of(3, 3, n)) for n in (2**30 - 1, 2**30)] == [2**31 - 2, R_UNIT]


def test_information_has_room_for_the_rounding_of_its_terms() -> None:
    """Six terms change, each off by at most one half before and after: small tables do not show it, the sum does."""
    for n in (2, 10, 1000):
        whole = math.log2(n) + (n - 1) * math.log2(n / (n - 1))
        assert 6 <= MUTUAL_INFORMATION.sensitivity(PAIR, schema_of(2, 2, n)) - 2**40 * whole < 7.1
        whole = 2 * math.log2((n + 1) / 2) + (n - 1) * math.log2((n + 1) / (n - 1))
        assert 6 <= MUTUAL_INFORMATION.sensitivity(PAIR, schema_of(3, 3, n)) - 2**40 * whole + 0.05 < 7.2
