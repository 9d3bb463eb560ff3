"""Joint shares: what part of each cell of several attributes meets a condition that speaks of all of them.

Values are put evenly into each cell, by its measured shape where there is one, and the part of them that meets the
condition counts. A cell that meets it everywhere or nowhere has exactly 1 or 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.models.factor import MAX_CELLS, Factor, check_cells
from understudy.models.within_bins import Shapes
from understudy.schema import Axis, Schema
from understudy.schema.predicates import Cells
from understudy.schema.rule_blocks import Block, FixedPlaces
from understudy.schema.rules import Constraint

CodesByName = dict[str, NDArray[np.int64]]
SPREAD = 128  # values that stand for a cell
STEPS = (0.6180339887498949, 0.7548776662466927, 0.8191725133961645, 0.8566748838545029, 0.8812714616335696)


def joint_shares(schema: Schema, constraint: Constraint, shapes: Shapes) -> Factor:
    """Return the part of each cell over the constraint's attributes in which it is true, of what rules allow there.

    Parameters
    ----------
    schema
        The free columns, with bins.
    """
    found, undecided = _decided(schema, constraint, constraint.names)
    if not len(undecided):
        return found
    blocks = [b for b in schema.blocks if b.open.any() and set(b.wide) & set(constraint.names)]
    names = tuple(dict.fromkeys([*constraint.names, *(name for b in blocks for name in b.names)]))
    if blocks:
        found, undecided = _decided(schema, constraint, names)
    codes = dict(zip(names, np.unravel_index(undecided, found.table.shape)))
    found.table.reshape(-1)[undecided] = _part(schema, constraint, shapes, codes, blocks)
    return found


def _decided(schema: Schema, constraint: Constraint, names: tuple[str, ...]) -> tuple[Factor, NDArray[np.int64]]:
    """Return what cells alone decide, 1 or 0, and which cells they leave open."""
    axes = tuple(Axis(name) for name in names)
    check_cells(schema.cells(axes), axes, MAX_CELLS // SPREAD)
    cells = {
        name: Cells.of_codes(schema[name]).shaped(tuple(-1 if j == i else 1 for j in range(len(names))))
        for i, name in enumerate(names)
    }
    truth = constraint.predicate.truth(cells)
    true, other = (np.broadcast_to(m, schema.sizes(axes)) for m in (truth.true, truth.false | truth.unknown))
    return Factor(axes, true.astype(np.float64)), np.flatnonzero(true & other)


def _part(
    schema: Schema, constraint: Constraint, shapes: Shapes, codes: CodesByName, blocks: Sequence[Block]
) -> NDArray[np.float64]:
    """Return the part of the values of each open cell that meet the constraint, of those that rules allow."""
    met, allowed = np.zeros((2, len(next(iter(codes.values())))))
    for t in range(SPREAD):
        columns = {name: _spread(schema, shapes, name, own, i, t) for i, (name, own) in enumerate(codes.items())}
        held = np.ones(len(met), dtype=bool)
        for block in blocks:
            held &= block.held(columns)
        met += constraint.predicate.truth(columns).true & held
        allowed += held
    never = np.flatnonzero(allowed == 0)  # a rule that few values meet: rows have the cell's witness there
    if len(never):
        rare = {name: own[never] for name, own in codes.items()}
        columns = {name: _witness(schema, blocks, name, rare) for name in codes}
        met[never], allowed[never] = constraint.predicate.truth(columns).true, 1.0
    return met / allowed


def _witness(schema: Schema, blocks: Sequence[Block], name: str, own: CodesByName) -> Cells:
    """Return the values that witness open cells of rules."""
    found = _spread(schema, {}, name, own[name], 0, SPREAD // 2)
    for block in blocks:
        if name in block.wide and found.bounds is not None:
            cells = block.cells(own)
            known = block.open.ravel()[cells]
            values = found.values.copy()
            values[known] = block.witnesses(cells[known])[:, block.wide.index(name)]
            found = Cells.of_values(own[name], values, found.absent)
    return found


def _spread(schema: Schema, shapes: Shapes, name: str, codes: NDArray[np.int64], column: int, t: int) -> Cells:
    """Return a value for each cell: the t-th of an even sequence, another one for each column."""
    attribute, absent = schema[name], codes == schema[name].missing_code
    if attribute.intervals is None:
        return Cells.of_values(codes, None, absent)
    at = (t + 0.5) / SPREAD if column == 0 else ((t + 0.5) * STEPS[(column - 1) % len(STEPS)]) % 1.0
    places = np.full(len(codes), at)
    own = codes
    if name in shapes:
        own = shapes[name].cells(codes, FixedPlaces(places))  # type: ignore[arg-type]
        attribute, places = shapes[name].fine, np.full(len(codes), (at * 997) % 1.0)
    values, _ = attribute.decode(own, FixedPlaces(places))  # type: ignore[arg-type]
    return Cells.of_values(codes, np.asarray(values, dtype=np.float64), absent)
