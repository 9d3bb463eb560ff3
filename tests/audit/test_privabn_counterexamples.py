"""PrivABN as published is not private: three counterexamples it fails, and that ours passes. PROOF.md tells the story.

The published version lives in this file only. Its output law is computed exactly, and so is ours: the real search runs
against a table that plays every possible outcome of every choice, on both neighbours at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from conftest import schema_of
from understudy.methods.privabn.search import grow
from understudy.methods.toolkit.model_room import TableSize
from understudy.privacy.accounting import PURE
from understudy.privacy.scores import INDEPENDENCE, MUTUAL_INFORMATION, Pair, Penalty, Score
from understudy.privacy.sensitivity import table_sensitivity
from understudy.schema import Axes, Axis

Rows = list[tuple[int, ...]]
EPSILON = Fraction(1)


def rows_of(*texts: str) -> Rows:
    return [tuple(map(int, text)) for text in texts]


THREE = rows_of("110", "011", "111"), rows_of("000", "011", "111")  # attributes A, B, S
FIVE = rows_of("0100", "1100", "0011", "0000", "0001"), rows_of("0101", "1100", "0011", "0000", "0001")


# -- the published version: Algorithms 2 and 3 -------------------------------------------------------------------


def information(rows: Rows, child: int, parents: frozenset[int]) -> float:
    """I(S, Π) in bits, as in the paper's equation 7; rounded, so that ties are ties."""
    n = len(rows)
    joint: dict[Any, int] = {}
    own: dict[Any, int] = {}
    others: dict[Any, int] = {}
    for row in rows:
        x, p = row[child], tuple(row[i] for i in sorted(parents))
        joint[x, p] = joint.get((x, p), 0) + 1
        own[x] = own.get(x, 0) + 1
        others[p] = others.get(p, 0) + 1
    return round(sum(c / n * math.log2(c * n / (own[x] * others[p])) for (x, p), c in joint.items()), 10)


def nats(n: int) -> float:
    """ΔI as in the paper's equation 10: natural logarithms."""
    return math.log(n) / n + (n - 1) / n * math.log(n / (n - 1))


Known = dict[tuple[int, int], frozenset[int]]


def remember(rows: Rows, dp: Known, child: int, newest: int, most: int) -> list[frozenset[int]]:
    """Algorithm 3 as printed: upward and in place."""
    for size in range(1, most + 1):
        with_newest = dp.get((child, size - 1), frozenset()) | {newest}
        before = dp.get((child, size), frozenset())
        if information(rows, child, with_newest) >= information(rows, child, before):
            dp[child, size] = with_newest
    return [dp.get((child, size), frozenset()) for size in range(1, most + 1)]


def published_law(rows: Rows, epsilon: float) -> dict[tuple[tuple[int, frozenset[int]], ...], float]:
    """The probability of every ordered list of attribute–parent pairs."""
    d = len(rows[0])
    law: dict[Any, float] = {}

    def go(pairs: tuple[Any, ...], dp: Known, probability: float) -> None:
        if len(pairs) == d:
            law[pairs] = law.get(pairs, 0.0) + probability
            return
        placed = [child for child, _ in pairs]
        dp = dict(dp)
        omega = [
            (child, parents)
            for child in range(d)
            if child not in placed
            for parents in remember(rows, dp, child, placed[-1], len(pairs))
        ]
        weights = [math.exp(epsilon * information(rows, c, p) / (2 * (d - 1) * nats(len(rows)))) for c, p in omega]
        for pair, weight in zip(omega, weights):
            go((*pairs, pair), dp, probability * weight / sum(weights))

    for first in range(d):
        go(((first, frozenset()),), {}, 1 / d)
    return law


def test_published_three_rows_an_output_of_one_is_impossible_for_the_other() -> None:
    wanted = ((0, frozenset()), (1, frozenset({0})), (2, frozenset({0})))  # A, then B, then S with parent A alone
    here, there = (published_law(rows, 1.0) for rows in THREE)
    assert here[wanted] > 0.01
    assert wanted not in there  # a loss of infinity


def as_graphs(law: dict[Any, float]) -> dict[frozenset[tuple[int, int]], float]:
    """Unordered: which edges there are."""
    graphs: dict[frozenset[tuple[int, int]], float] = {}
    for pairs, probability in law.items():
        edges = frozenset((parent, child) for child, parents in pairs for parent in parents)
        graphs[edges] = graphs.get(edges, 0.0) + probability
    return graphs


def test_published_five_rows_no_output_in_common() -> None:
    here, there = (as_graphs(published_law(rows, 1.0)) for rows in FIVE)
    assert sum(here.values()) == pytest.approx(1)
    assert set(here).isdisjoint(there)  # total variation 1: no delta helps


