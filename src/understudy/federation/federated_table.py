"""The private table of several owners, at the curator: a choice is one owner's turn, a measurement is a secure sum.

T choices of a group (the same cost, one of the same number) go to the owners in turn. An owner that may have m of them,
⌊T/K⌋ or ⌈T/K⌉, answers each at cost·T/m on its own rows, so that no owner pays more than cost·T. If u > 0 owners may be
missing, everyone may have ⌈T/(K − u)⌉. Since an owner has a K-th of the rows and a K-th of the turns, its choice is as
good as one on all rows would be at `cost` (PROOF.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha512
from typing import Any, Self

import numpy as np

from understudy.errors import FederationAborted, FederationError, UsageError
from understudy.federation.completing import Found, discovery_of, lists_from_json, lists_limit, united
from understudy.federation.messages import Place
from understudy.federation.roster import Roster
from understudy.federation.seams import Owners
from understudy.federation.secure_sum import CuratorRound, centred
from understudy.federation.statements import Bins, Statements, terms_of
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.questions import NoisyBlock, NoisyQuery, Selection, ValueList, ValueLists
from understudy.privacy.questions.question import Question, split
from understudy.privacy.table import PrivateTable, Progress, check_regrouping
from understudy.schema import Integers, Schema

_INDEX_LIMIT = 4096  # bytes of the reply to a choice, and around the cells of one owner's answer


@dataclass
class _Group:
    """Choices of one cost: how many each owner was asked for, in a rotation that starts somewhere."""

    start: int
    made: int = 0
    asked: dict[str, int] = field(default_factory=dict)


@dataclass
class _Session:
    """What all copies of a table share: the rounds so far, what each owner was asked to pay, who was missing."""

    place: Place
    paid: dict[str, Fraction]
    picks: int = 0
    begun: int = 0  # groups of choices
    groups: dict[tuple[Fraction, int], _Group] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)
    charges: list[tuple[str, Fraction, str]] = field(default_factory=list)  # purpose, cost, owner or "all"

    def pay(self, cost: Fraction, purpose: str, owner: str | None = None) -> None:
        """Note a charge to one owner, or to all of them."""
        for name in self.paid if owner is None else (owner,):
            self.paid[name] += cost
        self.charges.append((purpose, cost, owner or "all"))

    def next_place(self) -> Place:
        self.place = Place(self.place.session, self.place.roster, self.place.round + 1)
        return self.place


class FederatedTable(PrivateTable):
    """`session` is a random text, public and the same at every owner; the curator's own picks are drawn from it."""

    def __init__(
        self, schema: Schema, roster: Roster, owners: Owners, session: str, progress: Progress | None = None
    ) -> None:
        if set(owners.names) != set(roster.names):
            raise UsageError("the owners that can be reached are not those of the roster")
        self.schema = roster.common_schema(schema)
        bought = discovery_of(self.schema, roster)
        budget = roster.budget if bought is None else bought.budget
        self.accounting = accounting_of(budget)
        self.total_cost = total_cost(budget)
        self._roster = roster
        self._owners = owners
        self._whole = self.total_cost
        self._session = _Session(Place(session, roster.hash, 0), dict.fromkeys(roster.names, Fraction(0)))
        self._progress = progress
        self._bins: Bins = {}  # that were found; owners are told with every question
        self._found: Found = {}  # what was bought of the schema; likewise

    def coded_by(self, schema: Schema, found: Found | None = None) -> Self:
        """Return the same rows by the probes of the declared schema, or by what was bought of it."""
        twin = copy(self)
        twin.schema = schema
        twin._found = found or {}
        return twin

    @property
    def left(self) -> Fraction:
        """Return what the owner that paid most can still be asked for."""
        return self._whole - max(self._session.paid.values())

    def regrouped(self, schema: Schema, homes: Mapping[str, Integers]) -> Self:
        check_regrouping(self.schema, schema, homes)
        units = {name: home[: len(home) - self.schema[name].has_missing] for name, home in homes.items()}
        coarser = copy(self)
        coarser.schema = schema
        coarser._bins = {name: np.flatnonzero(np.diff(home, prepend=-1)).tolist() for name, home in units.items()}
        return coarser

    def asked(self, question: Question[Any], cost: Fraction, purpose: str) -> dict[str, Any]:
        """Return what a question's first message says."""
        said = {"question": question.as_json(), "cost": str(cost), "purpose": purpose}
        return said | ({"bins": self._bins} if self._bins else {}) | ({"found": self._found} if self._found else {})

    def progress(self, phase: str, done: int, of: int) -> None:
        if self._progress is not None:
            self._progress(phase, done, of, max(self._session.paid.values()))

    @property
    def paid(self) -> dict[str, Fraction]:
        """Return what each owner was asked to pay so far; its own ledger has what it paid, which is never more."""
        return dict(self._session.paid)

    @property
    def charges(self) -> list[dict[str, str]]:
        """Return every question in order: its purpose, cost and whom it was charged to."""
        return [{"purpose": p, "cost": str(cost), "owner": owner} for p, cost, owner in self._session.charges]

    def public_random_index(self, count: int, purpose: str) -> int:
        """Return an index drawn from the session's public name, so that a curator that starts again picks the same."""
        self._session.picks += 1
        seed = self._session.place.statement("pick", str(self._session.picks), purpose)
        return int.from_bytes(sha512(seed).digest(), "big") % count

    def owners(self) -> tuple[Alone, ...]:
        return tuple(Alone(self, name) for name in self._roster.names)

    # -- a choice ------------------------------------------------------------------------------------------------

    def _select(self, question: Selection[Any], cost: Fraction, purpose: str, of: int) -> int:
        state = self._session
        group = state.groups.get((cost, of))
        if group is None or group.made == of:
            group = state.groups[cost, of] = _Group(start=state.begun)
            state.begun += 1
        group.made += 1
        allowed = self._allowed(group.start, of)
        for name in self._turns(group, allowed):
            price = cost * of / allowed[name]
            group.asked[name] = group.asked.get(name, 0) + 1
            state.pay(price, purpose, name)
            index = self._asked_of(name, question.rescaled(self._part(name, question)), price, purpose)
            if index is not None and 0 <= index < question.count:
                state.missing.discard(name)
                return index
            state.missing.add(name)
        raise FederationAborted(
            f"no owner is left to choose: {len(state.missing)} did not answer, and u = {self._roster.dropping} may be "
            "missing. What was charged stays spent"
        )

    def _allowed(self, start: int, of: int) -> dict[str, int]:
        """Return how many of so many choices each owner may have, by its place in the rotation.

        First come, first asked.
        """
        owners, u = self._roster.names, self._roster.dropping
        places = {name: (place - start) % len(owners) for place, name in enumerate(owners)}
        first = sorted(places, key=places.__getitem__)
        return {name: -(-of // (len(owners) - u)) if u else -(-(of - places[name]) // len(owners)) for name in first}

    def _turns(self, group: _Group, allowed: dict[str, int]) -> list[str]:
        """Return whom to ask, in order: those with the fewest turns first, those who were missing last."""
        able = [name for name, most in allowed.items() if group.asked.get(name, 0) < most]
        return sorted(able, key=lambda name: (name in self._session.missing, group.asked.get(name, 0)))

    def _part(self, name: str, question: Selection[Any]) -> Fraction:
        """Return what public penalties and tables are multiplied by for one owner: its part of the rows, in the units
        that a row of its own table is worth."""
        rows = self._roster[name].rows
        if rows is None or self.schema.rows is None:
            return Fraction(1, len(self._roster.owners))
        unit = question.score.unit
        own = unit(replace(self.schema, rows=rows))
        return Fraction(rows, self.schema.rows) * Fraction(own, unit(self.schema))

    def _asked_of(self, name: str, question: Selection[Any], price: Fraction, purpose: str) -> int | None:
        place, replies = self._ask((name,), "decide", question, price, purpose, _INDEX_LIMIT)
        try:
            head, _ = place.unpack("decide", replies[name], index=int)
        except (KeyError, FederationError):
            return None
        return int(head["index"])

    def _ask(
        self, names: Sequence[str], stage: str, question: Question[Any], cost: Fraction, purpose: str, limit: int
    ) -> tuple[Place, dict[str, bytes]]:
        """Ask these owners the same; return the place of the round and their replies, of so many bytes at most."""
        place = self._session.next_place()
        body = place.pack(stage, **self.asked(question, cost, purpose))
        return place, self._owners.ask(place.round, stage, dict.fromkeys(names, body), limit)

    # -- a measurement -------------------------------------------------------------------------------------------

    def _measure(self, question: NoisyQuery[Any], cost: Fraction, purpose: str) -> list[NoisyBlock]:
        if not question.is_linear:
            raise UsageError(
                f"{question.kind} of several owners' rows are not the sum of the owners' own: a federation cannot "
                "measure them. Choose by score instead, or measure tables"
            )
        state = self._session
        cost = min(cost, self.left)  # an early stop leaves an owner with less
        blocks = question.noise_blocks(self.schema, self.accounting, cost)
        state.pay(cost, purpose)
        terms = terms_of(question, cost, purpose, self.schema, self.accounting, self._bins, self._found)
        statements = Statements(self._roster, state.next_place(), terms)
        total = CuratorRound(self._owners, statements, sum(block.cells for block in blocks)).run(
            self.asked(question, cost, purpose)
        )
        state.missing = set(self._roster.names) - set(total.survivors)
        shares, honest = len(total.survivors), self._roster.honest
        noise = {block.noise: block.noise.summed(honest, shares) for block in blocks}
        return [NoisyBlock(v, noise[block.noise]) for v, block in zip(split(total.values, blocks), blocks)]

    # -- value lists ---------------------------------------------------------------------------------------------

    def _list(self, question: ValueLists, cost: Fraction, purpose: str) -> list[ValueList]:
        """Ask every owner for the lists of its own rows, under its own noise, and unite them."""
        noise = question.noise(self.schema, self.accounting, cost)
        state, names = self._session, self._roster.names
        state.pay(cost, purpose)
        place, replies = self._ask(names, "lists", question, cost, purpose, lists_limit(len(question.groupings)))
        parts = {}
        for name, reply in replies.items():
            with suppress(FederationError):
                head, _ = place.unpack("lists", reply, lists=list)
                parts[name] = lists_from_json(head["lists"], question, noise)
        state.missing = set(names) - set(parts)
        if len(state.missing) > self._roster.dropping:
            raise FederationAborted(
                f"value lists: {len(state.missing)} owners did not answer as they should, and u = "
                f"{self._roster.dropping} may be missing. What was charged stays spent"
            )
        return united([parts[name] for name in names if name in parts], everyone=not state.missing)


class Alone(PrivateTable):
    """The rows of one owner, from the curator's place: that owner answers every question, with the whole noise on it.

    Nothing is summed, so nothing needs a mask; an owner that does not answer ends the run.
    """

    def __init__(self, all_owners: FederatedTable, name: str) -> None:
        self.schema = replace(all_owners.schema, rows=all_owners._roster[name].rows, text=None)
        self.accounting = all_owners.accounting
        self.total_cost = all_owners.total_cost
        self._all = all_owners
        self._name = name

    def progress(self, phase: str, done: int, of: int) -> None:
        self._all.progress(phase, done, of)

    def public_random_index(self, count: int, purpose: str) -> int:
        return self._all.public_random_index(count, purpose)

    def _select(self, question: Selection[Any], cost: Fraction, purpose: str, of: int) -> int:
        self._all._session.pay(cost, purpose, self._name)
        index = self._all._asked_of(self._name, question, cost, purpose)
        if index is None or not 0 <= index < question.count:
            raise self._silent()
        return index

    def _measure(self, question: NoisyQuery[Any], cost: Fraction, purpose: str) -> list[NoisyBlock]:
        blocks = question.noise_blocks(self.schema, self.accounting, cost)
        cells = sum(block.cells for block in blocks)
        limit = _INDEX_LIMIT + 8 * cells
        self._all._session.pay(cost, purpose, self._name)
        place, replies = self._all._ask((self._name,), "alone", question, cost, purpose, limit)
        try:
            _, payload = place.unpack("alone", replies[self._name], 8 * cells)
            values = centred(np.frombuffer(payload, dtype="<u8").astype(np.uint64))
        except (KeyError, FederationError):
            raise self._silent() from None
        return [NoisyBlock(v, block.noise) for v, block in zip(split(values, blocks), blocks)]

    def _silent(self) -> FederationAborted:
        return FederationAborted(
            f"owner {self._name!r} did not answer as it should, and nobody else has its rows. What was charged stays "
            "spent"
        )
