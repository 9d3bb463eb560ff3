"""The privacy card: what is promised about whom, in numbers and in words, and what is not promised."""

from __future__ import annotations

import math
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from fractions import Fraction
from typing import Any

from understudy.privacy.budget import Budget, show
from understudy.privacy.entries import Account, ChargeEntry
from understudy.release.bought import BoughtFacts
from understudy.release.documents import listed
from understudy.release.former_spelling import ReadByWords
from understudy.release.protected_unit import neighbours_in_words, not_promised, unit_of
from understudy.schema import Schema
from understudy.schema.rows_seen import AFTER_SEEING_ROWS

STAMP = "NOT PRIVATE: drawn from a seed, for tests"


@dataclass(frozen=True)
class ChargeTotal(ReadByWords):
    """All charges of one purpose: what they cost together in `unit` ("epsilon", "mu^2" or "rho"), and their number."""

    purpose: str
    unit: str
    cost: float
    times: int

    def __str__(self) -> str:
        return f"{self.purpose} {self.unit} {self.cost:.6g} ({self.times}×)"

    def as_json(self) -> dict[str, Any]:
        """Return it as card.json has it."""
        return asdict(self)


@dataclass(frozen=True)
class AccountTotal:
    """The account that paid, and what has been spent on it so far, this release included."""

    account: str
    epsilon: float
    delta: float

    def as_json(self) -> dict[str, Any]:
        return {"account": self.account, "account_total": {"epsilon": self.epsilon, "delta": self.delta}}

    def lines(self, promise: str) -> list[tuple[str, str]]:
        return [("Account", f"{self.account}: {promise_text(self.epsilon, self.delta)} spent in all so far")]


@dataclass(frozen=True)
class OwnersTotal:
    """The owners who published one release together: each paid on an account of its own."""

    name: str
    owners: tuple[str, ...]
    epsilon_of_each_owner: float
    delta_of_each_owner: float
    colluding: int
    dropping: int
    honest: int
    against: str
    held_by_several: str
    roster_hash: str

    def as_json(self) -> dict[str, Any]:
        return {"federation": asdict(self) | {"owners": list(self.owners)}}

    def lines(self, promise: str) -> list[tuple[str, str]]:
        owners = f"{', '.join(self.owners)}: each spent {promise} on an account of its own"
        return [("Owners", owners), ("Against", self.against)]


@dataclass(frozen=True)
class OutsideSource:
    """Somebody else, who measured the tables that a release was made from: no ledger of ours was charged."""

    source: str

    @property
    def stamp(self) -> str:
        return (
            f"privacy as promised by the source ({self.source}): understudy did not add this noise and checked none of "
            "it"
        )

    def as_json(self) -> dict[str, Any]:
        return {"source": self.source}

    def lines(self, promise: str) -> list[tuple[str, str]]:
        return [("Source", f"{self.source} promises {promise}; no ledger of understudy was charged")]


Payer = AccountTotal | OwnersTotal | OutsideSource


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

    def total(self, budget: Budget) -> OwnersTotal:
        """Return what the card says of owners who each spent this budget."""
        several = (
            "The promise is for a person's row at one owner. A person held by p owners has p times the loss: "
            f"at two owners epsilon {show(2 * budget.epsilon)}."
        )
        return OwnersTotal(
            self.name, self.owners, float(budget.epsilon), float(budget.delta), self.colluding, self.dropping,
            self.honest, self.against, several, self.roster_hash,
        )  # fmt: skip


