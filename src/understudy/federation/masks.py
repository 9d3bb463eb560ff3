"""Masks and sealed envelopes: X25519 (RFC 7748), HKDF-SHA256 (RFC 5869), ChaCha20 and ChaCha20-Poly1305 (RFC 8439).

All secrets of an owner's round come from one seed, so that a repeated answer has the same bytes. Every key is derived
for one place and one purpose, and no key seals two different texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from understudy.errors import FederationError
from understudy.federation.messages import Place
from understudy.federation.shamir import random_bytes_needed
from understudy.privacy.random_source import Words

KEY: Final = 32
SEAL: Final = 16  # bytes that sealing adds


@dataclass(frozen=True)
class Secrets:
    """What one owner keeps to itself in one round: two private keys, its self-mask, and Shamir's coefficients."""

    sealing: bytes
    masking: bytes
    own: bytes
    masking_random: bytes
    own_random: bytes

    @staticmethod
    def of(seed: bytes, place: Place, threshold: int) -> Secrets:
        needed = random_bytes_needed(threshold)

        def part(name: str, length: int = KEY) -> bytes:
            return keystream(derive(seed, place.statement("seed", name)), length)

        return Secrets(
            part("sealing"), part("masking"), part("own"), part("masking shares", needed), part("own shares", needed)
        )


def public_key(private: bytes) -> bytes:
    return bytes(X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw())


def agree(private: bytes, public: bytes, statement: bytes) -> bytes:
    """Return the key that two owners have in common for what the statement says, and nobody else has."""
    try:
        shared = X25519PrivateKey.from_private_bytes(private).exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError:
        raise FederationError("an owner's round key is not a key") from None
    return derive(shared, statement)


def check_public(public: bytes) -> None:
    """Refuse a point of small order, which agrees with nobody, before a vector has been paid for."""
    agree(bytes(KEY), public, b"check")


def derive(secret: bytes, statement: bytes) -> bytes:
    return HKDF(SHA256(), KEY, salt=None, info=statement).derive(secret)


def keystream(key: bytes, length: int) -> bytes:
    """Return the ChaCha20 stream from block 0; a key is used for one stream only."""
    return bytes(Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(length)))


def mask_words(key: bytes, count: int) -> Words:
    return np.frombuffer(keystream(key, 8 * count), dtype="<u8").astype(np.uint64)


def seal(key: bytes, text: bytes, statement: bytes) -> bytes:
    """Encrypt a text and bind it to the statement. The nonce is fixed, since the key is for this text only."""
    return ChaCha20Poly1305(key).encrypt(bytes(12), text, statement)


def unseal(key: bytes, sealed: bytes, statement: bytes) -> bytes | None:
    """Return the text, or None if it was changed or meant for another place."""
    try:
        return ChaCha20Poly1305(key).decrypt(bytes(12), sealed, statement)
    except InvalidTag:
        return None
