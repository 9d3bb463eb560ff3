"""Rows that break a rule, counted exactly for the custodian's eyes. Nothing of this is published or charged."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines.arrow_parsing import as_texts
from understudy.engines.coding import coder_of
from understudy.engines.sources import RowSource
from understudy.schema import Attribute, Schema
from understudy.schema.predicates import Cells
from understudy.schema.resolution import Determined
from understudy.schema.rules import written_steps


def rule_breaks(source: RowSource, schema: Schema) -> list[int]:
    """Return for each rule how many rows break it: those where it is false; a missing value breaks nothing.

    A computed column counts as right up to the rounding of what is written.
    """
    book = schema.rule_book
    names = [n for c in book.constraints for n in c.names]
    names += [n for name, known in book.determined.items() for n in (name, *known.sources)]
    columns = _columns(source, schema, tuple(dict.fromkeys(names)))
    broken = [0] * len(schema.rules)
    texts = [rule.text for rule in schema.rules]
    ranges = {schema.rules[known.rule].text for known in book.determined.values()}
    for constraint in book.constraints:
        if constraint.text not in ranges:
            broken[texts.index(constraint.text)] += int(constraint.predicate.truth(columns).false.sum())
    for name, known in book.determined.items():
        broken[known.rule] += _differing(schema[name], known, columns)
    return broken


def _differing(attribute: Attribute, known: Determined, columns: dict[str, Cells]) -> int:
    own = columns[attribute.name]
    if known.term is None:
        return int((known.codes[columns[known.source].codes] != own.codes).sum())
    steps = written_steps(attribute)
    near = steps.size / 2 if steps is not None else 0.0
    wanted = known.term.bounds(columns)
    size = np.maximum(np.abs(wanted.low), np.abs(own.values))
    differ = ~(np.abs(wanted.low - own.values) <= near + 1e-9 * np.maximum(size, 1.0))
    return int((differ & ~wanted.absent & ~own.absent).sum() + (wanted.absent != own.absent).sum())


def _columns(source: RowSource, schema: Schema, names: tuple[str, ...]) -> dict[str, Cells]:
    """Return the codes of these columns, and the values of ordered ones as written: not cut off at a range's end."""
    coders = {name: coder_of(schema[name], schema.csv.decimal, source.trust) for name in names}
    parts: dict[str, list[tuple[Any, Any]]] = {name: [] for name in names}
    for column, piece in source.pieces([schema[name].column for name in names]):
        parts[column].append((coders[column].code(piece), _values(schema[column], piece, schema.csv.decimal)))
    found = {}
    for name, pieces in parts.items():
        codes, values = (np.concatenate(part) for part in zip(*pieces))
        absent = codes == schema[name].missing_code
        ordered = schema[name].intervals is not None
        found[name] = Cells.of_values(codes, np.where(absent, 0.0, values) if ordered else None, absent)
    return found


def _values(attribute: Attribute, piece: Any, decimal: str) -> NDArray[np.float64]:
    """Return the number of each cell; of an attribute without order none."""
    if (domain := attribute.intervals) is None:
        return np.empty(0)
    if (numbers := domain.scale.numbers(piece)) is not None:
        return numbers[0]
    texts, indices = as_texts(piece, attribute.name)
    parsed = np.asarray([domain.parse(text or "", decimal) for text in texts.to_pylist()] or [np.nan])
    return np.asarray(parsed[np.asarray(indices.fill_null(0), dtype=np.int64)])
