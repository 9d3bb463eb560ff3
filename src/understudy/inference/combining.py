"""Combining rules: one estimate and one interval from the same analysis of several synthetic tables.

Let q_i be the estimate on table i of m, v_i its variance as the analysis reports it, q̄ and v̄ their means, and b the
variance between the q_i. With *multinomial* rows (Raghunathan, Reiter and Rubin 2003;
Räisä et al. 2023 for tables with noise):

    T = (1 + 1/m)·b − v̄,      ν = (m − 1)·(1 − m·v̄ / ((m + 1)·b))²

since b holds the spread of the models and the sampling of the synthetic rows, and v̄ is the latter. Where that is not
positive, T is v̄·f + v̄/m with f = synthetic rows/rows (Reiter 2002; the last part is the sampling of the synthetic rows,
which matters where they are fewer than the real ones). The difference of two numbers of like size is known badly, and
few degrees of freedom are left: 6 of 19 where noise is small. But tables that stand for a *sample* of a population
spread at least as far as sampling of the real rows takes them, so that

    T ≥ (1 + 1/m)·v̄·f + v̄/m,      ν ≥ 0.6·(m − 1)

by which no null is rejected too often (without noise, f from .01 to 1 and m = 5, 20, 50: at most 3.4 % of nulls at a
nominal 5; without v̄/m a fifth of them at f = .01). With *systematic* rows there is next to no sampling in
b, so subtracting v̄ would leave too little or nothing:

    T = (1 + 1/m)·b,          ν = m − 1

That rule never claims too little, whatever the rows: where they are not quite systematic, b has what sampling is left.

Several tables may come from one model (there are 20 refits, whatever the number of tables): then the estimates of each
model are averaged first, with the variance v̄/k of k tables, and m is the number of models. Rows of one model take no
part in b then but for v̄/k: that is what more tables than models buy.

The rules are never mixed: draws know how their rows were made, and `Draws.combine` takes the rule that belongs to them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from understudy.errors import UsageError
from understudy.inference.student import student_reach, tail

RowsBy = Literal["multinomial", "systematic"]
Population = Literal["finite", "sample"]
MIN_FREEDOM = 2.0
BOUNDED_FREEDOM = 0.6  # of the degrees of freedom of b: what is left at least where T is bounded from below


@dataclass(frozen=True)
class Combined:
    """An estimate from several tables: its value, standard error and degrees of freedom."""

    estimate: float
    stderr: float
    freedom: float
    tables: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return the t interval of this confidence."""
        reach = student_reach(self.freedom, confidence) * self.stderr
        return self.estimate - reach, self.estimate + reach

    def p_value(self, null: float = 0.0) -> float:
        """Return the two-sided p-value of this hypothesis about the estimate."""
        if self.stderr == 0:
            return float(self.estimate == null)
        return tail(self.freedom, abs(self.estimate - null) / self.stderr)


def combine(
    estimates: Sequence[float],
    variances: Sequence[float],
    rows_by: RowsBy = "multinomial",
    part: float = 1.0,
    models: int | None = None,
    population: Population = "finite",
) -> Combined:
    """Combine the estimates of one quantity on several synthetic tables.

    Parameters
    ----------
    estimates, variances: one of each for each table; a variance is a squared standard error.
    rows_by: how the rows of the tables were drawn; it decides the rule (see the head of this file).
    part: synthetic rows of one table over the rows of the original, for the case T ≤ 0.
    models: how many models the tables are from in turn, where that is fewer than tables.
    population: "sample" where the tables were drawn with `population="sample"`: T is bounded from below then.

    Examples
    --------
    >>> from understudy.inference import combine
    >>> found = combine([2.1, 1.9, 2.4, 2.0, 2.2], [0.01] * 5)
    >>> round(found.estimate, 2), round(found.stderr, 2)
    (2.12, 0.18)
    """
    m = len(estimates)
    if m < 2 or len(variances) != m:
        raise UsageError("combining needs at least two tables, and one estimate and one variance from each")
    if not all(math.isfinite(x) for x in (*estimates, *variances)) or min(variances) < 0:
        raise UsageError("estimates are finite numbers, and variances are not negative")
    if models is not None and 2 <= models < m:
        return _by_model(estimates, variances, rows_by, part, models, population)
    mean = float(sum(estimates) / m)
    between = float(sum((q - mean) ** 2 for q in estimates) / (m - 1))
    within = float(sum(variances) / m)
    if rows_by == "systematic":
        return Combined(mean, math.sqrt((1 + 1 / m) * between), float(m - 1), m)
    total = (1 + 1 / m) * between - within
    if population == "sample":
        total = max(total, (1 + 1 / m) * within * part + within / m)
        freedom = (m - 1) * max(BOUNDED_FREEDOM, (total / (total + within)) ** 2) if total else m - 1.0
        return Combined(mean, math.sqrt(total), max(MIN_FREEDOM, freedom), m)
    if total <= 0:
        return Combined(mean, math.sqrt(within * part + within / m), float(m - 1), m)
    freedom = (m - 1) * (1 - within / ((1 + 1 / m) * between)) ** 2
    return Combined(mean, math.sqrt(total), max(MIN_FREEDOM, freedom), m)


def _by_model(
    estimates: Sequence[float], variances: Sequence[float], rows_by: RowsBy, part: float, models: int,
    population: Population,
) -> Combined:  # fmt: skip
    """Combine the means of each model's tables; table i is of model i modulo `models`."""
    own = [estimates[i::models] for i in range(models)]
    means = [sum(q) / len(q) for q in own]
    within = [sum(variances[i::models]) / len(q) ** 2 for i, q in enumerate(own)]
    found = combine(means, within, rows_by, part * len(estimates) / models, population=population)
    return replace(found, tables=len(estimates))
