"""An owner's part of a secure sum: paid first, masked before it leaves or is written down, the same on resume."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import another_source, columns_of, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import BudgetError, LedgerError, UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import AllPairScores, Marginals
from understudy.schema import Axis

SIZES = {"a": 2, "b": 3}
SCHEMA = schema_of(SIZES, 50)
ASK = Marginals.of([(Axis("a"), Axis("b")), (Axis("a"),)])
MASK = np.arange(8, dtype=np.uint64) * np.uint64(2**61)


class Owned:
    """A table whose process can end and start again."""

    def __init__(self, path: Path, budget: Budget | None = None, source: Any = None) -> None:
        self.ledger = Ledger(path)
        self.reservation = self.ledger.reserve(
            SCHEMA, budget or Budget(1), {"method": "test"}, unlimited=True, fingerprint="t"
        )
        engine = MemoryEngine(columns_of(SIZES, 50), 50, SCHEMA)
        self.table = LocalPrivateTable(SCHEMA, engine, self.reservation, source or another_source())

    def __enter__(self) -> Owned:
        return self

    def __exit__(self, *error: object) -> None:
        self.reservation._lock.release()
        self.ledger.close()

    def outcomes(self) -> list[bytes]:
        return [row[0] for row in self.ledger.connection.execute("SELECT outcome FROM journal ORDER BY step")]


def contributed(owned: Owned, round_key: str = "1", honest: int = 2, cost: Fraction = Fraction(1, 4)) -> np.ndarray:
    return owned.table.contribute(ASK, cost, "tables", round_key, honest, lambda count: MASK[:count])


def test_what_is_written_down_is_masked(ledger_path: Path) -> None:
    with Owned(ledger_path) as owned:
        masked = contributed(owned)
        assert owned.outcomes() == [masked.astype("<u8").tobytes()]
        counts = ASK.exact(MemoryEngine(columns_of(SIZES, 50), 50, SCHEMA), SCHEMA)
        noise = (masked - MASK).view(np.int64) - counts
        assert np.abs(noise).max() < 2000  # under the mask there are the counts and noise of scale 16
        assert owned.reservation.left == Fraction(3, 4)
        assert [c["cost"] for c in owned.reservation.charges()] == ["1/4"]


@pytest.mark.costly
def test_the_noise_is_a_share(ledger_path: Path) -> None:
    """Two shares of scale 16 have the variance of one noise; one has half of it."""
    with Owned(ledger_path, Budget(10_000)) as owned:
        drawn = [(contributed(owned, str(i)) - MASK).view(np.int64) for i in range(400)]
    spread = np.var(np.array(drawn), axis=0).mean()
    assert 0.8 < spread / (16**2) < 1.25


def test_another_round_has_another_draw_and_another_charge(ledger_path: Path) -> None:
    with Owned(ledger_path) as owned:
        assert (contributed(owned, "1") != contributed(owned, "2")).any()
        assert owned.reservation.left == Fraction(1, 2)
        with pytest.raises(BudgetError):
            contributed(owned, "3", cost=Fraction(3, 4))


def test_a_restart_gives_the_same_vector_for_the_same_round(ledger_path: Path) -> None:
    with Owned(ledger_path) as owned:
        first = contributed(owned)
    with Owned(ledger_path) as owned:
        assert (contributed(owned) == first).all()
        assert len(owned.reservation.charges()) == 1


@pytest.mark.parametrize("change", [{"round_key": "2"}, {"honest": 3}, {"cost": Fraction(1, 5)}])
def test_a_restart_does_not_pass_it_on_for_another(ledger_path: Path, change: dict[str, Any]) -> None:
    with Owned(ledger_path) as owned:
        contributed(owned)
    with Owned(ledger_path) as owned, pytest.raises(LedgerError, match="something else"):
        contributed(owned, **change)


def test_what_cannot_be_shared_costs_nothing(ledger_path: Path) -> None:
    with Owned(ledger_path) as owned:
        with pytest.raises(UsageError, match="do not add up"):
            question = AllPairScores((Axis("a"), Axis("b")))
            owned.table.contribute(question, Fraction(1, 4), "scores", "1", 2, lambda count: MASK[:count])
        with pytest.raises(UsageError, match="cost something"):
            contributed(owned, cost=Fraction(0))
        assert owned.reservation.left == 1


def test_no_honest_owner_no_noise(ledger_path: Path) -> None:
    with Owned(ledger_path) as owned, pytest.raises(UsageError, match="no noise"):
        contributed(owned, honest=0)
