"""Entries of the ledger, and what they add up to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

GENESIS = "0" * 64


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


@dataclass(frozen=True)
class Head:
    """The ledger's last line: what a release carries so that a rolled-back ledger is noticed."""

    seq: int
    hash: str


@dataclass(frozen=True)
class Account:
    """The state of one account, added up from its entries. A cap of None is unlimited."""

    name: str
    neighbours: str
    spent_epsilon: Fraction
    spent_delta: Fraction
    cap_epsilon: Fraction | None
    cap_delta: Fraction | None
    private: bool


def add_up(name: str, entries: list[Entry]) -> Account | None:
    opened = next((e for e in entries if e.kind == "open"), None)
    if opened is None:
        return None
    caps = [e.body for e in entries if e.kind in ("open", "cap")][-1]
    void = {e.body["reservation"] for e in entries if e.kind == "void"}
    held = [e.body for e in entries if e.kind == "reserve" and e.body["reservation"] not in void]
    return Account(
        name,
        opened.body["neighbours"],
        sum((Fraction(b["epsilon"]) for b in held), Fraction(0)),
        sum((Fraction(b["delta"]) for b in held), Fraction(0)),
        None if caps["epsilon"] is None else Fraction(caps["epsilon"]),
        None if caps["delta"] is None else Fraction(caps["delta"]),
        not any("stamp" in b for b in held),
    )
