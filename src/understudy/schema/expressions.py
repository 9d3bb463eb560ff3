"""The grammar of conditions: what `[[rules]]`, `query … where` and `sample --given` are written in.

    expression  either [implies either]                                     a implies b: not a, or b
    either      both {or both}
    both        denied {and denied}
    denied      not denied | ( expression ) | comparison
    comparison  sum compare sum | sum order sum order sum | sum between sum and sum | sum in ( value {, value} )
                | sum is [not] missing
    compare     = | == | != | order         order   < | <= | > | >=
    sum         product {+ product | - product}
    product     factor {* factor | / factor}
    factor      [-] power                   power   leaf [** number]
    leaf        name | value | map ( name ) | ( sum )
    name        a word, or anything in "double quotes"
    value       a word, a number, a date, or anything in 'single quotes'

Keywords do not mind their case. A `-` between names needs spaces around it, since names may hold one. Nothing here
knows the schema, and nothing is evaluated; every word remembers its place for the caret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, NoReturn

from understudy.errors import UsageError
from understudy.schema.tokens import Token, complain, hint, words_of

Operator = Literal["<", "<=", ">", ">=", "=", "!="]
MAX_TEXT = 4_000  # characters
MAX_DEPTH = 50  # of brackets and negations inside each other

RESERVED = frozenset({"by", "where", "and", "or", "in", "between", "is", "not"})
SPELLINGS: dict[str, Operator] = {
    "<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "=", "==": "=", "!=": "!=", "<>": "!=",
}  # fmt: skip
FLIPPED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True)
class Symbol:
    """A name or a value: which of them, only a schema can tell."""

    word: Token


@dataclass(frozen=True)
class Mapped:
    """`map(name)`: the value that a declared table has for the attribute's."""

    name: Token


@dataclass(frozen=True)
class Arithmetic:
    """Two numbers put together; `power` has a plain number on its right."""

    sign: Literal["+", "-", "*", "/", "**"]
    left: Term
    right: Term


@dataclass(frozen=True)
class ComparedTerms:
    """Two terms compared; `place` is the operator's word."""

    operator: Operator
    left: Term
    right: Term
    place: Token


@dataclass(frozen=True)
class Membership:
    """A term that is one of a list of values."""

    term: Term
    values: tuple[Symbol, ...]


@dataclass(frozen=True)
class Missing:
    """Whether an attribute has no value."""

    name: Token
    place: Token


@dataclass(frozen=True)
class Not:
    part: Expression


@dataclass(frozen=True)
class And:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Chain(And):
    """Two comparisons of one term that were written as one: 30 <= age < 45, or age between 30 and 44."""


@dataclass(frozen=True)
class Or:
    parts: tuple[Expression, ...]


@dataclass(frozen=True)
class Equivalence:
    """`a <-> b`: each value of one goes with one value of the other, and nobody says which."""

    left: Token
    right: Token


Term = Symbol | Mapped | Arithmetic
Expression = ComparedTerms | Membership | Missing | Not | And | Or


