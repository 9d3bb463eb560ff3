"""Trials: whole runs of `publish` on two neighbouring tables, and what their outcomes prove about the loss.

The statistic is the log-likelihood ratio of everything the run drew: choices by their exact laws, noisy integers by
theirs, with the scales that the kernel worked out. No test on the same outcomes is better. A mechanism that draws
with less noise than it says is above its claim here, whatever the reason; a selection that is too sharp mostly is not,
because its worst outputs are rare. Enumeration and the samplers' laws are there for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.audit.findings import Finding
from understudy.audit.lower_bounds import LEVELS, TradeOff, trade_offs
from understudy.audit.mechanisms import categories
from understudy.audit.observation import Asked, Draw, Observer, observed_runs
from understudy.audit.scales import scales_once
from understudy.audit.selection_laws import LOG_LAWS
from understudy.audit.whole_runs import Ledgers, Setting, Texts, fresh_ledgers, published
from understudy.engines.memory import MemoryEngine
from understudy.privacy.accounting import accounting_of, gdp_delta, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Laplace
from understudy.privacy.questions import Selection, StatisticQuery, ValueLists
from understudy.privacy.random_source import SystemSource
from understudy.privacy.scores.scorer import Scorer
from understudy.schema import Schema

RUNS = 400  # on each of the two tables; the long audit has ten times as many of the first two trials
LATTICE = 1.05  # by how much mu of the discrete Gaussian may be above that of the continuous one, from scale 1 on


@dataclass(frozen=True, eq=False)
class Trial:
    """A setting whose runs are compared. Where all of it is Gaussian noise, mu is claimed too."""

    setting: Setting
    long: bool = False
    gaussian: bool = False
    runs: int = RUNS

    def finding(self, runs: int) -> Finding:
        """Run both tables so many times; return the best lower bound against the claim."""
        first, second = self._ratios(runs)
        budget = self.setting.budget
        proved = trade_offs(first, second, _levels(budget))
        epsilon = max(0.0, *(t.epsilon(float(budget.delta)) for t in proved))
        mu = max(0.0, *(t.mu for t in proved))
        holds = not any(_breaks(trade_off, budget) for trade_off in proved)
        if self.gaussian:
            holds = holds and mu <= LATTICE * claimed_mu(budget)
        says = (
            f"epsilon ≥ {epsilon:.2f} of {float(budget.epsilon):g}, mu ≥ {mu:.2f} of {claimed_mu(budget):.2f}, "
            f"2 × {runs:,} runs"
        )
        return Finding("trials", self.setting.what, holds, says, float(budget.epsilon), epsilon, "epsilon")

    def _ratios(self, runs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return ln P(outcomes | first table)/P(outcomes | second) of runs on the first table, and on the second."""
        with fresh_ledgers() as ledgers, scales_once():
            here, there = self.setting.one, self.setting.two
            first = self._of_runs(here, there, runs, ledgers)
            return first, -self._of_runs(there, here, runs, ledgers)

    def _of_runs(self, own: Texts, other: Texts, runs: int, ledgers: Ledgers) -> NDArray[np.float64]:
        expected = _exact_answers(other, self.setting.schema)
        found = np.zeros(runs)
        for number in range(runs):
            with observed_runs() as seen:
                source = Observer(SystemSource(), seen)
                published(self.setting, own, ledgers, source, seen)
            found[number] = sum(_ratio(draw, there) for draw, there in _matched(source.draws, seen.asked, expected))
        return found


def claimed_mu(budget: Budget) -> float:
    """Return the mu that the promise implies: of epsilon (Dong, Roth & Su 2022), or of Gaussian DP."""
    if budget.delta:
        return math.sqrt(float(total_cost(budget)))
    from statistics import NormalDist

    return -2 * NormalDist().inv_cdf(1 / (1 + math.exp(float(budget.epsilon))))


def _levels(budget: Budget) -> list[float]:
    if not budget.delta:
        return [float(budget.epsilon) * part for part in LEVELS]
    mu = claimed_mu(budget)
    return [mu * mu / 2 * part for part in (0.0, 0.5, 1.0, 2.0)]


def _breaks(trade_off: TradeOff, budget: Budget) -> bool:
    """Return whether no mechanism within the budget can have this trade-off."""
    if not budget.delta:
        return trade_off.epsilon() > float(budget.epsilon)
    grid = np.linspace(0.0, 2 * float(budget.epsilon), 41)
    mu = claimed_mu(budget)
    return any(trade_off.power > math.exp(e) * trade_off.false_alarms + _delta(mu, float(e)) for e in grid)


