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
from understudy.models.model import Model
from understudy.models.within_bins import FLAT, Shapes
from understudy.privacy.measurement import Measurement
from understudy.query.grammar import Condition, Measure, Question, Word, complain, hint, parse
from understudy.query.pieces import Floats
from understudy.query.selection import Selection, select
from understudy.query.standard_errors import alone, mean_noise, quietest
from understudy.schema import Schema

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
    selections: Mapping[str, Selection]  # each attribute once; one that nothing asks or restricts is left out
    notes: tuple[str, ...] = ()

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
        for condition in question.where:
            conditions.setdefault(_name(condition.name, question, schema), []).append(condition)
        selections = {name: select(schema[name], listed, text, shapes.get(name)) for name, listed in conditions.items()}
        needed = {n: s for n, s in selections.items() if n in by or n == of or not s.everything}
        return Query(text, schema, rows, question.measure, of, by, question.where, needed, _notes(selections, of))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.selections)

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The codes of each line of the answer: every cell of `by` that the conditions do not exclude."""
        codes = [np.flatnonzero(self.selections[name].weights > 0).tolist() for name in self.by]
        if (lines := math.prod(map(len, codes))) > MAX_GROUPS:
            raise TooLarge(f"the answer would have {lines:,} groups, the limit is {MAX_GROUPS:,}; narrow it by `where`")
        return tuple(product(*codes))


@dataclass(frozen=True)
class Figure:
    """One number of an answer; `by` is empty for a question without groups. None: not known."""

    by: Mapping[str, str]
    value: float | None
    stderr: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "stderr": self.stderr}


@dataclass(frozen=True)
class Answer:
    """The numbers, which error `stderr` speaks of (None where there is none), and what a reader should know."""

    measure: Measure
    by: tuple[str, ...]
    figures: tuple[Figure, ...]
    stderr_covers: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def value(self) -> float | None:
        """The number of a question without groups."""
        if self.by:
            raise AttributeError("this answer has groups: look at `figures`")
        return self.figures[0].value

    @property
    def stderr(self) -> float | None:
        if self.by:
            raise AttributeError("this answer has groups: look at `figures`")
        return self.figures[0].stderr

    def as_json(self) -> dict[str, Any]:
        """What `query --json` prints."""
        tail = {"stderr_covers": self.stderr_covers, "notes": list(self.notes)}
        if not self.by:
            return self.figures[0].as_json() | tail
        return {"groups": [{"by": dict(figure.by)} | figure.as_json() for figure in self.figures]} | tail

    def __str__(self) -> str:
        from understudy.query.answer_text import answer_text

        return answer_text(self)

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


@runtime_checkable
class Answering(Protocol):
    """A model that can answer some queries better than through `project`; None sends a query the usual way."""

    def answer(self, query: Query) -> Answer | None: ...


def answer(model: Model, query: Query, measurements: Sequence[Measurement] = ()) -> Answer:
    """The model's own answer where it has one, else the sum over its probability table."""
    if isinstance(model, Answering) and (own := model.answer(query)) is not None:
        return own
    groups = query.groups  # refused here when they are too many, before any table is made
    values, counts = _values(model, query)
    stderr, covers = _noise(query, measurements, values, counts)
    empty = () if all(np.isfinite(values[codes]) for codes in groups) else ("a mean over no rows is left empty",)
    labels = [query.schema[name].labels for name in query.by]
    figures = tuple(
        Figure(
            {name: labels[i][code] for i, (name, code) in enumerate(zip(query.by, codes))},
            _number(values[codes]),
            None if stderr is None else _number(stderr[codes]),
        )
        for codes in groups
    )
    return Answer(query.measure, query.by, figures, covers, query.notes + empty)


# -- values --------------------------------------------------------------------------------------------------


def _values(model: Model, query: Query) -> tuple[Floats, Floats]:
    """The answer for each code of `by`, and the number of rows behind it."""
    table, names, scale = _table(model, query)
    weights = {name: query.selections[name].weights for name in names}
    if query.of is None:
        shares = scale * _weigh(table, names, weights, query.by)
        return (shares if query.measure == "share" else shares * query.rows), shares * query.rows
    selection = query.selections[query.of]
    mass = _weigh(table, names, weights | {query.of: selection.present}, query.by)
    total = _weigh(table, names, weights | {query.of: selection.moments}, query.by)
    means = np.divide(total, mass, out=np.full_like(total, np.nan), where=scale * mass > 0)
    return means, scale * mass * query.rows


