"""Broken twins: the mistakes that an audit is for, made on purpose and for the length of a `with` block.

a calibration that is wrong      the scale that the kernel works out is too small
a sampler that is wrong          the scale is right, the draw is not
an order that is wrong           rows are counted before the charge is on disk
a run that depends on the rows   what is asked, what is paid, or what is published
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np

from understudy import publishing
from understudy.privacy.accounting import Accounting
from understudy.privacy.local_table import LocalPrivateTable, digest
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.questions import NoisyBlock, NoisyQuery, Selection
from understudy.privacy.questions import marginals as marginals_question
from understudy.privacy.questions.question import split
from understudy.privacy.random_source import SystemSource
from understudy.privacy.sensitivity import Sensitivity
from understudy.privacy.table import PrivateTable

Twin = Callable[[], AbstractContextManager[Any]]


# -- calibration ---------------------------------------------------------------------------------------------------


@contextmanager
def noise_halved() -> Iterator[None]:
    """Calibrate noise to half of what the cost allows."""
    with _halved_noise(Laplace), _halved_noise(Gaussian):
        yield


def _halved_noise(kind: type[Laplace] | type[Gaussian]) -> AbstractContextManager[Any]:
    right = kind.for_cost

    def for_cost(sensitivity: Sensitivity, cost: Fraction) -> Any:
        return kind(right(sensitivity, cost).scale / 2)

    return mock.patch.object(kind, "for_cost", staticmethod(for_cost))


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


# -- samplers ------------------------------------------------------------------------------------------------------


@contextmanager
def sampler_noise_halved() -> Iterator[None]:
    """Draw with half the scale that was worked out."""
    with _scaled_sampler(Laplace.name, 0.5), _scaled_sampler(Gaussian.name, 0.5):
        yield


@contextmanager
def sampler_noise_a_tenth_too_small() -> Iterator[None]:
    """Draw with nine tenths of the scale that was worked out."""
    with _scaled_sampler(Laplace.name, 0.9), _scaled_sampler(Gaussian.name, 0.9):
        yield


@contextmanager
def sampler_selection_quartered() -> Iterator[None]:
    """Select with a quarter of the scale that was worked out."""
    with _scaled_sampler("permute_and_flip", 0.25), _scaled_sampler("exponential", 0.25):
        yield


def _scaled_sampler(name: str, factor: float) -> AbstractContextManager[Any]:
    right = getattr(SystemSource, name)
    return mock.patch.object(SystemSource, name, lambda self, values, scale: right(self, values, factor * scale))


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
    """A bit of the exact rows: whether all of them are alike in every attribute."""
    engine = table._LocalPrivateTable__engine
    asks = [(axis,) for axis in table._LocalPrivateTable__scorer._axes]
    counted = type(engine).marginals(engine, asks)  # past anyone who listens to the engine
    return all(int(np.count_nonzero(counts)) <= 1 for counts in counted)


def question_from_the_rows() -> AbstractContextManager[Any]:
    """Ask for tables in an order that the rows decide; where there is one table, ask for it twice."""
    right = PrivateTable.measure

    def measure(table: PrivateTable, asks: Any, cost: Fraction, purpose: str, shares: Any = None) -> Any:
        if not _looks(table):
            return right(table, asks, cost, purpose, shares)
        if len(asks) > 1:
            return right(table, asks[::-1], cost, purpose, shares and shares[::-1])[::-1]
        right(table, asks, cost / 2, purpose)
        return right(table, asks, cost / 2, purpose)

    return mock.patch.object(PrivateTable, "measure", measure)


def price_from_the_rows() -> AbstractContextManager[Any]:
    """Pay less for tables where the rows are simple."""
    right = PrivateTable.measure

    def measure(table: PrivateTable, asks: Any, cost: Fraction, purpose: str, shares: Any = None) -> Any:
        return right(table, asks, cost * Fraction(9, 10) if _looks(table) else cost, purpose, shares)

    return mock.patch.object(PrivateTable, "measure", measure)


def figure_from_the_rows() -> AbstractContextManager[Any]:
    """Publish something about the rows that nobody paid for."""
    right = publishing._fit

    def fit(method: Any, table: PrivateTable, *more: Any) -> Any:
        release = right(method, table, *more)
        return replace(release, rows=release.rows + _looks(table))

    return mock.patch.object(publishing, "_fit", fit)
