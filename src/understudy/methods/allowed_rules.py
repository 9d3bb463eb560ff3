"""Rules before anything is spent: which methods take them, whether they leave anything, and what they cost in cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.errors import TooLarge, UsageError
from understudy.methods.binned import MAX_RULE_CELLS
from understudy.methods.method import Method
from understudy.models.calibration import lay_out
from understudy.models.factor import Factor
from understudy.models.graph import Graph
from understudy.models.structural_zeros import rule_cliques
from understudy.schema import Axis, Schema
from understudy.schema.resolution import Determined
from understudy.schema.rule_blocks import Block, blocks_of, said
from understudy.schema.rules import Constraint

BINS = (20, 10, 6)  # of ranges without bins, until the tables of rules are small
MODEL_CELLS = 150_000  # of a model, where the method has no limit of its own


def check_rules(method: Method, schema: Schema) -> None:
    """Refuse rules that the method cannot keep, that exclude every row, or that make the model too large."""
    if not schema.rules:
        return
    while hasattr(method, "method"):
        method = method.method
    if method.name == "privelet":
        raise UsageError(
            "privelet publishes one table by its wavelet coefficients, and these have no place for cells that cannot "
            "be: publish with --method aim, privbayes or jtree, or take the [[rules]] out of the schema"
        )
    free = check_rows_are_left(schema)
    limit = _max_cells(method, free)
    variables = {Axis(a.name): a.size for a in free.modelled}
    cells = Graph.of(rule_cliques(free, list(variables)), variables).triangulated_cells(limit)
    if cells > limit:
        texts = tuple(dict.fromkeys(t for b in free.blocks if not b.possible.all() for t in b.texts))
        raise TooLarge(
            f"{said(texts)}: a model with these has at least {cells:,} cells, and the limit is {limit:,}. Use fewer "
            "bins for the columns that they speak of, or raise the limit with --set cells=N"
        )


def check_rows_are_left(schema: Schema) -> Schema:
    """Return the free columns of a schema with bins; rules that no row could meet are refused, by name."""
    free = _with_bins(schema)
    if not _leaves_rows(free, free.blocks):
        texts = _conflict(free)
        those = "together they exclude" if len(texts) > 1 else "it excludes"
        raise UsageError(
            f"no row could meet {said(texts)}: {those} every combination of values in the declared ranges and lists. "
            "Correct the rule or the range"
        )
    return free


def _max_cells(method: Method, schema: Schema) -> int:
    """Return how many cells the method's model of this table may have."""
    if hasattr(method, "max_cells"):  # it depends on the table
        return int(method.max_cells(schema))
    return int(getattr(method, "cells", MODEL_CELLS))


def _with_bins(schema: Schema) -> Schema:
    """Return the free columns with public bins where none are given, as many as the tables of rules bear."""
    for bins in (*BINS, 4):
        found = schema.free.with_public_bins(bins)
        try:
            if sum(block.possible.size for block in found.blocks) <= MAX_RULE_CELLS:
                break
        except TooLarge:
            if bins == 4 or not schema.free.unbinned:
                raise
    return found


def _leaves_rows(free: Schema, blocks: Sequence[Block]) -> bool:
    """Return whether some combination of codes is in no cell that is struck out."""
    sizes = {Axis(a.name): a.size for a in free.modelled}
    struck = [block for block in blocks if not block.possible.all()]
    zeros = [Factor(tuple(map(Axis, b.names)), np.where(b.possible, 0.0, -np.inf)) for b in struck]
    if not zeros:
        return True
    own = {axis: sizes[axis] for zero in zeros for axis in zero.axes}
    layout = lay_out([zero.axes for zero in zeros], own, 1 << 62)
    return layout.calibrate(layout.summed(zeros)) > -np.inf


def _conflict(free: Schema) -> tuple[str, ...]:
    """Return a smallest set of rules that excludes every row, found by leaving out each one in turn."""
    attributes = {a.name: a for a in free.attributes}
    kept: list[Constraint] = list(free.constraints)
    for constraint in free.constraints:
        fewer = [c for c in kept if c is not constraint]
        if fewer and not _leaves_rows(free, blocks_of(attributes, fewer)):
            kept = fewer
    return tuple(dict.fromkeys(c.text for c in kept))


def rule_notes(schema: Schema) -> tuple[str, ...]:
    """Return what each rule costs, a line each: the cells of its table, or nothing for a computed column."""
    if not schema.rules:
        return ()
    free = _with_bins(schema)
    lines = [_computed(known, schema) for known in schema.rule_book.determined.values()]
    for block in free.blocks:
        struck = int((~block.possible).sum())
        left = f"; in {int(block.open.sum()):,} values decide" if block.open.any() else ""
        table = f"a table of {block.possible.size:,} cells over {', '.join(block.names)}"
        lines.append(f"{said(block.texts)}: {table}, {struck:,} of them impossible{left}")
    used = {c.text for b in free.blocks for c in b.constraints}
    used |= {schema.rules[known.rule].text for known in schema.rule_book.determined.values()}
    idle = [c.text for c in free.constraints if c.text not in used]
    lines += [f"{said([text])}: every combination of cells meets it" for text in dict.fromkeys(idle)]
    return tuple(lines)


def _computed(known: Determined, schema: Schema) -> str:
    sources = ", ".join(known.sources)
    return f"{said([schema.rules[known.rule].text])}: {known.attribute.name} is computed from {sources}, costs nothing"
