"""Queries to a wavelet model: counts and shares with the exact standard error of their noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.models.query import Answer, Figure, Query

if TYPE_CHECKING:
    from understudy.models.wavelet import WaveletModel

COVERS = "the noise of this release, exactly"


def answer(model: WaveletModel, query: Query) -> Answer | None:
    """None where the usual way is as good: a mean, or the public number of rows."""
    if query.of is not None or (not query.selections and query.schema.rows is not None):
        return None
    weights = {name: selection.weights for name, selection in query.selections.items()}
    unit = query.rows if query.measure == "share" else 1
    if query.by:
        values, variances = model.grouped_sums(weights, query.by)
    else:
        values, variances = map(np.asarray, model.weighted_sum(weights))
    labels = [query.schema[name].labels for name in query.by]
    figures = tuple(
        Figure(
            {name: labels[i][code] for i, (name, code) in enumerate(zip(query.by, codes))},
            float(values[codes]) / unit,
            float(np.sqrt(variances[codes])) / unit,
        )
        for codes in query.groups
    )
    return Answer(query.measure, query.by, figures, _covers(query), query.notes + _notes(figures))


def _covers(query: Query) -> str:
    whole = all(selection.whole for selection in query.selections.values())
    return COVERS if whole else f"{COVERS}; not a cut bin's shape"


def _notes(figures: Any) -> tuple[str, ...]:
    if all(figure.value >= 0 for figure in figures):
        return ()
    return ("noise can bring a small count below zero; read it as zero",)
