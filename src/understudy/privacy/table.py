"""The private table: all that a method ever receives. `choose` and `measure` read rows for methods, `appraise` for
evaluation; all three pay first.

Each call goes the same way: the charge is written to the ledger and synced; the engine counts; the ledger notes that
noise is about to be drawn; noise is drawn; the outcome is journalled; only then is it returned.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import TooLarge, UsageError
from understudy.privacy.accountant import Accounting
from understudy.privacy.measurement import Measurement, Noise
from understudy.privacy.mechanisms import add_noise, as_integers, choice_scale, noise_of, noise_scale, noisy_choice
from understudy.privacy.random_source import RandomSource
from understudy.privacy.reservation import Charge, Reservation
from understudy.privacy.scores import Pair, deviation, pair_scores, reference_refusal, refusal, score_named
from understudy.privacy.sensitivity import table_l1, table_l2_squared
from understudy.privacy.statistics import Appraisal, Statistic
from understudy.privacy.statistics import refusal as statistic_refusal
from understudy.privacy.transforms import (
    Coefficients,
    PairScores,
    block,
    block_sensitivity,
    block_shape,
    pair_scores_sensitivity,
)
from understudy.privacy.wavelets import Form, Kind, Wavelets, transformed, wavelet_dimensions, wavelet_sensitivity
from understudy.schema import Axes, Axis, Schema

MOST_CELLS = 20_000_000  # of one measured table; noise costs about ten microseconds a cell
_BATCH = 400  # tables counted at a time while scoring: what a batch counts stays in memory until it ends


class Progress(Protocol):
    """Told what is going on, for a progress line; never told anything private."""

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None: ...


def table_scale(schema: Schema, accounting: Accounting, cost: Fraction) -> float:
    """The noise scale of one measured table at this cost: public, so `plan` can state it."""
    return noise_scale(accounting, table_l1(schema), table_l2_squared(schema), cost)


class PrivateTable:
    """A table of people behind its ledger."""

    def __init__(
        self,
        schema: Schema,
        engine: CountingEngine,
        reservation: Reservation,
        source: RandomSource,
        progress: Progress | None = None,
    ) -> None:
        self.schema = schema
        self.__engine = engine
        self.__reservation = reservation
        self.__source = source
        self.__progress = progress
        self.__scores: dict[tuple[str, Pair], int] = {}
        self.__links: tuple[dict[Axis, int], NDArray[np.int64]] | None = None  # score R of all pairs, once asked for

    @property
    def accounting(self) -> Accounting:
        return self.__reservation.accounting

    @property
    def purse(self) -> Fraction:
        """All that this run may spend: epsilon, or rho."""
        return self.__reservation.purse

    def progress(self, phase: str, done: int, of: int) -> None:
        if self.__progress is not None:
            self.__progress(phase, done, of, self.purse - self.__reservation.left)

    # -- the verbs -------------------------------------------------------------------------------------------

    def choose(
        self,
        options: Sequence[Pair],
        score: str,
        cost: Fraction,
        purpose: str,
        penalty: Sequence[int] | None = None,
        references: Sequence[NDArray[np.int64]] | None = None,
    ) -> Pair:
        """One of the options, more likely the higher its score less its public penalty (both on the score's scale).

        Score D compares with public tables of counts: `references` has one for each option.
        """
        if not options:
            raise UsageError("there is nothing to choose from")
        if (reason := reference_refusal(score, options, references, self.schema)) is not None:
            raise UsageError(reason)
        for pair in options:
            if (reason := refusal(score, pair, self.schema)) is not None:
                raise UsageError(reason)
        rule = score_named(score)
        sensitivity = self.schema.rows_per_person * max(rule.sensitivity(pair, self.schema) for pair in options)
        scale = choice_scale(self.accounting, sensitivity, cost)
        charge = self.__reservation.charge(
            purpose, cost, _digest("choose", options, score, cost, penalty, *(references or ()))
        )
        if charge.outcome is None:
            scores = self.__score(options, score) if references is None else self.__deviations(options, references)
            if penalty is not None:
                scores = [s - int(p) for s, p in zip(scores, penalty, strict=True)]
            charge.drawing()
            index = noisy_choice(scores, self.accounting, scale, self.__source)
            charge.journal(str(index).encode())
            return options[index]
        return options[int(charge.outcome)]

    def choose_next(self, left: Axes, placed: Axes, cost: Fraction, purpose: str, fine: int = 0) -> Axis:
        """One of `left`, more likely the higher its best link to a placed attribute, by score R on pairs counted once.

        A link is worth R less a public `fine` for each cell of its table, no link −fine for each value. The largest of
        functions that each move by at most Δ moves by at most Δ, so this costs what a choice among the links would.
        """
        if not left or not placed or fine < 0:
            raise UsageError("a link needs attributes on both sides, and a fine is not negative")
        if not {Axis(a.name) for a in self.schema.modelled}.issuperset((*left, *placed)):
            raise UsageError("links are counted between whole attributes of the model")
        ends = [max(side, key=self.schema.size) for side in (left, placed)]
        worst = score_named("R").sensitivity(Pair(ends[0], (ends[1],)), self.schema)
        scale = choice_scale(self.accounting, self.schema.rows_per_person * worst, cost)
        charge = self.__reservation.charge(purpose, cost, _digest("next", map(str, left), map(str, placed), cost, fine))
        if charge.outcome is None:
            scores = self.__best_links(left, placed, fine)
            charge.drawing()
            index = noisy_choice(scores, self.accounting, scale, self.__source)
            charge.journal(str(index).encode())
            return left[index]
        return left[int(charge.outcome)]

    def measure(
        self, asks: Sequence[Axes], cost: Fraction, purpose: str, shares: Sequence[Fraction] | None = None
    ) -> list[Measurement]:
        """Noisy counts over each ask, the cost split evenly or in the shares given; the empty ask is the row count."""
        for axes in asks:
            if (cells := self.schema.cells(axes)) > MOST_CELLS:
                raise TooLarge(f"a table of {cells:,} cells cannot be measured; the limit is {MOST_CELLS:,}")
        shares = shares or [Fraction(1, len(asks))] * len(asks)
        if len(shares) != len(asks) or sum(shares) > 1 or min(shares) <= 0:
            raise UsageError("shares of a measurement must be positive and add up to at most 1")
        scales = [table_scale(self.schema, self.accounting, cost * share) for share in shares]
        charge = self.__reservation.charge(purpose, cost, _digest("measure", asks, cost, shares))
        noisy = self.__noisy_tables(asks, scales, charge)
        noise: Noise = noise_of(self.accounting)
        return [Measurement(axes, values, noise, scale) for axes, values, scale in zip(asks, noisy, scales)]

    def measure_coefficients(self, asks: Sequence[Axes], cost: Fraction, purpose: str) -> list[Coefficients]:
        """Noisy Hadamard coefficients: the block of each ask, all with the same noise."""
        shapes = [block_shape(axes, self.schema) for axes in asks]
        ends = np.cumsum([math.prod(shape) for shape in shapes])
        if not asks or not ends[-1] or max(map(self.schema.cells, asks)) > MOST_CELLS or ends[-1] > MOST_CELLS:
            raise TooLarge(f"from 1 to {MOST_CELLS:,} coefficients can be measured, of tables of that size")
        scale = noise_scale(self.accounting, *block_sensitivity(asks, self.schema), cost)
        charge = self.__reservation.charge(purpose, cost, _digest("coefficients", asks, cost))
        if charge.outcome is None:
            exact = [block(as_integers(counts)).ravel() for counts in self.__engine.marginals(asks)]
            charge.drawing()
            flat = add_noise(np.concatenate(exact), self.accounting, scale, self.__source)
            charge.journal(flat.astype("<i8").tobytes())
        else:
            flat = np.frombuffer(charge.outcome, dtype="<i8").astype(np.int64)
        parts = [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes)]
        return [Coefficients(axes, part, noise_of(self.accounting), scale) for axes, part in zip(asks, parts)]

    def measure_scores(self, axes: Axes, cost: Fraction, purpose: str) -> PairScores:
        """Score R of every pair of these axes, all with the same noise."""
        if len(axes) < 2 or len(set(axes)) < len(axes) or (self.schema.rows or 0) >= 2**30:
            raise UsageError("pairwise scores need two or more different axes and fewer than 2^30 rows")
        scale = noise_scale(self.accounting, *pair_scores_sensitivity(axes, self.schema), cost)
        charge = self.__reservation.charge(purpose, cost, _digest("scores", map(str, axes), cost))
        lower = np.tril_indices(len(axes), -1)
        if charge.outcome is None:
            exact = pair_scores(self.__engine, axes, self.schema)[lower]
            charge.drawing()
            flat = add_noise(exact, self.accounting, scale, self.__source)
            charge.journal(flat.astype("<i8").tobytes())
        else:
            flat = np.frombuffer(charge.outcome, dtype="<i8").astype(np.int64)
        values = np.zeros((len(axes), len(axes)), dtype=np.int64)
        values[lower] = values.T[lower] = flat
        return PairScores(axes, values, noise_of(self.accounting), scale)

    def measure_wavelet(
        self, axes: Axes, kinds: Sequence[Kind], cost: Fraction, purpose: str, form: Form = "tight"
    ) -> Wavelets:
        """Noisy wavelet coefficients of one table, a kind of transform for each axis, all with the same noise."""
        dimensions = wavelet_dimensions(self.schema, axes, kinds, MOST_CELLS)
        scale = noise_scale(self.accounting, *wavelet_sensitivity(dimensions, self.schema, form), cost)
        charge = self.__reservation.charge(purpose, cost, _digest("wavelet", axes, kinds, cost, form))
        if charge.outcome is None:
            (counts,) = self.__engine.marginals([axes])
            exact = transformed(as_integers(counts), dimensions)
            charge.drawing()
            noisy = add_noise(exact, self.accounting, scale, self.__source)
            charge.journal(noisy.astype("<i8").tobytes())
        else:
            shape = [d.coefficients for d in dimensions]
            noisy = np.frombuffer(charge.outcome, dtype="<i8").astype(np.int64).reshape(shape)
        return Wavelets(axes, tuple(kinds), form, noisy, noise_of(self.accounting), scale)

    def appraise(self, statistic: Statistic, cost: Fraction, purpose: str) -> Appraisal:
        """One evaluation statistic of the kernel's closed list, with noise on it."""
        if (reason := statistic_refusal(statistic, self.schema)) is not None:
            raise UsageError(reason)
        sensitivity = self.schema.rows_per_person * statistic.sensitivity()
        scale = noise_scale(self.accounting, sensitivity, sensitivity**2, cost)
        charge = self.__reservation.charge(purpose, cost, _digest("appraise", statistic.key, cost))
        if charge.outcome is None:
            exact = as_integers([statistic.value(self.__engine)])
            charge.drawing()
            noisy = add_noise(exact, self.accounting, scale, self.__source)
            charge.journal(str(noisy[0]).encode())
            return Appraisal(int(noisy[0]), noise_of(self.accounting), scale)
        return Appraisal(int(charge.outcome), noise_of(self.accounting), scale)

    def pick(self, count: int, purpose: str) -> int:
        """A uniform public number below `count`: reads nothing and costs nothing, but is journalled like the rest."""
        charge = self.__reservation.charge(purpose, Fraction(0), _digest("pick", count))
        if charge.outcome is not None:
            return int(charge.outcome)
        number = self.__source.below(count)
        charge.note(str(number).encode())
        return number

    # -- inside: exact counts from here on -------------------------------------------------------------------

    def __best_links(self, left: Axes, placed: Axes, fine: int) -> list[int]:
        """All pairs are counted the first time; from then on `choose` finds single parents here too."""
        if self.__links is None:
            axes = tuple(Axis(a.name) for a in self.schema.modelled)
            self.__links = {axis: i for i, axis in enumerate(axes)}, pair_scores(self.__engine, axes, self.schema)
        at, links = self.__links
        widths, sizes = (np.array(self.schema.sizes(side), dtype=np.int64) for side in (left, placed))
        scores = links[np.ix_([at[axis] for axis in left], [at[axis] for axis in placed])]
        most = 2**60 // max(1, fine)  # cells beyond which a fine stops growing, so that it stays an exact integer
        best = (scores - fine * np.minimum(widths[:, None] * sizes, most)).max(axis=1)
        return [int(score) for score in np.maximum(best, -fine * np.minimum(widths, most))]

    def __link(self, pair: Pair) -> int | None:
        if self.__links is None or len(pair.parents) != 1:
            return None
        at, links = self.__links
        i, j = at.get(pair.child), at.get(pair.parents[0])
        return int(links[i, j]) if i is not None and j is not None else None

    def __score(self, options: Sequence[Pair], score: str) -> list[int]:
        rule = score_named(score)
        known = self.__scores
        if score == "R" and self.__links is not None:
            known.update({("R", pair): link for pair in options if (link := self.__link(pair)) is not None})
        fresh = list(dict.fromkeys(pair for pair in options if (score, pair) not in known))
        rows = self.__engine.rows()
        for begin in range(0, len(fresh), _BATCH):
            batch = fresh[begin : begin + _BATCH]
            for pair, counts in zip(batch, self.__engine.marginals([pair.axes for pair in batch])):
                width = self.schema.size(pair.child)
                table = np.ascontiguousarray(as_integers(counts).reshape(-1, width))
                known[score, pair] = rule.value(table, rows, self.schema)
        return [known[score, pair] for pair in options]

    def __deviations(self, options: Sequence[Pair], references: Sequence[NDArray[np.int64]]) -> list[int]:
        """Not kept: the references are others next time."""
        found = []
        for begin in range(0, len(options), _BATCH):
            part = slice(begin, begin + _BATCH)
            tables = self.__engine.marginals([pair.axes for pair in options[part]])
            found += [deviation(as_integers(counts), r) for counts, r in zip(tables, references[part])]
        return found

    def __noisy_tables(self, asks: Sequence[Axes], scales: Sequence[float], charge: Charge) -> list[NDArray[np.int64]]:
        shapes = [self.schema.sizes(axes) for axes in asks]
        if charge.outcome is None:
            exact = [as_integers(counts) for counts in self.__engine.marginals(asks)]
            charge.drawing()
            noisy = [add_noise(values, self.accounting, scale, self.__source) for values, scale in zip(exact, scales)]
            charge.journal(b"".join(values.astype("<i8").tobytes() for values in noisy))
            return noisy
        flat = np.frombuffer(charge.outcome, dtype="<i8").astype(np.int64)
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(flat, ends[:-1]), shapes)]


def _digest(*parts: Any) -> str:
    """What was asked, for the journal: the same question on resume has the same digest."""
    return hashlib.sha256(json.dumps([_plain(part) for part in parts]).encode()).hexdigest()


def _plain(part: Any) -> Any:
    if isinstance(part, Pair):
        return [str(axis) for axis in part.axes]
    if isinstance(part, str | int) or part is None:
        return part
    if isinstance(part, Iterable):
        return [_plain(item) for item in part]
    return str(part)
