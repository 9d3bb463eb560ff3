"""A process that dies while it draws has spent the charge: nothing is given back and nothing is drawn again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import BudgetError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import Marginals
from understudy.privacy.random_source import SystemSource
from understudy.privacy.reservation import Reservation
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.schema import Axis

SIZES = {"a": 2, "b": 3}
SCHEMA = schema_of(SIZES, 50)
A, B = (Axis(name) for name in SIZES)
COST = Fraction(1, 1000)


class Killed(BaseException):
    """The process ends here."""


class Dying(SystemSource):
    """The machine fails in the middle of every draw."""

    def _die(self, *asked: Any) -> Any:
        raise Killed

    laplace = gaussian = permute_and_flip = exponential = words = _die


def _contribute(table: LocalPrivateTable) -> object:
    mask: Callable[[int], Any] = lambda count: np.zeros(count, np.uint64)  # noqa: E731
    return table.contribute(Marginals.of([(A, B)]), COST, "tables", "1", 2, mask)


VERBS: dict[str, Callable[[LocalPrivateTable], object]] = {
    "measure": lambda table: table.measure([(A, B)], COST, "tables"),
    "measure_coefficients": lambda table: table.measure_coefficients([(A, B)], COST, "coefficients"),
    "measure_scores": lambda table: table.measure_scores((A, B), COST, "scores"),
    "measure_dependence": lambda table: table.measure_dependence((A, B), COST, "dependence"),
    "measure_distances": lambda table: table.measure_distances(
        [(A, B)], [np.zeros(SCHEMA.sizes((A, B)), dtype=np.int64)], COST, "distances"
    ),
    "choose": lambda table: table.choose([Pair(A), Pair(A, (B,))], INDEPENDENCE, COST, "structure"),
    "choose_next": lambda table: table.choose_child((A,), (B,), COST, "structure"),
    "contribute": _contribute,
}


def opened(path: Path, budget: Budget, source: SystemSource) -> tuple[Ledger, Reservation, LocalPrivateTable]:
    ledger = Ledger(path)
    reservation = ledger.reserve(SCHEMA, budget, {"method": "test"})
    return (
        ledger,
        reservation,
        LocalPrivateTable(SCHEMA, MemoryEngine(columns_of(SIZES, 50), 50, SCHEMA), reservation, source),
    )


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_draw_that_was_begun_is_spent(ledger_path: Path, verb: str, delta: Any) -> None:
    budget = Budget(1, delta)
    ledger, reservation, table = opened(ledger_path, budget, Dying())
    assert not reservation.drawn
    with pytest.raises(Killed):
        VERBS[verb](table)
    assert reservation.drawn
    reservation.abandon("Killed")  # what `publish` does on its way out
    state = ledger.account("people")
    ledger.close()
    assert state is not None and state.spent_epsilon == 1
    with pytest.raises(BudgetError, match="left 0, short by 1"):  # its run is closed, and the cap has no room for more
        opened(ledger_path, budget, SystemSource())
    with Ledger(ledger_path) as ledger:
        assert [e.kind for e in ledger.entries()][-1] == "close"


def test_what_was_only_paid_for_is_given_back(ledger_path: Path) -> None:
    """The control: an engine that fails has drawn nothing."""
    ledger, reservation, _ = opened(ledger_path, Budget(1), SystemSource())

    class Broken(MemoryEngine):
        def marginals(self, workload: Any) -> Any:
            raise Killed

    table = LocalPrivateTable(SCHEMA, Broken(columns_of(SIZES, 50), 50, SCHEMA), reservation, SystemSource())
    with pytest.raises(Killed):
        VERBS["measure"](table)
    reservation.abandon("Killed")
    state = ledger.account("people")
    ledger.close()
    assert state is not None and state.spent_epsilon == 0
