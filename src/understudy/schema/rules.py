"""Rules: public knowledge about how the columns of one row go together, as `[[rules]]` of the schema say it.

A rule that says what one column is (`total == a + b`, `education_num = map(education)`) determines it: that column
leaves the model and is computed on output. Any other rule is a constraint on the columns that are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError, UsageError
from understudy.schema.attribute import Attribute
from understudy.schema.expressions import Arithmetic, ComparedTerms, Equivalence, Expression, Mapped, Symbol, Term
from understudy.schema.expressions import parse_condition as parse
from understudy.schema.predicates import (
    Connective,
    Constant,
    Lookup,
    NumberTerm,
    Ordered,
    Predicate,
    Rounded,
    cell_ends,
    names_in,
)
from understudy.schema.resolution import Determined, Resolver, scale_of
from understudy.schema.steps import Steps
from understudy.schema.value_names import codes_meant, means_missing, place_of

if TYPE_CHECKING:
    from understudy.schema.table import Schema

MAX_RULES = 200
_MAX_NAMED = 3  # values in one message


@dataclass(frozen=True)
class Rule:
    """A rule as written, and the map that goes with it: pairs of a value and what it is mapped to.

    Examples
    --------
    >>> Rule("start <= end").as_json()
    {'rule': 'start <= end'}
    """

    text: str
    map: tuple[tuple[str, str | int | float | bool], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "map", tuple(sorted(self.map, key=lambda pair: pair[0])))

    def as_json(self) -> dict[str, Any]:
        """Return the plain form."""
        return {"rule": self.text} | ({"map": dict(self.map)} if self.map else {})


@dataclass(frozen=True, eq=False)
class Constraint:
    """A predicate that rows must meet.

    Parameters
    ----------
    strict
        Whether it must be true, as in a query; a rule must only not be false.
    """

    predicate: Predicate
    text: str
    strict: bool = False

    @staticmethod
    def of_condition(part: Expression, text: str, schema: Schema) -> Constraint:
        """Return a condition of a query or a sample, in a `text`, that must be true."""
        known = {a.name: a for a in schema.attributes}
        return Constraint(Resolver(known, schema.rule_book.determined, text).predicate(part), text, strict=True)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the attributes that it speaks of, each once."""
        return tuple(dict.fromkeys(names_in(self.predicate)))


@dataclass(frozen=True, eq=False)
class RuleBook:
    """What the rules of a schema come to: columns that are computed, in the order of computing, and constraints."""

    determined: Mapping[str, Determined]
    constraints: tuple[Constraint, ...]

    @staticmethod
    def of(schema: Schema) -> RuleBook:
        """Look up everything that the rules say; a SchemaError names the rule that does not fit."""
        if len(schema.rules) > MAX_RULES:
            raise SchemaError(f"a schema has at most {MAX_RULES} rules")
        return _Reading(schema).book()


def checked_rules(document: Any) -> tuple[Rule, ...]:
    """Return the rules of a schema file."""
    if not isinstance(document, list) or not all(isinstance(body, Mapping) for body in document):
        raise SchemaError('rules are written [[rules]] with rule = "…"')
    return tuple(_rule(body) for body in document)


def _rule(body: Mapping[str, Any]) -> Rule:
    if unknown := [key for key in body if key not in ("rule", "map")]:
        raise SchemaError(f"[[rules]] has no key {unknown[0]!r}: its keys are `rule` and `map`")
    text, table = body.get("rule"), body.get("map", {})
    if not isinstance(text, str) or not text.strip():
        raise SchemaError('[[rules]] needs rule = "…", such as "start <= end"')
    plain = isinstance(table, Mapping) and all(isinstance(v, str | int | float | bool) for v in table.values())
    if not plain:
        raise SchemaError(f"the `map` of rule {text!r} is a table from each value to one value")
    return Rule(text, tuple((str(key), value) for key, value in table.items()))


