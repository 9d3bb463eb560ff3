"""A forecast: what a steward should know before anything is spent, from public facts alone.

Rows that are too few for an epsilon, a row count that would drown, columns with more values than there are rows, and
what a delta or other neighbours would buy. No function of this file reads a row.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from understudy.methods.column_errors import column_error
from understudy.methods.plan import Phase, Plan
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget, show
from understudy.privacy.measurement import table_noise
from understudy.schema import Schema

MAX_COLUMN_ERROR = 0.1  # expected total variation distance of an average column from which a forecast warns
GOOD_COLUMN_ERROR = 0.03
MAX_COUNT_ERROR = 0.25  # standard deviation of the row count, as a share of the rows
MAX_NAMED = 3  # columns that are named in one line
DELTA = Fraction(1, 10**9)  # the recommended one
ROWS_PER_DELTA = 100  # a delta is at most one in so many times the rows


def forecast(schema: Schema, plan: Plan) -> tuple[str, ...]:
    """Return what to expect of a plan that a steward would want to change, a line each; nothing if all is well.

    A range whose bins are to be found is taken with public ones, as many as the plan reckons with.
    """
    schema = schema.with_public_bins(plan.bins)
    return (*_no_uses(schema, plan), *_too_few(schema, plan), *_lost_count(schema, plan), *_too_wide(schema, plan.rows))


def _no_uses(schema: Schema, plan: Plan) -> list[str]:
    if not schema.uses or plan.method in ("aim", "swift"):
        return []
    return [
        f"the uses of the schema change nothing with --method {plan.method}: only aim and swift put budget there first"
    ]


def known_rows(schema: Schema) -> int | None:
    """Return the row count, or the most rows there are, as far as the schema says."""
    return schema.rows if schema.rows is not None else schema.rows_max


def count_deviation(schema: Schema, plan: Plan) -> float:
    """Return the standard deviation of the row count, pooled with the totals of other tables (`methods.row_count`)."""
    count = next((p for p in plan.phases if p.name == "row count"), None)
    if count is None:
        return 0.0
    precision = 1 / max(plan.accounting.noise(count.scale).variance, 1e-9)
    for phase in _tables(plan):
        one_way = phase.name == "one-way"
        cells = [a.size for a in schema.modelled] if one_way else [phase.cells] * phase.tables
        variance = max(plan.accounting.noise(phase.scale).variance, 1e-9)
        precision += sum(1 / (size * variance) for size in cells)
    return math.sqrt(1 / precision)


def _tables(plan: Plan) -> list[Phase]:
    return [p for p in plan.phases if p.name in ("one-way", "tables") and p.scale and p.cells]


def _too_few(schema: Schema, plan: Plan) -> list[str]:
    error = column_error(schema, plan)
    if error < MAX_COLUMN_ERROR:
        return []
    times = error / GOOD_COLUMN_ERROR
    return [
        f"too few rows for this epsilon: expect an average column to be off by about {error:.0%} (total variation "
        f"distance) and pairs by twice that or more; about {_rounded(plan.rows * times):,} rows or an epsilon of "
        f"{float(plan.budget.epsilon) * times:.2g} would make it {GOOD_COLUMN_ERROR:.0%}. Fewer columns, values or "
        "bins help too"
    ]


def _lost_count(schema: Schema, plan: Plan) -> list[str]:
    deviation = count_deviation(schema, plan)
    if deviation <= MAX_COUNT_ERROR * plan.rows:
        return []
    return [
        f"the row count will be off by about {deviation:,.0f} of {plan.rows:,}: if it is public, declare `rows` and "
        'neighbours = "replace-one"'
    ]


def _too_wide(schema: Schema, rows: int) -> list[str]:
    wide = [a for a in schema.modelled if a.size > rows]
    if not wide:
        return []
    named = ", ".join(f"{a.name} ({a.size:,} values)" for a in wide[:MAX_NAMED])
    more = f" and {len(wide) - MAX_NAMED} more" if len(wide) > MAX_NAMED else ""
    have = "has" if len(wide) == 1 else "have"
    return [f"{named}{more} {have} more values than the table has rows ({rows:,}): nearly every cell would be noise; "
            "set `bins`, or a coarser list of values"]  # fmt: skip


def _rounded(number: float) -> int:
    """Round to two digits: it is an estimate."""
    unit = 10 ** max(0, math.floor(math.log10(max(number, 1))) - 1)
    return int(math.ceil(number / unit) * unit)


# -- the promise -------------------------------------------------------------------------------------------------


def recommended_delta(rows: int | None) -> Fraction:
    """Return the delta to recommend: 1e-9, or less for a table so long that one in a hundred rows' worth is less."""
    return DELTA if rows is None else min(DELTA, Fraction(1, ROWS_PER_DELTA * rows))


def promise(schema: Schema, budget: Budget, rows: int | None = None) -> str | None:
    """Return one line on what a delta and add-remove would buy on this table and what they mean; None if both are used.

    Compared is the noise in one cell if every column, and a pair for every column but one, were counted once with the
    whole budget: a measure of the promise, not of a method.
    """
    delta = budget.delta or recommended_delta(rows if rows is not None else known_rows(schema))
    other = replace(schema, neighbours="add-remove", rows=None, text=None)
    offers, meaning = [], []
    if not budget.delta:
        offers.append((schema, delta, f"--delta {float(delta):.0e}"))
        meaning.append("delta bounds the chance that epsilon does not hold")
    if schema.neighbours == "replace-one":
        offers.append((other, budget.delta, 'neighbours = "add-remove"'))
        meaning.append(f"add-remove hides that a row is there, and protects its change at {_doubled(budget)} only")
    if len(offers) == 2:
        offers.append((other, delta, "both"))
    if not offers:
        return None
    shown = ", ".join(f"{_noise(s, Budget(budget.epsilon, d)):,.0f} with {words}" for s, d, words in offers)
    own = f"noise in a cell at {budget}: about {_noise(schema, budget):,.0f} rows as it is"
    return f"{own}, {shown}; {'; '.join(meaning)}"


def _doubled(budget: Budget) -> str:
    """Return twice the cost, in words: to replace a row is one less and one more, for counts in either unit."""
    return "twice the mu squared" if budget.delta else f"epsilon {show(2 * budget.epsilon)}"


def _noise(schema: Schema, budget: Budget) -> float:
    tables = max(1, 2 * len(schema.modelled) - 1)
    return math.sqrt(table_noise(schema, accounting_of(budget), total_cost(budget) / tables).variance)
