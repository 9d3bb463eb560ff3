"""What a curator with some owners on its side can work out from all messages of a round, done as well as it can be.

Every mask of every vector is either known (its secret is the coalition's own, or enough shares of it were revealed) or
not. A set of honest owners is open to the coalition if in the sum of their vectors no unknown mask is left.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any

import numpy as np

from understudy.federation import masks, shamir
from understudy.federation.local import Deliver, LocalFederation
from understudy.federation.messages import Place
from understudy.federation.owner_round import pair_mask
from understudy.federation.statements import PublicKeys, Statements


def head(message: bytes) -> dict[str, Any]:
    length = int.from_bytes(message[:4], "big")
    return json.loads(message[4 : 4 + length])


def edited(message: bytes, **fields: Any) -> bytes:
    length = int.from_bytes(message[:4], "big")
    text = json.dumps({**head(message), **fields}, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "big") + text + message[4 + length :]


@dataclass
class Transcript:
    """Every message as it was delivered, and its reply; `listen` is a hook for LocalOwners."""

    messages: list[tuple[str, int, str, bytes, bytes]] = field(default_factory=list)

    def listen(self, name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        self.messages.append((name, round, stage, body, reply))
        return reply

    def replies(self, stage: str) -> dict[str, bytes]:
        return {name: reply for name, _, at, _, reply in self.messages if at == stage}

    def bodies(self, stage: str) -> dict[str, bytes]:
        return {name: body for name, _, at, body, _ in self.messages if at == stage}


class View:
    """The coalition's view of one round. `seeds` are those of the owners on the curator's side."""

    def __init__(
        self, made: LocalFederation, transcript: Transcript, seeds: dict[str, bytes], self_masked: bool = True
    ) -> None:
        self.roster = made.roster
        place = Place(made.table._session.place.session, made.roster.hash, 1)
        self.says = Statements(made.roster, place, b"")
        self.self_masked = self_masked
        self.seeds = seeds
        self.point = {name: number for number, name in enumerate(self.roster.names, start=1)}
        self.keys = {n: PublicKeys.from_json(head(r)["keys"]) for n, r in transcript.replies("keys").items()}
        self.vectors = {
            name: np.frombuffer(reply[4 + int.from_bytes(reply[:4], "big") :], dtype="<u8").astype(np.uint64)
            for name, reply in transcript.replies("masked").items()
        }
        self.towards = {n: set(head(b)["sealed"]) for n, b in transcript.bodies("masked").items()}
        self.own, self.masking = self._secrets(transcript)

    def _secrets(self, transcript: Transcript) -> tuple[dict[str, bytes], dict[str, bytes]]:
        shares: dict[str, dict[str, dict[int, bytes]]] = {"own": {}, "masking": {}}
        for holder, reply in transcript.replies("unmask").items():
            for kind in shares:
                for name, text in head(reply)[kind].items():
                    shares[kind].setdefault(name, {})[self.point[holder]] = bytes.fromhex(text)
        known: dict[str, dict[str, bytes]] = {"own": {}, "masking": {}}
        for holder, seed in self.seeds.items():
            mine = masks.Secrets.of(seed, self.says.place, self.roster.threshold)
            known["own"][holder], known["masking"][holder] = mine.own, mine.masking
            for name, body in transcript.bodies("masked").items():
                if name == holder:
                    for peer, text in head(body)["sealed"].items():
                        share = self._opened(mine.sealing, peer, holder, bytes.fromhex(text))
                        shares["masking"].setdefault(peer, {})[self.point[holder]] = share[: shamir.SHARE]
                        shares["own"].setdefault(peer, {})[self.point[holder]] = share[shamir.SHARE :]
        for kind, of in shares.items():
            for name, held in of.items():
                if len(held) >= self.roster.threshold:
                    chosen = dict(sorted(held.items())[: self.roster.threshold])
                    known[kind].setdefault(name, shamir.join(chosen))
        return known["own"], known["masking"]

    def _opened(self, sealing: bytes, sender: str, receiver: str, text: bytes) -> bytes:
        says = Statements(self.roster, self.says.place, self.terms)
        statement = says.sealed(sender, receiver)
        opened = masks.unseal(masks.agree(sealing, self.keys[sender].sealing, statement), text, statement)
        assert opened is not None
        return opened

    terms = b""  # set by `view_of`, since it is inside the sealed statement

    def residual(self, name: str) -> np.ndarray:
        """A vector without the masks that are known."""
        vector = self.vectors[name].copy()
        count = len(vector)
        if self.self_masked and name in self.own:
            vector -= masks.mask_words(self.own[name], count)
        for peer in self.towards[name]:
            if name in self.masking:
                vector -= pair_mask(self.says, self.masking[name], name, peer, self.keys[peer].masking, count)
            elif peer in self.masking:
                vector += pair_mask(self.says, self.masking[peer], peer, name, self.keys[name].masking, count)
        return vector

    def unknown(self, names: Iterable[str]) -> set[tuple[str, ...]]:
        """The unknown masks that are left in the sum of these vectors."""
        left: set[tuple[str, ...]] = set()
        for name in names:
            if self.self_masked and name not in self.own:
                left ^= {(name,)}
            for peer in self.towards[name]:
                if name not in self.masking and peer not in self.masking:
                    left ^= {tuple(sorted((name, peer)))}  # the second time it is taken off again
        return left

    def open_sets(self) -> dict[frozenset[str], np.ndarray]:
        """Every set of honest owners whose sum the coalition can compute, and that sum."""
        honest = [name for name in self.vectors if name not in self.seeds]
        sets = chain.from_iterable(combinations(honest, size) for size in range(1, len(honest) + 1))
        return {
            frozenset(names): sum(self.residual(name) for name in names).view(np.int64)  # type: ignore[union-attr]
            for names in sets
            if not self.unknown(names)
        }


def view_of(
    made: LocalFederation,
    transcript: Transcript,
    stores: dict[str, Any],
    colluders: Iterable[str],
    terms: bytes,
    self_masked: bool = True,
) -> View:
    seeds = {name: stores[name].seed(1, b"") for name in colluders}
    kind = type("ThisView", (View,), {"terms": terms})
    return kind(made, transcript, seeds, self_masked)  # type: ignore[no-any-return]