class _Reading:
    """Reads the rules of one schema."""

    def __init__(self, schema: Schema) -> None:
        self._rules = schema.rules
        self._attributes = {a.name: a for a in schema.attributes}
        self._parsed = [self._parse(rule) for rule in schema.rules]
        self._determined: dict[str, Determined] = {}

    def book(self) -> RuleBook:
        says = self._who_determines()
        for name in self._in_order(says):
            index, term = says[name]
            with _named(self._rules[index]):
                self._determined[name] = self._computed(self._attributes[name], index, term)
        used = {index for index, _ in says.values()}
        constraints = [c for name in self._determined for c in self._ranges(name)]
        for index, expression in enumerate(self._parsed):
            if index not in used:
                constraints.append(self._constraint(index, expression))
        return RuleBook(self._determined, tuple(constraints))

    def _parse(self, rule: Rule) -> Expression:
        with _named(rule):
            found = parse(rule.text, "a rule")
            if isinstance(found, Equivalence):
                if not rule.map:
                    raise SchemaError(
                        f"which values of {found.left.text} and {found.right.text} go together is never read from "
                        f'rows: write rule = "{found.right.text} = map({found.left.text})" and its `map`'
                    )
                return ComparedTerms("=", Symbol(found.right), Mapped(found.left), found.right)
            return found

    def _resolver(self, index: int) -> Resolver:
        return Resolver(self._attributes, self._determined, self._rules[index].text)

    # -- determined columns ------------------------------------------------------------------------------------

    def _who_determines(self) -> dict[str, tuple[int, Term]]:
        """Return by column the rule and the term that it is computed from: the first such rule, without circles."""
        says: dict[str, tuple[int, Term]] = {}
        for index, expression in enumerate(self._parsed):
            for name, term in self._candidates(index, expression):
                if name not in says and not self._leads_to(name, term, says):
                    says[name] = index, term
                    break
        return says

    def _candidates(self, index: int, expression: Expression) -> Iterator[tuple[str, Term]]:
        if not isinstance(expression, ComparedTerms) or expression.operator != "=":
            return
        resolver = self._resolver(index)
        for side, other in ((expression.left, expression.right), (expression.right, expression.left)):
            with _named(self._rules[index]):
                attribute = resolver.named(side)
            if attribute is None:
                continue
            if isinstance(other, Mapped) or (attribute.intervals is not None and self._computes(other)):
                yield attribute.name, other

    def _computes(self, term: Term) -> bool:
        """Return whether a term has columns, and all of them have an order."""
        names = [name for name in _symbols(term) if name in self._attributes]
        return bool(names) and all(self._attributes[name].intervals is not None for name in names)

    def _leads_to(self, name: str, term: Term, says: Mapping[str, tuple[int, Term]]) -> bool:
        todo, seen = [*_symbols(term)], set[str]()
        while todo:
            found = todo.pop()
            if found == name:
                return True
            if found in says and found not in seen:
                seen.add(found)
                todo += _symbols(says[found][1])
        return False

    def _in_order(self, says: Mapping[str, tuple[int, Term]]) -> list[str]:
        """Return computed columns in an order in which each comes after those it is computed from."""
        done: list[str] = []

        def visit(name: str) -> None:
            if name in done or name not in says:
                return
            for other in _symbols(says[name][1]):
                visit(other)
            done.append(name)

        for name in says:
            visit(name)
        return done

    def _computed(self, attribute: Attribute, index: int, term: Term) -> Determined:
        if isinstance(term, Mapped):
            return self._mapped(attribute, index, term)
        resolver = self._resolver(index)
        found = resolver.number_term(term, scale_of(attribute))
        steps = written_steps(attribute)
        if steps is not None and not (steps == Steps() and resolver.is_whole(found)):
            found = Rounded(found, steps)
        self._check_missing(attribute, found)
        return Determined(attribute, index, found)

    def _check_missing(self, attribute: Attribute, term: NumberTerm) -> None:
        absent = [name for name in dict.fromkeys(names_in(term)) if self._attributes[name].has_missing]
        if absent and not attribute.has_missing:
            raise SchemaError(
                f"{absent[0]} may be missing, and then {attribute.name} cannot be computed: give {attribute.name} a "
                "`missing` value too"
            )

    def _mapped(self, attribute: Attribute, index: int, term: Mapped) -> Determined:
        source = self._resolver(index).attribute(term.name)
        if source.name in self._determined or source.name == attribute.name:
            raise SchemaError(f"{source.name} is computed itself: map from a column that is not")
        if not single_valued(source):
            raise SchemaError(
                f'`map` needs a cell for each value of {source.name}: leave its bins out, or bins = "each"'
            )
        if not self._rules[index].map:
            raise SchemaError(
                f"which values of {source.name} and {attribute.name} go together is never read from rows: write a line "
                f"`map = {{ … }}` below the rule, with a value of {attribute.name} for each of {source.name}"
            )
        codes, values = _looked_up(source, attribute, self._rules[index].map)
        if attribute.intervals is not None:
            return Determined(attribute, index, Lookup(source.name, values))
        return Determined(attribute, index, None, source.name, codes)

    def _ranges(self, name: str) -> Iterator[Constraint]:
        """Yield the constraints that computed numbers lie in their columns' declared ranges."""
        known = self._determined[name]
        if known.term is None or isinstance(known.term, Lookup):
            return
        low, high = declared_range(known.attribute)
        sides = (Ordered(">=", known.term, Constant(low)), Ordered("<=", known.term, Constant(high)))
        yield Constraint(Connective("and", sides), self._rules[known.rule].text)

    def _constraint(self, index: int, expression: Expression) -> Constraint:
        with _named(self._rules[index]):
            if self._rules[index].map:
                raise SchemaError("a `map` goes with a rule of the form column = map(other)")
            predicate = self._resolver(index).predicate(expression)
        return Constraint(predicate, self._rules[index].text)


