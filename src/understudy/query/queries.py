"""Queries: a question about the published table, answered from the model. Post-processing, so it costs nothing.

The exact probability table over the attributes of the question is summed with the weights of its conditions. A model
with a better answer of its own (a method `answer(query)`) is asked first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Protocol, runtime_checkable

import numpy as np

from understudy.errors import TooLarge
from understudy.models.factor import Factor
from understudy.models.model import Model
from understudy.models.within_bins import FLAT, Shapes
from understudy.privacy.measurement import Measurement
from understudy.query.answers import Answer as Answer
from understudy.query.answers import Figure as Figure
from understudy.query.evaluation import evaluate_somehow
from understudy.query.evaluation import values as _values
from understudy.query.grammar import Condition, Measure, WrittenQuery, parse, simple_condition
from understudy.query.joint_shares import joint_shares
from understudy.query.pieces import Floats
from understudy.query.selection import SelectedCells, select
from understudy.query.standard_errors import alone, mean_noise, quietest
from understudy.schema import Schema
from understudy.schema.expressions import Expression
from understudy.schema.rules import Constraint
from understudy.schema.tokens import Token, complain, hint

MAX_GROUPS = 100_000  # lines of one answer


@dataclass(frozen=True, eq=False)
class Query:
    """A question that fits the schema: the attributes it names and what its conditions let through of each."""

    text: str
    schema: Schema
    rows: int
    measure: Measure
    of: str | None
    by: tuple[str, ...]
    where: tuple[Condition, ...]
    selections: Mapping[str, SelectedCells]  # each attribute once; one that nothing asks or restricts is left out
    notes: tuple[str, ...] = ()
    at: float = 0.5  # of a quantile
    joint: tuple[Factor, ...] = ()  # the shares of what other conditions let through, over the codes of attributes

    @staticmethod
    def of_text(text: str, schema: Schema, rows: int, shapes: Shapes = FLAT) -> Query:
        """Parse the text and look every name and value up; a UsageError points at what does not fit."""
        question = parse(text)
        by = tuple(_name(word, question, schema) for word in question.by)
        for i, word in enumerate(question.by):
            if by[i] in by[:i]:
                complain(text, word, f"{by[i]} stands in `by` twice")
        of = _numeric(question.of, question, schema) if question.of else None
        conditions: dict[str, list[Condition]] = {name: [] for name in (*by, *((of,) if of else ()))}
        simple = [(_simple(part, schema), part) for part in question.where]
        for condition in (found for found, _ in simple if found is not None):
            conditions.setdefault(_name(condition.name, question, schema), []).append(condition)
        joint = tuple(_shares(part, text, schema, shapes) for found, part in simple if found is None)
        for name in (axis.attribute for factor in joint for axis in factor.axes):
            conditions.setdefault(name, [])
        selections = {name: select(schema[name], listed, text, shapes.get(name)) for name, listed in conditions.items()}
        kept = {*by, of, *(axis.attribute for factor in joint for axis in factor.axes)}
        needed = {n: s for n, s in selections.items() if n in kept or not s.everything}
        if question.measure in ("median", "quantile") and of in by:
            complain(text, question.by[by.index(str(of))], f"{of} cannot be the group of its own {question.measure}")
        where = tuple(found for found, _ in simple if found is not None)
        notes = _notes(selections, of, question.measure) + _joint_notes(joint)
        return Query(text, schema, rows, question.measure, of, by, where, needed, notes, question.at, joint)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.selections)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Return the codes of each line of the answer: every cell of `by` that the conditions do not exclude."""
        codes = [np.flatnonzero(self.selections[name].weights > 0).tolist() for name in self.by]
        if (lines := math.prod(map(len, codes))) > MAX_GROUPS:
            raise TooLarge(f"the answer would have {lines:,} groups, the limit is {MAX_GROUPS:,}; narrow it by `where`")
        return tuple(product(*codes))

    def figures(self, values: Sequence[float | None], errors: Sequence[float | None]) -> tuple[Figure, ...]:
        """Return the lines of the answer: the labels of each group, its value and its standard error."""
        labels = [self.schema[name].labels for name in self.by]
        found = []
        for codes, value, error in zip(self.groups, values, errors):
            own = {name: labels[i][code] for i, (name, code) in enumerate(zip(self.by, codes))}
            found.append(Figure(own, value, error))
        return tuple(found)


@runtime_checkable
class Answering(Protocol):
    """A model that can answer some queries better than through `project`; None sends a query the usual way."""

    def answer(self, query: Query) -> Answer | None: ...


