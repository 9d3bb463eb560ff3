"""Queries to a wavelet model: counts and shares with the exact standard error of their noise, means to first order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.query.answers import Answer, Figure
from understudy.query.queries import Query
from understudy.query.queries import answer as usual_answer

if TYPE_CHECKING:
    from understudy.models.wavelet import WaveletModel

Floats = NDArray[np.float64]
COVERS = "the noise of this release, exactly"
RATIO = "the noise of this release, to first order (a mean is a ratio of two noisy sums)"
ENOUGH = 3.0  # standard errors that a group's rows must be from none, to divide by them


def answer(model: WaveletModel, query: Query) -> Answer | None:
    """Answer from the coefficients.

    None where the usual way is as good: the public row count, a mean inside its own cells.
    """
    if query.measure in ("rate", "sum", "median", "quantile"):
        return None
    if query.of is not None:
        return None if query.of in query.by else _mean(model, query, query.of)
    if not query.selections and query.schema.rows is not None:
        return None
    weights = {name: selection.weights for name, selection in query.selections.items()}
    unit = query.rows if query.measure == "share" else 1
    values, variances = _sums(model, weights, query)
    errors = [float(np.sqrt(variances[codes])) / unit for codes in query.groups]
    figures = query.figures([float(values[codes]) / unit for codes in query.groups], errors)
    return Answer(query.measure, query.by, figures, _covers(query, COVERS), query.notes + _notes(figures))


def _sums(model: WaveletModel, weights: Mapping[str, Floats], query: Query) -> tuple[Floats, Floats]:
    if query.by:
        return model.grouped_sums(weights, query.by)
    value, variance = model.weighted_sum(weights)
    return np.asarray(value), np.asarray(variance)


def _mean(model: WaveletModel, query: Query, of: str) -> Answer:
    """Return M/C, the values added up over how many there are, both from the coefficients. By the delta method the
    variance is that of (M − mean·C)/C, whose numerator is linear. Where noise might have made the rows up, or
    brought the mean out of the declared range, the non-negative table answers, and no standard error is claimed."""
    usual = usual_answer(model.distribution, query)
    own = query.selections[of]
    others = {name: selection.weights for name, selection in query.selections.items() if name != of}
    middle = own.moments.sum() / max(own.present.sum(), 1e-300)  # numbers near zero lose nothing when squares differ
    away = own.moments - middle * own.present
    unit = max(float(abs(away).max(initial=0)), 1e-300)
    count, of_count = _sums(model, others | {of: own.present}, query)
    total, of_total = _sums(model, others | {of: away / unit}, query)
    _, of_both = _sums(model, others | {of: away / unit + own.present}, query)
    known = count > ENOUGH * np.sqrt(of_count) + 1e-9
    ratio = np.divide(total, count, out=np.zeros_like(total), where=known)
    domain = own.attribute.ordered
    known &= (domain.edges[0] <= middle + unit * ratio) & (middle + unit * ratio <= domain.edges[-1])
    spread = np.maximum(of_total - ratio * (of_both - of_total - of_count) + ratio**2 * of_count, 0)
    error = unit * np.sqrt(np.divide(spread, count**2, out=np.zeros_like(spread), where=known))
    figures = tuple(
        Figure(line.by, float(middle + unit * ratio[codes]), float(error[codes])) if known[codes] else line
        for codes, line in zip(query.groups, (replace(line, stderr=None) for line in usual.figures))
    )
    return Answer(query.measure, query.by, figures, _covers(query, RATIO), usual.notes + _unsure(figures))


def _unsure(figures: Any) -> tuple[str, ...]:
    if all(figure.stderr is not None for figure in figures):
        return ()
    return ("a mean that is lost in noise comes from the table without negative counts, and has no standard error",)


def _covers(query: Query, what: str) -> str:
    whole = all(selection.whole for selection in query.selections.values())
    return what if whole else f"{what}; not a cut bin's shape"


def _notes(figures: Any) -> tuple[str, ...]:
    if all(figure.value >= 0 for figure in figures):
        return ()
    return ("noise can bring a small count below zero; read it as zero",)
