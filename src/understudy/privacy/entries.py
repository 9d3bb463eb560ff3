"""Entries of the ledger, and what they add up to."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.privacy.accounting import GDP, gdp_epsilon
from understudy.privacy.gaussian_accounts import LISTS, GaussianTotal

GENESIS = "0" * 64
ENDINGS = ("void", "close", "release")  # the kinds of entry that end a reservation


@dataclass(frozen=True)
class Entry:
    """One line of the ledger."""

    seq: int
    at: str
    kind: str
    account: str
    body: dict[str, Any]
    previous: str
    hash: str

    @property
    def expected_hash(self) -> str:
        content = [self.seq, self.at, self.kind, self.account, self.body, self.previous]
        return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Return the entry as `ledger show --json` has it."""
        tail = {**self.body, "hash": self.hash}
        return {"seq": self.seq, "at": self.at, "kind": self.kind, "account": self.account, **tail}

    @property
    def request_body(self) -> dict[str, Any]:
        """Return what was asked of a reservation: without its name, and what it costs an account in Gaussian DP."""
        return {key: value for key, value in self.body.items() if key not in ("reservation", GDP.unit, LISTS)}

    @property
    def federated(self) -> bool:
        """Return whether this reserves the budget of an owner in a federation's session."""
        return "federation" in self.body.get("request", {})


@dataclass(frozen=True)
class ChargeEntry:
    """One charge as the ledger has it: what it was for, and what it cost in `unit` ("epsilon", "mu^2" or "rho").

    `charge["cost"]` and `.as_json()` give the words of the ledger, for one version.
    """

    purpose: str
    cost: Fraction
    unit: str

    @classmethod
    def of(cls, body: dict[str, Any]) -> ChargeEntry:
        """Return the charge that an entry's body tells of."""
        return cls(body["purpose"], Fraction(body["cost"]), body["unit"])

    def as_json(self) -> dict[str, Any]:
        """Return it as the ledger writes it: the cost is an exact fraction, as text."""
        return {"purpose": self.purpose, "cost": str(self.cost), "unit": self.unit}

    def shown(self) -> dict[str, Any]:
        """Return it as `--json` shows it: the cost is a number."""
        return self.as_json() | {"cost": float(self.cost)}

    def __getitem__(self, name: str) -> Any:
        return self.as_json()[name]


@dataclass(frozen=True)
class Head:
    """The ledger's last line: what a release carries so that a rolled-back ledger is noticed."""

    seq: int
    hash: str


@dataclass(frozen=True)
class Account:
    """The state of one account, added up from its entries. A cap of None is unlimited.

    What was spent is spent on one unit, a person with up to `rows_per_person` rows (None before the first run). Runs
    of earlier versions may have been of different units: `mixed` says so, and their epsilons are converted to the
    largest unit by group privacy before they are added. In an account kept in Gaussian DP (`gaussian`) squares of mu
    add up instead, and `spent_epsilon` is what they come to.
    """

    name: str
    neighbours: str
    spent_epsilon: Fraction
    spent_delta: Fraction
    cap_epsilon: Fraction | None
    cap_delta: Fraction | None
    private: bool
    rows_per_person: int | None = None
    mixed: bool = False
    gaussian: GaussianTotal | None = None

    @property
    def left_epsilon(self) -> Fraction | None:
        """Return the largest epsilon that one more run may have, in Gaussian DP at the account's delta; None: any."""
        if self.cap_epsilon is None:
            return None
        if self.gaussian is not None:
            return gdp_epsilon(self.gaussian.room(self.cap_epsilon), self.gaussian.delta)
        return max(Fraction(0), self.cap_epsilon - self.spent_epsilon)

    def as_json(self) -> dict[str, Any]:
        return {
            "account": self.name,
            "neighbours": self.neighbours,
            "rows_per_person": self.rows_per_person,
            "mixed_units": self.mixed,
            "epsilon": float(self.spent_epsilon),
            "delta": float(self.spent_delta),
            "cap_epsilon": None if self.cap_epsilon is None else float(self.cap_epsilon),
            "cap_delta": None if self.cap_delta is None else float(self.cap_delta),
            "private": self.private,
            **({"kept_in": "sums"} if self.gaussian is None else self.gaussian.as_json(self.cap_epsilon)),
        }


def add_up(name: str, entries: list[Entry]) -> Account | None:
    """Return the account that these entries of one name come to, None if it was never opened."""
    opened = next((e for e in entries if e.kind == "open"), None)
    if opened is None:
        return None
    caps = [e.body for e in entries if e.kind in ("open", "cap")][-1]
    void = {e.body["reservation"] for e in entries if e.kind == "void"}
    held = [e.body for e in entries if e.kind == "reserve" and e.body["reservation"] not in void]
    units = {int(b.get("rows_per_person", 1)) for b in held}
    unit = max(units, default=None)
    gaussian = GaussianTotal.of(opened.body, held)
    spent = [_converted(b, unit) for b in held if unit is not None] if gaussian is None else [gaussian.spent]
    cap_delta = caps["delta"] if gaussian is None else gaussian.delta + gaussian.lists_cap
    return Account(
        name,
        opened.body["neighbours"],
        sum((epsilon for epsilon, _ in spent), Fraction(0)),
        sum((delta for _, delta in spent), Fraction(0)),
        None if caps["epsilon"] is None else Fraction(caps["epsilon"]),
        None if cap_delta is None else Fraction(cap_delta),
        not any("stamp" in b for b in held),
        unit,
        len(units) > 1,
        gaussian,
    )


def unfinished(entries: list[Entry]) -> list[Entry]:
    """Return the reservations that no later entry ends, oldest first."""
    ended = {e.body["reservation"] for e in entries if e.kind in ENDINGS}
    return [e for e in entries if e.kind == "reserve" and e.body["reservation"] not in ended]


def _converted(body: dict[str, Any], unit: int) -> tuple[Fraction, Fraction]:
    rows = int(body.get("rows_per_person", 1))
    return group_privacy(Fraction(body["epsilon"]), Fraction(body["delta"]), -(-unit // rows))


def group_privacy(epsilon: Fraction, delta: Fraction, groups: int) -> tuple[Fraction, Fraction]:
    """Return what an (epsilon, delta) promise for one unit comes to for `groups` units together, rounded up.

    A chain of m neighbours gives (m·epsilon, m·e^((m − 1)·epsilon)·delta) (Dwork & Roth 2014, Theorem 2.2 and its
    extension to delta).
    """
    if groups == 1 or not delta:
        return groups * epsilon, delta
    exponent = float((groups - 1) * epsilon)
    if exponent > 700:
        return groups * epsilon, Fraction(1)
    return groups * epsilon, min(Fraction(1), groups * Fraction(math.exp(exponent) * (1 + 1e-9)) * delta)
