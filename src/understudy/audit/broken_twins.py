"""Broken twins: the mistakes that an audit is for, made on purpose and for the length of a `with` block.

a calibration that is wrong      the scale that the kernel works out is too small
a sampler that is wrong          the scale is right, the draw is not
an order that is wrong           rows are counted before the charge is on disk
a run that depends on the rows   what is asked, what is paid, or what is published
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from understudy import publishing
from understudy.audit.observation import COUNTING
from understudy.privacy.accounting import Accounting
from understudy.privacy.local_table import LocalPrivateTable, digest
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.questions import (
    AllPairScores,
    NoisyBlock,
    NoisyQuery,
    Selection,
    TableDistances,
    TotalDependence,
    ValueLists,
    statistics,
    value_lists,
)
from understudy.privacy.questions import marginals as marginals_question
from understudy.privacy.questions.question import split
from understudy.privacy.random_source import SystemSource
from understudy.privacy.sensitivity import Sensitivity
from understudy.privacy.table import PrivateTable
from understudy.privacy.thresholds import value_threshold
from understudy.relations import derivation, linking
from understudy.relations.panel import Panel
from understudy.relations.table_tree import Branch, TableTree
from understudy.schema import Axis, Schema
from understudy.schema.children import ChildTable

Twin = Callable[[], AbstractContextManager[Any]]


# -- calibration ---------------------------------------------------------------------------------------------------


def noise_halved() -> AbstractContextManager[Any]:
    """Calibrate noise to half of what the cost allows."""
    right = Accounting.noise_for
    return mock.patch.object(
        Accounting, "noise_for", lambda self, *asked: replace(noise := right(self, *asked), scale=noise.scale / 2)
    )


def selection_quartered() -> AbstractContextManager[Any]:
    """Calibrate selections to a quarter of their scale."""
    right = Accounting.selection_scale
    return mock.patch.object(Accounting, "selection_scale", lambda self, *asked: right(self, *asked) / 4)


def replaced_row_counted_once() -> AbstractContextManager[Any]:
    """Take the sensitivity of add-remove neighbours for replace-one: half of what it is."""
    return mock.patch.object(marginals_question, "table_sensitivity", lambda schema: Sensitivity(1, 1))


@contextmanager
def rows_of_a_person_ignored() -> Iterator[None]:
    """Protect one row of a person who has several."""

    def one_row(table: LocalPrivateTable, question: Selection[Any], cost: Fraction) -> float:
        return table.accounting.selection_scale(question.sensitivity(table.schema), cost)

    with (
        mock.patch.object(Sensitivity, "times", lambda self, rows: self),
        mock.patch.object(LocalPrivateTable, "_selection_scale", one_row),
    ):
        yield


def distance_counted_once() -> AbstractContextManager[Any]:
    """Take the distance that one row moves for that of a row which comes or goes, where it is replaced."""
    return mock.patch.object(statistics, "row_distance", lambda schema: 1)


def sum_taken_for_one_pair() -> AbstractContextManager[Any]:
    """Protect the sum of all scores like one of them."""

    def one_pair(question: TotalDependence, schema: Schema) -> Sensitivity:
        moved = AllPairScores(question.axes[:2]).sensitivity(schema).l1
        return Sensitivity(moved, moved**2)

    return mock.patch.object(TotalDependence, "sensitivity", one_pair)


def distances_taken_for_one() -> AbstractContextManager[Any]:
    """Protect the distances of several tables like one of them."""

    def one_table(question: TableDistances, schema: Schema) -> Sensitivity:
        moved = statistics.row_distance(schema)
        return Sensitivity(moved, moved**2).times(schema.rows_per_person)

    return mock.patch.object(TableDistances, "sensitivity", one_table)


def rest_of_a_list_free() -> AbstractContextManager[Any]:
    """Pay for the counts of texts and not for that of the rest."""

    def texts_alone(question: ValueLists, schema: Schema) -> Sensitivity:
        moved = 2 if schema.neighbours == "replace-one" else 1
        return Sensitivity(moved, moved).times(schema.rows_per_person)

    return mock.patch.object(ValueLists, "sensitivity", texts_alone)


def threshold_too_low() -> AbstractContextManager[Any]:
    """Show a text of one person alone with ten times the delta that was paid for."""
    right = value_threshold
    return mock.patch.object(
        value_lists,
        "value_threshold",
        lambda scale, rows, delta: right(scale, rows, min(10 * delta, Fraction(49, 100))),
    )


def one_row_of_a_history_ignored() -> AbstractContextManager[Any]:
    """Protect one pair of consecutive rows less than a person may have."""
    right = Panel._derived

    def derived(panel: Panel, name: str, attributes: Any, rows: int) -> Schema:
        return right(panel, name, attributes, max(1, rows - 1))

    return mock.patch.object(Panel, "_derived", derived)


def histories_not_cut() -> AbstractContextManager[Any]:
    """Use all rows of a person, and pay for the first few."""
    right = derivation.Histories.of

    def whole(*given: Any) -> derivation.Histories:
        rows = right(*given)
        return replace(rows, place=np.minimum(rows.place, 1))

    return mock.patch.object(derivation.Histories, "of", staticmethod(whole))


def one_level_of_tables_charged() -> AbstractContextManager[Any]:
    """Protect the rows of one parent, where a row of the root has several parents."""
    right = TableTree._branch

    def branch(tree: TableTree, name: str, child: ChildTable | None) -> Branch:
        found = right(tree, name, child)
        rows = 1 if child is None else child.at_most
        return replace(found, derived=replace(found.derived, rows_per_person=rows))

    return mock.patch.object(TableTree, "_branch", branch)


def tables_cut_by_the_rows_of_others() -> AbstractContextManager[Any]:
    """Choose which rows are used by a digest that knows how many rows there are in all."""
    right = linking.place_within

    def among_all(parent: Any, digests: Any) -> Any:
        other = [linking.digest(one + str(len(parent)).encode()) for one in digests.tolist()]
        return right(parent, np.asarray(other, dtype="S32"))

    return mock.patch.object(linking, "place_within", among_all)


# -- samplers ------------------------------------------------------------------------------------------------------


def sampler_noise_halved() -> AbstractContextManager[Any]:
    """Draw with half the scale that was worked out."""
    return _scaled_samplers(0.5, Laplace.name, Gaussian.name)


def sampler_noise_a_tenth_too_small() -> AbstractContextManager[Any]:
    """Draw with nine tenths of the scale that was worked out."""
    return _scaled_samplers(0.9, Laplace.name, Gaussian.name)


def sampler_selection_quartered() -> AbstractContextManager[Any]:
    """Select with a quarter of the scale that was worked out."""
    return _scaled_samplers(0.25, "permute_and_flip", "exponential")


@contextmanager
def _scaled_samplers(factor: float, *names: str) -> Iterator[None]:
    def scaled(right: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, values, scale: right(self, values, factor * scale)

    with ExitStack() as patches:
        for name in names:
            patches.enter_context(mock.patch.object(SystemSource, name, scaled(getattr(SystemSource, name))))
        yield


# -- order ---------------------------------------------------------------------------------------------------------


def charged_after_counting() -> AbstractContextManager[Any]:
    """Count first and pay then: whoever is killed in between has looked for nothing."""

    def late(table: Any, question: NoisyQuery[Any], cost: Fraction, purpose: str) -> list[NoisyBlock]:
        blocks = question.noise_blocks(table.schema, table.accounting, cost)
        exact = split(question.exact(table._LocalPrivateTable__engine, table.schema), blocks)
        charge = table._LocalPrivateTable__reservation.charge(purpose, cost, digest(question.as_json(), str(cost)))
        charge.drawing()
        noisy = [block.noise.draw(values, table._LocalPrivateTable__source) for values, block in zip(exact, blocks)]
        charge.journal(b"".join(values.astype("<i8").tobytes() for values in noisy))
        return [NoisyBlock(values, block.noise) for values, block in zip(noisy, blocks)]

    return mock.patch.object(LocalPrivateTable, "_measure", late)


# -- dependence on the rows ----------------------------------------------------------------------------------------


def _looks(table: Any) -> bool:
    """Return a bit of the exact rows, past anyone who listens to the engine: whether the sum of all codes is odd."""
    engine = table._LocalPrivateTable__engine
    listening = {name: engine.__dict__.pop(name) for name in COUNTING if name in engine.__dict__}
    counted = engine.marginals([(Axis(name),) for name in table.schema.names])
    odd = sum(int(np.arange(counts.size) @ counts.ravel()) for counts in counted) % 2 == 1
    engine.__dict__.update(listening)
    return odd


def question_from_the_rows() -> AbstractContextManager[Any]:
    """Ask for tables in an order that the rows decide; where there is one table, ask for it twice."""
    right = PrivateTable.measure

    def measure(table: PrivateTable, workload: Any, cost: Fraction, purpose: str, shares: Any = None) -> Any:
        if not _looks(table):
            return right(table, workload, cost, purpose, shares)
        if len(workload) > 1:
            return right(table, workload[::-1], cost, purpose, shares and shares[::-1])[::-1]
        right(table, workload, cost / 2, purpose)
        return right(table, workload, cost / 2, purpose)

    return mock.patch.object(PrivateTable, "measure", measure)


def price_from_the_rows() -> AbstractContextManager[Any]:
    """Pay less for tables where the rows are simple."""
    right = PrivateTable.measure

    def measure(table: PrivateTable, workload: Any, cost: Fraction, purpose: str, shares: Any = None) -> Any:
        return right(table, workload, cost * Fraction(9, 10) if _looks(table) else cost, purpose, shares)

    return mock.patch.object(PrivateTable, "measure", measure)


def figure_from_the_rows() -> AbstractContextManager[Any]:
    """Publish something about the rows that nobody paid for."""
    right = publishing._PaidRun._release

    def release(run: Any, table: Any) -> Any:
        made = right(run, table)
        return replace(made, rows=made.rows + _looks(table))

    return mock.patch.object(publishing._PaidRun, "_release", release)