@dataclass(frozen=True)
class Card(ReadByWords):
    """What a release promises, about whom, who paid, and what is not promised. Goes into the release as card.json.

    `card["epsilon"]` reads the words of card.json for one more version, with a warning; use the attributes.

    >>> release.card.epsilon, release.card.unit, release.card.in_words
    (1.0, 'one row of the table', 'a 50 % suspicion about one person can become at most 73 %')
    """

    unit: str  # whom the promise is about: "one row of the table", for example
    neighbours: str  # "replace-one" or "add-remove"
    neighbours_in_words: str
    rows_per_person: int
    epsilon: float
    delta: float
    in_words: str
    payer: Payer
    charges: tuple[ChargeTotal, ...]
    method: str
    options: dict[str, Any]
    schema_hash: str
    versions: dict[str, Any]
    not_promised: tuple[str, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    private: bool  # False: drawn from a seed
    bought: BoughtFacts | None = None  # of the schema, and how delta was split for it

    @classmethod
    def of(
        cls,
        schema: Schema,
        budget: Budget,
        method: str,
        options: dict[str, Any],
        charges: Sequence[ChargeEntry],
        account: Account | None,  # None: several owners, each with an account of its own
        private: bool,
        notes: tuple[str, ...],
        together: Together | None = None,
        declared: Schema | None = None,
    ) -> Card:
        """Return the card of a run that is over."""
        unit = unit_of(schema, together is not None)
        payer = _payer(schema, budget, account, together)
        several = (payer.held_by_several,) if isinstance(payer, OwnersTotal) else ()
        large = ("epsilon above 10 promises very little",) if budget.epsilon > 10 else ()
        return cls(
            unit=unit,
            neighbours=schema.neighbours,
            neighbours_in_words=neighbours_in_words(schema, unit),
            rows_per_person=schema.rows_per_person,
            epsilon=float(budget.epsilon),
            delta=float(budget.delta),
            in_words=suspicion_in_words(budget),
            payer=payer,
            charges=_by_purpose(charges),
            method=method,
            options=options,
            schema_hash=schema.hash,
            versions=_versions(),
            not_promised=several + not_promised(schema),
            notes=notes + choices_not_covered(schema),
            warnings=(*(() if private else (STAMP,)), *large),
            private=private,
            bought=BoughtFacts.of(schema, budget, declared),
        )

    @classmethod
    def from_source(cls, schema: Schema, budget: Budget, method: str, source: str, notes: tuple[str, ...]) -> Card:
        """Return the card of a release whose noise somebody else added and answers for."""
        nobody = Account(schema.account, schema.neighbours, Fraction(0), Fraction(0), None, None, True)
        payer = OutsideSource(source)
        plain = cls.of(schema, budget, method, {}, (), nobody, True, notes)
        return replace(plain, payer=payer, warnings=(payer.stamp, *plain.warnings))

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Card:
        """Return the card of a file; raise a ValueError, LookupError or TypeError where a part is missing or odd."""
        plain: dict[str, Any] = {n: document[n] for n in (*_TEXTS, *_DICTS, "epsilon", "delta", "private")}
        lists: dict[str, Any] = {name: tuple(listed(document[name])) for name in _LISTS}
        paid = listed(document["charges"])
        charges = tuple(ChargeTotal(c["purpose"], c["unit"], c["cost"], c["times"]) for c in paid)
        card = cls(
            **plain, **lists, charges=charges, payer=_payer_from(document),
            rows_per_person=document.get("rows_per_person", 1), bought=BoughtFacts.from_json(document),
        )  # fmt: skip
        card._check()
        return card

    def _check(self) -> None:
        """Raise a ValueError unless all that pages and summaries show is of its kind."""
        amounts = [self.epsilon, self.delta, *(c.cost for c in self.charges)]
        texts = [*(getattr(self, name) for name in _TEXTS), *(t for c in self.charges for t in (c.purpose, c.unit))]
        texts += [line for name in _LISTS for line in getattr(self, name)]
        texts += [text for line in self.payer_lines() for text in line]
        kinds = [type(self.private) is bool, *(type(c.times) is int for c in self.charges)]
        kinds += [type(a) in (int, float) and 0 <= a < math.inf for a in amounts] + [isinstance(t, str) for t in texts]
        kinds += [isinstance(getattr(self, name), dict) for name in _DICTS]
        if not all(kinds):
            raise ValueError

    def as_json(self) -> dict[str, Any]:
        """Return the document of the release file."""
        return {
            **{name: getattr(self, name) for name in (*_TEXTS, *_DICTS, "epsilon", "delta", "private")},
            **{name: list(getattr(self, name)) for name in _LISTS},
            "rows_per_person": self.rows_per_person,
            "charges": [charge.as_json() for charge in self.charges],
            **self.payer.as_json(),
            **({} if self.bought is None else self.bought.as_json()),
        }

    @property
    def promise(self) -> str:
        """Return "epsilon 1" or "epsilon 1, delta 1e-09" for example."""
        return promise_text(self.epsilon, self.delta)

    def payer_lines(self) -> list[tuple[str, str]]:
        """Return the lines on whose ledger the spend is in: a title and words each."""
        return self.payer.lines(self.promise)

    def text(self) -> str:
        """Return the card as a page for a terminal."""
        lines = [f"!! {warning}" for warning in self.warnings]
        lines += [
            f"Promise     {self.promise} for {self.unit}",
            f"In words    {self.in_words}",
            f"Neighbours  {self.neighbours_in_words}",
            *(f"{name:<11} {words}" for name, words in self.payer_lines()),
            "Charges     " + "; ".join(map(str, self.charges)),
            f"Method      {self.method} " + " ".join(f"{k}={v}" for k, v in self.options.items()),
            f"Schema      {self.schema_hash[:16]}…",
        ]
        lines += [] if self.bought is None else self.bought.lines()
        lines += [f"Note        {note}" for note in self.notes]
        return "\n".join([*lines, "Not promised", *(f"  · {text}" for text in self.not_promised)])


_TEXTS = ("unit", "neighbours", "neighbours_in_words", "in_words", "method", "schema_hash")
_LISTS = ("not_promised", "notes", "warnings")
_DICTS = ("options", "versions")


def _payer(schema: Schema, budget: Budget, account: Account | None, together: Together | None) -> Payer:
    if together is not None:
        return together.total(budget)
    assert account is not None
    return AccountTotal(schema.account, float(account.spent_epsilon), float(account.spent_delta))


def _payer_from(document: dict[str, Any]) -> Payer:
    if (owners := document.get("federation")) is not None:
        told = {field.name: owners[field.name] for field in fields(OwnersTotal)}
        return OwnersTotal(**told | {"owners": tuple(listed(owners["owners"]))})
    if "source" in document:
        return OutsideSource(document["source"])
    total = document["account_total"]
    return AccountTotal(document["account"], total["epsilon"], total["delta"])


def _by_purpose(charges: Sequence[ChargeEntry]) -> tuple[ChargeTotal, ...]:
    by_purpose: dict[str, list[ChargeEntry]] = {}
    for charge in charges:
        by_purpose.setdefault(charge.purpose, []).append(charge)
    return tuple(
        ChargeTotal(purpose, each[0].unit, float(sum((c.cost for c in each), Fraction(0))), len(each))
        for purpose, each in by_purpose.items()
    )


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    from understudy.version import VERSION

    own = {"understudy": VERSION, "python": platform.python_version()}
    return own | {name: version(name) for name in ("numpy", "opendp")}


# -- words -------------------------------------------------------------------------------------------------------


def suspicion_in_words(budget: Budget) -> str:
    """Return the largest that a 50 % suspicion about one person can grow, by Bayes' rule."""
    after = 1 / (1 + math.exp(-min(700.0, float(budget.epsilon))))
    text = f"a 50 % suspicion about one person can become at most {at_most(after)}"
    if budget.delta:
        text += f", but for a failure of probability {show(budget.delta)}"
    return text


def promise_text(epsilon: float, delta: float) -> str:
    """Return "epsilon 1, delta 1e-09" for example; a delta of 0 is left out."""
    return f"epsilon {epsilon:.6g}" + (f", delta {delta:.6g}" if delta else "")


def at_most(share: float) -> str:
    """Return a share in whole per cent where that says nearly all of it, else rounded up."""
    if abs(100 * share - round(100 * share)) < 0.2 and share < 0.995:
        return f"{100 * share:.0f} %"
    return f"{math.ceil(share * 1000) / 10:.1f} %" if share < 0.995 else f"{math.ceil(share * 100_000) / 1000:.6g} %"


def choices_not_covered(schema: Schema) -> tuple[str, ...]:
    """Return what to say of attributes that were declared by somebody who had seen rows."""
    named = [(a.name, a) for a in schema.attributes]
    named += [(f"{child.name}.{a.name}", a) for child in schema.tables for a in child.schema.attributes]
    names = [name for name, a in named if a.provenance == AFTER_SEEING_ROWS]
    if not names:
        return ()
    return (f"declared after rows were seen (`check --show`): {', '.join(names)}. Epsilon does not cover that choice",)
