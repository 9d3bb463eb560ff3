"""The sum of costs is a filter: the exact loss of a run whose second price follows from its first answer (PROOF.md)."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

HALF = np.arange(-60, 61)
BUDGET = 1.0  # rho, or epsilon
Floats = NDArray[np.float64]


def gaussian(centre: int, rho: float) -> Floats:
    """The logarithms of the discrete Gaussian law of a count that one person moves by 1, at this price."""
    return np.asarray(-((HALF - centre) ** 2) * rho - np.log(np.exp(-(HALF**2) * rho).sum()))


def laplace(centre: int, epsilon: float) -> Floats:
    return np.asarray(-np.abs(HALF - centre) * epsilon - np.log(np.exp(-np.abs(HALF) * epsilon).sum()))


def tilted(p: Floats, q: Floats, alpha: float) -> Floats:
    """p·(p/q)^(α−1), answer by answer."""
    return np.exp(p + (alpha - 1) * (p - q))


def second_price(answer: int, left: float) -> float:
    """A method that pays all it has left where the first answer looks large, and little where it does not."""
    return left if answer > 0 else left / 4


def moment(budget: float, alpha: float, late: float = 0.0) -> float:
    """E[(p/q)^(α−1)] over both answers; a filter that is `late` lets so much more be spent than there is."""
    first = BUDGET / 2
    begun = tilted(gaussian(0, first), gaussian(1, first), alpha)
    total = 0.0
    for at, answer in enumerate(HALF.tolist()):
        rho = second_price(answer, budget - first + late)
        total += begun[at] * tilted(gaussian(0, rho), gaussian(1, rho), alpha).sum()
    return float(total)


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 3.0, 5.0])
def test_rhos_that_follow_from_answers_add_up(alpha: float) -> None:
    assert moment(BUDGET, alpha) <= np.exp((alpha - 1) * alpha * BUDGET) * (1 + 1e-9)


def test_a_filter_that_stops_too_late_is_seen() -> None:
    """On the course that pays all, which the other table's answers make likely at a large order."""
    alpha = 5.0
    assert moment(BUDGET, alpha, late=BUDGET) > np.exp((alpha - 1) * alpha * BUDGET)


def test_epsilons_that_follow_from_answers_add_up() -> None:
    first = BUDGET / 2
    p, q = laplace(0, first), laplace(1, first)
    worst = late = 0.0
    for at, answer in enumerate(HALF.tolist()):
        for more in (0.0, BUDGET / 2):
            epsilon = second_price(answer, BUDGET - first + more)
            loss = abs(p[at] - q[at]) + float(np.abs(laplace(0, epsilon) - laplace(1, epsilon)).max())
            worst, late = (max(worst, loss), late) if not more else (worst, max(late, loss))
    assert worst <= BUDGET * (1 + 1e-6) < late