@contextmanager
def _named(rule: Rule) -> Iterator[None]:
    """Put the rule before what is wrong with it."""
    try:
        yield
    except (UsageError, SchemaError) as error:
        if error.message.startswith("rule "):
            raise
        raise SchemaError(f"rule {rule.text!r}: {error.message}", attribute=error.attribute) from None


def _symbols(term: Term) -> list[str]:
    match term:
        case Symbol(word):
            return [word.text] if word.kind in ("word", "name") else []
        case Mapped(name):
            return [name.text]
        case Arithmetic():
            return _symbols(term.left) + _symbols(term.right)


def written_steps(attribute: Attribute) -> Steps | None:
    """Return the steps that an ordered attribute's values are declared to be written in; None for any number."""
    grid, domain = attribute.grid, attribute.ordered
    if grid is None:
        return domain.steps
    return grid.steps if grid.integral or grid.every is not None or grid.decimals is not None else None


def declared_range(attribute: Attribute) -> tuple[float, float]:
    """Return the ends of an ordered attribute's range."""
    domain = attribute.ordered
    if attribute.grid is not None:
        return attribute.grid.low, attribute.grid.high
    ends = cell_ends(domain)
    return float(ends.min()), float(ends.max())


def single_valued(attribute: Attribute) -> bool:
    """Return whether each code of an attribute is one value."""
    domain = attribute.intervals
    if domain is None:
        return True
    return attribute.grid is None and domain.steps is not None and bool((domain.own_values <= 1).all())


def _looked_up(
    source: Attribute, target: Attribute, pairs: tuple[tuple[str, Any], ...]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return by code of the source: the code of the target, and the number where it has an order."""
    codes = np.full(source.size, -1, dtype=np.int64)
    values = np.full(source.size, math.nan)
    given = np.zeros(source.size, dtype=bool)
    for key, value in pairs:
        keys = _codes_of(source, key)
        if keys is None:
            raise SchemaError(f"the `map` speaks of {key!r}, and {source.name} has no such value")
        codes[keys], values[keys] = _target(
            target, "true" if value is True else "false" if value is False else str(value)
        )
        given |= keys
    if source.has_missing and not given[source.missing_code] and target.has_missing:
        codes[source.missing_code], given[source.missing_code] = target.missing_code, True
    if not given.all():
        absent = [source.labels[i] for i in np.flatnonzero(~given)]
        more = f" and {len(absent) - _MAX_NAMED} more" if len(absent) > _MAX_NAMED else ""
        raise SchemaError(f"the `map` says nothing of {', '.join(map(repr, absent[:_MAX_NAMED]))}{more}")
    return codes, values


def _codes_of(source: Attribute, text: str) -> NDArray[np.bool_] | None:
    if means_missing(source, text):
        return np.equal(np.arange(source.size), source.missing_code)
    if (found := codes_meant(source, text)) is not None:
        return found
    place = place_of(source, text)
    if place is None:
        return None
    ends = cell_ends(source.ordered)[:, 0] == place
    return np.append(ends, [False] * source.has_missing) if ends.any() else None


def _target(target: Attribute, text: str) -> tuple[int, float]:
    """Return the code and the number that a value of the map means."""
    if means_missing(target, text):
        return target.missing_code, math.nan
    if (domain := target.intervals) is None:
        found = codes_meant(target, text)
        if found is None or found.sum() != 1:
            raise SchemaError(f"the `map` speaks of {text!r}, and {target.name} has no such value")
        return int(found.argmax()), math.nan
    place = place_of(target, text)
    low, high = declared_range(target)
    steps = written_steps(target)
    if place is None or not low <= place <= high or (steps is not None and not len(steps.indices([place]))):
        raise SchemaError(f"the `map` speaks of {text!r}, which is no value of {target.name}")
    return int(domain.encode_numbers(np.asarray([place]))[0]), place
