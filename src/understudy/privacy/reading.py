"""Reading a question that somebody else wrote down, strictly: an owner answers a curator whom it does not trust.

What comes out is a question of the closed list about modelled attributes of this schema; `check` has accepted it. What
cannot be asked of several owners (scores of all pairs, figures) is not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from understudy.errors import TooLarge, UnderstudyError, UsageError
from understudy.privacy.choices import Choice, Links, NextLink, Options
from understudy.privacy.scores import SCORES, Pair
from understudy.privacy.vectors import MOST_CELLS, FineDetails, HadamardBlocks, Integers, Tables, Vector, WaveletTable
from understudy.privacy.wavelets import Form, Kind
from understudy.schema import Axes, Axis, Schema

MOST_OPTIONS = 1_000_000  # also of tables in one question
_LARGEST_NUMBER = 2**62
_FRACTION = re.compile(r"-?[0-9]{1,2000}(/[0-9]{1,2000})?")


def options_from_json(data: Any, schema: Schema) -> Options:
    """A choice, or it is refused."""
    question: Options = _question(data, schema, _CHOICES)
    question.check(schema)
    return question


def vector_from_json(data: Any, schema: Schema) -> Vector:
    """A vector that adds up over owners, or it is refused."""
    question: Vector = _question(data, schema, _VECTORS)
    question.check(schema)
    return question


def fraction_from_json(text: Any) -> Fraction:
    """A rational as `str(Fraction)` writes it."""
    try:
        if type(text) is str and _FRACTION.fullmatch(text):  # "1e999999999" would be worked out for hours
            number = Fraction(text)
            if str(number) == text:
                return number
    except (ValueError, ZeroDivisionError):
        pass
    raise _refused("a fraction")


def _question(data: Any, schema: Schema, kinds: Readers) -> Any:
    kind = _list(data, "a question")[0] if data else None
    if type(kind) is not str or kind not in kinds:
        raise UsageError(f"a federation asks for {', '.join(kinds)} here, and this is none of them")
    try:
        return kinds[kind](schema, *data[1:])
    except (TypeError, ValueError):
        raise _refused(kind) from None


def _choice(schema: Schema, options: Any, score: Any, penalty: Any, references: Any) -> Choice:
    if score not in SCORES:
        raise _refused("a score")
    pairs = []
    for item in _list(options, "options"):
        *parents, child = _axes(item, schema)
        pairs.append(Pair(child, tuple(parents)))
        if schema.cells(pairs[-1].axes) > MOST_CELLS:
            raise TooLarge(f"an option of more than {MOST_CELLS:,} cells cannot be scored")
    fines = None if penalty is None else [_number(p) for p in _list(penalty, "a penalty")]
    tables = None if references is None else [_counts(table) for table in _list(references, "tables")]
    return Choice(pairs, score, fines, tables)


def _link(schema: Schema, left: Any, placed: Any, fine: Any) -> NextLink:
    return NextLink(_axes(left, schema), _axes(placed, schema), _number(fine))


def _links(schema: Schema, left: Any, placed: Any, score: Any, fine: Any, cells: Any, alone: Any) -> Links:
    if score not in SCORES or type(alone) is not bool:
        raise _refused("links")
    sides = _axes(left, schema), _axes(placed, schema)
    return Links.of(schema, *sides, score, _number(fine), _number(cells), alone)


def _tables(schema: Schema, asks: Any, shares: Any) -> Tables:
    return Tables(_asks(asks, schema), [fraction_from_json(share) for share in _list(shares, "shares")])


def _blocks(schema: Schema, asks: Any) -> HadamardBlocks:
    return HadamardBlocks(_asks(asks, schema))


def _wavelet(schema: Schema, axes: Any, kinds: Any, form: Any) -> WaveletTable:
    known = form in get_args(Form) and all(kind in get_args(Kind) for kind in _list(kinds, "kinds"))
    if not known or len(kinds) != len(_list(axes, "axes")):
        raise _refused("a wavelet")
    return WaveletTable(_axes(axes, schema), tuple(kinds), form)


def _details(schema: Schema, attribute: Any, depth: Any) -> FineDetails:
    if type(attribute) is not str or attribute not in schema.names:
        raise _refused("an attribute")
    return FineDetails(attribute, _number(depth))


Readers = dict[str, Callable[..., Any]]
_CHOICES: Readers = {"choice": _choice, "link": _link, "links": _links}
_VECTORS: Readers = {"tables": _tables, "coefficients": _blocks, "wavelet": _wavelet, "details": _details}


def _asks(data: Any, schema: Schema) -> list[Axes]:
    asks = [_axes(item, schema) for item in _list(data, "tables")]
    if sum(schema.cells(axes) for axes in asks) > MOST_CELLS:
        raise TooLarge(f"tables of more than {MOST_CELLS:,} cells in all cannot be asked of a federation")
    return asks


def _axes(data: Any, schema: Schema) -> Axes:
    axes = tuple(_axis(item, schema) for item in _list(data, "axes"))
    if len(set(axes)) != len(axes):
        raise _refused("axes without repetition")
    return axes


def _axis(data: Any, schema: Schema) -> Axis:
    if [type(part) for part in _list(data, "an axis")] != [str, int, int, bool]:
        raise _refused("an axis")
    axis = Axis(*data)
    if axis.attribute not in schema.names:
        raise UsageError("a question about an attribute that is not in this owner's schema")
    attribute = schema[axis.attribute]
    levels = len(attribute.taxonomy.levels) if attribute.taxonomy else 0
    of_bits = axis.level == 0 and 0 <= axis.bit < attribute.bits
    if not of_bits and not (axis.bit == -1 and not axis.gray and 0 <= axis.level <= levels):
        raise _refused("an axis")
    return axis


def _list(data: Any, what: str) -> list[Any]:
    if type(data) is not list or len(data) > MOST_OPTIONS:
        raise _refused(what)
    return data


def _counts(data: Any) -> Integers:
    """Nested lists of whole numbers; `check` looks at their shape and size."""
    table = np.asarray(_list(data, "a table"))
    if table.dtype != np.int64:
        raise _refused("a table of whole numbers")
    return table


def _number(data: Any) -> int:
    if type(data) is not int or not -_LARGEST_NUMBER < data < _LARGEST_NUMBER:
        raise _refused("a whole number")
    return data


def _refused(what: str) -> UnderstudyError:
    return UsageError(f"a question of the federation cannot be read: {what} was expected")
