"""The private table: all that a method ever receives. Its verbs put a question, and every question is paid for before
any row is read; what comes back is already private.

Who answers is another matter: `OwnedTable` has the rows of one owner, a federation asks several owners. Both are given
the same questions, so that a method is written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError
from understudy.privacy.accountant import Accounting
from understudy.privacy.choices import Choice, Links, NextLink, Options
from understudy.privacy.details import Details
from understudy.privacy.measurement import Measurement
from understudy.privacy.mechanisms import noise_of
from understudy.privacy.scores import Pair
from understudy.privacy.statistics import Appraisal, Statistic
from understudy.privacy.transforms import Coefficients, PairScores, block_shape
from understudy.privacy.vectors import MOST_CELLS as MOST_CELLS
from understudy.privacy.vectors import Figure, FineDetails, HadamardBlocks, Scores, Tables, Vector, WaveletTable
from understudy.privacy.vectors import table_scale as table_scale
from understudy.privacy.wavelets import Form, Kind, Wavelets
from understudy.schema import Axes, Axis, Schema


class Progress(Protocol):
    """Told what is going on, for a progress line; never told anything private."""

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None: ...


@dataclass(frozen=True, eq=False)
class Noisy:
    """Integers with noise on them, part by part, and the scale of each part's noise. Public, once it exists."""

    parts: list[NDArray[np.int64]]
    scales: list[float]


