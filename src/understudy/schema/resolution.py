"""Resolution: the names and values of a condition looked up in a schema, so that it can be evaluated.

A column that a rule determines is replaced by what it is computed from: predicates speak of free columns only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from understudy.schema import expressions as written
from understudy.schema.attribute import Attribute
from understudy.schema.expressions import Operator, Term
from understudy.schema.predicates import (
    TOLERANCE,
    Alike,
    Calculation,
    Connective,
    Constant,
    IsMissing,
    Lookup,
    NumberTerm,
    OneOf,
    Ordered,
    OrderedColumn,
    Predicate,
    Rounded,
    names_in,
)
from understudy.schema.scales import OrderedScale, ordered_scale
from understudy.schema.tokens import Token, complain, hint
from understudy.schema.value_names import codes_meant, codes_named, means_missing, names_of, place_of

NUMBER = ordered_scale("number")


@dataclass(frozen=True, eq=False)
class Determined:
    """A column that a rule computes: from a term, or by the codes of one other attribute (-1: missing)."""

    attribute: Attribute
    rule: int
    term: NumberTerm | None = None
    source: str = ""
    codes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the columns that it is computed from."""
        return (self.source,) if self.term is None else tuple(dict.fromkeys(names_in(self.term)))


class Resolver:
    """Looks up the words of one text.

    Parameters
    ----------
    attributes
        By name, all that the text may speak of.
    determined
        By name, the columns that are computed from others.
    """

    def __init__(self, attributes: Mapping[str, Attribute], determined: Mapping[str, Determined], text: str) -> None:
        self._attributes = attributes
        self._determined = determined
        self._text = text

    def fail(self, word: Token, message: str, attribute: str | None = None) -> NoReturn:
        complain(self._text, word, message, attribute)

    def attribute(self, word: Token) -> Attribute:
        """Return the attribute of this name, or complain."""
        found = self._attributes.get(word.text)
        if found is None:
            near = hint(word.text, list(self._attributes))
            self.fail(word, f"there is no attribute {word.text!r}. {near}".rstrip(), word.text)
        if not found.modelled:
            self.fail(
                word,
                f"{word.text} is not part of the model (kind {found.kind}), so nothing can be said of it: leave it out "
                "here, or declare it as another kind",
                word.text,
            )
        return found

    def named(self, term: Term) -> Attribute | None:
        """Return the attribute that a term is, alone."""
        if not isinstance(term, written.Symbol) or term.word.kind not in ("word", "name"):
            return None
        return self.attribute(term.word) if term.word.text in self._attributes else None

    def predicate(self, expression: written.Expression) -> Predicate:
        """Return the expression with everything looked up."""
        match expression:
            case written.And(parts):
                return Connective("and", tuple(map(self.predicate, parts)))
            case written.Or(parts):
                return Connective("or", tuple(map(self.predicate, parts)))
            case written.Not(part):
                return Connective("not", (self.predicate(part),))
            case written.Missing(name):
                return self._missing(self.attribute(name))
            case written.Membership(term, values):
                place = values[0].word
                tests = tuple(self._comparison(written.ComparedTerms("=", term, value, place)) for value in values)
                return Connective("or", tests)
            case written.ComparedTerms():
                return self._comparison(expression)

    def _missing(self, attribute: Attribute) -> Predicate:
        known = self._determined.get(attribute.name)
        if known is None:
            return IsMissing(attribute.name)
        if known.term is None:
            size = self._attributes[known.source].size
            return OneOf(known.source, known.codes == attribute.missing_code, np.zeros(size, dtype=bool))
        if isinstance(known.term, Lookup):
            return OneOf(known.term.name, np.isnan(known.term.values), np.zeros(len(known.term.values), dtype=bool))
        return Connective("or", tuple(IsMissing(name) for name in known.sources))

    def _comparison(self, found: written.ComparedTerms) -> Predicate:
        left, right = self.named(found.left), self.named(found.right)
        if left is not None and (made := self._with_value(left, found.operator, found.right, found.place)):
            return made
        mirrored = right is not None and found.operator in ("=", "!=")
        if mirrored and right and (made := self._with_value(right, found.operator, found.left, found.place)):
            return made
        if left is not None and right is not None and not (_is_ordered(left) and _is_ordered(right)):
            return self._alike(left, right, found)
        scale = self._scale(found.left) or self._scale(found.right) or NUMBER
        column = left or right
        sides = [self._term(term, scale, column) for term in (found.left, found.right)]
        for (_, own), term in zip(sides, (found.left, found.right)):
            if own != scale:
                self.fail(_first(term), f"a {scale.kind} cannot be compared with a {own.kind}")
        return Ordered(found.operator, sides[0][0], sides[1][0], self._tolerance(*(term for term, _ in sides)))

    def _with_value(self, attribute: Attribute, operator: Operator, other: Term, place: Token) -> Predicate | None:
        """Return the comparison of an attribute with a value that has a name; None if the other side is none."""
        nominal = not _is_ordered(attribute)
        if not isinstance(other, written.Symbol):
            if nominal:
                self.fail(place, f"{attribute.name} is no number (kind {attribute.kind})", attribute.name)
            return None
        text = other.word.text
        if operator not in ("=", "!="):
            if nominal:
                reason = f"{attribute.name} has no order (kind {attribute.kind}): compare with =, != or in"
                self.fail(other.word, reason, attribute.name)
            return None
        if means_missing(attribute, text):
            return _unless(operator, self._missing(attribute))
        if not nominal and (place_of(attribute, text) is not None or self.named(other) is not None):
            return None
        labelled = attribute.grid is None and attribute.name not in self._determined
        codes = codes_meant(attribute, text) if nominal else codes_named(attribute, text) if labelled else None
        if codes is not None:
            return _unless(operator, self._one_of(attribute, codes))
        if nominal and self.named(other) is None:
            near = hint(text, names_of(attribute))
            self.fail(other.word, f"{attribute.name} has no value {text!r}. {near}".rstrip(), attribute.name)
        return None

    def _one_of(self, attribute: Attribute, codes: NDArray[np.bool_]) -> Predicate:
        absent = np.arange(attribute.size) == attribute.missing_code
        known = self._determined.get(attribute.name)
        if known is None:
            return OneOf(attribute.name, codes, absent)
        assert known.term is None  # the bins of a computed column have no codes of their own
        return OneOf(known.source, codes[known.codes], absent[known.codes])

    def _alike(self, left: Attribute, right: Attribute, found: written.ComparedTerms) -> Predicate:
        if _is_ordered(left) or _is_ordered(right) or left.domain.flags != right.domain.flags:
            kinds = f"{left.name} is of kind {left.kind} and {right.name} of kind {right.kind}"
            self.fail(found.place, f"these cannot be compared: {kinds}")
        if found.operator not in ("=", "!="):
            self.fail(found.place, f"{left.name} has no order (kind {left.kind}): compare with = or !=")
        number: dict[str, int] = {}
        sides = []
        for attribute in (left, right):
            texts = [number.setdefault(label, len(number)) for label in _texts(attribute)]
            texts += [-1] * attribute.has_missing
            own = np.asarray(texts, dtype=np.int64)
            known = self._determined.get(attribute.name)
            sides.append((attribute.name, own) if known is None else (known.source, own[known.codes]))
        return _unless(found.operator, Alike(sides[0][0], sides[1][0], sides[0][1], sides[1][1]))

    # -- terms -----------------------------------------------------------------------------------------------

    def number_term(self, term: Term, scale: OrderedScale) -> NumberTerm:
        """Return a term on this scale (numbers, dates or datetimes), or complain."""
        found, own = self._term(term, scale, None)
        if own != scale:
            self.fail(_first(term), f"this is a {own.kind}, and a {scale.kind} is wanted")
        return found

    def _scale(self, term: Term) -> OrderedScale | None:
        """Return the scale of a term with a column in it; None for one without."""
        match term:
            case written.Symbol():
                attribute = self.named(term)
                return scale_of(attribute) if attribute is not None and _is_ordered(attribute) else None
            case written.Arithmetic(sign, left, right):
                scales = [scale for scale in self._scales(sign, left, right) if scale is not None]
                moments = [scale for scale in scales if not scale.arithmetic]
                if sign == "-" and len(moments) == 2 and moments[0] == moments[1]:
                    return NUMBER
                return next(iter(moments or scales), None)
        return None

    def _scales(self, sign: str, left: Term, right: Term) -> tuple[OrderedScale | None, OrderedScale | None]:
        """Return the scales of both sides; in a difference with a date or time a written one has the same."""
        own, other = self._scale(left), self._scale(right)
        if sign == "-" and own is None and _moment_of(left, other):
            own = other
        elif sign == "-" and other is None and _moment_of(right, own):
            other = own
        return own, other

    def _term(self, term: Term, scale: OrderedScale, column: Attribute | None) -> tuple[NumberTerm, OrderedScale]:
        """Return a term with its scale; a value is read on this scale, and as one of the column if it stands alone."""
        match term:
            case written.Mapped(name):
                self.fail(name, "`map(…)` stands alone: column = map(other), with the map beside the rule")
            case written.Symbol(word):
                if (attribute := self.named(term)) is not None:
                    return self._column(attribute, word), scale_of(attribute)
                return Constant(self._value(word, scale, column)), scale
            case written.Arithmetic():
                return self._calculation(term)

    def _column(self, attribute: Attribute, word: Token) -> NumberTerm:
        if not _is_ordered(attribute):
            self.fail(word, f"{attribute.name} is no number (kind {attribute.kind})", attribute.name)
        known = self._determined.get(attribute.name)
        if known is None:
            return OrderedColumn(attribute.name)
        assert known.term is not None
        return known.term

    def _calculation(self, term: written.Arithmetic) -> tuple[NumberTerm, OrderedScale]:
        first, second = self._scales(term.sign, term.left, term.right)
        moments = [scale for scale in (first, second) if scale is not None and not scale.arithmetic]
        alike = len(moments) == 2 and moments[0] == moments[1]
        if not moments or (term.sign == "-" and alike):
            shared = moments[0] if moments else NUMBER
            sides = [self._term(side, shared, None)[0] for side in (term.left, term.right)]
            return Calculation(term.sign, sides[0], sides[1]), NUMBER
        moment = moments[0]
        if term.sign not in ("+", "-") or len(moments) == 2 or first != moment:
            said = "one can take another (days between dates, seconds between datetimes), or add such a number to it"
            self.fail(_first(term), f"of a {moment.kind} {said}")
        left, right = self._term(term.left, moment, None)[0], self._term(term.right, NUMBER, None)[0]
        return Calculation(term.sign, left, right), moment

    def _value(self, word: Token, scale: OrderedScale, column: Attribute | None) -> float:
        if column is not None and _is_ordered(column):
            place = place_of(column, word.text)
        elif not scale.arithmetic:
            place = scale.position(word.text, None)
            place = None if math.isnan(place) else place
        else:
            try:
                place = float(word.text) if word.kind == "number" else None
            except ValueError:
                place = None
        if place is None or not math.isfinite(place):
            what = scale.noun
            named = f"{column.name} is compared with a {what}" if column is not None else f"a {what} is wanted"
            near = hint(word.text, list(self._attributes)) if word.kind in ("word", "name") else ""
            near = near if near.startswith("Did") else ""
            self.fail(word, f"{named}, and {word.text!r} is none. {near}".rstrip(), column.name if column else None)
        return place

    def _tolerance(self, *terms: NumberTerm) -> float:
        """Return the tolerance of a comparison: none where plain columns and numbers meet, or all is whole."""
        plain = all(isinstance(term, OrderedColumn | Constant | Lookup) for term in terms)
        return 0.0 if plain or all(self.is_whole(term) for term in terms) else TOLERANCE

    def is_whole(self, term: NumberTerm) -> bool:
        """Return whether a term's values are whole numbers, and so exact."""
        match term:
            case OrderedColumn(name):
                return self._attributes[name].ordered.integral
            case Constant(value):
                return value == math.floor(value)
            case Lookup():
                values = term.values[~np.isnan(term.values)]
                return bool((values == np.floor(values)).all())
            case Rounded():
                return term.steps.digits <= 0
            case Calculation(sign, left, right):
                return sign != "/" and self.is_whole(left) and self.is_whole(right)


def _is_ordered(attribute: Attribute) -> bool:
    return attribute.intervals is not None


def _moment_of(term: Term, scale: OrderedScale | None) -> bool:
    """Return whether a term is written as a date or time of this scale; digits alone are a number."""
    if scale is None or scale.arithmetic or not isinstance(term, written.Symbol) or term.word.text.isdigit():
        return False
    return term.word.kind != "name" and not math.isnan(scale.position(term.word.text, None))


def scale_of(attribute: Attribute) -> OrderedScale:
    """Return the scale on which an attribute's values are calculated with: that of numbers, of dates, …"""
    scale = attribute.intervals.scale if attribute.intervals is not None else NUMBER
    return NUMBER if scale.arithmetic else scale


def _texts(attribute: Attribute) -> tuple[str, ...]:
    if attribute.domain.flags:
        return ("false", "true")
    return attribute.labels[: attribute.size - attribute.has_missing]


def _unless(operator: Operator, predicate: Predicate) -> Predicate:
    return predicate if operator == "=" else Connective("not", (predicate,))


def _first(term: Term) -> Token:
    match term:
        case written.Symbol(word):
            return word
        case written.Mapped(name):
            return name
        case written.Arithmetic():
            return _first(term.left)
