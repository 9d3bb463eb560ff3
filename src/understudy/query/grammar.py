"""The grammar of queries: `count by sex where 30 <= age < 45 and region = 'North'` as a parsed question.

    question    measure [by name {, name}] [where condition {and condition}]        at most three names
    measure     count | share | mean ( name )
    condition   name compare value | value compare name | value order name order value
                | name between value and value | name in ( value {, value} ) | name is [not] missing
    compare     = | != | order              order   < | <= | > | >=
    name        a word, or anything in "double quotes"
    value       a word, a number, a date, or anything in 'single quotes'

Keywords do not mind their case. Nothing here knows the schema; every word remembers its place for the caret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from understudy.errors import UsageError, did_you_mean

Measure = Literal["count", "share", "mean"]
Operator = Literal["<", "<=", ">", ">=", "=", "!=", "is missing", "is not missing"]
MAX_NAMES = 3  # after `by`
MAX_TEXT = 4_000  # characters of a query

_MEASURES = ("count", "share", "mean")
_RESERVED = frozenset({"by", "where", "and", "or", "in", "between", "is", "not"})
_SPELLINGS: dict[str, Operator] = {
    "<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "=", "==": "=", "!=": "!=", "<>": "!=",
}  # fmt: skip
_FLIPPED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_TOKEN = re.compile(
    r"""(?P<name>"(?:[^"]|"")*")
      | (?P<text>'(?:[^']|'')*')
      | (?P<operator><=|>=|!=|<>|==|<|>|=)
      | (?P<mark>[(),])
      | (?P<number>[-+]?\.?\d[\w.:+-]*)
      | (?P<word>[^\W\d][\w.-]*)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Word:
    """A piece of the query: what it says, how it was written and where it stands."""

    kind: str  # name, text, operator, mark, number, word; "end" past the last one
    text: str
    start: int
    end: int

    @property
    def keyword(self) -> str:
        """The word as a keyword; quoted words are none."""
        return self.text.casefold() if self.kind == "word" else ""


@dataclass(frozen=True)
class Test:
    """One comparison with a value."""

    operator: Operator
    value: Word


@dataclass(frozen=True)
class Condition:
    """Tests on one attribute: every one must hold, or (`in`) any one."""

    name: Word
    tests: tuple[Test, ...]
    any: bool = False


@dataclass(frozen=True)
class Question:
    """A query as written: names and values are still words."""

    text: str
    measure: Measure
    of: Word | None = None
    by: tuple[Word, ...] = ()
    where: tuple[Condition, ...] = ()


def parse(text: str) -> Question:
    """The question a text asks, or a UsageError that points at the place."""
    if len(text) > MAX_TEXT:
        raise UsageError(f"a query may have {MAX_TEXT:,} characters, this one has {len(text):,}")
    return _Parser(text, tuple(_words(text))).question()


def complain(text: str, word: Word, message: str, attribute: str | None = None) -> NoReturn:
    """Refuse the query: the message, the query, and a caret under the offending word."""
    line = "".join(" " if character.isspace() else character for character in text)
    carets = "^" * max(1, word.end - word.start)
    raise UsageError(f"{message}\n  {line}\n  {' ' * word.start}{carets}", attribute=attribute)


def hint(word: str, known: Sequence[str]) -> str:
    """The nearest known word, whatever its case; else all of them when they are few."""
    import difflib

    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(word.casefold(), list(folded), n=1)
    return f"Did you mean {folded[near[0]]!r}?" if near else did_you_mean(word, list(known))


def _words(text: str) -> Iterator[Word]:
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            _unreadable(text, at)
        kind, said = str(match.lastgroup), match.group()
        if kind in ("name", "text"):
            said = said[1:-1].replace(said[0] * 2, said[0])
        yield Word(kind, said, at, match.end())
        at = match.end()
    yield Word("end", "", len(text.rstrip()), len(text.rstrip()) + 1)


def _unreadable(text: str, at: int) -> NoReturn:
    mark = text[at]
    place = Word("mark", mark, at, at + 1)
    if mark in "\"'":
        complain(text, place, "this quote is never closed")
    if mark in "‘’“”":
        complain(text, place, "use straight quotes: \"name\" and 'value'")
    complain(text, place, f"{mark!r} has no meaning in a query; put names in \"double\", values in 'single' quotes")


