"""An owner's end of the transport: outbound HTTPS only, the curator's certificate pinned, patience with a curator
that is away for a while. Every message can be sent again without harm."""

from __future__ import annotations

import hashlib
import http.client
import ssl
import time
from collections.abc import Callable
from http import HTTPStatus
from urllib.parse import urlsplit

from understudy.errors import FederationError, UsageError
from understudy.federation.certificates import Identity
from understudy.federation.server import POLL_S
from understudy.federation.wire import HEAD, LARGEST, PATH, Message, shown

_SLOWEST = 32 << 10  # bytes a second
_PIECE = 1 << 20
_ALERTS = ("UNKNOWN_CA", "CERTIFICATE_EXPIRED", "CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN",
           "UNSUPPORTED_CERTIFICATE", "CERTIFICATE_REVOKED", "HANDSHAKE_FAILURE", "DECRYPT_ERROR")  # fmt: skip


class CuratorClient:
    """`send` keeps trying for `patience` seconds; what no retry can mend is an error at once."""

    def __init__(
        self,
        url: str,
        identity: Identity,
        fingerprint: str,
        patience: float,
        waiting: Callable[[str], None] | None = None,
    ) -> None:
        self.host, self.port = address_of(url)
        self._context = identity.client_context()
        self._fingerprint = fingerprint
        self._patience = patience
        self._waiting = waiting
        self._connection: http.client.HTTPSConnection | None = None
        self.sent = 0
        self.received = 0

    def send(self, message: Message, patience: float | None = None) -> Message:
        data = message.encode()
        deadline = time.monotonic() + (self._patience if patience is None else patience)
        pause = 0.1
        while True:
            try:
                answer = self._exchange(data)
                self.sent += len(data)
                self.received += len(answer)
                return Message.decode(answer)
            except ssl.SSLError as error:
                self.close()
                self._give_up_on(error)
                reason = "the TLS connection broke"
            except (OSError, http.client.HTTPException) as error:
                self.close()
                reason = getattr(error, "strerror", None) or type(error).__name__
            if time.monotonic() + pause > deadline:
                raise FederationError(
                    f"the curator at {self.host}:{self.port} cannot be reached ({shown(reason)}). What was charged "
                    "stays charged; run the same command to go on with the session"
                )
            if self._waiting is not None:
                self._waiting(shown(reason))
            time.sleep(pause)
            pause = min(2.0, pause * 1.6)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(self, data: bytes) -> bytes:
        connection = self._connected()
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(len(data))}
        connection.request("POST", PATH, body=data, headers=headers)
        response = connection.getresponse()
        if response.status == HTTPStatus.FORBIDDEN:
            raise FederationError("the curator's roster does not have this certificate: compare the rosters' hashes")
        if response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            raise FederationError("the curator does not take a message of this length: it did not ask for as much")
        if response.status != HTTPStatus.OK:
            raise FederationError(
                f"the curator did not take this message (HTTP {response.status}): are both on the same version of "
                "understudy?"
            )
        return _body(response)

    def _connected(self) -> http.client.HTTPSConnection:
        if self._connection is None:
            timeout = POLL_S + 25
            connection = http.client.HTTPSConnection(self.host, self.port, context=self._context, timeout=timeout)
            self._connection = connection
            connection.connect()
            certificate = connection.sock.getpeercert(binary_form=True)
            if hashlib.sha256(certificate or b"").hexdigest() != self._fingerprint:
                self.close()
                raise FederationError(
                    f"{self.host}:{self.port} shows a certificate that is not the curator's in the roster: "
                    "nothing was sent"
                )
        return self._connection

    def _give_up_on(self, error: ssl.SSLError) -> None:
        if isinstance(error, ssl.SSLCertVerificationError):
            raise FederationError(
                f"the certificate at {self.host}:{self.port} does not hold: {shown(error.verify_message)}. "
                "Nothing was sent"
            ) from None
        if any(alert in (error.reason or "") for alert in _ALERTS):
            words = (error.reason or "").removeprefix("TLSV1_ALERT_").removeprefix("SSLV3_ALERT_").replace("_", " ")
            raise FederationError(f"the curator refused this certificate ({words.lower()})") from None


def _body(response: http.client.HTTPResponse) -> bytes:
    """Read a body as long as its head says, no longer than a message may be, in bounded time."""
    length = response.length
    if length is None or not HEAD <= length <= HEAD + LARGEST:
        raise FederationError("the curator's answer has no length, or one that no message has")
    deadline = time.monotonic() + 20 + length / _SLOWEST
    pieces = []
    while length > 0:
        piece = response.read(min(_PIECE, length))
        if not piece or time.monotonic() > deadline:
            raise http.client.HTTPException("cut off")
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def address_of(url: str) -> tuple[str, int]:
    """Return host and port of https://host:port."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or 443
    except ValueError:
        host, port = None, 0
    if host is None or parts.scheme != "https" or parts.path.strip("/") or parts.username or parts.query:
        raise UsageError("the curator's address is https://host:port")
    return host, port