def answer(model: Model, query: Query, measurements: Sequence[Measurement] = ()) -> Answer:
    """Answer a query: by the model itself where it can, else by a sum over its probability table."""
    if isinstance(model, Answering) and not query.joint and (own := model.answer(query)) is not None:
        return own
    groups = query.groups  # refused here when they are too many, before any table is made
    values, counts = _values(query, evaluate_somehow(model, query), query.rows)
    stderr, covers = _noise(query, measurements, values, counts)
    whole = all(np.isfinite(values[codes]) for codes in groups)
    empty = () if whole else (f"a {query.measure} over no rows is left empty",)
    errors = [None if stderr is None else _number(stderr[codes]) for codes in groups]
    figures = query.figures([_number(values[codes]) for codes in groups], errors)
    return Answer(query.measure, query.by, figures, covers, query.notes + empty)


# -- conditions on several attributes ---------------------------------------------------------------------------


def _simple(part: Expression, schema: Schema) -> Condition | None:
    """Return the condition on one attribute alone; None if a rule ties values inside its bins to other attributes."""
    found = simple_condition(part, schema)
    if found is None or not schema.rules or (attribute := schema.find(found.name.text)) is None:
        return found
    known = schema.rule_book.determined.get(attribute.name)
    names = (attribute.name,) if known is None else known.sources
    tied = {name for block in schema.free.blocks if block.open.any() for name in block.wide}
    return None if tied.intersection(names) else found


def _shares(part: Expression, text: str, schema: Schema, shapes: Shapes) -> Factor:
    """Return what a condition on several attributes lets through of their cells."""
    return joint_shares(schema.free, Constraint.of_condition(part, text, schema), shapes)


def _joint_notes(joint: Sequence[Factor]) -> tuple[str, ...]:
    cut = [factor for factor in joint if ((factor.table > 0) & (factor.table < 1)).any()]
    names = dict.fromkeys(axis.attribute for factor in cut for axis in factor.axes)
    return (f"cells of {', '.join(names)} meet the conditions in part; values are spread inside them",) if cut else ()


# -- noise ---------------------------------------------------------------------------------------------------


def _noise(
    query: Query, measurements: Sequence[Measurement], values: Floats, counts: Floats
) -> tuple[Floats | None, str | None]:
    if query.of is None and not query.selections and query.schema.rows is not None:
        return np.zeros(()), "everything: the number of rows is public"
    if query.joint or not all(selection.weights.any() for selection in query.selections.values()):
        return None, None  # nothing was added up
    if query.measure in ("rate", "sum", "median", "quantile"):
        return None, None
    if query.of is None:
        found = quietest(measurements, query)
    else:
        found = mean_noise(measurements, query, np.nan_to_num(values), counts)
    if found is None:
        return None, None
    measurement, variance = found
    stderr = np.sqrt(variance) / (query.rows if query.measure == "share" else 1)
    return stderr, _covers(query, measurement)


def _covers(query: Query, measurement: Measurement) -> str:
    over = ", ".join(str(axis) for axis in measurement.axes)
    table = f"the measured table over {over}" if over else "the measured row count"
    order = ", to first order" if query.of else ""
    inside = alone(query.selections)
    if inside is not None and inside.shape.measured and query.of not in query.by:
        left_out = "model error" if inside.whole and not query.of else "model error or the shape inside a fine cell"
        return f"noise of {table} and of the details inside bins, simply added up{order}; not {left_out}"
    whole = all(s.whole and (s.inside is None or name != query.of) for name, s in query.selections.items())
    left_out = "model error" if whole else "model error or a cut bin's shape"
    return f"noise of {table}, its cells simply added up{order}; not {left_out}"


# -- names ---------------------------------------------------------------------------------------------------


def _name(word: Token, question: WrittenQuery, schema: Schema) -> str:
    if (found := schema.find(word.text)) is None:
        near = hint(word.text, schema.names)
        complain(question.text, word, f"there is no attribute {word.text!r}. {near}".rstrip(), word.text)
    if not found.modelled:
        complain(question.text, word, f"{word.text} is not part of the release (kind {found.kind})", word.text)
    return word.text


def _numeric(word: Token, question: WrittenQuery, schema: Schema) -> str:
    name = _name(word, question, schema)
    if (domain := schema[name].intervals) is None or not domain.scale.arithmetic:
        kind, measure = schema[name].kind, question.measure
        advice = f"a {measure} needs numbers, and {name} is of kind {kind}; ask for `share where {name} = …`"
        complain(question.text, word, advice, name)
    return name


def _placed(selection: SelectedCells) -> str:
    if selection.inside is None:
        return "as uniform inside each bin"
    measured = selection.inside.shape.measured
    return "by the measured details of each bin" if measured else "by a smooth curve through the bins"


def _notes(selections: Mapping[str, SelectedCells], of: str | None, measure: Measure) -> tuple[str, ...]:
    notes = [note for selection in selections.values() for note in selection.notes]
    if of and (selections[of].values[selections[of].present > 0] > 1).any():
        notes.append(f"the {measure} takes values of {of} {_placed(selections[of])}, as synthetic rows have them")
    return tuple(notes)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
