"""The screen Budget: what was spent on whom, and what an epsilon would buy, before a row is read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from understudy.errors import UnderstudyError
from understudy.methods.expected_error import RANGE, ExpectedError
from understudy.methods.forecast import recommended_delta
from understudy.methods.plan import Plan
from understudy.planning import plan
from understudy.privacy.budget import Budget, show
from understudy.privacy.entries import Account, Entry
from understudy.privacy.ledger import Ledger
from understudy.report.bars import drawing
from understudy.report.budget import suspicion
from understudy.report.markup import Markup, shape
from understudy.schema import Schema
from understudy.schema.writing import attribute_as_dict
from understudy.studio.folder import SCHEMAS
from understudy.studio.pages import Screen
from understudy.studio.spending import ledger_of
from understudy.studio.texts import TEXTS

GROUPS = ((100, 0.1), (500, 0.1), (5000, 0.1))
COARSE_BINS = 8
MAX_ENTRIES = 200
_WIDTH = 400.0


@dataclass(frozen=True)
class ForecastAsked:
    """What the forecast's form holds."""

    schema: str
    epsilon: str = "1"
    delta: str = "0"
    method: str = "auto"
    rows: str = ""

    @staticmethod
    def of(request: Request) -> ForecastAsked:
        """Return what an address asks for."""
        query = request.query_params
        known = {key: query[key].strip() for key in ("epsilon", "delta", "method", "rows") if query.get(key)}
        return ForecastAsked(query.get("schema", ""), **known)

    def plan(self, schema: Schema) -> Plan:
        """Return the library's plan."""
        rows = int(self.rows) if self.rows.isdecimal() and int(self.rows) > 0 and schema.rows is None else None
        return plan(schema, epsilon=self.epsilon, delta=self.delta, method=self.method, rows=rows)


class BudgetScreen(Screen):
    """The ledger drawn, and the forecast."""

    def show(self, request: Request) -> Response:
        """Show the accounts and the form of the forecast."""
        asked = ForecastAsked.of(request)
        schemas = self._studio.folder.names(SCHEMAS)
        schema = Schema.open(self._studio.folder.file(asked.schema, SCHEMAS)) if asked.schema else None
        return self._pages.page(
            request, "budget.html", "budget", schema_name=asked.schema, asked=asked, schemas=schemas, schema=schema,
            **self._accounts(schema), **_forecast(asked, schema),
        )  # fmt: skip

    def forecast(self, request: Request) -> Response:
        """Return the forecast alone, as the fields move it."""
        asked = ForecastAsked.of(request)
        schema = Schema.open(self._studio.folder.file(asked.schema, SCHEMAS))
        return self._pages.part("forecast.html", asked=asked, schema=schema, **_forecast(asked, schema))

    def _accounts(self, schema: Schema | None) -> dict[str, Any]:
        path = ledger_of(schema, self._studio.ledger) if schema else self._studio.ledger
        path = path or self._studio.folder.root / "understudy-ledger.db"
        if not path.exists():
            return {"accounts": [], "entries": [], "ledger_name": path.name}
        with Ledger(path, create=False) as book:
            book.verify()
            accounts = [a for name in book.accounts() if (a := book.account(name)) is not None]
            entries = [e for e in book.entries() if e.kind != "charge"][-MAX_ENTRIES:]
        return {
            "accounts": [(a, spent_bar(a), _account_words(a)) for a in accounts],
            "entries": [(_at(e), e.account, _entry_words(e.kind, e.body)) for e in reversed(entries)],
            "ledger_name": path.name,
        }  # fmt: skip


def spent_bar(account: Account) -> str:
    """Return the drawing of what is spent of a cap."""
    cap = account.cap_epsilon
    share = float(account.spent_epsilon / cap) if cap else 0.0
    return _meter(shape("rect", class_="spent", width=_WIDTH * min(1.0, share), height=12))


def _meter(*parts: Markup) -> str:
    track = shape("rect", class_="track", width=_WIDTH, height=12)
    return str(drawing(_WIDTH, 12, track, *parts, class_="meter", stretched=True))