# -- ours --------------------------------------------------------------------------------------------------------


def permute_and_flip(scores: list[int], scale: float) -> np.ndarray:
    """P(i) = p_i ∫₀¹ Π_{j≠i} (1 − p_j u) du with p = e^((s − max)/t): a polynomial, so the quadrature is exact."""
    p = np.exp((np.array(scores, dtype=float) - max(scores)) / scale)
    nodes, weights = np.polynomial.legendre.leggauss(len(scores) // 2 + 2)
    others = [np.prod(1 - np.delete(p, i)[:, None] * (nodes + 1) / 2, axis=0) for i in range(len(p))]
    return np.array([p_i * (other * weights / 2).sum() for p_i, other in zip(p, others)])


class Played:
    """Stands where the private table stands: follows a script of outcomes, and adds up what each says about the rows.

    Sensitivities, scales and scores are the kernel's own.
    """

    def __init__(self, tables: tuple[Rows, Rows], script: list[int], noise: float = 1.0) -> None:
        names = "abcdefgh"[: len(tables[0][0])]
        self.schema = schema_of(dict.fromkeys(names, 2), len(tables[0]))
        self.variables = tuple(Axis(name) for name in names)
        self.script = script
        self.widths: list[int] = []
        self.losses: list[float] = []
        self.cost = Fraction(0)
        self._tables = tables
        self._noise = noise

    def progress(self, *_: Any) -> None:
        pass

    def public_random_index(self, count: int, purpose: str) -> int:
        return self._next(count)

    def choose_child(
        self, left: Axes, placed: Axes, cost: Fraction, purpose: str, penalty_per_cell: int = 0, of: int = 1
    ) -> Axis:
        groups = [[Pair(axis, (parent,)) for parent in placed] + [Pair(axis)] for axis in left]
        return left[self._chosen(groups, cost, lambda pair: penalty_per_cell * self.schema.cells(pair.axes))]

    def choose(self, options: Any, score: Score, cost: Fraction, purpose: str, penalty: Any, of: int = 1) -> Pair:
        assert score is INDEPENDENCE
        fines = dict(zip(options, penalty))
        chosen: Pair = options[self._chosen([[pair] for pair in options], cost, fines.__getitem__)]
        return chosen

    def _chosen(self, groups: list[list[Pair]], cost: Fraction, fine: Any) -> int:
        self.cost += cost
        rule = INDEPENDENCE
        most = max(rule.sensitivity(pair, self.schema) for group in groups for pair in group)
        scale = self._noise * PURE.selection_scale(most, cost)
        laws = []
        for rows in self._tables:
            best = [max(self._score(rows, pair) - fine(pair) for pair in group) for group in groups]
            laws.append(permute_and_flip(best, scale))
        index = self._next(len(groups))
        self.losses.append(float(np.log(laws[0][index] / laws[1][index])))
        return index

    def _score(self, rows: Rows, pair: Pair) -> int:
        at = [self.variables.index(axis) for axis in pair.axes]
        table = np.zeros([2] * len(at), dtype=np.int64)
        for row in rows:
            table[tuple(row[i] for i in at)] += 1
        return INDEPENDENCE.value(np.ascontiguousarray(table.reshape(-1, 2)), len(rows), self.schema)

    def _next(self, count: int) -> int:
        place = len(self.widths)
        self.widths.append(count)
        return self.script[place] if place < len(self.script) else 0


def all_runs(tables: tuple[Rows, Rows], degree: int, fine: int, noise: float = 1.0) -> Iterator[tuple[Played, Any]]:
    """Every sequence of outcomes of the real search, first to last."""
    script: list[int] = []
    penalty = Penalty(fine, INDEPENDENCE)
    while True:
        table = Played(tables, script, noise)
        network = grow(table, table.variables, TableSize(table.schema, 100), degree, EPSILON, penalty)  # type: ignore[arg-type]
        yield table, network
        script = (script + [0] * len(table.widths))[: len(table.widths)]
        while script and script[-1] == table.widths[len(script) - 1] - 1:
            script.pop()
        if not script:
            return
        script[-1] += 1


@pytest.mark.parametrize(("tables", "degree"), [(THREE, 1), (THREE, 2), (FIVE, 1)])
@pytest.mark.parametrize("fine", [0, 2])
def test_ours_every_run_stays_within_its_charge(tables: tuple[Rows, Rows], degree: int, fine: int) -> None:
    """Every output is possible on both tables, and no sequence of outcomes tells more than ε."""
    losses = []
    for table, network in all_runs(tables, degree, fine):
        assert table.cost + network.left == EPSILON
        losses.append(abs(sum(table.losses)))
    assert len(losses) > 20
    assert 0 < max(losses) <= float(EPSILON)


def test_ours_with_too_little_noise_would_be_caught() -> None:
    worst = max(abs(sum(table.losses)) for table, _ in all_runs(THREE, 2, 0, noise=0.1))
    assert worst > float(EPSILON)


# -- bits against nats -------------------------------------------------------------------------------------------


def exponential(scores: list[float], scale: float) -> np.ndarray:
    weights = np.exp((np.array(scores) - max(scores)) / scale)
    return weights / weights.sum()


@pytest.mark.parametrize("n", [20, 1000])
def test_bits_against_nats(n: int) -> None:
    """n − 1 rows of zeros and one row that is 1 on a single pair, or on two hundred others: every score moves by S(I).

    With the score in bits and ΔI in nats the exponential mechanism spends log2(e) = 1.44 times what is claimed.
    """
    top = information([(0, 0)] * (n - 1) + [(1, 1)], 0, frozenset({1}))
    here, there = [top] + [0.0] * 200, [0.0] + [top] * 200
    published = 2 * nats(n) / float(EPSILON)
    loss = float(np.log(exponential(here, published)[0] / exponential(there, published)[0]))
    assert 1.4 < loss / float(EPSILON) < 1.4427

    schema = schema_of({"a": 2, "b": 2}, n)
    rule = MUTUAL_INFORMATION
    pair = Pair(Axis("a"), (Axis("b"),))
    units = rule.value(np.array([[n - 1, 0], [0, 1]], dtype=np.int64), n, schema)
    scale = PURE.selection_scale(rule.sensitivity(pair, schema), EPSILON)
    ours = [exponential([x * units / top for x in scores], scale)[0] for scores in (here, there)]
    assert 0.9 < float(np.log(ours[0] / ours[1])) / float(EPSILON) <= 1


# -- noise on conditionals ---------------------------------------------------------------------------------------


def star(n: int, children: int, ones: bool) -> tuple[np.ndarray, np.ndarray]:
    """One row has P = 1, and its children are all 1 or all 0. Counts of (P, child), and Pr[child | P], for one child."""
    counts = np.array([[n - 1, 0], [0, 1] if ones else [1, 0]], dtype=np.int64)
    return counts, counts / counts.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(("n", "attributes"), [(21_574, 16), (47_461, 23)])
def test_noise_on_conditionals(n: int, attributes: int) -> None:
    """Laplace noise of scale b on a vector that moves by Δ in L1 loses Δ/b, attained far from both."""
    claimed = Fraction(1, 2)
    children = attributes - 1
    (counts, conditional), (other_counts, other) = (star(n, children, ones) for ones in (True, False))
    published = 2 * attributes / (n * float(claimed))
    assert children * np.abs(conditional - other).sum() / published > 0.9 * n * float(claimed)  # n times the claim

    schema = schema_of({"a": 2, "b": 2}, n)
    ours = PURE.noise.for_cost(table_sensitivity(schema), claimed / attributes).scale
    assert children * np.abs(counts - other_counts).sum() / ours <= float(claimed)


def mean_share(scale: float) -> float:
    """E[(1 + x)⁺ / ((1 + x)⁺ + y⁺)] for Laplace noise x, y: the probability of the value whose conditional is 1."""
    edges = np.linspace(-30 * scale, 30 * scale, 1501)
    middle = (edges[:-1] + edges[1:]) / 2
    weight = np.exp(-np.abs(middle) / scale)
    weight /= weight.sum()
    one, zero = np.maximum(1 + middle, 0)[:, None], np.maximum(middle, 0)[None, :]
    return float((weight[:, None] * weight[None, :] * one / (one + zero)).sum())


@pytest.mark.parametrize(("n", "attributes", "claimed", "loss"), [(21_574, 16, 0.5, 97.7), (47_461, 23, 0.5, 152.6)])
def test_a_single_synthetic_row_of_the_published_version(n: int, attributes: int, claimed: float, loss: float) -> None:
    """Not even the noise needs to be seen: one published row with P = 1 and ones all over says who was there."""
    share = mean_share(2 * attributes / (n * claimed))
    assert (attributes - 1) * math.log(share / (1 - share)) == pytest.approx(loss, rel=0.02)


def test_the_law_is_that_of_permute_and_flip() -> None:
    scores, scale = [0, 3, 5, 5], 2.5
    p = [math.exp((s - 5) / scale) for s in scores]
    law = np.zeros(4)
    for order in product(range(4), repeat=4):
        if len(set(order)) == 4:
            left = 1 / 24
            for i in order:
                law[i] += left * p[i]
                left *= 1 - p[i]
    assert permute_and_flip(scores, scale) == pytest.approx(law)
