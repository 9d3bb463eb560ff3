"""Reading a question that somebody else wrote down, strictly: an owner answers a curator whom it does not trust.

What comes out is a question of the closed list about modelled attributes of this schema; `check` has accepted it. What
cannot be asked of several owners (scores of all pairs, figures) is not read at all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar, get_args

import numpy as np

from understudy.errors import TooLarge, UnderstudyError, UsageError
from understudy.privacy import questions
from understudy.privacy.questions.question import MAX_CELLS, NoisyQuery, Selection
from understudy.privacy.questions.value_lists import Grouping
from understudy.privacy.questions.wavelets import Form, Kind
from understudy.privacy.scores import SCORES, Pair, Score
from understudy.schema import Axes, Axis, Integers, Schema

MAX_OPTIONS = 1_000_000  # also of tables in one question
MAX_SCORED_CELLS = 20_000_000_000  # of all options of a choice together
MAX_TABLE_AXES = 60  # of one table: an array has at most 64 dimensions
MAX_DIFFERENT_SHARES = 10_000  # each has a noise scale of its own
MAX_WORDS = 1000  # of one column that mean "missing", or are never listed
LEAST_DELTA = Fraction(1, 10**30)  # of one column's list: thresholds for less take long to work out
_LARGEST_NUMBER = 2**62
Q = TypeVar("Q", bound=questions.Question[Any])
_MAX_DENOMINATOR = 2**8192  # of shares that are added up; gcds of longer numbers take long
_FRACTION = re.compile(r"-?[0-9]{1,1000}(/[0-9]{1,1000})?")


def selection_from_json(data: Any, schema: Schema) -> Selection[Any]:
    """Return the choice that was written down; anything else is refused."""
    return _question(data, schema, _SELECTIONS)


def query_from_json(data: Any, schema: Schema) -> NoisyQuery[Any]:
    """Return the linear query that was written down; anything else is refused."""
    return _question(data, schema, _QUERIES)


def fraction_from_json(text: Any) -> Fraction:
    """Return a rational as `str(Fraction)` writes it."""
    try:
        if type(text) is str and _FRACTION.fullmatch(text):  # "1e999999999" would be worked out for hours
            number = Fraction(text)
            if str(number) == text:
                return number
    except (ValueError, ZeroDivisionError):
        pass
    raise _refused("a fraction")


def bins_from_json(data: Any, schema: Schema) -> dict[str, list[int]]:
    """Return the bins that a question counts in: the first unit of each, of ranges that have none in the schema.

    A look is at some of these ranges only (`methods/looks.py`).
    """
    grids = {a.name: a.grid for a in schema.unbinned if a.grid is not None}
    if type(data) is not dict or not data.keys() <= grids.keys():
        raise _refused("bins of the ranges that have none")
    for name, first in data.items():
        units = len(grids[name].prior)
        _expect(bool(_list(first, "bins")) and all(type(unit) is int for unit in first), "bins")
        _expect(first[0] == 0 and first[-1] < units and all(b > a for a, b in pairwise(first)), "bins in order")
    return data


def lists_from_json(data: Any, columns: Collection[str]) -> questions.ValueLists:
    """Return the question for value lists of some of these columns; anything else is refused."""
    _expect(len(_list(data, "a question")) == 3 and data[0] == questions.ValueLists.kind, questions.ValueLists.kind)
    _expect(len(_list(data[1], "columns")) > 0, questions.ValueLists.kind)
    _expect(len(data[1]) <= len(columns), "columns that differ")
    question = questions.ValueLists(tuple(_grouping(item, columns) for item in data[1]), fraction_from_json(data[2]))
    each = question.delta / len(question.groupings)
    _expect(LEAST_DELTA <= each < Fraction(1, 2), "a delta above 1e-30 and below 1/2 for each column")
    return question


def _grouping(data: Any, columns: Collection[str]) -> Grouping:
    _expect([type(part) for part in _list(data, "a column")] == [str, list, list, bool], "a column")
    column, missing, unlisted, counted = data
    if column not in columns:
        raise UsageError("a list of a column whose values this owner's schema does not leave open")
    few = max(len(missing), len(unlisted)) <= MAX_WORDS
    _expect(few and all(map(is_text, (*missing, *unlisted))), f"at most {MAX_WORDS:,} words for a missing cell")
    return Grouping(column, tuple(missing), tuple(unlisted), counted)


def is_text(data: Any) -> bool:
    """Return whether this is a text of whole characters: half a pair, which JSON can write, has no bytes."""
    try:
        return type(data) is str and data.encode() is not None
    except UnicodeEncodeError:
        return False


def _question(data: Any, schema: Schema, kinds: Mapping[str, Callable[..., Q]]) -> Q:
    kind = _list(data, "a question")[0] if data else None
    if type(kind) is not str or kind not in kinds:
        raise UsageError(f"a federation asks for {', '.join(kinds)} here, and this is none of them")
    try:
        question = kinds[kind](schema, *data[1:])
    except (TypeError, ValueError):
        raise _refused(kind) from None
    question.check(schema)
    return question


def _choice(schema: Schema, options: Any, score: Any, penalty: Any, references: Any) -> questions.Choice:
    rule = _score(score, "a score")
    pairs, total = [], 0
    for item in _list(options, "options"):
        *parents, child = _table(item, schema)
        pairs.append(Pair(child, tuple(parents)))
        cells = schema.cells(pairs[-1].axes)
        total += cells
        if cells > MAX_CELLS or total > MAX_SCORED_CELLS:
            raise TooLarge(
                f"options of more than {MAX_CELLS:,} cells, or of {MAX_SCORED_CELLS:,} in all, cannot be scored"
            )
    penalties = None if penalty is None else [_number(p) for p in _list(penalty, "a penalty")]
    tables = None if references is None else _references(references, pairs, schema)
    return questions.Choice(pairs, rule, penalties, tables)


def _score(name: Any, what: str) -> Score:
    _expect(name in SCORES, what)
    return SCORES[name]


def _references(data: Any, pairs: Sequence[Pair], schema: Schema) -> list[Integers]:
    _expect(len(_list(data, "tables")) == len(pairs), "a reference table for each option")
    return [_counts(table, schema.sizes(pair.axes)) for table, pair in zip(data, pairs)]


def _child(schema: Schema, left: Any, placed: Any, penalty: Any) -> questions.ChooseChild:
    _check_pairs(schema)
    return questions.ChooseChild(_axes(left, schema), _axes(placed, schema), _number(penalty))


def _edge(
    schema: Schema, left: Any, placed: Any, score: Any, penalty: Any, cells: Any, alone: Any
) -> questions.ChooseEdge:
    _expect(type(alone) is bool, "links")
    rule = _score(score, "links")
    _check_pairs(schema)
    sides = _axes(left, schema), _axes(placed, schema)
    whole = {Axis(name) for name in schema.names}.issuperset((*sides[0], *sides[1]))
    _expect(whole, "links between whole attributes")  # before a matrix of all pairs is laid out
    return questions.ChooseEdge.of(schema, *sides, rule, _number(penalty), _number(cells), alone)


def _check_pairs(schema: Schema) -> None:
    """Refuse edges of a schema of which not all pairs can be counted: edges are looked up among those."""
    if math.prod(sorted(a.size for a in schema.modelled)[-2:]) > MAX_CELLS:
        raise TooLarge(f"links of attributes with a table of more than {MAX_CELLS:,} cells cannot be scored")


def _tables(schema: Schema, workload: Any, shares: Any) -> questions.Marginals:
    return questions.Marginals(_workload(workload, schema), _shares(shares))


def _shares(data: Any) -> list[Fraction]:
    """Return shares that can be added up, and have noise scales worked out for them, in moments."""
    texts = set(_texts(data, "shares"))
    _expect(len(texts) <= MAX_DIFFERENT_SHARES, f"at most {MAX_DIFFERENT_SHARES:,} different shares")
    known = {text: fraction_from_json(text) for text in texts}
    common = 1
    for share in known.values():
        common = math.lcm(common, share.denominator)
        _expect(common <= _MAX_DENOMINATOR, "shares with a common denominator of moderate length")
    return [known[text] for text in data]


def _blocks(schema: Schema, workload: Any) -> questions.HadamardBlocks:
    return questions.HadamardBlocks(_workload(workload, schema))


def _wavelet(schema: Schema, axes: Any, kinds: Any, form: Any) -> questions.WaveletTable:
    known = form in get_args(Form) and all(kind in get_args(Kind) for kind in _list(kinds, "kinds"))
    _expect(known and len(kinds) == len(_list(axes, "axes")), "a wavelet")
    return questions.WaveletTable(_table(axes, schema), tuple(kinds), form)


def _details(schema: Schema, attribute: Any, depth: Any) -> questions.FineDetails:
    _expect(type(attribute) is str and attribute in schema.names, "an attribute")
    return questions.FineDetails(attribute, _number(depth))


_SELECTIONS: dict[str, Callable[..., Selection[Any]]] = {"choice": _choice, "link": _child, "links": _edge}
_QUERIES: dict[str, Callable[..., NoisyQuery[Any]]] = {
    "tables": _tables,
    "coefficients": _blocks,
    "wavelet": _wavelet,
    "details": _details,
}


def _workload(data: Any, schema: Schema) -> list[Axes]:
    workload = [_table(item, schema) for item in _list(data, "tables")]
    if sum(schema.cells(axes) for axes in workload) > MAX_CELLS:
        raise TooLarge(f"tables of more than {MAX_CELLS:,} cells in all cannot be asked of a federation")
    return workload


def _table(data: Any, schema: Schema) -> Axes:
    if len(_list(data, "axes")) > MAX_TABLE_AXES:
        raise TooLarge(f"a table of more than {MAX_TABLE_AXES} axes cannot be counted")
    return _axes(data, schema)


def _axes(data: Any, schema: Schema) -> Axes:
    axes = tuple(_axis(item, schema) for item in _list(data, "axes"))
    _expect(len(set(axes)) == len(axes), "axes without repetition")
    return axes


def _axis(data: Any, schema: Schema) -> Axis:
    _expect([type(part) for part in _list(data, "an axis")] == [str, int, int, bool], "an axis")
    axis = Axis(*data)
    try:
        attribute = schema[axis.attribute]  # also the classes of a number's decimals
    except UsageError:
        raise UsageError("a question about an attribute that is not in this owner's schema") from None
    if not attribute.modelled:
        raise UsageError("a question about an attribute that is not modelled")
    levels = len(attribute.taxonomy.levels) if attribute.taxonomy else 0
    of_bits = axis.level == 0 and 0 <= axis.bit < attribute.bits
    _expect(of_bits or (axis.bit == -1 and not axis.gray and 0 <= axis.level <= levels), "an axis")
    return axis


def _list(data: Any, what: str) -> list[Any]:
    if type(data) is not list or len(data) > MAX_OPTIONS:
        raise _refused(what)
    return data


def _texts(data: Any, what: str) -> list[str]:
    _expect(all(type(item) is str for item in _list(data, what)), what)
    return list(data)


def _counts(data: Any, sizes: Sequence[int]) -> Integers:
    """Return nested lists of whole numbers of this shape as an array; `check` looks at how large they are."""
    cells = [data]
    for size in sizes:
        _expect(all(type(part) is list and len(part) == size for part in cells), "a table of whole numbers")
        cells = [item for part in cells for item in part]
    return np.array([_number(item) for item in cells], dtype=np.int64).reshape(sizes)


def _number(data: Any) -> int:
    if type(data) is not int or not -_LARGEST_NUMBER < data < _LARGEST_NUMBER:
        raise _refused("a whole number")
    return data


def _expect(holds: bool, what: str) -> None:
    """Refuse what somebody else wrote unless this holds of it."""
    if not holds:
        raise _refused(what)


def _refused(what: str) -> UnderstudyError:
    return UsageError(f"a question of the federation cannot be read: {what} was expected")
