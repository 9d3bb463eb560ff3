"""Histories as parts of a release file: the model of PEOPLE, the conditionals of STEPS, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError, UsageError
from understudy.models.bayesian_network import Conditional, base_of
from understudy.models.factor import MAX_CELLS
from understudy.models.model import Model
from understudy.models.serialization import (
    MAX_TOTAL,
    Arrays,
    ArraySource,
    axis_of,
    checked_noise,
    model_from_parts,
    model_parts,
)
from understudy.privacy.measurement import Measurement
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.relations.history_model import HistoryModel
from understudy.relations.panel import Panel
from understudy.relations.tilts import Move
from understudy.schema import Axis, Schema

KIND = "histories"
MAX_WEIGHT = 1e9
_SLACK = 1e-6  # within which probabilities add up


@dataclass(frozen=True)
class _Prefixed:
    """The arrays of one of the two tables."""

    arrays: ArraySource
    prefix: str

    def take(self, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
        return self.arrays.take(self.prefix + name, shape, dtype)


def parts_of(model: Model) -> tuple[dict[str, Any], Arrays]:
    """Return any model as a document and arrays."""
    if not isinstance(model, HistoryModel):
        return model_parts(model)
    people, inner = model_parts(model.people)
    arrays = Arrays({f"people-{name}": array for name, array in inner.items()})
    for i, conditional in enumerate(model.steps.conditionals):
        arrays[f"steps-conditional-{i}"] = conditional.table
    for i, move in enumerate(model.moves.values()):
        if move.weights is not None:
            arrays[f"steps-weights-{i}"] = move.weights
    own = model.steps.conditionals
    steps = [{"child": c.child.as_json(), "parents": [p.as_json() for p in c.parents]} for c in own]
    measured = []
    for table, measurements in zip(("people", "steps"), model.measured):
        arrays |= {f"{table}-measurement-{i}": m.values for i, m in enumerate(measurements)}
        noises = [{"noise": m.noise.name, "scale": m.noise.scale} for m in measurements]
        measured.append([{"axes": [a.as_json() for a in m.axes], **n} for m, n in zip(measurements, noises)])
    weighted = [move.weights is not None for move in model.moves.values()]
    document = {"kind": KIND, "persons": model.persons, "people": people, "steps": steps, "weighted": weighted}
    return document | {"measured": measured}, arrays


def model_of(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> Model:
    """Return the model that a release file tells of, every part checked against the schema."""
    if (document.get("kind") == KIND) != (schema.person is not None):
        raise ReleaseError("the model in the release is damaged")
    if schema.person is None:
        return model_from_parts(document, arrays, schema.free)
    try:
        return _histories(document, arrays, Panel(schema))
    except (LookupError, TypeError, ValueError, ArithmeticError, AssertionError, UsageError):
        raise ReleaseError("the model in the release is damaged") from None


def _histories(document: dict[str, Any], arrays: ArraySource, panel: Panel) -> HistoryModel:
    persons = document["persons"]
    if type(persons) is not int or not 1 <= persons <= MAX_TOTAL:
        raise ValueError
    of_people, of_steps = _Prefixed(arrays, "people-"), _Prefixed(arrays, "steps-")
    people = model_from_parts(document["people"], of_people, panel.people)
    measured = document["measured"]
    first, second = _measured(measured[0], of_people, panel.people), _measured(measured[1], of_steps, panel.steps)
    moves = _moves(document["weighted"], of_steps, panel)
    return HistoryModel(panel, people, _network(document["steps"], of_steps, panel), moves, persons, (first, second))


def _moves(weighted: Any, arrays: ArraySource, panel: Panel) -> dict[str, Move]:
    found = panel.moves()
    if not isinstance(weighted, list) or len(weighted) != len(found):
        raise ValueError
    for i, (target, move) in enumerate(found.items()):
        if weighted[i]:
            weights = arrays.take(f"weights-{i}", (move.values,), np.float64)
            if not move.tilted or not ((weights >= 0) & (weights <= MAX_WEIGHT)).all() or not weights.any():
                raise ValueError
            found[target] = replace(move, weights=weights)
    return found


def _network(pairs: Sequence[Any], arrays: ArraySource, panel: Panel) -> ConditionalNetwork:
    placed = {Axis(name) for name in panel.given}
    conditionals = []
    for i, pair in enumerate(pairs):
        child = axis_of(pair["child"], panel.steps)
        parents = tuple(axis_of(parent, panel.steps) for parent in pair["parents"])
        bases = {base_of(parent) for parent in parents}
        axes = (*parents, child)
        if child in placed or child.level or not bases <= placed or len(bases) < len(parents):
            raise ValueError
        if panel.steps.cells(axes) > MAX_CELLS:
            raise ValueError
        table = arrays.take(f"conditional-{i}", panel.steps.sizes(axes), np.float64)
        if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=_SLACK):
            raise ValueError
        conditionals.append(Conditional(child, parents, table))
        placed.add(child)
    if placed != {Axis(name) for name in (*panel.given, *panel.changes)}:
        raise ValueError
    return ConditionalNetwork(panel.steps, panel.given, tuple(conditionals))


def _measured(listed: Any, arrays: ArraySource, schema: Schema) -> tuple[Measurement, ...]:
    if not isinstance(listed, list):
        raise ValueError
    found = []
    for i, item in enumerate(listed):
        axes = tuple(axis_of(axis, schema) for axis in item["axes"])
        if schema.cells(axes) > MAX_CELLS:
            raise ValueError
        values = arrays.take(f"measurement-{i}", schema.sizes(axes), np.int64)
        found.append(Measurement(axes, values, checked_noise(item)))
    return tuple(found)
