"""Histories and linked tables as parts of a release file: models, conditionals, and what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import ReleaseError, UsageError
from understudy.models.bayesian_network import Conditional, base_of
from understudy.models.factor import MAX_CELLS
from understudy.models.model import Model
from understudy.models.serialization import (
    MAX_TOTAL,
    Arrays,
    ArraySource,
    PrefixedArrays,
    axis_of,
    checked_noise,
    model_from_parts,
    model_parts,
)
from understudy.privacy.measurement import Measurement
from understudy.relations.calibration import horizon_of
from understudy.relations.conditional_network import ConditionalNetwork
from understudy.relations.history_model import HistoryModel
from understudy.relations.linked_model import LinkedModel
from understudy.relations.panel import Panel
from understudy.relations.table_tree import TableTree
from understudy.relations.tie_pairs import pair_axes
from understudy.relations.tilts import Move, Tie
from understudy.schema import Axis, Schema

KIND = "histories"
TABLES = "tables"
MAX_WEIGHT = 1e9
_SLACK = 1e-6  # within which probabilities add up


def parts_of(model: Model) -> tuple[dict[str, Any], Arrays]:
    """Return any model as a document and arrays."""
    if isinstance(model, LinkedModel):
        return _linked_parts(model)
    if not isinstance(model, HistoryModel):
        return model_parts(model)
    people, inner = model_parts(model.people)
    arrays = Arrays({f"people-{name}": array for name, array in inner.items()})
    for i, move in enumerate(model.moves.values()):
        if move.weights is not None:
            arrays[f"steps-weights-{i}"] = move.weights
    steps = _network_parts(model.steps, "steps-", arrays)
    both = zip(("people-", "steps-"), model.measured)
    measured = [_measured_parts(measurements, table, arrays) for table, measurements in both]
    weighted = [move.weights is not None for move in model.moves.values()]
    document = {"kind": KIND, "persons": model.persons, "people": people, "steps": steps, "weighted": weighted}
    arrays |= {f"steps-tie-{i}": tie.weights for i, tie in enumerate(model.ties)}
    ties = [[tie.attribute, tie.to] for tie in model.ties]
    document |= {"ties": ties} if ties else {}
    return document | {"measured": measured, "ahead": model.horizon is not None}, arrays


def method_model(model: Model) -> Model:
    """Return the model that a method of one table fitted: of the people, of the root table, or the model itself."""
    if isinstance(model, HistoryModel):
        return model.people
    return model.root if isinstance(model, LinkedModel) else model


def _linked_parts(model: LinkedModel) -> tuple[dict[str, Any], Arrays]:
    """Return the model of the root, the networks of the children and what was measured; tables go by their place."""
    root, inner = model_parts(model.root)
    arrays = Arrays({f"root-{name}": array for name, array in inner.items()})
    networks, measured = {}, {}
    for i, name in enumerate(model.tree.branches):
        if name in model.networks:
            networks[name] = _network_parts(model.networks[name], f"table-{i}-", arrays)
        measured[name] = _measured_parts(model.measured[name], f"table-{i}-", arrays)
    return {"kind": TABLES, "rows": model.rows, "root": root, "networks": networks, "measured": measured}, arrays


def _network_parts(network: ConditionalNetwork, prefix: str, arrays: Arrays) -> list[dict[str, Any]]:
    for i, conditional in enumerate(network.conditionals):
        arrays[f"{prefix}conditional-{i}"] = conditional.table
    own = network.conditionals
    return [{"child": c.child.as_json(), "parents": [p.as_json() for p in c.parents]} for c in own]


def _measured_parts(measurements: Sequence[Measurement], prefix: str, arrays: Arrays) -> list[dict[str, Any]]:
    arrays |= {f"{prefix}measurement-{i}": m.values for i, m in enumerate(measurements)}
    return [
        {"axes": [a.as_json() for a in m.axes], "noise": m.noise.name, "scale": m.noise.scale} for m in measurements
    ]


def model_of(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> Model:
    """Return the model that a release file tells of, every part checked against the schema."""
    kind = KIND if schema.person is not None else TABLES if schema.tables else None
    if kind is None and document.get("kind") not in (KIND, TABLES):
        return model_from_parts(document, arrays, schema.free)
    if document.get("kind") != kind:
        raise ReleaseError("the model in the release is damaged")
    try:
        return _histories(document, arrays, Panel(schema)) if kind == KIND else _linked(document, arrays, schema)
    except (LookupError, TypeError, ValueError, ArithmeticError, AssertionError, UsageError):
        raise ReleaseError("the model in the release is damaged") from None


def _histories(document: dict[str, Any], arrays: ArraySource, panel: Panel) -> HistoryModel:
    persons = document["persons"]
    if type(persons) is not int or not 1 <= persons <= MAX_TOTAL:
        raise ValueError
    of_people, of_steps = PrefixedArrays(arrays, "people-"), PrefixedArrays(arrays, "steps-")
    people = model_from_parts(document["people"], of_people, panel.people)
    measured = document["measured"]
    first, second = _measured(measured[0], of_people, people.schema), _measured(measured[1], of_steps, panel.steps)
    moves = _moves(document["weighted"], of_steps, panel)
    network = _network(document["steps"], of_steps, panel.steps, panel.given, tuple(panel.changes))
    horizon = horizon_of(panel, second) if document.get("ahead") else None  # absent in earlier versions
    ties = _ties(document.get("ties", []), of_steps, panel, network)
    return HistoryModel(panel, people, network, moves, persons, (first, second), horizon, ties)


def _linked(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> LinkedModel:
    rows, tree = document["rows"], TableTree(schema)
    if type(rows) is not int or not 1 <= rows <= MAX_TOTAL or TableTree.of(schema) != tree:
        raise ValueError
    root = model_from_parts(document["root"], PrefixedArrays(arrays, "root-"), tree.root.derived)
    networks, measured = {}, {}
    if set(document["measured"]) != set(tree.branches) or {*document["networks"], schema.name} != set(tree.branches):
        raise ValueError
    for i, (name, branch) in enumerate(tree.branches.items()):
        own = PrefixedArrays(arrays, f"table-{i}-")
        if branch.child is not None:
            pairs = document["networks"][name]
            networks[name] = _network(pairs, own, branch.derived, branch.given, branch.targets)
        measured[name] = _measured(document["measured"][name], own, branch.derived if branch.child else root.schema)
    return LinkedModel(tree, root, networks, rows, measured)


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


def _ties(listed: Any, arrays: ArraySource, panel: Panel, network: ConditionalNetwork) -> tuple[Tie, ...]:
    """Return the ties, each of an attribute to one that is constant or drawn before it."""
    drawn = [panel.about(c.child.attribute) for c in network.conditionals]
    if not isinstance(listed, list):
        raise ValueError
    found = []
    for i, (attribute, to) in enumerate(listed):
        if to not in (*panel.constants, *drawn[: drawn.index(attribute)]) or attribute == panel.person.order:
            raise ValueError
        shape = panel.steps.sizes(pair_axes(panel, (attribute, to)))
        weights = arrays.take(f"tie-{i}", shape, np.float64)
        if not ((weights > 0) & (weights <= MAX_WEIGHT)).all():
            raise ValueError
        found.append(Tie(attribute, to, weights))
    return tuple(found)


def _network(
    pairs: Sequence[Any], arrays: ArraySource, schema: Schema, given: tuple[str, ...], targets: tuple[str, ...]
) -> ConditionalNetwork:
    placed = {Axis(name) for name in given}
    conditionals = []
    for i, pair in enumerate(pairs):
        child = axis_of(pair["child"], schema)
        parents = tuple(axis_of(parent, schema) for parent in pair["parents"])
        bases = {base_of(parent) for parent in parents}
        axes = (*parents, child)
        if child in placed or child.level or not bases <= placed or len(bases) < len(parents):
            raise ValueError
        if schema.cells(axes) > MAX_CELLS:
            raise ValueError
        table = arrays.take(f"conditional-{i}", schema.sizes(axes), np.float64)
        if not (table >= 0).all() or not np.allclose(table.sum(axis=-1), 1, atol=_SLACK):
            raise ValueError
        conditionals.append(Conditional(child, parents, table))
        placed.add(child)
    if placed != {Axis(name) for name in (*given, *targets)}:
        raise ValueError
    return ConditionalNetwork(schema, given, tuple(conditionals))


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
