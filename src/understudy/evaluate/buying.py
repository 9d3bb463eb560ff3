"""Bought figures: mean and maximum TVD and classifier errors as private measurements, paid for through the ledger.

They cost epsilon like any other look at the rows, carry their error bars, and may be published. Whatever has no
sensitivity lemma (`privacy.questions.statistics`) is refused. The synthetic table counts as public.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.discovering import abandoned_on_error
from understudy.errors import TooLarge, UsageError
from understudy.evaluate.classification import LINEAR, MODELS, linear_classifier
from understudy.evaluate.evaluation import both_opened
from understudy.evaluate.question import EvaluationRequest
from understudy.evaluate.tables import TableSet, counted
from understudy.planning import as_schema
from understudy.privacy.budget import Amount, Budget, show
from understudy.privacy.custodian import ExactTable, stays_in_place
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.measurement import Measurement
from understudy.privacy.questions.statistics import (
    Errors,
    LargestVariation,
    NoisyStatistic,
    Statistic,
    SumOfVariations,
    SyntheticTables,
    refusal,
)
from understudy.privacy.random_source import RandomSource, SystemSource
from understudy.privacy.refusals import refuse_early
from understudy.privacy.run_ledger import ledger_for
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema
from understudy.schema.open_points import check_confirmed
from understudy.showing import html_of

FOR_SALE = ("tvd", "k-marginal", "classify")
CONFIDENCE = 0.95
NO_LEMMA = {
    "l2": "it is the root of a sum of squares, no whole number of rows",
    "ranges": "a relative error divides by exact counts",
    "correlation": "it is a ratio of exact moments",
    "numeric": "raw values are not clamped, so one row can move them without limit",
    "matches": "one real row may be the twin of every synthetic row",
    "information": "the information of a whole network is no whole number of rows",
}


@dataclass(frozen=True)
class NamedStatistic:
    """A figure before it is bought: a statistic, and what to divide it by besides the row count."""

    name: str
    place: tuple[str, str, str]  # where it goes in the document: ("tvd", "2", "mean")
    statistic: Statistic
    divisor: int


@dataclass(frozen=True)
class BoughtFigure:
    """A public figure with its 95 % error bar, kept between 0 and 1."""

    name: str
    place: tuple[str, str, str]
    value: float
    low: float
    high: float
    cost: Fraction
    noise: str
    scale: float  # of the noise, on the figure's own scale

    def as_json(self) -> dict[str, Any]:
        bar = {"low": self.low, "high": self.high, "confidence": CONFIDENCE}
        return {"name": self.name, "value": self.value, **bar, "cost": float(self.cost), "noise": self.noise,
                "scale": self.scale}  # fmt: skip


@dataclass(frozen=True, repr=False)
class BoughtFigures:
    """All that one purchase brought. Public: reads no row any more."""

    schema: Schema
    question: EvaluationRequest
    budget: Budget
    unit: str  # of the costs: epsilon, mu squared or rho
    figures: tuple[BoughtFigure, ...]
    private: bool

    @property
    def stamp(self) -> str:
        promise = f"DIFFERENTIALLY PRIVATE — {self.budget}, {self.schema.neighbours} neighbours"
        person = "" if self.schema.rows_per_person == 1 else f", {self.schema.rows_per_person} rows a person"
        return promise + person if self.private else "NOT PRIVATE: drawn from a seed, for tests"

    def as_json(self) -> dict[str, Any]:
        document: dict[str, Any] = {}
        for figure in self.figures:
            kind, of, what = figure.place
            document.setdefault(kind, {}).setdefault(of, {})[what] = figure.value
        for s in self.question.sets if "tvd" in document else ():
            document["tvd"][str(s.alpha)] |= {"tables": len(s.workload), "of": s.of, "seed": s.seed}
            score = 1000 * (1 - document["tvd"][str(s.alpha)]["mean"])
            document.setdefault("k_marginal", {})[str(s.alpha)] = score
        cost = {"epsilon": float(self.budget.epsilon), "delta": float(self.budget.delta)}
        bought = {"bought": [figure.as_json() for figure in self.figures], "unit": self.unit, **cost}
        return {**document, **bought, "neighbours": self.schema.neighbours, "stamp": self.stamp}

    @property
    def scores(self) -> dict[str, tuple[float, float, float]]:
        """Return k-marginal scores by α with their bars, where asked for: read off the mean TVDs at no further cost."""
        if "k-marginal" not in self.question.measures:
            return {}
        means = [figure for figure in self.figures if figure.place[0] == "tvd" and figure.place[2] == "mean"]
        return {f.place[1]: (1000 * (1 - f.value), 1000 * (1 - f.high), 1000 * (1 - f.low)) for f in means}

    @property
    def row_count(self) -> str | None:
        """Return what the row count cost, where it is private and had to be bought to divide by."""
        if self.schema.rows is not None:
            return None
        return f"The row count that these are divided by was bought with {self.unit} {show(self.figures[0].cost)} more"

    def text(self) -> str:
        scores = {f"k-marginal score of {way}-way tables": score for way, score in self.scores.items()}
        width = max(len(name) for name in (*(figure.name for figure in self.figures), *scores))
        lines = [
            f"  {f.name:<{width}}  {f.value:.4f}   {CONFIDENCE:.0%} between {f.low:.4f} and {f.high:.4f}   "
            f"{self.unit} {show(f.cost)}"
            for f in self.figures
        ]
        for name, (value, low, high) in scores.items():
            bar = f"{CONFIDENCE:.0%} between {low:6.1f} and {high:6.1f}"
            lines.append(f"  {name:<{width}}  {value:6.1f}   {bar}   from the mean TVD")
        if self.row_count is not None:
            lines.append(f"  {self.row_count}")
        return "\n".join([self.stamp, *lines])

    _repr_html_ = html_of

    def __repr__(self) -> str:
        return self.text()


def buy(
    original: Any,
    synthetic: Any,
    schema: Schema | str | Path,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Ledger | str | Path | None = None,
    cap: Amount | None = None,
    source: RandomSource | None = None,
    save: Callable[[BoughtFigures], None] | None = None,
    measures: Iterable[str] | None = None,
    models: Iterable[str] | None = None,
    types: str | None = None,
    **question: Any,
) -> BoughtFigures:
    """Buy the figures that can be bought, under one budget that they share evenly. They may be published.

    Args:
        original: the private table, as for `evaluate`.
        synthetic: its stand-in.
        schema: a `Schema` or the path of a schema.toml that both fit.
        epsilon: what all figures together cost.
        delta: the allowed failure probability; 0 is the pure promise.
        ledger: a `Ledger` or its path; the default is the one `publish` takes.
        cap: of a new account, in epsilon.
        source: of the noise; the operating system's, except in tests.
        save: is called with the figures before the ledger closes the run.
        measures: tvd, k-marginal, classify: distances from 0 to 1, and errors as shares of the rows.
        models: linear classifiers alone.
        types: as for `evaluate`.
        question: the other options of `evaluate`.

    >>> bought = buy(frame, release.sample(2000), schema, epsilon=1, ledger="bought.db", alpha=2)
    >>> print(bought.budget)
    epsilon 1
    """
    public, budget = as_schema(schema).with_public_bins(), Budget(epsilon, delta)
    source = source or SystemSource()
    check_confirmed(public)
    asked = _question(public, measures, models, {**question, "counted": stays_in_place(original)})
    with ledger_for(ledger, public) as book:
        refuse_early(book, public, budget)
        with both_opened(original, synthetic, public, types) as (real, stand_in):
            return _bought(real, stand_in, public, budget, book, cap, source, save, asked)


def _bought(
    real: ExactTable,
    stand_in: ExactTable,
    public: Schema,
    budget: Budget,
    book: Ledger,
    cap: Amount | None,
    source: RandomSource,
    save: Callable[[BoughtFigures], None] | None,
    asked: EvaluationRequest,
) -> BoughtFigures:
    if public.person is not None:
        raise UsageError(
            "figures are bought by rows, and with [person] a person has any number of them: take [person] out of the "
            "schema and declare rows_per_person, or look at exact figures without --epsilon"
        )
    if public.tables:
        raise UsageError("figures of tables with foreign keys are exact, for the custodian: leave --epsilon out")
    statistics = _statistics(stand_in, asked)
    for wanted in statistics:
        if (reason := refusal(wanted.statistic, public)) is not None:
            raise UsageError(f"{wanted.name}: {reason}")
    request = {"method": "evaluate", "figures": [[wanted.name, wanted.statistic.key] for wanted in statistics]}
    reservation = book.reserve(
        public,
        budget,
        request,
        cap=None if cap == "none" else cap,
        unlimited=cap == "none",
        private=source.private,
        fingerprint=real.fingerprint(book.source_key()),
    )
    with abandoned_on_error(reservation):
        table = LocalPrivateTable(public, real, reservation, source)
        bought = _purchase(table, statistics, asked, reservation.budget, source.private)
        if save is not None:
            save(bought)
        text = json.dumps(bought.as_json(), sort_keys=True)
        reservation.finish(hashlib.sha256(text.encode()).hexdigest())
    return bought


def _question(
    schema: Schema, measures: Iterable[str] | None, models: Iterable[str] | None, question: dict[str, Any]
) -> EvaluationRequest:
    chosen = tuple(measures) if measures is not None else tuple(
        m for m in FOR_SALE if m != "classify" or question.get("classify")
    )  # fmt: skip
    for measure in chosen:
        if measure in NO_LEMMA:
            raise UsageError(
                f"{measure!r} cannot be bought: {NO_LEMMA[measure]}, and the kernel has no sensitivity lemma for it. "
                f"For sale: {', '.join(FOR_SALE)}. Without --epsilon it is computed for the custodian's own eyes"
            )
    for model in (linear := LINEAR if models is None else tuple(models)):
        if model in MODELS and model not in LINEAR:
            raise UsageError(
                f"errors of {model!r} cannot be bought: the kernel runs linear classifiers only ({', '.join(LINEAR)})"
            )
    return EvaluationRequest.of(schema, measures=chosen, models=linear, **question)


# -- statistics: public ------------------------------------------------------------------------------------------


def _statistics(synthetic: ExactTable, question: EvaluationRequest) -> list[NamedStatistic]:
    statistics: list[NamedStatistic] = []
    for tables in question.sets if question.compares_tables else ():
        statistics += _table_statistics(synthetic, tables, maximum="tvd" in question.measures)
    for target in question.targets if "classify" in question.measures else ():
        for model in question.models:
            errors = Errors(linear_classifier(synthetic, target, model, question.seed))
            statistics.append(
                NamedStatistic(f"error of {model} on {target}", ("errors", str(target), model), errors, 1)
            )
    return statistics


def _table_statistics(synthetic: ExactTable, tables: TableSet, maximum: bool) -> list[NamedStatistic]:
    """Return statistics of table errors: the k-marginal score alone needs no maximum; a table too large is refused."""
    try:
        counts = tuple(counts for (counts,) in counted(tables.workload, synthetic))
    except TooLarge as error:
        largest: Axes = max(tables.workload, key=synthetic.schema.cells)
        raise TooLarge(
            f"{error.message} ({' × '.join(map(str, largest))}). Take fewer attributes at a time (--alpha), or coarser "
            "values in the schema. Nothing was charged"
        ) from None
    side = SyntheticTables(tables.workload, counts, synthetic.rows())
    way, unit = str(tables.alpha), 2 * synthetic.rows()
    mean = NamedStatistic(
        f"mean TVD of {way}-way tables", ("tvd", way, "mean"), SumOfVariations(side), unit * len(tables.workload)
    )
    if not maximum:
        return [mean]
    return [mean, NamedStatistic(f"maximum TVD of {way}-way tables", ("tvd", way, "max"), LargestVariation(side), unit)]


# -- the purchase ------------------------------------------------------------------------------------------------


def _purchase(
    table: PrivateTable, statistics: list[NamedStatistic], question: EvaluationRequest, budget: Budget, private: bool
) -> BoughtFigures:
    """Buy every figure at an equal part of the budget, and the row count at one more where it is private too."""
    secret = table.schema.rows is None
    cost = table.total_cost / (len(statistics) + secret)
    count = table.measure([()], cost, "evaluation: row count")[0] if secret else None
    figures = []
    for wanted in statistics:
        bought = table.measure_statistic(wanted.statistic, cost, f"evaluation: {wanted.name}")
        figures.append(_figure(wanted, bought, count, table.schema, cost))
    return BoughtFigures(table.schema, question, budget, table.accounting.unit, tuple(figures), private)


def _figure(
    wanted: NamedStatistic, bought: NoisyStatistic, count: Measurement | None, schema: Schema, cost: Fraction
) -> BoughtFigure:
    """Return the statistic over its divisor and the row count; with a bought count, both bars hold together."""
    few, rows, many = _row_counts(count, schema)
    margin = bought.noise.margin(CONFIDENCE if count is None else (1 + CONFIDENCE) / 2)
    return BoughtFigure(
        wanted.name,
        wanted.place,
        _rate(bought.value, wanted.divisor * rows),
        _rate(bought.value - margin, wanted.divisor * many),
        _rate(bought.value + margin, wanted.divisor * few),
        cost,
        bought.noise.name,
        bought.noise.scale / (wanted.divisor * rows),
    )


def _row_counts(count: Measurement | None, schema: Schema) -> tuple[int, int, int]:
    if count is None:
        assert schema.rows is not None
        return schema.rows, schema.rows, schema.rows
    noisy, margin = int(count.values), count.noise.margin((1 + CONFIDENCE) / 2)
    return max(1, noisy - margin), max(1, noisy), max(1, noisy + margin)


def _rate(value: int, of: int) -> float:
    return min(1.0, max(0.0, value / of))