def _account_words(account: Account) -> str:
    spent = f"epsilon {float(account.spent_epsilon):.6g}"
    if account.spent_delta:
        spent += f", delta {float(account.spent_delta):.6g}"
    if account.cap_epsilon is None:
        return TEXTS["spent_without_cap"].format(spent=spent)
    left = account.left_epsilon or Fraction(0)
    return TEXTS["spent_of_cap"].format(spent=spent, cap=show(account.cap_epsilon), left=f"{float(left):.6g}")


def _at(entry: Entry) -> str:
    return entry.at.replace("T", " ").rstrip("Z")


def _entry_words(kind: str, body: dict[str, Any]) -> str:
    epsilon = "none" if body.get("epsilon") is None else f"{float(Fraction(body['epsilon'])):.6g}"
    said = TEXTS.get(f"entry_{kind}", kind)
    return said.format(epsilon=epsilon, reason=body.get("reason", ""), release=str(body.get("release", ""))[:12])


# -- the forecast --------------------------------------------------------------------------------------------------


def _forecast(asked: ForecastAsked, schema: Schema | None) -> dict[str, Any]:
    """Return what the forecast's template needs; a problem in words where there is no plan."""
    if schema is None:
        return {"plan": None, "problem": ""}
    try:
        made = asked.plan(schema)
        budget = Budget(asked.epsilon, asked.delta)
    except UnderstudyError as error:
        return {"plan": None, "problem": error.message}
    expected = made.expected
    lines = _lines(expected) if isinstance(expected, ExpectedError) else []
    # what a share of typical groups will look like, of groups that the table can have
    groups = [made.words(people, share) for people, share in GROUPS if people <= max(made.rows, GROUPS[0][0])]
    return {
        "plan": made, "problem": "", "expected": expected, "lines": lines, "groups": groups,
        "buys": _would_buy(asked, schema, made), "suspicion": str(suspicion(float(budget.epsilon))),
        "phases": [(p.name, show(p.cost), p.detail) for p in made.phases],
    }  # fmt: skip


def _lines(expected: ExpectedError) -> list[tuple[str, str, str]]:
    known = (("one_way", expected.one_way), ("two_way", expected.two_way), ("three_way", expected.three_way))
    return [(TEXTS[name], f"{value:.3f}", _error_bar(value)) for name, value in known if value is not None]


def _error_bar(value: float) -> str:
    low, high = value / RANGE, min(1.0, value * RANGE)
    return _meter(
        shape("rect", class_="band", x=_WIDTH * low, width=max(1.0, _WIDTH * (high - low)), height=12),
        shape("rect", class_="spent", width=max(1.0, _WIDTH * value), height=12, y=0),
    )


def _would_buy(asked: ForecastAsked, schema: Schema, made: Plan) -> list[tuple[str, str]]:
    """Return which of a delta and coarser bins would bring two-way tables nearer, and how near."""
    ways = []
    if not made.budget.delta:
        delta = f"{float(recommended_delta(made.rows)):.0e}"
        ways.append((TEXTS["with_delta"].format(delta=delta), replace(asked, delta=delta), schema))
    if (coarser := _coarser(schema)) is not None:
        ways.append((TEXTS["with_coarser"].format(bins=COARSE_BINS), asked, coarser))
    found = []
    for words, other, changed in ways:
        with suppress(UnderstudyError):
            better = _two_way(other.plan(changed).expected)
            if better is not None and better < (_two_way(made.expected) or 0.0):
                found.append((words, f"{better:.3f}"))
    return found


def _two_way(expected: object) -> float | None:
    return expected.two_way if isinstance(expected, ExpectedError) else None


def _coarser(schema: Schema) -> Schema | None:
    """Return the schema with at most a few bins in each range; None where that changes nothing."""
    if schema.undiscovered:
        return None
    changed = schema
    for attribute in schema.modelled:
        body = attribute_as_dict(attribute)
        if "range" in body and attribute.size > COARSE_BINS + 1 and "points" not in body:
            with suppress(UnderstudyError):
                changed = changed.edit(attribute.name, bins=COARSE_BINS)
    return None if changed is schema else changed
