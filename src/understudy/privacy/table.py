"""The private table: all that a method ever receives. Its verbs put a question, and every question is paid for before
any row is read; what comes back is already private.

Who answers is another matter: `LocalPrivateTable` has the rows of one owner, a federation asks several owners. Both are
given the same questions, so that a method is written once.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from fractions import Fraction
from typing import Any, Self

import numpy as np

from understudy.errors import UsageError
from understudy.privacy import questions
from understudy.privacy.accounting import Accounting
from understudy.privacy.measurement import Measurement
from understudy.privacy.questions.details import Details
from understudy.privacy.questions.question import Answer, Question
from understudy.privacy.questions.statistics import NoisyStatistic, ReferenceTables, Statistic
from understudy.privacy.questions.value_lists import Grouping
from understudy.privacy.questions.wavelets import Form, Kind, Wavelets
from understudy.privacy.scores import INDEPENDENCE, Pair, Penalty, Score, check_penalties
from understudy.progress import Progress as Progress
from understudy.schema import Axes, Axis, Integers, Schema

_TABLE_FACTS = ("name", "account", "rows", "rows_max", "neighbours", "rows_per_person")


class PrivateTable(ABC):
    """A table of people behind a ledger: all that a method ever holds. It pays first, and answers with noise.

    Costs are exact fractions, in epsilon, mu squared or rho (`accounting.unit`); `purpose` is the word for the ledger.
    `choose` picks one of several options, `measure` returns noisy counts, and there is no verb that returns an exact
    one. A choice that is one of `of` choices at the same cost says so: several owners then take turns, and each of them
    pays for its own turns only.

    >>> from fractions import Fraction
    >>> from understudy.schema import Axis
    >>> def share_of_smokers(table):  # what a method's `fit` is given
    ...     counts = table.measure([(Axis("smoker"),)], table.total_cost, "tables")[0].values
    ...     return counts[1] / counts.sum()
    """

    schema: Schema
    accounting: Accounting
    total_cost: Fraction  # all that this run may spend, in epsilon, mu squared or rho
    known: tuple[Measurement, ...] = ()  # one-way tables that were bought before, which a method need not buy again

    def with_total_cost(self, total_cost: Fraction) -> Self:
        """Return the same table for a method that may spend only this; the ledger holds the run to its budget."""
        twin = copy(self)
        twin.total_cost = total_cost
        return twin

    def knowing(self, known: Sequence[Measurement]) -> Self:
        """Return the same table for a method that is told of tables bought before it."""
        twin = copy(self)
        twin.known = tuple(known)
        return twin

    def regrouped(self, schema: Schema, homes: Mapping[str, Integers]) -> Self:
        """Return the same rows under a schema with some attributes coarser; what was bought so far may decide how.

        `homes` has for each such attribute the new code of every old one, in order. Costs nothing: the codes of a row
        are still a public function of that row.
        """
        raise UsageError("this table cannot be regrouped: give `bins` or `edges` in the schema")

    def viewed(self, groups: Mapping[str, tuple[int, ...]]) -> Self:
        """Return the same rows with merged groups of these attributes' values as one more view, `Axis(name, MERGED)`.

        `groups` has the group of each code, of at least three; what was bought so far may decide it. Costs nothing: the
        group of a row is still a public function of that row. The default is to take no notice.
        """
        return self

    def foresee(self, workload: Sequence[Axes]) -> None:  # noqa: B027 - taking no notice is a right answer
        """Say which tables a method is likely to ask for, by public facts alone, so that they may be counted together.

        Nothing is read, charged or returned here, and no answer depends on it. The default is to take no notice.
        """

    def owners(self) -> Sequence[PrivateTable]:
        """Return the rows of each owner as a private table of its own: this one, unless there are several."""
        return (self,)

    @abstractmethod
    def progress(self, phase: str, done: int, of: int) -> None: ...

    @abstractmethod
    def public_random_index(self, count: int, purpose: str) -> int:
        """Return a uniform public number below `count`: it reads nothing and costs nothing, but is journalled."""

    @abstractmethod
    def _select(self, question: questions.Selection[Any], cost: Fraction, purpose: str, of: int) -> int:
        """Pay, score the options on exact counts, draw one, journal it; return its index."""

    @abstractmethod
    def _measure(self, question: questions.NoisyQuery[Any], cost: Fraction, purpose: str) -> list[questions.NoisyBlock]:
        """Pay, answer from exact counts, add noise, journal; return the noisy answer, stretch by stretch."""

    def _list(self, question: questions.ValueLists, cost: Fraction, purpose: str) -> list[questions.ValueList]:
        """Pay in cost and in delta, count the texts, add noise, and journal what passes the threshold; return that."""
        raise UsageError("value lists cannot be bought here: declare `values`")

    def ask(self, question: Question[Answer], cost: Fraction, purpose: str, of: int = 1) -> Answer:
        """Return the private answer to a question of the closed list, at this cost in epsilon, mu squared or rho."""
        if type(question) not in questions.QUESTIONS:  # a subclass may compute anything
            raise UsageError(f"{type(question).__name__} has no proved sensitivity, so it cannot be asked")
        question.check(self.schema)
        if isinstance(question, questions.Selection):
            selection: questions.Selection[Answer] = question
            return selection.result(self._select(selection, cost, purpose, of))
        if isinstance(question, questions.ValueLists):
            lists: Any = self._list(question, cost, purpose)
            return lists  # type: ignore[no-any-return]
        assert isinstance(question, questions.NoisyQuery)
        query: questions.NoisyQuery[Answer] = question
        return query.result(self._measure(query, cost, purpose), self.schema)

    # -- the verbs -------------------------------------------------------------------------------------------

    def choose(
        self,
        options: Sequence[Pair],
        score: Score,
        cost: Fraction,
        purpose: str,
        penalty: Sequence[Penalty] | None = None,
        references: Sequence[Integers] | None = None,
        of: int = 1,
    ) -> Pair:
        """Choose one of the options, more likely the higher its score less its public penalty.

        Args:
            options: attributes with their parents.
            score: by which they are compared inside the kernel.
            cost: of the choice, in `accounting.unit`: epsilon, mu squared or rho.
            purpose: the word for the ledger.
            penalty: of each option, made by `Score.penalty`.
            references: for score D, a public table of counts for each option.
            of: how many such choices there are at this cost.
        """
        check_penalties(penalty or (), score)
        return self.ask(questions.Choice(options, score, penalty, references), cost, purpose, of)

    def choose_edge(
        self,
        left: Axes,
        placed: Axes,
        score: Score,
        cost: Fraction,
        purpose: str,
        *,
        cells: int,
        penalty_per_cell: Penalty | None = None,
        allow_no_parent: bool = False,
        of: int = 1,
    ) -> Pair:
        """Choose among every attribute of `left` with every parent of `placed` whose table has at most `cells` cells,
        by scores of pairs counted once.

        Include the empty parent set if `allow_no_parent`, or when no parent fits within `cells`.
        """
        check_penalties((penalty_per_cell or 0,), score)
        question = questions.ChooseEdge.of(
            self.schema, left, placed, score, penalty_per_cell or 0, cells, allow_no_parent
        )
        return self.ask(question, cost, purpose, of)

    def choose_child(
        self,
        left: Axes,
        placed: Axes,
        cost: Fraction,
        purpose: str,
        penalty_per_cell: Penalty | None = None,
        of: int = 1,
    ) -> Axis:
        """Choose one of `left`, more likely the higher its best edge to a placed attribute, by score R on pairs counted
        once. This costs what a choice among the edges would.
        """
        check_penalties((penalty_per_cell or 0,), INDEPENDENCE)
        return self.ask(questions.ChooseChild(left, placed, penalty_per_cell or 0), cost, purpose, of)

    def measure(
        self, workload: Sequence[Axes], cost: Fraction, purpose: str, shares: Sequence[Fraction] | None = None
    ) -> list[Measurement]:
        """Measure the counts over several sets of attributes, with noise.

        Args:
            workload: the axes of each table; the empty one is the number of rows.
            cost: of all of them, in `accounting.unit`: epsilon, mu squared or rho.
            purpose: the word for the ledger.
            shares: of the cost, that add up to 1; evenly where None.
        """
        return self.ask(questions.Marginals.of(workload, shares), cost, purpose)

    def measure_coefficients(
        self, workload: Sequence[Axes], cost: Fraction, purpose: str
    ) -> list[questions.Coefficients]:
        """Measure the block of Hadamard coefficients of each of `workload`, all with the same noise."""
        return self.ask(questions.HadamardBlocks(workload), cost, purpose)

    def measure_scores(self, axes: Axes, cost: Fraction, purpose: str) -> questions.PairScores:
        """Measure score R of every pair of these axes, all with the same noise."""
        return self.ask(questions.AllPairScores(axes), cost, purpose)

    def measure_dependence(self, axes: Axes, cost: Fraction, purpose: str) -> float:
        """Measure how far the pairs of these axes are from independence, in rows: the mean total variation distance
        times the number of rows."""
        found = self.ask(questions.TotalDependence(axes), cost, purpose)
        return found.value / (INDEPENDENCE.unit(self.schema) * math.comb(len(axes), 2))

    def measure_distances(
        self, workload: Sequence[Axes], references: Sequence[Integers], cost: Fraction, purpose: str
    ) -> questions.NoisyDistances:
        """Measure how far each table is from a public table of counts, Σ|c − r| in rows, all with the same noise."""
        tables = ReferenceTables(tuple(workload), tuple(references))
        return self.ask(questions.TableDistances(tables), cost, purpose)

    def measure_wavelet(
        self, axes: Axes, kinds: Sequence[Kind], cost: Fraction, purpose: str, form: Form = "tight"
    ) -> Wavelets:
        """Measure the wavelet coefficients of one table, a kind of transform for each axis, all with the same noise."""
        return self.ask(questions.WaveletTable(axes, tuple(kinds), form), cost, purpose)

    def measure_details(self, attribute: str, depth: int, cost: Fraction, purpose: str) -> Details:
        """Measure the shape of an attribute inside its bins, each halved `depth` times."""
        return self.ask(questions.FineDetails(attribute, depth), cost, purpose)

    def list_values(
        self, groupings: Sequence[Grouping], delta: Fraction, cost: Fraction, purpose: str
    ) -> list[questions.ValueList]:
        """Buy the texts that many rows of each column share, with noisy counts, at this cost and this delta in all."""
        return self.ask(questions.ValueLists(tuple(groupings), delta), cost, purpose)

    def measure_statistic(self, statistic: Statistic, cost: Fraction, purpose: str) -> NoisyStatistic:
        """Measure one `statistic` of the kernel's closed list at this `cost`; `purpose` is the word for the ledger."""
        return self.ask(questions.StatisticQuery(statistic), cost, purpose)


def check_regrouping(fine: Schema, coarse: Schema, homes: Mapping[str, Integers]) -> None:
    """Refuse a coarser schema that is not the same table: what one person can change is computed from it."""
    same = all(getattr(fine, key) == getattr(coarse, key) for key in _TABLE_FACTS) and fine.names == coarse.names
    same = same and all(coarse[a.name] == a for a in fine.modelled if a.name not in homes)
    for name, home in homes.items():
        steps = np.diff(home)
        same = same and len(home) == fine[name].size and home[0] == 0 and home[-1] == coarse[name].size - 1
        same = same and bool(((steps == 0) | (steps == 1)).all()) and fine[name].has_missing == coarse[name].has_missing
    if not same:
        raise UsageError("a table can be regrouped to coarser codes of the same attributes only")