def _weigh(table: Floats, names: Sequence[str], weights: Mapping[str, Floats], by: Sequence[str]) -> Floats:
    """Sum out all but `by` with these weights; what is left has the order of `by`."""
    left = list(names)
    for name in [n for n in names if n not in by]:
        table = np.tensordot(table, weights[name], axes=(left.index(name), 0))
        left.remove(name)
    table = np.transpose(table, [left.index(name) for name in by])
    for i, name in enumerate(by):
        table = table * weights[name].reshape([-1 if j == i else 1 for j in range(len(by))])
    return np.asarray(table, dtype=np.float64)


def _table(model: Model, query: Query) -> tuple[Floats, tuple[str, ...], float]:
    """The probability table over the query's attributes, their order, and a factor for what was conditioned on."""
    if not query.names:
        return np.ones(()), (), 1.0
    try:
        return model.project(query.names).table, query.names, 1.0
    except TooLarge as refusal:
        try:
            return _given_evidence(model, query)
        except TooLarge:
            raise refusal from None


def _given_evidence(model: Model, query: Query) -> tuple[Floats, tuple[str, ...], float]:
    """Conditions that let whole cells through are evidence: Pr[by, evidence] = Pr[by | evidence] · Pr[evidence]."""
    free = {n: s for n, s in query.selections.items() if s.whole and n not in query.by and n != query.of}
    kept = tuple(name for name in query.names if name not in free)
    chance = 1.0
    for name, selection in free.items():
        chance *= float(model.project([name]).table @ selection.weights)
        if chance <= 0:
            break
        model = model.condition({name: np.flatnonzero(selection.weights).tolist()})
    return model.project(kept).table, kept, chance


# -- noise ---------------------------------------------------------------------------------------------------


def _noise(
    query: Query, measurements: Sequence[Measurement], values: Floats, counts: Floats
) -> tuple[Floats | None, str | None]:
    if query.of is None and not query.selections and query.schema.rows is not None:
        return np.zeros(()), "everything: the number of rows is public"
    if not all(selection.weights.any() for selection in query.selections.values()):
        return None, None  # nothing was added up
    if query.of is None:
        found = quietest(measurements, query.schema, query.selections, query.by)
    else:
        found = mean_noise(
            measurements, query.schema, query.selections, query.by, query.of, np.nan_to_num(values), counts
        )
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
    if inside is not None and query.of not in query.by:
        left_out = "model error" if inside.whole and not query.of else "model error or the shape inside a fine cell"
        return f"noise of {table} and of the details inside bins, simply added up{order}; not {left_out}"
    whole = all(s.whole and (s.inside is None or name != query.of) for name, s in query.selections.items())
    left_out = "model error" if whole else "model error or a cut bin's shape"
    return f"noise of {table}, its cells simply added up{order}; not {left_out}"


# -- names ---------------------------------------------------------------------------------------------------


def _name(word: Word, question: Question, schema: Schema) -> str:
    known = {a.name: a for a in schema.attributes}
    if word.text not in known:
        near = hint(word.text, schema.names)
        complain(question.text, word, f"there is no attribute {word.text!r}. {near}".rstrip(), word.text)
    if not known[word.text].modelled:
        kind = known[word.text].kind
        complain(question.text, word, f"{word.text} is not part of the release (kind {kind})", word.text)
    return word.text


def _numeric(word: Word, question: Question, schema: Schema) -> str:
    name = _name(word, question, schema)
    if schema[name].kind not in ("integer", "number"):
        kind = schema[name].kind
        advice = f"a mean needs numbers, and {name} is of kind {kind}; ask for `share where {name} = …`, or count by it"
        complain(question.text, word, advice, name)
    return name


def _notes(selections: Mapping[str, Selection], of: str | None) -> tuple[str, ...]:
    notes = [note for selection in selections.values() for note in selection.notes]
    if of and (selections[of].values[selections[of].present > 0] > 1).any():
        how = "as uniform inside each bin" if selections[of].inside is None else "by the measured details of each bin"
        notes.append(f"the mean takes values of {of} {how}, as synthetic rows have them")
    return tuple(notes)


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
