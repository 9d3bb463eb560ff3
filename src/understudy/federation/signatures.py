"""Signatures with the keys of the roster's certificates: elliptic curve (SHA-256) or Ed25519."""

from __future__ import annotations

from typing import Any, Protocol

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import load_der_public_key

from understudy.errors import UsageError

_ECDSA = ec.ECDSA(hashes.SHA256())


class Signer(Protocol):
    """An owner's own key, wherever it is kept."""

    def sign(self, statement: bytes) -> bytes: ...


class KeySigner:
    """Signs with a private key of `cryptography`; one of a kind that owners cannot check is refused."""

    def __init__(self, key: Any) -> None:
        if not isinstance(key, ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey):
            raise UsageError("an owner's key is an elliptic-curve or an Ed25519 key: get a certificate for such a key")
        self._key = key

    def sign(self, statement: bytes) -> bytes:
        if isinstance(self._key, ec.EllipticCurvePrivateKey):
            return bytes(self._key.sign(statement, _ECDSA))
        return bytes(self._key.sign(statement))


def verify(public_key: bytes, statement: bytes, signature: bytes) -> bool:
    """Return whether the holder of this public key (SubjectPublicKeyInfo, DER) signed the statement."""
    try:
        key = load_der_public_key(public_key)
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, statement, _ECDSA)
        elif isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, statement)
        else:
            return False
    except (InvalidSignature, UnsupportedAlgorithm, ValueError):
        return False
    return True
