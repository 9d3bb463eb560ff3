"""One owner's side of one secure sum: double masking after Bonawitz et al. 2017, against a curator who may cheat.

What the owner insists on before it goes on (K owners, u of whom may drop; `threshold` is above (K + t)/2):

    shares      round keys of at least K − u owners, each signed for the same question, cost and scales
    masked      shares from at least K − u of these; its vector is then masked towards exactly those
    survivors   a list of at least K − u of these, itself among them, each of whom signed that same membership
    unmask      signatures of `threshold` survivors under that very list

It signs one list, and per peer reveals its share of the self-mask (a survivor's) or of the masking key (another's).

Each stage has two halves. `read` checks a message and changes nothing: what it refuses is as if it had never come. The
methods named after the stages take what was read, and cannot fail by anything that the curator wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from understudy.errors import FederationError
from understudy.federation import masks, shamir
from understudy.federation.messages import by_name
from understudy.federation.signatures import Signer
from understudy.federation.statements import SIGNATURE, PublicKeys, Statements
from understudy.privacy.random_source import Words

Contribute = Callable[[Callable[[int], Words]], Words]


class OwnerRound:
    """The stages are called in order, each once."""

    def __init__(self, name: str, statements: Statements, seed: bytes, signer: Signer) -> None:
        self._name = name
        self._says = statements
        self._roster = statements.roster
        self._place = statements.place
        self._signer = signer
        self._secrets = masks.Secrets.of(seed, statements.place, self._roster.threshold)
        self._public = self._own_keys()
        self._point = {name: number for number, name in enumerate(self._roster.names, start=1)}
        self._keys: dict[str, PublicKeys] = {}  # of those who sent keys
        self._members: dict[str, PublicKeys] = {}  # of those who sent shares: towards whom this owner masks
        self._held: dict[str, bytes] = {}  # shares of each member's masking key and self-mask, one after the other
        self._survivors: frozenset[str] = frozenset()

    def keys(self) -> bytes:
        return self._place.pack("keys", keys=self._public.as_json())

    def _own_keys(self) -> PublicKeys:
        secrets = self._secrets
        keys = PublicKeys(
            masks.public_key(secrets.sealing), masks.public_key(secrets.masking), sha256(secrets.own).digest()
        )
        signature = self._signer.sign(self._says.keys(self._name, keys))
        return PublicKeys(keys.sealing, keys.masking, keys.commitment, signature)

    def read(self, stage: str, body: bytes) -> Any:
        """Return what a message of this stage says, checked: the argument of the stage's own method."""
        readers: dict[str, Callable[[bytes], Any]] = {
            "shares": self._read_keys,
            "masked": self._read_sealed,
            "survivors": self._read_survivors,
            "unmask": self._check_signed,
        }
        return readers[stage](body)

    def _read_keys(self, body: bytes) -> dict[str, PublicKeys]:
        head, _ = self._place.unpack("shares", body, keys=dict)
        self._check_names(head["keys"])
        keys = {name: PublicKeys.from_json(data) for name, data in head["keys"].items()}
        for name, theirs in keys.items():
            if not self._says.signed_by(name, self._says.keys(name, theirs), theirs.signature):
                raise FederationError(
                    f"the round keys of {name!r} are not signed by it for this question: the curator, or whoever is "
                    "between, changed them, or asked it something else"
                )
        if keys[self._name].as_json()[:3] != self._public.as_json()[:3]:
            raise FederationError("the curator passes on keys for this owner that are not its own")
        return keys

    def shares(self, keys: Mapping[str, PublicKeys]) -> bytes:
        self._keys = dict(keys)
        shares = self._own_shares()
        self._held[self._name] = shares[self._name]
        sealed = {name: self._seal(name, share) for name, share in shares.items() if name != self._name}
        return self._place.pack("shares", sealed={name: text.hex() for name, text in sealed.items()})

    def _own_shares(self) -> dict[str, bytes]:
        threshold, secrets, points = self._roster.threshold, self._secrets, self._point
        masking = shamir.split(secrets.masking, points.values(), threshold, secrets.masking_random)
        own = shamir.split(secrets.own, points.values(), threshold, secrets.own_random)
        return {name: masking[points[name]] + own[points[name]] for name in self._keys}

    def _seal(self, peer: str, share: bytes) -> bytes:
        statement = self._says.sealed(self._name, peer)
        return masks.seal(masks.agree(self._secrets.sealing, self._keys[peer].sealing, statement), share, statement)

    def _read_sealed(self, body: bytes) -> dict[str, bytes]:
        """Return the shares that other owners sealed for this one, opened."""
        head, _ = self._place.unpack("masked", body, sealed=dict)
        sealed = by_name(head["sealed"], self._keys, 2 * shamir.SHARE + masks.SEAL)
        self._check_names([*sealed, self._name])
        opened = {}
        for name, text in sealed.items():
            statement = self._says.sealed(name, self._name)
            key = masks.agree(self._secrets.sealing, self._keys[name].sealing, statement)
            share = masks.unseal(key, text, statement)
            if share is None or len(share) != 2 * shamir.SHARE:
                raise FederationError(
                    f"the shares that {name!r} sealed cannot be opened: it, or the curator, changed them"
                )
            opened[name] = share
        return opened

    def masked(self, held: Mapping[str, bytes], contribute: Contribute) -> bytes:
        """Return what `contribute` gives under the mask that it is handed: counts and noise."""
        self._held.update(held)
        self._members = {name: self._keys[name] for name in (*held, self._name)}
        vector = contribute(self._mask)
        signature = self._signer.sign(self._says.masked(self._name, self._members))
        return self._place.pack("masked", vector.astype("<u8").tobytes(), signature=signature.hex())

    def _mask(self, count: int) -> Words:
        """Return the self-mask, plus one mask for each peer that the peer takes off again."""
        total = masks.mask_words(self._secrets.own, count)
        for name, keys in self._members.items():
            if name != self._name:
                total += pair_mask(self._says, self._secrets.masking, self._name, name, keys.masking, count)
        return total

    def _read_survivors(self, body: bytes) -> frozenset[str]:
        head, _ = self._place.unpack("survivors", body, survivors=dict)
        signatures = by_name(head["survivors"], self._members, SIGNATURE)
        self._check_names(signatures)
        for name, signature in signatures.items():
            if not self._says.signed_by(name, self._says.masked(name, self._members), signature):
                raise FederationError(
                    f"{name!r} did not mask its vector towards the same owners: the sum would open it"
                )
        return frozenset(signatures)

    def survivors(self, names: frozenset[str]) -> bytes:
        self._survivors = names
        return self._place.pack("survivors", signature=self._signer.sign(self._list_of(self._name)).hex())

    def _check_signed(self, body: bytes) -> None:
        head, _ = self._place.unpack("unmask", body, signatures=dict)
        signatures = by_name(head["signatures"], self._survivors, SIGNATURE)
        if len(signatures) < self._roster.threshold:
            raise FederationError(
                f"{len(signatures)} owners signed the list of survivors and {self._roster.threshold} are needed"
            )
        for name, signature in signatures.items():
            if not self._says.signed_by(name, self._list_of(name), signature):
                raise FederationError(f"{name!r} signed another list of survivors: the curator told two stories")

    def unmask(self, _: None = None) -> bytes:
        own = {name: self._held[name][shamir.SHARE :].hex() for name in sorted(self._survivors)}
        masking = {name: self._held[name][: shamir.SHARE].hex() for name in sorted({*self._members} - self._survivors)}
        return self._place.pack("unmask", own=own, masking=masking)

    def _list_of(self, signer: str) -> bytes:
        return self._says.survivors(signer, self._members, self._survivors)

    def _check_names(self, names: Iterable[str]) -> None:
        """Refuse names that are not at least K − u owners of the roster, this one among them."""
        listed = set(names)
        least = len(self._roster.owners) - self._roster.dropping
        if not listed.issubset(self._roster.names) or self._name not in listed:
            raise FederationError("the curator's list has owners that are not in the roster, or leaves this one out")
        if len(listed) < least:
            raise FederationError(
                f"{len(listed)} owners are too few: with u = {self._roster.dropping}, {least} are needed"
            )


def pair_mask(says: Statements, private: bytes, name: str, peer: str, public: bytes, count: int) -> Words:
    """Return the mask that `name` adds towards `peer`: the first by name adds it, the other takes it off."""
    words = masks.mask_words(masks.agree(private, public, says.pair(name, peer)), count)
    return words if name < peer else np.uint64(0) - words
