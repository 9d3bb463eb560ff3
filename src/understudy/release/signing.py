"""Signed releases: a detached Ed25519 signature over a domain tag, the release's hash and the ledger's head.

The signature is an OpenSSH one (SSHSIG, as `ssh-keygen -Y sign` makes and checks it), in a file beside the release:

    understudy sign people.release.zip --key ~/.ssh/id_ed25519
    understudy sign R --print | ssh-keygen -Y sign -f KEY -n understudy-release > R.sig

Nothing in the release changes. The hash covers the schema, the card, the model and the measurements; the ledger's head
is not in the hash, so the statement names it too. What a signature says is that the holder of the key vouches for this
file; whose key it is, a reader must know from elsewhere.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import ReleaseError, UsageError
from understudy.release.release import Release
from understudy.release.replacement import replacing

NAMESPACE = "understudy-release"
SIGNATURE_SUFFIX = ".sig"
_DOMAIN = "understudy release signature, version 1"
_MAGIC = b"SSHSIG"
_KIND = b"ssh-ed25519"
_HASHES = {b"sha512": hashlib.sha512, b"sha256": hashlib.sha256}
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LONGEST = 10_000  # bytes of a signature or a public key


@dataclass(frozen=True)
class Signature:
    """A signature that holds for a release, and the fingerprint of the key that made it."""

    fingerprint: str


def statement(release: Release) -> bytes:
    """Return what is signed: three lines, the same on every machine."""
    lines = [_DOMAIN, f"release {release.hash}", f"ledger {release.head.seq} {release.head.hash}"]
    return "\n".join(lines).encode() + b"\n"


def signature_file(release: Path) -> Path:
    """Return where a release's signature lies unless another place is named."""
    return release.with_name(release.name + SIGNATURE_SUFFIX)


# -- signing -------------------------------------------------------------------------------------------------------


def sign(release: Release, key: Path, output: Path) -> Signature:
    """Sign a release with the Ed25519 key in a file (OpenSSH or PEM) and write the signature to another."""
    private = _private_key(key)
    public = _wire(_KIND) + _wire(_raw(private.public_key()))
    blob = _wire(_KIND) + _wire(private.sign(_signed(statement(release), b"sha512")))
    parts = (public, NAMESPACE.encode(), b"", b"sha512", blob)
    body = base64.b64encode(_MAGIC + struct.pack(">I", 1) + b"".join(map(_wire, parts))).decode()
    lines = [body[i : i + 70] for i in range(0, len(body), 70)]
    with replacing(output) as file:
        file.write("\n".join([_BEGIN, *lines, _END, ""]).encode())
    return Signature(_fingerprint(public))


def _private_key(path: Path) -> Any:
    ed25519, serialization = _cryptography()
    text = _text(path, "key")
    load = serialization.load_ssh_private_key if b"OPENSSH" in text else serialization.load_pem_private_key
    try:
        key = load(text, password=None)
    except TypeError:
        raise UsageError(
            f"the key {path.name!r} has a passphrase: sign with `understudy sign RELEASE --print | ssh-keygen -Y sign "
            f"-f {path.name} -n {NAMESPACE}`, which asks for it"
        ) from None
    except ValueError:
        raise UsageError(f"{path.name!r} is not a private key: give an Ed25519 key, OpenSSH or PEM") from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(f"{path.name!r} is not an Ed25519 key: make one with `ssh-keygen -t ed25519`")
    return key


# -- checking ------------------------------------------------------------------------------------------------------


def checked(release: Release, signature: Path, key: Path | None = None) -> Signature:
    """Return the signature if it holds for this release, and was made by one of the public keys in a file.

    Without `key` any Ed25519 key will do: the caller has its fingerprint to compare.
    """
    public, hash_name, blob = _parts(_text(signature, "signature"), signature.name)
    raw = _ed25519(public)
    if raw is None or not _holds(raw, _signed(statement(release), hash_name), _ed25519(blob)):
        raise ReleaseError(
            f"the signature {signature.name!r} does not hold for this release: the file, its card or its ledger's head "
            "is not what was signed"
        )
    if key is not None and public not in _public_keys(key):
        raise ReleaseError(
            f"the signature holds, but not by the key in {key.name!r}: it was made by {_fingerprint(public)}"
        )
    return Signature(_fingerprint(public))