def parse_condition(text: str, what: str = "a condition") -> Expression | Equivalence:
    """Return the condition that a text says, or raise a UsageError that points at the place.

    Examples
    --------
    >>> parse_condition("start <= end").operator
    '<='
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"{what} may have {MAX_TEXT:,} characters, this one has {len(text):,}")
    return ConditionParser(text, what.split()[-1]).whole()


def conjuncts(expression: Expression) -> tuple[Expression, ...]:
    """Return the conditions that must all hold; a chain is one of them."""
    if type(expression) is And:
        return tuple(leaf for part in expression.parts for leaf in conjuncts(part))
    return (expression,)


class ConditionParser:
    """Reads words from left to right; looks back only where a bracket may hold a sum or a condition."""

    def __init__(self, text: str, what: str = "condition") -> None:
        self._text = text
        self._what = what
        self._words = tuple(words_of(text, what))
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._words[self._at]

    def _take(self) -> Token:
        word = self._next
        self._at += word.kind != "end"
        return word

    def _skip(self, keyword: str) -> bool:
        found = self._next.keyword == keyword
        self._at += found
        return found

    def _expected(self, what: str, known: Sequence[str] = ()) -> NoReturn:
        word = self._next
        found = f"the {self._what} ends here" if word.kind == "end" else f"found {word.text!r}"
        near = hint(word.text, known) if known and word.kind == "word" else ""
        near = near if near.startswith("Did") else ""
        complain(self._text, word, f"expected {what}, {found}. {near}".rstrip(". ") + ("" if near else "."))

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        """Count how deep the parser is, so that no text can exhaust the stack."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            complain(self._text, self._next, "this is nested too deeply")
        yield
        self._depth -= 1

    def _is_mark(self, mark: str) -> bool:
        return self._next.kind == "mark" and self._next.text == mark

    def _mark(self, mark: str, what: str) -> None:
        if not self._is_mark(mark):
            self._expected(what)
        self._take()

    # -- conditions --------------------------------------------------------------------------------------------

    def whole(self) -> Expression | Equivalence:
        """Parse the text to its end."""
        first = self._at
        if self._next.kind in ("word", "name") and self._words[first + 1].text == "<->":
            left, _, right = self._name(), self._take(), self._name()
            found: Expression | Equivalence = Equivalence(left, right)
        else:
            found = self.expression()
        if self._next.kind != "end":
            self._expected("`and`, `or`, `implies` or the end", ("and", "or", "implies"))
        return found

    def expression(self) -> Expression:
        with self._deeper():
            left = self._either()
            if not self._skip("implies"):
                return left
            right = self._either()
            if self._next.keyword == "implies":
                complain(self._text, self._next, "`implies` stands once: use brackets to say which comes first")
            return Or((Not(left), right))

    def _either(self) -> Expression:
        parts = [self._both()]
        while self._skip("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _both(self) -> Expression:
        parts = [self._denied()]
        while self._skip("and"):
            parts.append(self._denied())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _denied(self) -> Expression:
        with self._deeper():
            if self._skip("not"):
                return Not(self._denied())
            if self._is_mark("(") and not self._bracket_is_a_sum():
                self._take()
                inner = self.expression()
                self._mark(")", "`)`")
                return inner
            return self._comparison()

    def _bracket_is_a_sum(self) -> bool:
        """Return whether no comparison stands inside the bracket that begins here."""
        depth = 0
        for word in self._words[self._at :]:
            depth += (word.kind == "mark") * ((word.text == "(") - (word.text == ")"))
            if depth == 0:
                return True
            if word.kind == "operator" or word.keyword in RESERVED | {"implies"}:
                return False
        return False

    def _comparison(self) -> Expression:
        first = self._sum()
        if self._skip("between"):
            low, place = self._sum(), self._next
            if not self._skip("and"):
                self._expected("`and` and the upper end, as in between 30 and 44")
            return Chain((ComparedTerms(">=", first, low, place), ComparedTerms("<=", first, self._sum(), place)))
        if self._skip("in"):
            return Membership(first, tuple(Symbol(word) for word in self._values()))
        if self._next.keyword == "is":
            return self._missing(first)
        if self._next.kind != "operator" or self._next.text == "<->":
            self._expected("a comparison: <, <=, >, >=, =, !=, between, in or is", ("between", "in", "is"))
        place, left = self._next, self._operator()
        middle = self._sum()
        start = ComparedTerms(left, first, middle, place)
        return self._chain(start, place) if self._next.kind == "operator" else start

    def _chain(self, start: ComparedTerms, place: Token) -> Expression:
        middle, again = start.right, self._next
        if isinstance(middle, Symbol) and middle.word.kind in ("number", "text"):
            complain(self._text, again, "a chain has the attribute in the middle: 30 <= age < 45")
        right = self._operator()
        if start.operator[0] != right[0] or right[0] not in "<>":
            said = "a chain goes one way: 30 <= age < 45 or 45 > age >= 30; join others with `and`"
            complain(self._text, place, said)
        return Chain((start, ComparedTerms(right, middle, self._sum(), again)))

    def _missing(self, term: Term) -> Expression:
        place = self._take()
        present = self._skip("not")
        if self._next.keyword != "missing":
            self._expected("`missing` or `not missing`", ("missing", "not"))
        self._take()
        if not isinstance(term, Symbol):
            complain(self._text, place, "`is missing` goes with one attribute")
        found = Missing(term.word, place)
        return Not(found) if present else found

    def _values(self) -> list[Token]:
        self._mark("(", "`(` and a list of values")
        values = [self._value()]
        while self._is_mark(","):
            self._take()
            values.append(self._value())
        self._mark(")", "`,` or `)`")
        return values

    # -- terms -------------------------------------------------------------------------------------------------

    def _sum(self) -> Term:
        with self._deeper():
            found = self._product()
            while True:
                if self._next.kind == "sign" and self._next.text in ("+", "-"):
                    sign = self._take().text
                    found = Arithmetic(sign, found, self._product())  # type: ignore[arg-type]
                elif self._next.kind == "number" and self._next.text[0] in "+-":  # `a -1`
                    found = Arithmetic("+", found, self._product())
                else:
                    return found

    def _product(self) -> Term:
        found = self._factor()
        while self._next.kind == "sign" and self._next.text in ("*", "/"):
            sign = self._take().text
            found = Arithmetic(sign, found, self._factor())  # type: ignore[arg-type]
        return found

    def _factor(self) -> Term:
        if self._next.kind == "sign" and self._next.text == "-":
            place = self._take()
            zero = Symbol(Token("number", "0", place.start, place.end))
            with self._deeper():
                return Arithmetic("-", zero, self._factor())
        base = self._leaf()
        if self._next.kind == "sign" and self._next.text == "**":
            self._take()
            if self._next.kind != "number" or not re.fullmatch(r"[1-9]", self._next.text):
                self._expected("a whole power from 1 to 9, as in height**2")
            return Arithmetic("**", base, Symbol(self._take()))
        return base

    def _leaf(self) -> Term:
        if self._is_mark("("):
            self._take()
            inner = self._sum()
            self._mark(")", "`)`")
            return inner
        if self._next.keyword == "map" and self._words[self._at + 1].text == "(":
            self._take()
            self._mark("(", "`(`")
            name = self._name()
            self._mark(")", "`)`")
            return Mapped(name)
        return Symbol(self._value())

    def _operator(self) -> Operator:
        if self._next.text == "<->":
            complain(self._text, self._next, "`<->` stands between two attributes, alone")
        return SPELLINGS[self._take().text]

    def _name(self) -> Token:
        if self._next.kind not in ("word", "name"):
            self._expected('an attribute (in "double quotes" unless it is one plain word)')
        if self._next.keyword in RESERVED:
            self._expected('an attribute (a name that is a keyword too goes in "double quotes")')
        return self._take()

    def _value(self) -> Token:
        if self._next.kind not in ("word", "name", "text", "number"):
            self._expected("a value")
        if self._next.keyword in RESERVED:
            self._expected("a value (one that is a keyword too goes in 'single quotes')")
        return self._take()
