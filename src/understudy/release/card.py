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
class Card:
    """Goes into the release as card.json and into every summary."""

    schema: Schema
    budget: Budget
    method: str
    options: dict[str, Any]
    charges: tuple[dict[str, Any], ...]
    account_epsilon: Fraction
    account_delta: Fraction
    private: bool = True
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(
        schema: Schema,
        budget: Budget,
        method: str,
        options: dict[str, Any],
        charges: list[dict[str, Any]],
        account: Account,
        private: bool,
        notes: tuple[str, ...],
    ) -> Card:
        by_purpose: dict[str, dict[str, Any]] = {}
        for charge in charges:
            known = by_purpose.setdefault(charge["purpose"], {**charge, "cost": Fraction(0), "times": 0})
            known["cost"] += Fraction(charge["cost"])
            known["times"] += 1
        lines = tuple({**c, "cost": float(c["cost"])} for c in by_purpose.values())
        return Card(schema, budget, method, options, lines, account.spent_epsilon, account.spent_delta, private, notes)

    # -- words -----------------------------------------------------------------------------------------------

    @property
    def unit(self) -> str:
        k = self.schema.rows_per_person
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
        text = f"a 50 % suspicion about one person can become at most {_percent(after)}"
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
            "account": self.schema.account,
            "account_total": {"epsilon": float(self.account_epsilon), "delta": float(self.account_delta)},
            "charges": list(self.charges),
            "method": self.method,
            "options": self.options,
            "schema_hash": self.schema.hash,
            "versions": versions | {name: version(name) for name in ("numpy", "opendp")},
            "not_promised": list(NOT_PROMISED),
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "private": self.private,
        }


def card_text(card: dict[str, Any]) -> str:
    """The card on a terminal page."""
    delta = f", delta {card['delta']:.6g}" if card["delta"] else ""
    total = card["account_total"]
    lines = [f"!! {warning}" for warning in card["warnings"]]
    lines += [
        f"Promise     epsilon {card['epsilon']:.6g}{delta} for {card['unit']}",
        f"In words    {card['in_words']}",
        f"Neighbours  {card['neighbours_in_words']}",
        f"Account     {card['account']}: epsilon {total['epsilon']:.6g}"
        + (f", delta {total['delta']:.6g}" if total["delta"] else "")
        + " spent in all so far",
        "Charges     "
        + "; ".join(f"{c['purpose']} {c['unit']} {c['cost']:.6g} ({c['times']}×)" for c in card["charges"]),
        f"Method      {card['method']} " + " ".join(f"{k}={v}" for k, v in card["options"].items()),
        f"Schema      {card['schema_hash'][:16]}…",
    ]
    lines += [f"Note        {note}" for note in card["notes"]]
    lines += ["Not promised"] + [f"  · {text}" for text in card["not_promised"]]
    return "\n".join(lines)


def _percent(share: float) -> str:
    """In whole per cent where that says nearly all of it, else rounded up."""
    if abs(100 * share - round(100 * share)) < 0.2 and share < 0.995:
        return f"{100 * share:.0f} %"
    return f"{math.ceil(share * 1000) / 10:.1f} %" if share < 0.995 else f"{math.floor(share * 100_000) / 1000:.6g} %"
