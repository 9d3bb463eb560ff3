"""A curator that words its questions so that a refusal, or the edge of the integers, would tell it exact counts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of
from federating import SIZES, A, federation, parts_of
from understudy.errors import UnderstudyError
from understudy.federation.local import LocalFederation
from understudy.federation.messages import Place
from understudy.privacy import distributed_noise
from understudy.privacy.budget import Budget
from understudy.privacy.questions import Choice, Marginals, choice
from understudy.privacy.random_source import SystemSource
from understudy.privacy.scores import REFERENCE_DISTANCE, Pair

ROWS = 40
CHEAP = Fraction(1, 10**12)
FAR = 10_000  # score D against (FAR, 0) is FAR − c(0) + c(1)


def answered(made: LocalFederation, penalty: int, round: int) -> bool:
    """Whether ada answers a choice with one option, whose score less penalty may not fit."""
    place = made.table._session.place
    question = Choice([Pair(A)], REFERENCE_DISTANCE, [penalty], [np.array([FAR, 0])])
    body = Place(place.session, place.roster, round).pack(
        "decide", question=question.as_json(), cost=str(CHEAP), purpose="structure"
    )
    try:
        made.owners.answers["ada"].answer(round, "decide", body)
    except UnderstudyError:
        return False
    return True


def searched(made: LocalFederation) -> int | None:
    """The exact count of zeros by bisection on which penalties are refused; None where they do not tell."""
    low, high, round = FAR - ROWS, FAR + ROWS + 1, 0
    while high - low > 1:
        middle, round = (low + high) // 2, round + 1
        if answered(made, middle - 2**62, round):
            high = middle
        else:
            low = middle
    return (ROWS + FAR - low) // 2 if FAR - ROWS < low < FAR + ROWS else None


def test_a_refusal_tells_nothing(tmp_path: Path) -> None:
    """Scores are bounded by public facts and penalties stop growing below the edge, so every choice is answered."""
    parts = parts_of(columns_of(SIZES, 3 * ROWS, seed=3), 3)
    with federation(tmp_path, 3, ROWS, columns=parts, source=SystemSource()) as made:
        assert searched(made) is None
        assert all(answered(made, penalty, 100 + i) for i, penalty in enumerate((1 - 2**62, 2**62 - 1)))


def test_the_search_would_find_a_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same curator, where penalties go up to the edge: one exact count, for next to nothing."""
    monkeypatch.setattr(choice, "MAX_PENALTY", 2**62)
    parts = parts_of(columns_of(SIZES, 3 * ROWS, seed=3), 3)
    with federation(tmp_path, 3, ROWS, columns=parts, source=SystemSource()) as made:
        assert searched(made) == int((parts[0]["a"] == 0).sum())
        spent = sum(Fraction(c["cost"]) for c in made.reservations["ada"].charges())
        assert 0 < spent < Fraction(1, 10**10)


def contributed(made: LocalFederation, cost: Fraction) -> np.ndarray:
    """What lies under ada's mask: her counts and her share of the noise."""
    table = made.owners.answers["ada"]._table
    masked = table.contribute(
        Marginals.of([(A,)]), cost, "tables", str(cost), made.roster.honest, lambda count: np.zeros(count, np.uint64)
    )
    return masked.view(np.int64)


@pytest.mark.parametrize("budget", [Budget(1), Budget(1, "1e-9")], ids=["pure", "zcdp"])
def test_noise_that_does_not_fit_is_not_shared(tmp_path: Path, budget: Budget) -> None:
    with federation(tmp_path, 3, ROWS, budget=budget, source=SystemSource()) as made:
        with pytest.raises(UnderstudyError, match="cannot be shared"):
            contributed(made, Fraction(1, 10**45))
        contributed(made, Fraction(1, 10**6))


def test_noise_that_does_not_fit_would_be_no_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At rho = 10^-65 all but one Gaussian share in 10^14 is cut off at ±2^63: counts stand beside a known number."""
    monkeypatch.setattr(distributed_noise, "_LARGEST_SCALE", float("inf"))
    parts = parts_of(columns_of(SIZES, 3 * ROWS, seed=3), 3)
    exact = np.bincount(parts[0]["a"], minlength=2)
    with federation(tmp_path, 3, ROWS, columns=parts, source=SystemSource()) as made:
        found = contributed(made, Fraction(1, 10**65))
    edges = np.array([-(2**63), 2**63 - 1], dtype=np.int64)
    assert all(int(found[i]) in [int(e) for e in edges + exact[i]] for i in range(2))