_delta = lru_cache(maxsize=1000)(gdp_delta)


# -- the statistic -------------------------------------------------------------------------------------------------


def _exact_answers(rows: Texts, schema: Schema) -> Callable[[Asked], NDArray[np.int64]]:
    """Return what the other table would have handed to the samplers for a question, worked out once each."""
    columns = {name: schema[name].encode(list(texts)).astype(np.uint8) for name, texts in rows.items()}
    engine = MemoryEngine(columns, len(next(iter(columns.values()))), schema)
    known: dict[str, NDArray[np.int64]] = {}

    def answer(asked: Asked) -> NDArray[np.int64]:
        if asked.key not in known or isinstance(asked.question, StatisticQuery):  # whose key leaves its tables out
            question = asked.question
            assert not isinstance(question, ValueLists)  # no trial leaves values to be bought
            exact = (
                question.exact(Scorer(engine, schema))
                if isinstance(question, Selection)
                else question.exact(engine, schema)
            )
            known[asked.key] = np.asarray(exact, dtype=np.int64)
        return known[asked.key]

    return answer


def _matched(draws: list[Draw], asked: list[Asked], expected: Callable[[Asked], NDArray[np.int64]]) -> Any:
    """Yield each draw with the exact integers that the other table has in its place."""
    taken: dict[int, int] = {}
    for draw in draws:
        if draw.sampler == "below":
            continue
        begin = taken.get(draw.question, 0)
        taken[draw.question] = begin + draw.values.size
        yield draw, expected(asked[draw.question])[begin : begin + draw.values.size]


def _ratio(draw: Draw, there: NDArray[np.int64]) -> float:
    if draw.sampler in LOG_LAWS:
        law = LOG_LAWS[draw.sampler](np.stack([draw.values, there]), draw.scale)
        return float(law[0, draw.outcome] - law[1, draw.outcome])
    out = np.asarray(draw.outcome)
    if draw.sampler == Laplace.name:
        return float((np.abs(out - there) - np.abs(out - draw.values)).sum() / draw.scale)
    return float(((out - there) ** 2 - (out - draw.values) ** 2).sum() / (2 * draw.scale**2))


# -- what is tried -------------------------------------------------------------------------------------------------


def _setting(what: str, method: str, columns: int, neighbours: str, budget: Budget, **options: Any) -> Setting:
    """Return six people who are all alike; in the neighbour one is everything the others are not, or is not there."""
    attributes = categories(*(2,) * columns)
    alike = {a.name: ["0"] * 6 for a in attributes}
    other = {a.name: ["0"] * 5 + ["1"] for a in attributes}
    fewer = {a.name: ["0"] * 5 for a in attributes}
    known: Mapping[str, Any] = {"rows": 6} if neighbours == "replace-one" else {"rows_max": 6}
    schema = Schema("audit", attributes, neighbours=neighbours, **known)  # type: ignore[arg-type]
    one, two = (alike, other) if neighbours == "replace-one" else (other, fewer)
    return Setting(f"{what} ({neighbours}, {accounting_of(budget).name})", method, schema, budget, one, two, options)


PURE_TWO, GAUSSIAN = Budget(2), Budget(4, "0.01")
SHARP = Trial(_setting("one count", "independent", 1, "add-remove", PURE_TWO))
SMOOTH = Trial(_setting("one table", "independent", 1, "replace-one", GAUSSIAN), gaussian=True)
TRIALS = (
    SHARP,
    SMOOTH,
    Trial(_setting("privbayes, three attributes", "privbayes", 3, "replace-one", PURE_TWO), runs=RUNS // 4),
    Trial(_setting("one table", "independent", 1, "replace-one", PURE_TWO), long=True),
    *(
        Trial(_setting(f"{method}, three attributes", method, 3, neighbours, budget), long=True)
        for method in ("aim", "priview", "jtree", "privabn", "dp-subn", "dp-ccbn", "independent", "swift")
        for neighbours, budget in (("replace-one", PURE_TWO), ("add-remove", GAUSSIAN))
    ),
)


def try_all(long: bool = False) -> list[Finding]:
    """Return a finding for each trial."""
    tried = [trial for trial in TRIALS if long or not trial.long]
    return [trial.finding(10 * RUNS if long and trial in (SHARP, SMOOTH) else trial.runs) for trial in tried]