class _Parser:
    """Reads words from left to right; never looks back."""

    def __init__(self, text: str, words: tuple[Word, ...]) -> None:
        self._text = text
        self._words = words
        self._at = 0

    @property
    def _next(self) -> Word:
        return self._words[self._at]

    def _take(self) -> Word:
        word = self._next
        self._at += word.kind != "end"
        return word

    def _skip(self, keyword: str) -> bool:
        found = self._next.keyword == keyword
        self._at += found
        return found

    def _expected(self, what: str, known: Sequence[str] = ()) -> NoReturn:
        word = self._next
        found = "the query ends here" if word.kind == "end" else f"found {word.text!r}"
        near = hint(word.text, known) if known and word.kind == "word" else ""
        near = near if near.startswith("Did") else ""
        complain(self._text, word, f"expected {what}, {found}. {near}".rstrip(". ") + ("" if near else "."))

    def _mark(self, mark: str, what: str) -> None:
        if self._next.kind != "mark" or self._next.text != mark:
            self._expected(what)
        self._take()

    # -- the rules, in the order of the grammar ---------------------------------------------------------------

    def question(self) -> Question:
        measure, of = self._measure()
        by: tuple[Word, ...] = ()
        where: tuple[Condition, ...] = ()
        while self._next.kind != "end":
            if not by and self._skip("by"):
                by = self._by()
            elif not where and self._skip("where"):
                where = self._where()
            else:
                self._surplus(bool(by), bool(where))
        return Question(self._text, measure, of, by, where)

    def _surplus(self, by: bool, where: bool) -> NoReturn:
        if where and self._next.keyword == "or":
            advice = "use `in (…)` for values of one attribute, or ask twice"
            complain(self._text, self._next, f"conditions are joined by `and` only; {advice}")
        more = [f"`{word}`" for word, seen in (("by", by), ("where", where)) if not seen]
        joint = ["`and`"] if where else ["`,`"] if by else []
        self._expected(" or ".join([*joint, *more, "the end"]), ["by", "where", "and"])

    def _measure(self) -> tuple[Measure, Word | None]:
        match self._next.keyword:
            case "count":
                self._take()
                return "count", None
            case "share":
                self._take()
                return "share", None
            case "mean":
                self._take()
                self._mark("(", "`(` and an attribute, as in mean(age)")
                of = self._name()
                self._mark(")", "`)`")
                return "mean", of
        self._expected("`count`, `share` or `mean(attribute)`", _MEASURES)

    def _by(self) -> tuple[Word, ...]:
        names = [self._name()]
        while self._next.kind == "mark" and self._next.text == ",":
            self._take()
            names.append(self._name())
        if len(names) > MAX_NAMES:
            complain(self._text, names[MAX_NAMES], f"`by` takes at most {MAX_NAMES} attributes")
        return tuple(names)

    def _where(self) -> tuple[Condition, ...]:
        conditions = [self._condition()]
        while self._skip("and"):
            conditions.append(self._condition())
        return tuple(conditions)

    def _condition(self) -> Condition:
        if self._next.kind in ("number", "text"):
            return self._value_first()
        name = self._name()
        if self._skip("between"):
            low = self._value()
            if not self._skip("and"):
                self._expected("`and` and the upper end, as in between 30 and 44")
            return Condition(name, (Test(">=", low), Test("<=", self._value())))
        if self._skip("in"):
            return Condition(name, tuple(Test("=", value) for value in self._values()), any=True)
        if self._skip("is"):
            return Condition(name, (self._missing(),))
        if self._next.kind != "operator":
            self._expected("a comparison: <, <=, >, >=, =, !=, between, in or is", ("between", "in", "is"))
        condition = Condition(name, (Test(self._operator(), self._value()),))
        if self._next.kind == "operator":
            complain(self._text, self._next, "a chain has the attribute in the middle: 30 <= age < 45")
        return condition

    def _value_first(self) -> Condition:
        """`30 <= age` and `30 <= age < 45`."""
        first = self._value()
        if self._next.kind != "operator":
            self._expected("a comparison")
        place, left = self._next, self._operator()
        name = self._name()
        start = Test(_FLIPPED[left], first)
        if self._next.kind != "operator":
            return Condition(name, (start,))
        right = self._operator()
        if left[0] != right[0] or left[0] not in "<>":
            complain(self._text, place, "a chain goes one way: 30 <= age < 45 or 45 > age >= 30")
        return Condition(name, (start, Test(right, self._value())))

    def _values(self) -> list[Word]:
        self._mark("(", "`(` and a list of values")
        values = [self._value()]
        while self._next.kind == "mark" and self._next.text == ",":
            self._take()
            values.append(self._value())
        self._mark(")", "`,` or `)`")
        return values

    def _missing(self) -> Test:
        present = self._skip("not")
        if self._next.keyword != "missing":
            self._expected("`missing` or `not missing`", ("missing", "not"))
        return Test("is not missing" if present else "is missing", self._take())

    def _operator(self) -> Operator:
        return _SPELLINGS[self._take().text]

    def _name(self) -> Word:
        if self._next.kind not in ("word", "name"):
            self._expected('an attribute (in "double quotes" unless it is one plain word)')
        if self._next.keyword in _RESERVED:
            self._expected('an attribute (a name that is a keyword too goes in "double quotes")')
        return self._take()

    def _value(self) -> Word:
        if self._next.kind not in ("word", "name", "text", "number"):
            self._expected("a value")
        if self._next.keyword in _RESERVED:
            self._expected("a value (one that is a keyword too goes in 'single quotes')")
        return self._take()
