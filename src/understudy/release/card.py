"""The privacy card: what is promised about whom, in numbers and in words, and what is not promised."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.privacy.budget import Budget, show
from understudy.privacy.entries import Account
from understudy.schema import Schema

NOT_PROMISED = (
    "Facts about groups are meant to come through: what holds for people like you can be learned with or without you.",
    "The schema, the method and the epsilon are public; what the custodian saw while checking the data (exit 4) is "
    "outside the promise.",
    "A person with more rows than `rows_per_person`, or in several tables on different accounts, is protected less.",
    "Synthetic rows are draws from a noisy model: a single row is about nobody, and rare values may be wrong.",
)
STAMP = "NOT PRIVATE: drawn from a seed, for tests"


@dataclass(frozen=True)
class Together:
    """Several owners who publish one release: who, and against how many of them the promise holds. Not their rows."""

    name: str
    owners: tuple[str, ...]
    colluding: int  # t
    dropping: int  # u
    honest: int  # h
    roster_hash: str

    @property
    def against(self) -> str:
        with_owners = "one owner" if self.colluding == 1 else f"{self.colluding} owners"
        return (
            f"anyone outside, the curator, any other owner, and the curator together with up to {with_owners}; noise "
            f"is whole with the shares of any h = {self.honest} honest owners (K = {len(self.owners)}, "
            f"t = {self.colluding}, u = {self.dropping})"
        )

    def as_json(self, budget: Budget) -> dict[str, Any]:
        return {
            "name": self.name,
            "owners": list(self.owners),
            "epsilon_of_each_owner": float(budget.epsilon),
            "delta_of_each_owner": float(budget.delta),
            "colluding": self.colluding,
            "dropping": self.dropping,
            "honest": self.honest,
            "against": self.against,
            "held_by_several": self.held_by_several(budget),
            "roster_hash": self.roster_hash,
        }

    def held_by_several(self, budget: Budget) -> str:
        return (
            "The promise is for a person's row at one owner. A person held by p owners has p times the loss: "
            f"at two owners epsilon {show(2 * budget.epsilon)}."
        )


@dataclass(frozen=True)
class Card:
    """Goes into the release as card.json and into every summary."""

    schema: Schema
    budget: Budget
    method: str
    options: dict[str, Any]
    charges: tuple[dict[str, Any], ...]
    account: Account | None  # None: several owners, each with an account of its own
    private: bool = True
    notes: tuple[str, ...] = ()
    together: Together | None = None

    @staticmethod
    def of(
        schema: Schema,
        budget: Budget,
        method: str,
        options: dict[str, Any],
        charges: list[dict[str, Any]],
        account: Account | None,
        private: bool,
        notes: tuple[str, ...],
        together: Together | None = None,
    ) -> Card:
        by_purpose: dict[str, dict[str, Any]] = {}
        for charge in charges:
            known = by_purpose.setdefault(charge["purpose"], {**charge, "cost": Fraction(0), "times": 0})
            known["cost"] += Fraction(charge["cost"])
            known["times"] += 1
        lines = tuple({**c, "cost": float(c["cost"])} for c in by_purpose.values())
        return Card(schema, budget, method, options, lines, account, private, notes, together)

    # -- words -----------------------------------------------------------------------------------------------

    @property
    def unit(self) -> str:
        k = self.schema.rows_per_person
        if self.together is not None:
            return "one row of one owner" if k == 1 else f"one person with up to {k} rows at one owner"
        return "one row of the table" if k == 1 else f"one person with up to {k} rows"

    @property
    def neighbours(self) -> str:
        if self.schema.neighbours == "replace-one":
            rows = f"that there are {self.schema.rows:,} rows is public"
            return f"replace-one: the values of {self.unit} may be anything; {rows}"
        return f"add-remove: {self.unit} may be in the table or not; even the number of rows is protected"

    @property
    def suspicion(self) -> str:
        """The largest a 50 % suspicion about one person can grow, by Bayes' rule."""
        after = 1 / (1 + math.exp(-min(700.0, float(self.budget.epsilon))))
        text = f"a 50 % suspicion about one person can become at most {at_most(after)}"
        if self.budget.delta:
            text += f", but for a failure of probability {show(self.budget.delta)}"
        return text

    @property
    def warnings(self) -> tuple[str, ...]:
        found = [] if self.private else [STAMP]
        if self.budget.epsilon > 10:
            found.append("epsilon above 10 promises very little")
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        from importlib.metadata import version

        from understudy.version import VERSION

        versions = {"understudy": VERSION, "python": platform.python_version()}
        return {
            "unit": self.unit,
            "neighbours": self.schema.neighbours,
            "neighbours_in_words": self.neighbours,
            "rows_per_person": self.schema.rows_per_person,
            "epsilon": float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "in_words": self.suspicion,
            **self._payers(),
            "charges": list(self.charges),
            "method": self.method,
            "options": self.options,
            "schema_hash": self.schema.hash,
            "versions": versions | {name: version(name) for name in ("numpy", "opendp")},
            "not_promised": self.not_promised,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "private": self.private,
        }

    @property
    def not_promised(self) -> list[str]:
        several = [] if self.together is None else [self.together.held_by_several(self.budget)]
        return several + list(NOT_PROMISED)

    def _payers(self) -> dict[str, Any]:
        """Whose ledger the spend is in: one account, or one at every owner."""
        if self.together is not None:
            return {"federation": self.together.as_json(self.budget)}
        assert self.account is not None
        total = {"epsilon": float(self.account.spent_epsilon), "delta": float(self.account.spent_delta)}
        return {"account": self.schema.account, "account_total": total}


