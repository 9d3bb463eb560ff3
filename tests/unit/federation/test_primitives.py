"""Shamir's sharing by brute force, masks and seals against published vectors, messages and signatures strictly."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from understudy.errors import FederationError
from understudy.federation import masks, shamir
from understudy.federation.messages import Place, by_name, from_hex
from understudy.federation.signatures import KeySigner, verify

PLACE = Place("s" * 32, "r" * 64, 7)
SECRET = bytes(range(200, 232))


def random_bytes(threshold: int, seed: int = 0) -> bytes:
    return np.random.default_rng(seed).bytes(shamir.random_bytes_needed(threshold))


@pytest.mark.parametrize(("owners", "threshold"), [(k, s) for k in range(2, 6) for s in range(2, k + 1)])
def test_any_threshold_of_shares_give_the_secret(owners: int, threshold: int) -> None:
    shares = shamir.split(SECRET, range(1, owners + 1), threshold, random_bytes(threshold))
    for chosen in itertools.combinations(shares, threshold):
        assert shamir.join({point: shares[point] for point in chosen}) == SECRET
    assert shamir.join({point: shares[point] for point in list(shares)[: threshold - 1]}) != SECRET


@pytest.mark.parametrize("threshold", [2, 3])
def test_fewer_shares_say_nothing(monkeypatch: pytest.MonkeyPatch, threshold: int) -> None:
    """All polynomials over a small field: threshold − 1 shares have the same law whatever the secret is."""
    prime = 5
    monkeypatch.setattr(shamir, "PRIME", prime)
    for points in itertools.combinations(range(1, prime), threshold - 1):
        laws = [
            Counter(
                tuple(shamir._value([secret, *rest], point) for point in points)
                for rest in itertools.product(range(prime), repeat=threshold - 1)
            )
            for secret in range(prime)
        ]
        assert all(law == laws[0] for law in laws)
        assert len(laws[0]) == prime ** (threshold - 1)
    revealing = [Counter(shamir._value([s, 1], 1) for _ in range(1)) for s in range(prime)]  # a fixed coefficient
    assert any(law != revealing[0] for law in revealing)


def test_a_wrong_share_gives_another_secret() -> None:
    shares = shamir.split(SECRET, range(1, 4), 3, random_bytes(3))
    shares[2] = bytes(shamir.SHARE - 1) + b"\x01"
    assert shamir.join(shares) != SECRET


def test_keystream_and_agreement_follow_the_standards() -> None:
    """RFC 8439, A.1 test vector 1."""
    assert masks.keystream(bytes(32), 32).hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
    alice = bytes(range(1, 33))
    bob = bytes(range(32))
    assert masks.agree(alice, masks.public_key(bob), b"x") == masks.agree(bob, masks.public_key(alice), b"x")
    assert masks.agree(alice, masks.public_key(bob), b"x") != masks.agree(bob, masks.public_key(alice), b"y")


def test_a_key_of_small_order_is_refused() -> None:
    with pytest.raises(FederationError, match="not a key"):
        masks.agree(bytes(range(32)), bytes(32), b"x")
    for small in (bytes(32), bytes([1]) + bytes(31), bytes.fromhex("ec" + "ff" * 30 + "7f")):
        with pytest.raises(FederationError, match="not a key"):
            masks.check_public(small)
    masks.check_public(masks.public_key(bytes(range(32))))


def test_a_seal_holds_text_and_place() -> None:
    sealed = masks.seal(bytes(32), b"share", b"here")
    assert masks.unseal(bytes(32), sealed, b"here") == b"share"
    for key, text, statement in [
        (bytes(32), sealed, b"there"),
        (b"k" * 32, sealed, b"here"),
        (bytes(32), sealed[:-1] + bytes([sealed[-1] ^ 1]), b"here"),
    ]:
        assert masks.unseal(key, text, statement) is None
    assert masks.unseal(bytes(32), b"", b"here") is None


def test_secrets_differ_by_seed_place_and_kind() -> None:
    seeds = [bytes(32), b"1" * 32]
    places = [PLACE, Place(PLACE.session, PLACE.roster, 8), Place("t" * 32, PLACE.roster, 7)]
    made = [masks.Secrets.of(seed, place, 3) for seed in seeds for place in places]
    texts = [t[:32] for s in made for t in (s.sealing, s.masking, s.own, s.masking_random, s.own_random)]
    assert len(set(texts)) == len(texts)
    assert masks.Secrets.of(seeds[0], PLACE, 3) == made[0]


def test_a_message_is_read_in_its_place_only() -> None:
    body = PLACE.pack("keys", b"12345678", keys=["aa"])
    assert PLACE.unpack("keys", body, 8, keys=list)[0]["keys"] == ["aa"]
    for place in (Place("t" * 32, "r" * 64, 7), Place("s" * 32, "q" * 64, 7), Place("s" * 32, "r" * 64, 8)):
        with pytest.raises(FederationError, match="another session"):
            place.unpack("keys", body, 8, keys=list)
    with pytest.raises(FederationError, match="another session"):
        PLACE.unpack("shares", body, 8, keys=list)
    for wrong in (body[:-1], body + b"0", b"", b"\xff\xff\xff\xff", body[:20]):
        with pytest.raises(FederationError, match="wrong length"):
            PLACE.unpack("keys", wrong, 8, keys=list)
    deep = b"[" * 200_000
    for text in (b"{", b"[]", b"null", b"\xff", deep, PLACE.pack("keys")[4:], PLACE.pack("keys", keys=1)[4:]):
        with pytest.raises(FederationError):
            PLACE.unpack("keys", len(text).to_bytes(4, "big") + text, keys=list)


def test_no_two_statements_read_the_same() -> None:
    assert PLACE.statement("a", "b", "c") != PLACE.statement("a", "bc")
    assert PLACE.statement("a", "b", "") != PLACE.statement("a", "b")
    assert Place("s", "r", 1).statement("2") != Place("s", "r", 12).statement("")


def test_texts_by_name() -> None:
    assert by_name({"ada": "00ff"}, ["ada", "bea"], 2) == {"ada": b"\x00\xff"}
    for bad in ({"eve": "00"}, {"ada": "0000ff"}, {"ada": "zz"}, {"ada": 3}, ["ada"], None):
        with pytest.raises(FederationError):
            by_name(bad, ["ada", "bea"], 2)
    with pytest.raises(FederationError):
        from_hex(None, 8)


@pytest.mark.parametrize(
    "key", [ed25519.Ed25519PrivateKey.generate(), ec.generate_private_key(ec.SECP256R1())], ids=["ed25519", "p256"]
)
def test_signatures(key: ed25519.Ed25519PrivateKey) -> None:
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    signature = KeySigner(key).sign(b"said")
    assert verify(public, b"said", signature)
    assert not verify(public, b"said otherwise", signature)
    assert not verify(public, b"said", signature[:-1])
    assert not verify(public, b"said", b"")
    assert not verify(b"no key", b"said", signature)
    assert not verify(b"", b"said", signature)
