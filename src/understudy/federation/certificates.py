"""Certificates: a trial authority for a federation, the two sides of mutual TLS, and a party's signing key.

A trial authority is for trying out: organisations use certificates of their own authority, and the roster pins each.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from understudy.errors import UsageError

_BACKDATED = datetime.timedelta(minutes=5)  # clocks differ


@dataclass(frozen=True)
class Identity:
    """The files one party speaks with: its certificate, its key, and the authority whose certificates it trusts."""

    certificate: Path
    key: Path
    authority: Path

    def private_key(self) -> Any:
        """Return the key, once it is known to belong to the certificate."""
        try:
            key = serialization.load_pem_private_key(_read(self.key, "key"), password=None)
        except (ValueError, TypeError):
            raise UsageError(f"{self.key.name!r} is no PEM private key without a password") from None
        if _public_der(key.public_key()) != certificate_facts(self.certificate)[1]:
            raise UsageError(f"the key {self.key.name!r} does not belong to the certificate {self.certificate.name!r}")
        return key

    def server_context(self) -> ssl.SSLContext:
        """Return the curator's TLS context: it speaks only to certificates of the authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.verify_mode = ssl.CERT_REQUIRED
        return self._filled(context)

    def client_context(self) -> ssl.SSLContext:
        """Return a party's TLS context: it checks the curator's name and authority.

        Whoever connects checks the fingerprint.
        """
        return self._filled(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))

    def _filled(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        for path, what in ((self.certificate, "certificate"), (self.key, "key"), (self.authority, "authority")):
            _read(path, what)
        try:
            context.load_cert_chain(self.certificate, self.key, password=_no_password)
            context.load_verify_locations(self.authority)
        except (ssl.SSLError, ValueError):
            raise UsageError(
                f"{self.certificate.name!r}, {self.key.name!r} and {self.authority.name!r} are not a certificate, its "
                "key (PEM, no password) and an authority's certificate"
            ) from None
        return context


def _no_password() -> str:
    raise ValueError("a key with a password")


def certificate_facts(path: Path) -> tuple[str, bytes]:
    """Return SHA-256 fingerprint (hex) and public key (DER) of a PEM certificate; refuse one that has expired."""
    try:
        certificate = x509.load_pem_x509_certificate(_read(path, "certificate"))
    except ValueError:
        raise UsageError(f"{path.name!r} is no PEM certificate") from None
    now = datetime.datetime.now(datetime.UTC)
    if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        until = certificate.not_valid_after_utc.date()
        raise UsageError(f"the certificate {path.name!r} is not valid now (it ends on {until}): renew it")
    return certificate.fingerprint(hashes.SHA256()).hex(), _public_der(certificate.public_key())


def make_certificates(
    folder: Path, owners: Sequence[str], curator: str, hosts: Sequence[str] = ("127.0.0.1",), days: int = 90
) -> list[Path]:
    """Make a trial authority in `folder`, and NAME.pem with NAME.key for each owner and the curator."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = [folder / f"{name}{end}" for name in ("ca", *owners, curator) for end in (".pem", ".key")]
    if len(set(wanted)) != len(wanted):
        raise UsageError("every owner and the curator need a name of their own, and none may be called 'ca'")
    if taken := [path.name for path in wanted if path.exists()]:
        raise UsageError(f"{taken[0]!r} is there already: certificates are never overwritten. Choose another folder")
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("understudy trial authority")
    authority = _certificate(name, key.public_key(), name, key, days, [(x509.BasicConstraints(True, 0), True)])
    _save(folder, "ca", authority, key)
    for owner in (*owners, curator):
        own = ec.generate_private_key(ec.SECP256R1())
        extensions = _end_entity(owner, curator, hosts)
        _save(folder, owner, _certificate(_name(owner), own.public_key(), name, key, days, extensions), own)
    return wanted


def _end_entity(name: str, curator: str, hosts: Sequence[str]) -> list[tuple[Any, bool]]:
    """Return the extensions that let an owner's certificate open connections only, the curator's answer them only."""
    usage = ExtendedKeyUsageOID.SERVER_AUTH if name == curator else ExtendedKeyUsageOID.CLIENT_AUTH
    found = [(x509.BasicConstraints(False, None), True), (x509.ExtendedKeyUsage([usage]), False)]
    return [*found, (x509.SubjectAlternativeName(list(map(_host, hosts))), False)] if name == curator else found


def _certificate(
    subject: Any, public_key: Any, issuer: Any, issuer_key: Any, days: float, extensions: list[tuple[Any, bool]]
) -> Any:
    is_authority = subject == issuer
    now = datetime.datetime.now(datetime.UTC)
    usage = x509.KeyUsage(
        digital_signature=not is_authority, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=is_authority, crl_sign=is_authority, encipher_only=False,
        decipher_only=False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED + min(datetime.timedelta(days=days), datetime.timedelta()))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(issuer_key, hashes.SHA256())


def _name(common: str) -> Any:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _host(host: str) -> Any:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _save(folder: Path, name: str, certificate: Any, key: Any) -> None:
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    handle = os.open(folder / f"{name}.key", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text)
    (folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _public_der(key: Any) -> bytes:
    return bytes(key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the {what} {path.name!r}: {error.strerror}") from None
