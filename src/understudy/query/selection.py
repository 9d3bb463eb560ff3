"""A selection: which part of each cell of one attribute the conditions of a query let through."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from understudy.models.within_bins import Shape
from understudy.query.grammar import Condition, ValueTest
from understudy.query.pieces import Floats, Pieces, pieces_of
from understudy.query.quantiles import extents
from understudy.schema import Attribute, Intervals
from understudy.schema.tokens import Token, complain, hint
from understudy.schema.value_names import codes_meant, means_missing, names_of, place_of

Mask = NDArray[np.bool_]  # [code, segment]; either side may be 1 long
_TINY = 1e-12
_MAX_NAMED = 4  # cut bins in one note


@dataclass(frozen=True, eq=False)
class SelectedCells:
    """`weights` is the part of each cell that is let through; `moments` adds up the decoded values of that part."""

    attribute: Attribute
    weights: Floats
    moments: Floats
    values: Floats  # how many values each cell holds
    cut: NDArray[np.bool_]  # the cells that are let through in part
    notes: tuple[str, ...] = ()
    inside: SelectedFineCells | None = None  # the same on the attribute's fine grid, where its shape is known

    @cached_property
    def present(self) -> Floats:
        """Return the weights with "missing" left out."""
        return _without_missing(self.weights, self.attribute)

    @property
    def everything(self) -> bool:
        """Return whether nothing is held back."""
        return self.whole and bool((self.weights == 1).all())

    @property
    def whole(self) -> bool:
        """Return whether every cell is let through as a whole or not at all."""
        return not self.cut.any()


@dataclass(frozen=True, eq=False)
class SelectedFineCells:
    """A selection of cells of a fine grid."""

    shape: Shape
    weights: Floats
    moments: Floats

    @cached_property
    def present(self) -> Floats:
        return _without_missing(self.weights, self.shape.fine)

    @cached_property
    def spreads(self) -> Floats:
        """Return the standard deviation of the values of each coarse code, as the shape has them."""
        low, high, _ = (np.nan_to_num(ends) for ends in extents(self.shape.fine))
        middle = (low + high) / 2
        mean, square = (self.shape.gathered(x) for x in (middle, middle**2 + (high - low) ** 2 / 12))
        return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))

    @property
    def whole(self) -> bool:
        return bool(np.isin(self.weights, (0.0, 1.0)).all())


def _without_missing(weights: Floats, attribute: Attribute) -> Floats:
    return np.where(np.arange(attribute.size) == attribute.missing_code, 0.0, weights)


def select(
    attribute: Attribute, conditions: Sequence[Condition], text: str, shape: Shape | None = None
) -> SelectedCells:
    """Return what all these conditions on the attribute let through together; `text` is the query, for messages."""
    resolver = _Resolver(attribute, text)
    # every condition is cut at every value, so that conditions on one attribute meet inside a bin
    positions = [p for c in conditions for t in c.tests if isinstance(p := resolver.meaning(t), float)]
    pieces = pieces_of(attribute, positions)
    allowed = np.ones((1, 1), dtype=bool)
    notes: list[str] = []
    for condition in conditions:
        _check_order(condition, resolver)
        for test in condition.tests:
            notes += resolver.check(test, pieces)
        masks = (resolver.mask(test, pieces) for test in condition.tests)
        allowed = allowed & reduce(np.logical_or if condition.any else np.logical_and, masks)
    weights, moments = _let_through(pieces, allowed)
    cut = (weights > 0) & (weights < 1)
    if not weights.any():
        notes.append(f"no value of {attribute.name} meets all conditions on it")
    inside = None
    if shape is not None:
        below = allowed if len(allowed) == 1 else allowed[shape.home]
        inside = SelectedFineCells(shape, *_let_through(pieces_of(shape.fine, positions), below))
        weights, moments = _rounded(shape.gathered(inside.weights)), shape.gathered(inside.moments)
    notes += _cut_notes(attribute, cut, weights, pieces.values, shape)
    return SelectedCells(attribute, weights, moments, pieces.values, cut, tuple(dict.fromkeys(notes)), inside)


def _let_through(pieces: Pieces, allowed: Mask) -> tuple[Floats, Floats]:
    return _rounded((pieces.mass * allowed).sum(axis=1)), (pieces.moment * allowed).sum(axis=1)


def _rounded(weights: Floats) -> Floats:
    return np.where(weights > 1 - _TINY, 1.0, np.where(weights < _TINY, 0.0, weights))


class _Resolver:
    """Values of one attribute, from words to places on the line or to codes."""

    def __init__(self, attribute: Attribute, text: str) -> None:
        self._attribute = attribute
        self._text = text
        self._known: Mask = np.arange(attribute.size) != attribute.missing_code

    def fail(self, word: Token, message: str) -> NoReturn:
        complain(self._text, word, message, self._attribute.name)

    def meaning(self, test: ValueTest) -> float | NDArray[np.bool_]:
        """Return a place on the line, or the codes that are meant."""
        if test.operator in ("is missing", "is not missing"):
            return ~self._known
        if test.operator not in ("=", "!="):
            return self._place(test.value)
        if means_missing(self._attribute, test.value.text):
            return ~self._known
        place = place_of(self._attribute, test.value.text)
        return place if place is not None else self._codes(test.value)

    def mask(self, test: ValueTest, pieces: Pieces) -> Mask:
        """Return where the test holds. A missing value meets no comparison, not even `!=`."""
        meant = self.meaning(test)
        if test.operator == "is not missing":
            return self._known[:, None]
        if not isinstance(meant, float):
            found = ~meant & self._known if test.operator == "!=" else meant
            return found[:, None]
        segment, at = np.arange(2 * len(pieces.cuts) + 1), pieces.at(meant)
        if test.operator == "=":
            return np.asarray(segment == at)[None, :]  # a missing value is in segment 0, which is no cut
        sides = {"<": segment < at, "<=": segment <= at, ">": segment > at, ">=": segment >= at, "!=": segment != at}
        return np.asarray(self._known[:, None] & sides[test.operator])

    def check(self, test: ValueTest, pieces: Pieces) -> list[str]:
        """Refuse a comparison that no declared value can meet; note what else a reader should know about it."""
        name, value = self._attribute.name, test.value
        if test.operator in ("is missing", "is not missing"):
            return [] if self._attribute.has_missing else [f"{name} has no missing values in the schema"]
        place, domain = self.meaning(test), self._attribute.intervals
        if not isinstance(place, float) or domain is None:
            return []
        inside = domain.edges[0] <= place <= domain.edges[-1]
        if not (pieces.mass * self.mask(test, pieces)).any():
            if inside and test.operator == "=" and domain.steps is None:
                label = self._attribute.labels[int(domain.encode_numbers(np.asarray([place]))[0])]
                return [f"{name} = {value.text}: one number inside {label} has no share of its own; ask for a range"]
            self._nothing(test, domain)
        return [] if inside else [f"{name} is declared {_extent(domain)}: values beyond are counted at its ends"]

    def _nothing(self, test: ValueTest, domain: Intervals) -> NoReturn:
        name = self._attribute.name
        if test.operator == "=" and domain.edges[0] <= _float(self.meaning(test)) <= domain.edges[-1]:
            only = "whole numbers" if domain.step is domain.places is None else "multiples of its step"
            self.fail(test.value, f"{name} holds {only} only")
        asked, ends = f"{test.operator} {test.value.text}", "values beyond are counted at its ends"
        self.fail(test.value, f"no value of {name} is {asked}: it is declared {_extent(domain)}, and {ends}")

    # -- words -----------------------------------------------------------------------------------------------

    def _place(self, word: Token) -> float:
        attribute = self._attribute
        if (domain := attribute.intervals) is None:
            self.fail(word, f"{attribute.name} has no order (kind {attribute.kind}): compare with =, != or in")
        if (place := place_of(attribute, word.text)) is None:
            self.fail(word, _not_a_value(attribute, domain, word.text))
        return place

    def _codes(self, word: Token) -> NDArray[np.bool_]:
        attribute, domain = self._attribute, self._attribute.intervals
        named = codes_meant(attribute, word.text)
        if named is not None:
            return named
        if domain is not None:
            self.fail(word, _not_a_value(attribute, domain, word.text))
        self.fail(word, f"{attribute.name} has no value {word.text!r}. {hint(word.text, names_of(attribute))}".rstrip())


def _check_order(condition: Condition, resolver: _Resolver) -> None:
    """Refuse a range whose ends are in the wrong order, such as `45 <= age < 30`."""
    if condition.any or len(condition.tests) != 2:
        return
    low, high = sorted(condition.tests, key=lambda test: test.operator[0], reverse=True)  # > before <
    bottom, top = _float(resolver.meaning(low)), _float(resolver.meaning(high))
    if bottom > top or (bottom == top and (low.operator, high.operator) != (">=", "<=")):
        both = " and ".join(f"{test.operator} {test.value.text}" for test in (low, high))
        resolver.fail(condition.tests[1].value, f"the bounds are reversed: nothing is {both}")


def _cut_notes(
    attribute: Attribute, cut: NDArray[np.bool_], weights: Floats, values: Floats, shape: Shape | None
) -> list[str]:
    codes = [int(c) for c in np.flatnonzero(cut)]
    held = values if shape is None else np.full(len(values), np.inf)
    if not codes:
        return []
    parts = [f"{attribute.labels[c]} ({_part(weights[c], held[c])})" for c in codes[:_MAX_NAMED]]
    parts += [f"{len(codes) - _MAX_NAMED} more"] if len(codes) > _MAX_NAMED else []
    bins = f"{'the bin' if len(codes) == 1 else 'the bins'} {', '.join(parts)}"
    taken = "values are taken as uniform inside"
    if shape is not None:
        taken = f"inside, values follow {'the measured details' if shape.measured else 'a smooth curve'}"
    return [f"{attribute.name}: the conditions cut {bins}; {taken}"]


def _part(weight: float, values: float) -> str:
    if math.isinf(values):
        return f"{100 * weight:.3g} % of it"
    return f"{round(weight * values):,} of its {round(values):,} values"


def _extent(domain: Intervals) -> str:
    low, high = domain.edges[0], domain.edges[-1]
    if domain.steps is not None:
        low, high = domain.steps.value(domain.steps.at_least(low)), domain.steps.value(domain.steps.at_most(high))
    return f"from {domain.show(low)} to {domain.show(high)}"


def _not_a_value(attribute: Attribute, domain: Intervals, text: str) -> str:
    noun, declared = domain.scale.noun, _extent(domain)
    return f"{attribute.name} is compared with a {noun}, and {text!r} is none. It is declared {declared}."


def _float(meant: float | NDArray[np.bool_]) -> float:
    assert isinstance(meant, float)
    return meant
