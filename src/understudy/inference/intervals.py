"""Intervals for the answers of a query: noise, sampling where the rows are a sample, and what the model leaves out.

An answer that is linear in the cells of one measured table, or smooth in them, has the interval of the least-squares
estimate over all tables that hold it (`least_squares`), to first order, cut to what is possible. Any other is put
through refits for the noise and through the discrepancy law for the rest. A quantile's interval is Woodruff's: the
interval of the share of values below the published quantile, read off the published distribution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TooLarge, UsageError
from understudy.inference.combining import Population
from understudy.inference.discrepancy import discrepancies
from understudy.inference.kept_refits import add_known
from understudy.inference.least_squares import Pooled, Terms, measured_together, normal_reach
from understudy.inference.linear import Inside, Linear
from understudy.inference.rare_codes import rare_noise
from understudy.inference.refits import REFITS, Refits, Released
from understudy.inference.size_law import DiscrepancyLaw, known_distances
from understudy.inference.student import student_reach
from understudy.models.ruled_model import RuledModel, computed_tables
from understudy.query.answers import Answer, Comparison, Figure
from understudy.query.evaluation import Evaluated, evaluate
from understudy.query.quantiles import extents
from understudy.query.queries import Answering, Query

Floats = NDArray[np.float64]
DRAWS = 400  # of the discrepancy law
MAX_DRAWN_CELLS = 4_000_000  # cells × draws
MIN_DRAWS = 40
MAX_FIGURES = 5_000  # lines of an answer that get intervals
MAX_COMPARED = 12  # groups that are compared with the first
ENOUGH = 3.0  # standard deviations that a group must be from empty, to divide by it
KEPT = 8  # tables with their draws that are kept for the next question
_SEED = 7


@dataclass(frozen=True)
class Spread:
    """The error of each figure: where its interval is centred, how far it reaches, and for pairs of figures alike."""

    centre: Floats
    reach: Floats
    against_first: Floats  # reach of the difference to the first figure
    covers: str


@dataclass(frozen=True, eq=False)
class Inference:
    """Intervals from one release. Refits are made once, and kept in `cache` where one is given.

    Parameters
    ----------
    population: "finite" asks about the rows of the table itself, "sample" about what they were drawn from.
    """

    release: Released
    population: Population = "finite"
    cache: Path | None = None
    count: int = REFITS

    _tables: dict[tuple[str, ...], Floats] = field(default_factory=dict, init=False, repr=False)
    _draws: dict[tuple[str, ...], Floats] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def refits(self) -> Refits | None:
        return Refits.of(self.release, self.population, self.count, self.cache)

    @cached_property
    def law(self) -> DiscrepancyLaw:
        """Return the size of what the model leaves out: as it was bought, or else as it usually is."""
        known = self.refits.known if self.refits is not None else None
        if not known and self.release.model_error:
            known = known_distances(self.release, self.refits)
            if self.cache is not None and self.refits is not None:
                add_known(self.cache, known)
        return DiscrepancyLaw.of(self.release, self.refits, known) or DiscrepancyLaw.usual()

    @property
    def model_error_words(self) -> str:
        """Return what is known of that size."""
        return "model error" if self.release.model_error else "model error of a usual size (its own was not bought)"

    def answer(self, query: Query, answer: Answer, confidence: float, simultaneous: bool = False) -> Answer:
        """Return the answer with intervals on its figures and comparisons of its groups.

        With `simultaneous`, all intervals of the answer hold together at this confidence.
        """
        if not isinstance(confidence, int | float | np.number) or not 0.5 <= confidence <= 0.999:
            raise UsageError("a confidence is from 0.5 to 0.999, 0.95 for example")
        each = 1 - (1 - confidence) / _count(query, answer) if simultaneous else confidence
        try:
            spread, unknown = self._spread(query, answer, each), UNKNOWN
        except TooLarge as error:
            spread, unknown = None, f"not known: {error}"
        if spread is None or len(answer.figures) > MAX_FIGURES:
            return answer.with_intervals(
                [None] * len(answer.figures), confidence, unknown if spread is None else MANY, ()
            )
        values = [figure.value for figure in answer.figures]
        places = zip(values, spread.centre, spread.reach, self._limits(query), strict=True)
        found = [_cut(value, centre, reach, *ends) for value, centre, reach, ends in places]
        compared = self._compared(query, answer, spread, found)
        said = _links(self.release, query)
        return answer.with_intervals(found, confidence, spread.covers, compared, said, simultaneous)

    # -- one of three ways ---------------------------------------------------------------------------------------

    def _spread(self, query: Query, answer: Answer, confidence: float) -> Spread | None:
        if query.of is None and not query.selections and (query.measure == "share" or query.schema.rows is not None):
            zeros = np.zeros(1)
            exact = np.asarray([f.value or 0.0 for f in answer.figures])
            why = "these are all rows" if query.measure == "share" else "the number of rows is public"
            return Spread(exact, zeros, zeros, f"nothing: {why}")
        if isinstance(self.release.model, Answering):
            return self._own(query, answer, confidence)
        evaluated = evaluate(self.release.model, query)
        together = measured_together(self.release.measurements, query.names)
        if together and not query.joint and query.of not in query.by:  # a joint condition is no sum of whole cells
            return self._least_squares(query, evaluated, confidence)
        return self._simulated(query, evaluated, confidence)

    def _own(self, query: Query, answer: Answer, confidence: float) -> Spread | None:
        """Return the spread of a model that knows the noise of its own answers, None for any other."""
        if answer.stderr_covers is None or any(f.stderr is None for f in answer.figures):
            return None
        z = normal_reach(confidence)
        errors = np.asarray([f.stderr for f in answer.figures], dtype=np.float64)
        centre = np.asarray([np.nan if f.value is None else f.value for f in answer.figures])
        return Spread(centre, z * errors, z * np.hypot(errors, errors[0]), answer.stderr_covers)

    def _least_squares(self, query: Query, evaluated: Evaluated, confidence: float) -> Spread | None:
        pooled = Pooled.of(self.release.measurements, self.release.schema, query.names)
        if pooled is None:
            return self._simulated(query, evaluated, confidence)
        linear = Linear(query, evaluated, self.release.rows)
        centre, reach, against = [], [], []
        shape = Inside.of(linear)
        inside, between = shape.deviation, shape.against_first
        first: Terms | None = None
        for i in range(len(query.groups)):
            terms = linear.terms(i)
            value, deviation = pooled.combined(terms)
            sampled = linear.sampling(terms, i) if self.population == "sample" else 0.0
            deviation = math.sqrt(deviation**2 + sampled + inside[i] ** 2)
            z = pooled.reach(terms, confidence)
            lost = linear.divides and pooled.combined(linear.size(i))[1] * ENOUGH > linear.counts[i]
            centre.append(linear.centre(i, value))
            reach.append(math.inf if lost else z * deviation)
            first = terms if first is None else first
            both = [*terms, *((-factor, weights) for factor, weights in first)]
            apart = pooled.combined(both)[1] if i else 0.0
            more = between[i] ** 2
            if self.population == "sample":
                more += sampled + linear.sampling(first, 0)
            against.append(math.inf if lost else z * math.sqrt(apart**2 + more) if i else 0.0)
        words = f"noise{self._sampling_words}, by least squares over the measured tables that hold this"
        if inside.any() or linear.ranked:
            where = "bins" if query.of is not None else "a cut bin"
            words += f", and where values lie inside {where}, as they usually do"
        words += "; no model error takes part"
        return self._finished(linear, np.asarray(centre), np.asarray(reach), np.asarray(against), words)

    def _simulated(self, query: Query, evaluated: Evaluated, confidence: float) -> Spread | None:
        refits = self.refits
        if refits is None and not self.release.model_error:
            return None
        linear = Linear(query, evaluated, self.release.rows)
        base = linear.figures(evaluated.table[None])[0]
        noise = np.zeros((0, len(base)))
        if refits is not None:
            noise = linear.figures(self._refitted(evaluated.names), np.asarray(refits.rows, dtype=np.float64)) - base
        disc = np.zeros((0, len(base)))
        if (changed := self._changed(evaluated)) is not None:
            disc = linear.figures(changed) - base
        inside = Inside.of(linear)
        reach = self._reach(noise, disc, inside.deviation, confidence)
        against = self._reach(noise - noise[:, :1], disc - disc[:, :1], inside.against_first, confidence)
        against[0] = 0.0
        words = self._words(refits is not None, measured_together(self.release.measurements, evaluated.names))
        return self._finished(linear, linear.centres(base), reach, against, words)

    def _refitted(self, names: tuple[str, ...]) -> Floats:
        """Return the refits' tables over these attributes, stacked; those of the last few questions are kept."""
        if names not in self._tables:
            assert self.refits is not None
            _forget(self._tables)
            self._tables[names] = np.stack(self.refits.project(names))
        return self._tables[names]

    def _changed(self, evaluated: Evaluated) -> Floats | None:
        """Return the table over these attributes as it may be with what refits do not show, in stacked draws.

        That is what the model leaves out, where its size is known, and the noise of rare codes.
        """
        names, model = evaluated.names, self.release.model
        if names not in self._draws:
            free = model.sources(names) if isinstance(model, RuledModel) else names
            table = evaluated.table if free == names else model.project(free).table
            drawn = self._drawn(table, free)
            if drawn is None:
                return None
            _forget(self._draws)
            self._draws[names] = drawn if free == names else computed_tables(model, drawn, free, names)
        return self._draws[names]

    def _drawn(self, table: Floats, names: tuple[str, ...]) -> Floats | None:
        """Return the same for attributes that are no computed ones; None where the table is too large."""
        count = min(DRAWS, MAX_DRAWN_CELLS // max(1, table.size))
        if count < MIN_DRAWS:
            return None
        generator = np.random.default_rng(_SEED)
        rare = rare_noise(table, names, self.release, generator, count)
        drawn = np.zeros((count, *table.shape)) if rare is None else rare
        drawn = drawn + discrepancies(table, names, self.release, self.law, generator, count)
        whole = np.maximum(table + drawn, 0.0)
        total = whole.reshape(count, -1).sum(axis=1).reshape(-1, *[1] * table.ndim)
        return np.asarray(whole * (table.sum() / np.maximum(total, 1e-300)))

    def _reach(self, noise: Floats, disc: Floats, inside: Floats, confidence: float) -> Floats:
        reach = (normal_reach(confidence) * inside) ** 2
        if len(noise) > 1:
            squares = noise.var(axis=0, ddof=1) + noise.mean(axis=0) ** 2
            reach = reach + student_reach(len(noise) - 1, confidence) ** 2 * squares
        if len(disc) > 1:
            reach = reach + np.quantile(np.abs(np.nan_to_num(disc)), confidence, axis=0) ** 2
        return np.sqrt(np.nan_to_num(reach, nan=math.inf))

    def _finished(self, linear: Linear, centre: Floats, reach: Floats, against: Floats, words: str) -> Spread:
        """Return what was found of shares below a quantile as errors of the quantile itself, and all else as it is."""
        if (turned := linear.inverted(centre, reach)) is None:
            return Spread(centre, reach, against, words)
        return Spread(*turned, np.hypot(turned[1], turned[1][0]), words)

    @property
    def _sampling_words(self) -> str:
        return " and sampling" if self.population == "sample" else ""

    def _words(self, noise: bool, measured: bool) -> str:
        if measured:
            return f"noise{self._sampling_words}, and where values lie inside cells; no model error takes part"
        parts = (["noise" + self._sampling_words] if noise else []) + [self.model_error_words]
        return f"{' and '.join(parts)}, on average over questions about tables that were not measured"

    # -- limits and comparisons ----------------------------------------------------------------------------------

    def _limits(self, query: Query) -> list[tuple[float, float]]:
        """Return between what numbers each figure lies: of a mean or quantile, those of the bins that are asked of."""
        groups = len(query.groups)
        if query.measure == "count":
            return [(0.0, float(self.release.rows) if query.schema.rows is not None else math.inf)] * groups
        if query.measure in ("share", "rate"):
            return [(0.0, 1.0)] * groups
        assert query.of is not None
        low, high, _ = extents(query.schema[query.of])
        asked = query.selections[query.of].present > 0
        own = [query.groups[i][query.by.index(query.of)] if query.of in query.by else asked for i in range(groups)]
        ends = [(float(np.min(low[codes], initial=math.inf)), float(np.max(high[codes], initial=-math.inf)))
                for codes in own]  # fmt: skip
        if query.measure != "sum":
            return ends
        rows = self.release.rows
        return [(min(0.0, first * rows), max(0.0, last * rows)) for first, last in ends]

    def _compared(
        self, query: Query, answer: Answer, spread: Spread, found: Sequence[tuple[float, float] | None]
    ) -> tuple[Comparison, ...]:
        if not _is_compared(query, answer):
            return ()
        first, out = answer.figures[0], []
        for i, figure in enumerate(answer.figures[1:], 1):
            if first.value is None or figure.value is None or not math.isfinite(spread.against_first[i]):
                continue
            apart, reach = float(spread.centre[i] - spread.centre[0]), float(spread.against_first[i])
            said = figure.value - first.value
            low, high = min(said, apart - reach), max(said, apart + reach)
            out.append(Comparison(figure.by, first.by, said, low, high, *_ratio(first, figure, found[0], found[i])))
        return tuple(out)


UNKNOWN = "not known: the model of this release came about in a way that cannot be repeated with fresh noise"
MANY = f"not worked out for more than {MAX_FIGURES:,} lines: ask by fewer or coarser attributes"


def _is_compared(query: Query, answer: Answer) -> bool:
    """Return whether groups are compared with the first one."""
    return bool(query.by) and 2 <= len(answer.figures) <= MAX_COMPARED and query.measure != "sum"


def _count(query: Query, answer: Answer) -> int:
    """Return how many intervals an answer has: its figures', and those of the groups that are compared."""
    figures = max(1, len(answer.figures))
    return 2 * figures - 1 if _is_compared(query, answer) else figures


def _forget(kept: dict[tuple[str, ...], Floats]) -> None:
    """Drop the oldest table once there are many."""
    if len(kept) >= KEPT:
        del kept[next(iter(kept))]


def _cut(value: float | None, centre: float, reach: float, low: float, high: float) -> tuple[float, float] | None:
    """Return the interval, cut to what is possible and never without the published value."""
    if value is None:
        return None
    if not math.isfinite(centre) or not math.isfinite(reach):
        return (low, high) if math.isfinite(high) else None
    ends = max(low, centre - reach), min(high, centre + reach)
    return min(value, ends[0], high), max(value, ends[1], low)


def _ratio(
    first: Figure, figure: Figure, one: tuple[float, float] | None, other: tuple[float, float] | None
) -> tuple[float | None, float | None, float | None]:
    """Return a ratio to the first figure with its interval on the log scale, taking the two errors as independent."""
    if not first.value or not figure.value or one is None or other is None or first.value <= 0 or figure.value <= 0:
        return None, None, None
    ratio = figure.value / first.value
    reach = math.hypot((one[1] - one[0]) / 2 / first.value, (other[1] - other[0]) / 2 / figure.value)
    return ratio, ratio * math.exp(-min(reach, 50.0)), ratio * math.exp(min(reach, 50.0))


def _links(release: Released, query: Query) -> tuple[str, ...]:
    """Say where groups are the same by construction: the model has no link between what is asked and the groups."""
    asked = [name for name in query.names if name not in query.by]
    if len(query.by) != 1 or not asked or measured_together(release.measurements, query.names):
        return ()
    try:
        table = release.model.project([query.by[0], *asked]).table
    except TooLarge:
        return ()
    flat = table.reshape(len(table), -1)
    apart = 0.5 * np.abs(flat - np.outer(flat.sum(axis=1), flat.sum(axis=0))).sum()
    if apart > 1e-6:
        return ()
    named = " and ".join(asked)
    return (f"the model has no link between {query.by[0]} and {named}: within each group this is the same by "
            "construction, and the release cannot tell whether the groups differ",)  # fmt: skip
