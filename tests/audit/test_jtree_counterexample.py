"""The data set on which the published JTree leaks, as a regression test (PROOF.md of jtree, section 2).

n−1 rows of zeros and one more: in D its first half of the attributes is 1 (block A), in D′ the other half (block B).
The published threshold mechanism, which exists only here, loses far more than it claims. Ours loses what it was charged
at most, by the exact law of permute-and-flip along the outputs that tell D from D′ best; with less noise it would not.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from conftest import schema_of
from understudy.methods.jtree.edges import CandidateEdges, ChordalGraph, Edge
from understudy.privacy.accounting import PURE
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.schema import Axis

ROWS = 20_000
CLAIM = Fraction(1)


# -- the published mechanism: Algorithm 1 without its sampling, claimed to cost ε ---------------------------------


def information(rows: int) -> float:
    """I of two columns that are both 1 in one row and 0 elsewhere, in bits. It is also the sensitivity (Theorem 3)."""
    return (math.log2(rows) + (rows - 1) * math.log2(rows / (rows - 1))) / rows


def published_loss(attributes: int, rows: int, epsilon: float) -> float:
    """ln P(all edges inside A, none inside B) on D, less the same on D′: exact given η, and integrated over η.

    All pairs inside A have I = ΔI on D and 0 on D′, those inside B the other way round; θ = φ²/2 at φ = 0.2.
    """
    pairs = math.comb(attributes // 2, 2)
    high, theta = information(rows), 0.02
    scale = 2 * high / epsilon
    eta = np.linspace(-(theta + 80 * scale), theta + 80 * scale, 200_001)

    def log_edge(value: float, edge: bool) -> np.ndarray:
        """ln P(value + Lap ≥ θ + η), or of its opposite."""
        z = (theta + eta - value) / scale * (1 if edge else -1)
        return np.where(z > 0, -math.log(2) - z, np.log1p(-0.5 * np.exp(-np.abs(z))))

    def log_probability(inside_a: float, inside_b: float) -> float:
        logs = -np.abs(eta) / scale + pairs * (log_edge(inside_a, True) + log_edge(inside_b, False))
        return float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))

    return log_probability(high, 0.0) - log_probability(0.0, high)


@pytest.mark.parametrize(("attributes", "loss"), [(8, 4.74), (16, 24.2), (24, 58.1), (50, 268.1)])
def test_the_published_mechanism_loses_far_more_than_it_claims(attributes: int, loss: float) -> None:
    assert published_loss(attributes, ROWS, float(CLAIM)) == pytest.approx(loss, rel=0.003)


@pytest.mark.parametrize("attributes", [8, 16, 24])
def test_its_loss_grows_with_the_number_of_answers(attributes: int) -> None:
    """Given η the answers are independent and each loses ε/2 at most, so w answers lose wε/2 at most; here, 3/4 of it."""
    answers = 2 * math.comb(attributes // 2, 2)
    for rows in (1_000, 20_000, 400_000):
        assert 0.75 * answers / 2 < published_loss(attributes, rows, 1.0) <= answers / 2


# -- ours --------------------------------------------------------------------------------------------------------


def block_columns(attributes: int, block: int, first: bool) -> np.ndarray:
    rows = np.zeros((ROWS, attributes), dtype=np.uint8)
    rows[-1, :block] = first
    rows[-1, block:] = not first
    return rows


class Law:
    """The exact law of each round on D and D′, from the kernel's own scores, sensitivities and scales."""

    def __init__(self, attributes: int, block: int, noise: float = 1.0) -> None:
        self.axes = [Axis(f"a{i}") for i in range(attributes)]
        self.schema = schema_of({axis.attribute: 2 for axis in self.axes}, ROWS)
        self.rounds = attributes - 1
        self.noise = noise
        self.tables = [block_columns(attributes, block, first) for first in (True, False)]
        self.score = cache(self._score)

    def _score(self, edge: Edge, side: int) -> int:
        u, v = (self.axes.index(axis) for axis in edge)
        codes = self.tables[side][:, u].astype(np.int64) * 2 + self.tables[side][:, v]
        counts = np.bincount(codes, minlength=4).reshape(2, 2)
        return INDEPENDENCE.value(counts, ROWS, self.schema)

    def losses(self, options: list[Edge]) -> dict[Edge, float]:
        """ln P/P′ of each option."""
        rule = INDEPENDENCE
        sensitivity = max(rule.sensitivity(Pair(v, (u,)), self.schema) for u, v in options)
        scale = self.noise * PURE.selection_scale(sensitivity, CLAIM / self.rounds)
        here, there = ([self.score(edge, side) for edge in options] for side in (0, 1))
        p, q = permute_and_flip(here, scale), permute_and_flip(there, scale)
        return dict(zip(options, np.log(p / q)))

    def worst(self) -> tuple[float, float]:
        """The loss of a whole tree whose every edge is the one that tells D from D′ best, and of the worst round."""
        graph = ChordalGraph(dict.fromkeys(self.axes, 2))
        candidates = CandidateEdges(graph, lambda tables: 4, 10**6)
        total = largest = 0.0
        for _ in range(self.rounds):
            losses = self.losses(candidates())
            edge = max(losses, key=lambda edge: losses[edge])
            total += losses[edge]
            largest = max(largest, *map(abs, losses.values()))
            graph.add(edge)
        return total, largest