_TEXTS = ("unit", "neighbours", "neighbours_in_words", "in_words", "method", "schema_hash")
_LISTS = ("not_promised", "notes", "warnings")


def check_card(card: dict[str, Any]) -> None:
    """A card from a file has the parts that pages and summaries show, each of its kind; else a ValueError."""
    amounts = [card["epsilon"], card["delta"], *(c["cost"] for c in card["charges"])]
    lines = [line for name in _LISTS for line in card[name]]
    texts = [*(card[name] for name in _TEXTS), *(c[name] for c in card["charges"] for name in ("purpose", "unit"))]
    texts += lines + [text for line in payer_lines(card) for text in line]
    if not all(type(a) in (int, float) and 0 <= a < math.inf for a in amounts):
        raise ValueError
    if not all(type(c["times"]) is int for c in card["charges"]) or type(card["private"]) is not bool:
        raise ValueError
    if not all(isinstance(t, str) for t in texts) or not all(isinstance(card[n], list) for n in (*_LISTS, "charges")):
        raise ValueError
    if not all(isinstance(card[name], dict) for name in ("options", "versions")):
        raise ValueError


def card_text(card: dict[str, Any]) -> str:
    """The card on a terminal page."""
    delta = f", delta {card['delta']:.6g}" if card["delta"] else ""
    lines = [f"!! {warning}" for warning in card["warnings"]]
    lines += [
        f"Promise     epsilon {card['epsilon']:.6g}{delta} for {card['unit']}",
        f"In words    {card['in_words']}",
        f"Neighbours  {card['neighbours_in_words']}",
        *(f"{name:<11} {words}" for name, words in payer_lines(card)),
        "Charges     "
        + "; ".join(f"{c['purpose']} {c['unit']} {c['cost']:.6g} ({c['times']}×)" for c in card["charges"]),
        f"Method      {card['method']} " + " ".join(f"{k}={v}" for k, v in card["options"].items()),
        f"Schema      {card['schema_hash'][:16]}…",
    ]
    lines += [f"Note        {note}" for note in card["notes"]]
    lines += ["Not promised"] + [f"  · {text}" for text in card["not_promised"]]
    return "\n".join(lines)


def payer_lines(card: dict[str, Any]) -> list[tuple[str, str]]:
    """The card's lines on whose ledger the spend is in."""
    if (together := card.get("federation")) is not None:
        owners = f"{', '.join(together['owners'])}: each spent {_promise(card)} on an account of its own"
        return [("Owners", owners), ("Against", together["against"])]
    return [("Account", f"{card['account']}: {_promise(card['account_total'])} spent in all so far")]


def _promise(amounts: dict[str, Any]) -> str:
    return f"epsilon {amounts['epsilon']:.6g}" + (f", delta {amounts['delta']:.6g}" if amounts["delta"] else "")


def at_most(share: float) -> str:
    """In whole per cent where that says nearly all of it, else rounded up."""
    if abs(100 * share - round(100 * share)) < 0.2 and share < 0.995:
        return f"{100 * share:.0f} %"
    return f"{math.ceil(share * 1000) / 10:.1f} %" if share < 0.995 else f"{math.ceil(share * 100_000) / 1000:.6g} %"
