"""The grammar of queries: `count by sex where 30 <= age < 45 and region = 'North'` as a parsed question.

    question    measure [by name {, name}] [where expression]        at most three names
    measure     count | share | rate | mean ( name ) | sum ( name ) | median ( name ) | quantile ( name , number )

What an expression is, `schema.expressions` says: the same for queries, rules and given conditions. Keywords do not mind
their case. Nothing here knows the schema; every word remembers its place for the caret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from understudy.errors import UsageError
from understudy.schema import Schema
from understudy.schema import expressions as written
from understudy.schema.tokens import Token, complain
from understudy.schema.value_names import codes_named, means_missing, place_of

Measure = Literal["count", "share", "rate", "mean", "sum", "median", "quantile"]
MAX_NAMES = 3  # after `by`

_MEASURES: tuple[Measure, ...] = ("count", "share", "rate", "mean", "sum", "median", "quantile")


@dataclass(frozen=True)
class ValueTest:
    """One comparison with a value."""

    operator: written.Operator | Literal["is missing", "is not missing"]
    value: Token


@dataclass(frozen=True)
class Condition:
    """Tests on one attribute: every one must hold, or (`in`) any one."""

    name: Token
    tests: tuple[ValueTest, ...]
    any: bool = False


@dataclass(frozen=True)
class WrittenQuery:
    """A query as written: names and values are still words."""

    text: str
    measure: Measure
    of: Token | None = None
    by: tuple[Token, ...] = ()
    where: tuple[written.Expression, ...] = ()  # all of them must hold
    at: float = 0.5  # of a quantile: the share of values below it


def parse(text: str) -> WrittenQuery:
    """Return the question a text asks, or raise a UsageError that points at the place."""
    if len(text) > written.MAX_TEXT:
        raise UsageError(f"a query may have {written.MAX_TEXT:,} characters, this one has {len(text):,}")
    return _QuestionParser(text, "query").question()


def simple_condition(expression: written.Expression, schema: Schema) -> Condition | None:
    """Return an expression that compares one attribute with values as such; None for any other."""
    match expression:
        case written.ComparedTerms():
            return _compared(expression, schema)
        case written.Chain(parts):
            sides = [_compared(part, schema) for part in parts if isinstance(part, written.ComparedTerms)]
            if sides[0] is None or sides[1] is None or sides[0].name != sides[1].name:
                return None
            return Condition(sides[0].name, sides[0].tests + sides[1].tests)
        case written.Membership(term=written.Symbol(word), values=values):
            return Condition(word, tuple(ValueTest("=", value.word) for value in values), any=True)
        case written.Missing(name, place):
            return Condition(name, (ValueTest("is missing", place),))
        case written.Not(written.Missing(name, place)):
            return Condition(name, (ValueTest("is not missing", place),))
    return None


def _compared(found: written.ComparedTerms, schema: Schema) -> Condition | None:
    if not isinstance(found.left, written.Symbol) or not isinstance(found.right, written.Symbol):
        return None
    left, right = found.left.word, found.right.word
    if _may_be_name(left) and not _is_column(right, left, schema):
        return Condition(left, (ValueTest(found.operator, right),))
    if _may_be_name(right) and not _is_column(left, right, schema):
        return Condition(right, (ValueTest(written.FLIPPED[found.operator], left),))
    return None


def _may_be_name(word: Token) -> bool:
    return word.kind in ("word", "name")


def _is_column(word: Token, other: Token, schema: Schema) -> bool:
    """Return whether a word is a column, and no value of the attribute that it is compared with."""
    if not _may_be_name(word) or schema.find(word.text) is None:
        return False
    attribute, text = schema.find(other.text), word.text
    if attribute is None or not attribute.modelled:
        return True
    named = means_missing(attribute, text) or place_of(attribute, text) is not None
    return not named and codes_named(attribute, text) is None


class _QuestionParser(written.ConditionParser):
    """Reads a question around an expression."""

    def question(self) -> WrittenQuery:
        measure, of, at = self._measure()
        by: tuple[Token, ...] = ()
        where: tuple[written.Expression, ...] = ()
        while self._next.kind != "end":
            if not by and self._skip("by"):
                by = self._by()
            elif not where and self._skip("where"):
                where = written.conjuncts(self.expression())
            else:
                self._surplus(bool(by), bool(where))
        return WrittenQuery(self._text, measure, of, by, where, at)

    def _surplus(self, by: bool, where: bool) -> NoReturn:
        more = [f"`{word}`" for word, seen in (("by", by), ("where", where)) if not seen]
        joint = ["`and`"] if where else ["`,`"] if by else []
        self._expected(" or ".join([*joint, *more, "the end"]), ["by", "where", "and"])

    def _measure(self) -> tuple[Measure, Token | None, float]:
        found = {measure: measure for measure in _MEASURES}.get(self._next.keyword)  # type: ignore[call-overload]
        if found is None:
            self._expected("`count`, `share`, `rate`, `mean(attribute)`, `sum`, `median` or `quantile`", _MEASURES)
        self._take()
        if found in ("count", "share", "rate"):
            return found, None, 0.5
        self._mark("(", f"`(` and an attribute, as in {found}(age)")
        of, at = self._name(), 0.5
        if found == "quantile":
            self._mark(",", "`,` and a share of the values, as in quantile(age, 0.9)")
            at = self._share()
        self._mark(")", "`)`")
        return found, of, at

    def _share(self) -> float:
        word = self._value()
        try:
            at = float(word.text)
        except ValueError:
            at = -1.0
        if not 0 < at < 1:
            complain(self._text, word, "a quantile is at a share between 0 and 1, as in quantile(age, 0.9)")
        return at

    def _by(self) -> tuple[Token, ...]:
        names = [self._name()]
        while self._is_mark(","):
            self._take()
            names.append(self._name())
        if len(names) > MAX_NAMES:
            complain(self._text, names[MAX_NAMES], f"`by` takes at most {MAX_NAMES} attributes")
        return tuple(names)