def _holds(raw: bytes, signed: bytes, signature: bytes | None) -> bool:
    from cryptography.exceptions import InvalidSignature

    ed25519, _ = _cryptography()
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(raw).verify(signature or b"", signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _parts(text: bytes, name: str) -> tuple[bytes, bytes, bytes]:
    """Return the public key, the name of the hash and the signature proper; refuse any other kind of file."""
    try:
        lines = text.decode("ascii").split()
        body = "".join(lines)
        begin, end = _BEGIN.replace(" ", ""), _END.replace(" ", "")
        if not body.startswith(begin) or not body.endswith(end):
            raise ValueError
        data = base64.b64decode(body[len(begin) : -len(end)], validate=True)
        if data[:6] != _MAGIC or data[6:10] != struct.pack(">I", 1):
            raise ValueError
        public, namespace, reserved, hash_name, blob = _strings(data[10:])
        if namespace != NAMESPACE.encode() or reserved or hash_name not in _HASHES:
            raise ValueError
    except (ValueError, UnicodeError, binascii.Error, struct.error):
        raise ReleaseError(f"{name!r} is not a signature of a release ({NAMESPACE})") from None
    return public, hash_name, blob


def _public_keys(path: Path) -> list[bytes]:
    """Return the keys of a file: lines as in `id_ed25519.pub` or `authorized_keys`, or one key in PEM."""
    text = _text(path, "public key")
    if b"BEGIN PUBLIC KEY" in text:
        ed25519, serialization = _cryptography()
        try:
            key = serialization.load_pem_public_key(text)
        except ValueError:
            key = None
        found = [_wire(_KIND) + _wire(_raw(key))] if isinstance(key, ed25519.Ed25519PublicKey) else []
    else:
        words = [line.split() for line in text.decode("utf-8", errors="replace").splitlines()]
        texts = [parts[i + 1] for parts in words for i, word in enumerate(parts[:-1]) if word == _KIND.decode()]
        found = [key for one in texts if (key := _decoded(one)) is not None]
    if not found:
        raise UsageError(f"{path.name!r} holds no Ed25519 public key: give a line as in id_ed25519.pub, or PEM")
    return found


# -- OpenSSH's formats ---------------------------------------------------------------------------------------------


def _signed(message: bytes, hash_name: bytes) -> bytes:
    digest = _HASHES[hash_name](message).digest()
    return _MAGIC + b"".join(map(_wire, (NAMESPACE.encode(), b"", hash_name, digest)))


def _wire(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def _strings(data: bytes) -> list[bytes]:
    found = []
    while data:
        (length,) = struct.unpack(">I", data[:4])
        if len(data) < 4 + length:
            raise ValueError("truncated")
        found.append(data[4 : 4 + length])
        data = data[4 + length :]
    return found


def _ed25519(blob: bytes) -> bytes | None:
    """Return what an Ed25519 key or signature holds, None for any other kind."""
    try:
        kind, *rest = _strings(blob)
    except (ValueError, struct.error):
        return None
    return rest[0] if kind == _KIND and len(rest) == 1 else None


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None


def _raw(public: Any) -> bytes:
    return bytes(public.public_bytes_raw())


def _fingerprint(public: bytes) -> str:
    return "SHA256:" + base64.b64encode(hashlib.sha256(public).digest()).decode().rstrip("=")


def _text(path: Path, what: str) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST)
    except OSError:
        raise UsageError(f"the {what} {path.name!r} cannot be read") from None


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise UsageError("signatures need the package `cryptography`: pip install 'understudy[sign]'") from None
    return ed25519, serialization
