"""What owners sign in a round, and the public keys they sign first.

keys        these are my keys for this question at this cost
masked      my vector is masked towards exactly these owners with these keys
survivors   this is the one list of survivors that I open the sum for
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from understudy.errors import FederationError
from understudy.federation import masks
from understudy.federation.messages import Place, digest, from_hex
from understudy.federation.roster import Roster
from understudy.federation.signatures import verify
from understudy.privacy.accounting import Accounting
from understudy.privacy.questions import NoisyQuery
from understudy.schema import Schema

Bins = dict[str, list[int]]  # attribute -> the first unit of each of its bins
SIGNATURE: Final = 160  # bytes at most: ECDSA on P-521, in DER, has 139


@dataclass(frozen=True)
class PublicKeys:
    """An owner's public keys of a round, and the hash of its self-mask: a wrong share of either is found out."""

    sealing: bytes
    masking: bytes
    commitment: bytes
    signature: bytes = b""

    def as_json(self) -> list[str]:
        return [part.hex() for part in (self.sealing, self.masking, self.commitment, self.signature)]

    @staticmethod
    def from_json(data: Any) -> PublicKeys:
        if type(data) is not list or len(data) != 4:
            raise FederationError("an owner's round keys cannot be read")
        sealing, masking, commitment, signature = (from_hex(text, SIGNATURE) for text in data)
        if any(len(key) != masks.KEY for key in (sealing, masking, commitment)):
            raise FederationError("an owner's round keys have the wrong length")
        for key in (sealing, masking):
            masks.check_public(key)
        return PublicKeys(sealing, masking, commitment, signature)


@dataclass(frozen=True)
class Statements:
    """The statements of one round about one question. Public; the same at every owner and at the curator."""

    roster: Roster
    place: Place
    terms: bytes

    def keys(self, name: str, keys: PublicKeys) -> bytes:
        return self.place.statement("keys", name, self.terms, keys.sealing, keys.masking, keys.commitment)

    def masked(self, name: str, members: Mapping[str, PublicKeys]) -> bytes:
        return self.place.statement("masked", name, self.terms, _members(members))

    def survivors(self, name: str, members: Mapping[str, PublicKeys], survivors: Iterable[str]) -> bytes:
        return self.place.statement("survivors", name, self.terms, _members(members), *sorted(survivors))

    def sealed(self, sender: str, receiver: str) -> bytes:
        return self.place.statement("shares", sender, receiver, self.terms)

    def pair(self, one: str, other: str) -> bytes:
        return self.place.statement("mask", *sorted((one, other)))

    def signed_by(self, name: str, statement: bytes, signature: bytes) -> bool:
        return verify(self.roster[name].public_key, statement, signature)


def terms_of(
    question: NoisyQuery[Any],
    cost: Fraction,
    purpose: str,
    schema: Schema,
    accounting: Accounting,
    bins: Bins | None = None,
    found: Mapping[str, Any] | None = None,
) -> bytes:
    """Return what a round is about. Scales are part of it: shares of different scales would not add up to enough noise.

    So are the bins that rows are counted in, where a noisy tree found them, and what was bought of the schema.
    """
    parts = [(b.cells, b.noise.scale.hex()) for b in question.noise_blocks(schema, accounting, cost)]
    more = [*([bins] if bins else []), *([{"found": found}] if found else [])]
    return digest(question.as_json(), str(cost), purpose, parts, *more)


def _members(members: Mapping[str, PublicKeys]) -> bytes:
    return digest([(name, members[name].as_json()[:3]) for name in sorted(members)])