def permute_and_flip(scores: list[int], scale: float) -> np.ndarray:
    """P(i) = p_i ∫₀¹ Π_{j≠i} (1 − p_j u) du with p = e^((s − max)/t) (McKenna & Sheldon 2020); a polynomial, so exact."""
    p = np.exp((np.array(scores) - max(scores)) / scale)
    nodes, weights = np.polynomial.legendre.leggauss(len(scores) // 2 + 2)
    u, weights = (nodes + 1) / 2, weights / 2
    terms = 1 - p[:, None] * u
    law = p * ((terms.prod(axis=0) / terms) * weights).sum(axis=1)
    assert law.sum() == pytest.approx(1)
    return law


def test_the_law_is_that_of_permute_and_flip() -> None:
    """Against the definition: all orders, each option accepted with probability p."""
    import itertools

    scores, scale = [0, 3, 5, 5], 2.5
    p = [math.exp((s - 5) / scale) for s in scores]
    law = np.zeros(4)
    for order in itertools.permutations(range(4)):
        left = 1 / math.factorial(4)
        for i in order:
            law[i] += left * p[i]
            left *= 1 - p[i]
    assert permute_and_flip(scores, scale) == pytest.approx(law)


SHAPES = [(4, 2), (8, 4), (16, 8), (8, 2), (16, 2)]  # attributes, and how many of them are block A


@pytest.mark.parametrize(("attributes", "block"), SHAPES)
def test_ours_stays_within_its_charge(attributes: int, block: int) -> None:
    """Each round within ε/T, the tree within ε, and neither by being blind to the row."""
    law = Law(attributes, block)
    total, largest = law.worst()
    assert float(CLAIM) / 4 < total <= float(CLAIM)
    assert float(CLAIM / law.rounds) / 3 < largest <= float(CLAIM / law.rounds)


@pytest.mark.parametrize(("attributes", "block"), SHAPES)
def test_with_less_noise_it_would_not(attributes: int, block: int) -> None:
    """Half the noise breaks the claim of a round, a quarter that of the whole tree."""
    law = Law(attributes, block, noise=0.5)
    assert law.worst()[1] > float(CLAIM / law.rounds)
    assert Law(attributes, block, noise=0.25).worst()[0] > float(CLAIM)


def test_no_tree_at_all_tells_more() -> None:
    """All sequences of outputs for four attributes, not only the most telling one."""
    law = Law(4, 2)

    def deepest(edges: tuple[Edge, ...]) -> float:
        graph = ChordalGraph(dict.fromkeys(law.axes, 2))
        for edge in edges:
            graph.add(edge)
        if len(edges) == law.rounds:
            return 0.0
        losses = law.losses(CandidateEdges(graph, lambda tables: 4, 10**6)())
        return max(abs(loss) + deepest((*edges, edge)) for edge, loss in losses.items())

    assert deepest(()) <= float(CLAIM)
