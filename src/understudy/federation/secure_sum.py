"""The curator's side of a secure sum: five exchanges, after which it knows the sum of the survivors' vectors, no more.

An owner whose reply is missing or wrong counts as dropped. With fewer than K − u owners left, or fewer than the
threshold to open the masks, the round is aborted; what the owners were charged stays spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import combinations, islice
from typing import Any, TypeVar

import numpy as np

from understudy.errors import FederationAborted, FederationError
from understudy.federation import masks, shamir
from understudy.federation.messages import by_name, from_hex, size_limit
from understudy.federation.owner_round import pair_mask
from understudy.federation.seams import Owners
from understudy.federation.statements import SIGNATURE, PublicKeys, Statements
from understudy.privacy.random_source import Words
from understudy.schema import Integers

_MAX_TRIES = 1000  # sets of shares to open one secret with
LARGEST_SUM = 2**53  # beyond it a model's floating-point numbers would not hold a count
T = TypeVar("T")
Members = Mapping[str, PublicKeys]


@dataclass(frozen=True, eq=False)
class Sum:
    """What comes out: the sum of counts and noise of the survivors."""

    values: Integers
    survivors: tuple[str, ...]


class CuratorRound:
    """One secure sum: `run` asks and returns it, or raises FederationAborted."""

    def __init__(self, owners: Owners, statements: Statements, cells: int) -> None:
        self._owners = owners
        self._says = statements
        self._roster = statements.roster
        self._place = statements.place
        self._cells = cells
        self._point = {name: number for number, name in enumerate(self._roster.names, start=1)}

    def run(self, asked: Mapping[str, Any]) -> Sum:
        """Return the sum of all owners' answers to what is asked: its question, cost, purpose and bins."""
        first = self._place.pack("keys", **asked)
        keys = self._ask("keys", dict.fromkeys(self._roster.names, first), self._read_keys)
        listed = self._place.pack("shares", keys={name: theirs.as_json() for name, theirs in keys.items()})
        sealed = self._ask("shares", dict.fromkeys(keys, listed), partial(self._read_sealed, keys))
        members = {name: keys[name] for name in sealed}
        mail = {name: {peer: sealed[peer][name] for peer in sealed if peer != name} for name in sealed}
        bodies = {name: self._place.pack("masked", sealed=theirs) for name, theirs in mail.items()}
        masked = self._ask("masked", bodies, partial(self._read_masked, members), size_limit(0, self._cells))
        survivors = tuple(name for name in self._roster.names if name in masked)
        listed = self._place.pack("survivors", survivors={name: masked[name][1].hex() for name in survivors})
        signed = self._ask(
            "survivors", dict.fromkeys(survivors, listed), partial(self._read_signed, members, survivors)
        )
        opened = self._place.pack("unmask", signatures={name: text.hex() for name, text in signed.items()})
        shares = self._ask("unmask", dict.fromkeys(signed, opened), partial(self._read_shares, members, survivors))
        total = self._unmasked({name: masked[name][0] for name in survivors}, members, shares)
        return Sum(centred(total), survivors)

    def _ask(
        self, stage: str, bodies: Mapping[str, bytes], read: Callable[[str, bytes], T], limit: int = 0
    ) -> dict[str, T]:
        """Return the replies that can be read, by name; too few of them end the round."""
        limit = limit or size_limit(len(self._roster.owners))
        replies = self._owners.ask(self._place.round, stage, bodies, limit)
        good: dict[str, T] = {}
        for name in self._roster.names:
            if name in replies and name in bodies and len(replies[name]) <= limit:
                try:
                    good[name] = read(name, replies[name])
                except FederationError:
                    continue  # this owner has dropped out
        opening = stage in ("survivors", "unmask")
        least = self._roster.threshold if opening else len(self._roster.owners) - self._roster.dropping
        if len(good) < least:
            raise FederationAborted(
                f"round {self._place.round} is aborted: {len(good)} of {len(self._roster.owners)} owners answered in "
                f"stage {stage!r} as they should, and {least} are needed. What was charged stays spent"
            )
        return good

    # -- replies -----------------------------------------------------------------------------------------------

    def _read_keys(self, name: str, reply: bytes) -> PublicKeys:
        head, _ = self._place.unpack("keys", reply, keys=list)
        keys = PublicKeys.from_json(head["keys"])
        self._check(name, self._says.keys(name, keys), keys.signature)
        return keys

    def _read_sealed(self, keys: Members, name: str, reply: bytes) -> dict[str, str]:
        head, _ = self._place.unpack("shares", reply, sealed=dict)
        peers = {peer for peer in keys if peer != name}
        sealed = by_name(head["sealed"], peers, 2 * shamir.SHARE + masks.SEAL)
        if set(sealed) != peers:
            raise FederationError("an owner left a peer out")
        return {peer: text.hex() for peer, text in sealed.items()}

    def _read_masked(self, members: Members, name: str, reply: bytes) -> tuple[Words, bytes]:
        head, vector = self._place.unpack("masked", reply, 8 * self._cells, signature=str)
        signature = from_hex(head["signature"], SIGNATURE)
        self._check(name, self._says.masked(name, members), signature)
        return np.frombuffer(vector, dtype="<u8").astype(np.uint64), signature

    def _read_signed(self, members: Members, survivors: tuple[str, ...], name: str, reply: bytes) -> bytes:
        head, _ = self._place.unpack("survivors", reply, signature=str)
        signature = from_hex(head["signature"], SIGNATURE)
        self._check(name, self._says.survivors(name, members, survivors), signature)
        return signature

    def _read_shares(self, members: Members, survivors: tuple[str, ...], name: str, reply: bytes) -> dict[str, bytes]:
        """Return one share of each member: of a survivor's self-mask, of another's masking key."""
        head, _ = self._place.unpack("unmask", reply, own=dict, masking=dict)
        own = by_name(head["own"], survivors, shamir.SHARE)
        masking = by_name(head["masking"], set(members).difference(survivors), shamir.SHARE)
        if len(own) + len(masking) != len(members):
            raise FederationError("an owner left a share out")
        return {**own, **masking}

    def _check(self, name: str, statement: bytes, signature: bytes) -> None:
        if not self._says.signed_by(name, statement, signature):
            raise FederationError(f"{name!r} did not sign this")

    # -- opening -----------------------------------------------------------------------------------------------

    def _unmasked(
        self, vectors: dict[str, Words], members: Members, shares: Mapping[str, Mapping[str, bytes]]
    ) -> Words:
        total = np.zeros(self._cells, dtype=np.uint64)
        for name, vector in vectors.items():
            total += vector
            total -= masks.mask_words(self._secret(name, members[name], shares, survived=True), self._cells)
        for name in set(members) - set(vectors):
            private = self._secret(name, members[name], shares, survived=False)
            for peer in vectors:  # what the survivors added towards one who is gone
                total += pair_mask(self._says, private, name, peer, members[peer].masking, self._cells)
        return total

    def _secret(self, name: str, keys: PublicKeys, shares: Mapping[str, Mapping[str, bytes]], survived: bool) -> bytes:
        """Return the secret that fits what its owner committed to; a few wrong shares are left out by trying."""
        held = {self._point[holder]: theirs[name] for holder, theirs in shares.items()}
        for points in islice(combinations(sorted(held), self._roster.threshold), _MAX_TRIES):
            secret = shamir.join({point: held[point] for point in points})
            found = sha256(secret).digest() if survived else masks.public_key(secret)
            if found == (keys.commitment if survived else keys.masking):
                return secret
        raise FederationAborted(
            f"round {self._place.round} is aborted: the shares of a secret of {name!r} do not give it back, so owners "
            "sent wrong ones. What was charged stays spent"
        )


def centred(total: Words) -> Integers:
    """Turn numbers modulo 2^64 into numbers around 0."""
    values = total.view(np.int64)
    if len(values) and (values.min() < -LARGEST_SUM or values.max() > LARGEST_SUM):
        raise FederationAborted("the sum is larger than any count can be: an owner sent a wrong vector")
    return values