class PrivateTable(ABC):
    """A table of people behind one ledger, or several.

    A choice that is one of `of` choices at the same cost says so: several owners then take turns, and each of them
    pays for its own turns only.
    """

    schema: Schema
    accounting: Accounting
    purse: Fraction  # all that this run may spend: epsilon, or rho

    def with_purse(self, purse: Fraction) -> Self:
        """The same table for a method that is to spend only so much; the ledger holds the whole run to its budget."""
        twin = copy(self)
        twin.purse = purse
        return twin

    def regrouped(self, schema: Schema, homes: Mapping[str, NDArray[np.int64]]) -> Self:
        """The same rows under a schema in which some attributes are coarser; what was bought so far may decide how.

        `homes` has for each such attribute the new code of every old one, in order. Costs nothing: the codes of a row
        are still a public function of that row.
        """
        raise UsageError(
            "several owners cannot look for bins together yet: give `bins` or `edges` in the schema of the federation"
        )

    def owners(self) -> Sequence[PrivateTable]:
        """The rows of each owner as a private table of its own: this one, unless there are several."""
        return (self,)

    @abstractmethod
    def progress(self, phase: str, done: int, of: int) -> None: ...

    @abstractmethod
    def pick(self, count: int, purpose: str) -> int:
        """A uniform public number below `count`: reads nothing and costs nothing, but is journalled like the rest."""

    @abstractmethod
    def _decide(self, question: Options, cost: Fraction, purpose: str, of: int) -> int:
        """Pay, score the options on exact counts, draw one, journal it; its index."""

    @abstractmethod
    def _release(self, question: Vector, cost: Fraction, purpose: str) -> Noisy:
        """Pay, answer from exact counts, add noise, journal."""

    # -- the verbs -------------------------------------------------------------------------------------------

    def choose(
        self,
        options: Sequence[Pair],
        score: str,
        cost: Fraction,
        purpose: str,
        penalty: Sequence[int] | None = None,
        references: Sequence[NDArray[np.int64]] | None = None,
        of: int = 1,
    ) -> Pair:
        """One of the options, more likely the higher its score less its public penalty (both on the score's scale).

        Score D compares with public tables of counts: `references` has one for each option.
        """
        question = Choice(options, score, penalty, references)
        question.check(self.schema)
        return options[self._decide(question, cost, purpose, of)]

    def choose_link(
        self,
        left: Axes,
        placed: Axes,
        score: str,
        cost: Fraction,
        purpose: str,
        *,
        cells: int,
        fine: int = 0,
        alone: bool = False,
        of: int = 1,
    ) -> Pair:
        """`choose` among every attribute of `left` with every parent of `placed` whose table has at most `cells` cells,
        by scores of pairs counted once. No parent is an option if `alone`, and where no parent fits.
        """
        question = Links.of(self.schema, left, placed, score, fine, cells, alone)
        question.check(self.schema)
        return question.pair(self._decide(question, cost, purpose, of))

    def choose_next(self, left: Axes, placed: Axes, cost: Fraction, purpose: str, fine: int = 0, of: int = 1) -> Axis:
        """One of `left`, more likely the higher its best link to a placed attribute, by score R on pairs counted once.

        This costs what a choice among the links would.
        """
        question = NextLink(left, placed, fine)
        question.check(self.schema)
        return left[self._decide(question, cost, purpose, of)]

    def measure(
        self, asks: Sequence[Axes], cost: Fraction, purpose: str, shares: Sequence[Fraction] | None = None
    ) -> list[Measurement]:
        """Noisy counts over each ask, the cost split evenly or in the shares given; the empty ask is the row count."""
        noisy = self._asked(Tables.of(asks, shares), cost, purpose)
        noise = noise_of(self.accounting)
        return [
            Measurement(axes, values.reshape(self.schema.sizes(axes)), noise, scale)
            for axes, values, scale in zip(asks, noisy.parts, noisy.scales)
        ]

    def measure_coefficients(self, asks: Sequence[Axes], cost: Fraction, purpose: str) -> list[Coefficients]:
        """Noisy Hadamard coefficients: the block of each ask, all with the same noise."""
        noisy = self._asked(HadamardBlocks(asks), cost, purpose)
        noise = noise_of(self.accounting)
        return [
            Coefficients(axes, values.reshape(block_shape(axes, self.schema)), noise, scale)
            for axes, values, scale in zip(asks, noisy.parts, noisy.scales)
        ]

    def measure_scores(self, axes: Axes, cost: Fraction, purpose: str) -> PairScores:
        """Score R of every pair of these axes, all with the same noise."""
        noisy = self._asked(Scores(axes), cost, purpose)
        lower = np.tril_indices(len(axes), -1)
        values = np.zeros((len(axes), len(axes)), dtype=np.int64)
        values[lower] = values.T[lower] = noisy.parts[0]
        return PairScores(axes, values, noise_of(self.accounting), noisy.scales[0])

    def measure_wavelet(
        self, axes: Axes, kinds: Sequence[Kind], cost: Fraction, purpose: str, form: Form = "tight"
    ) -> Wavelets:
        """Noisy wavelet coefficients of one table, a kind of transform for each axis, all with the same noise."""
        question = WaveletTable(axes, tuple(kinds), form)
        noisy = self._asked(question, cost, purpose)
        values = noisy.parts[0].reshape([d.coefficients for d in question.dimensions(self.schema)])
        return Wavelets(axes, tuple(kinds), form, values, noise_of(self.accounting), noisy.scales[0])

    def measure_details(self, attribute: str, depth: int, cost: Fraction, purpose: str) -> Details:
        """The noisy shape of an attribute inside its bins, each halved `depth` times."""
        noisy = self._asked(FineDetails(attribute, depth), cost, purpose)
        return Details(attribute, depth, noisy.parts[0], noise_of(self.accounting), noisy.scales[0])

    def appraise(self, statistic: Statistic, cost: Fraction, purpose: str) -> Appraisal:
        """One evaluation statistic of the kernel's closed list, with noise on it."""
        noisy = self._asked(Figure(statistic), cost, purpose)
        return Appraisal(int(noisy.parts[0][0]), noise_of(self.accounting), noisy.scales[0])

    def _asked(self, question: Vector, cost: Fraction, purpose: str) -> Noisy:
        question.check(self.schema)
        return self._release(question, cost, purpose)
