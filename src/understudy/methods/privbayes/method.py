"""PrivBayes as a method: its options, for a network found by private choices (`toolkit.network_method`)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.network_decision import Decision, Settings
from understudy.methods.toolkit.network_method import MODEL_CELLS, NetworkMethod
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, MUTUAL_INFORMATION, score_named
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

OFFERED = (MUTUAL_INFORMATION, MAXIMUM_JOINT, INDEPENDENCE)


@dataclass(frozen=True)
class PrivBayes:
    """The options of PrivBayes. What is None follows from public facts (`toolkit.network_decision`)."""

    name: ClassVar[str] = "privbayes"

    score: str = option("auto", choices=("auto", *(score.name for score in OFFERED)))
    encoding: str = option("auto", choices=("auto", "binary", "gray", "vanilla", "hierarchical"))
    estimate: str = option("ml", choices=("ml", "paper"))
    theta: float | None = option(None, low=0.01, high=1e6)
    beta: float | None = option(None, low=0.01, high=0.99)
    single: float | None = option(None, low=0.0, high=0.9)
    pairs: float | None = option(None, low=0.0, high=0.9)
    kappa: float | None = option(None, low=0.0, high=10.0)
    degree: int | None = option(None, whole=True, low=0, high=64)
    cells: int = option(MODEL_CELLS, whole=True, low=1, high=10**8)

    @property
    def _network(self) -> NetworkMethod:
        ml = self.estimate == "ml"
        single, pairs, kappa = (self.single, self.pairs, self.kappa) if ml else (0.0, 0.0, 0.0)
        score = None if self.score == "auto" else score_named(self.score)
        settings = Settings(score, self.encoding, self.theta, self.beta, single, pairs, kappa, self.degree, ml)
        return NetworkMethod.of(self.name, settings, self.cells)

    def decide(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Decision:
        """Return all that follows from public facts; `whole` is the total cost."""
        return self._network.decide(schema, accounting, whole, rows)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        return self._network.plan(schema, budget, rows)

    def fit(self, table: PrivateTable) -> Fit:
        return self._network.fit(table)
