"""A small HTTPS server: one path, POST only, mutual TLS, every size and time bounded before anything is read.

The standard library's own server trusts lengths and waits for ever, and the usual frameworks do not show the peer's
certificate to the application (docs/decisions: the federation's transport). One thread for each connection, and a
bounded number of connections.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import socket
import ssl
import threading
import time
from collections import Counter
from http import HTTPStatus
from typing import Protocol

from understudy.errors import FederationError, UsageError
from understudy.federation.wire import PATH

HEAD_BYTES = 16 << 10
PER_PEER = 6  # connections of one certificate at a time
_HANDSHAKE_S = 10.0
_HEAD_S = 75.0  # between two requests, and for a head to arrive
_BODY_S = 20.0  # and a second more for every _SLOWEST bytes
_SLOWEST = 32 << 10
_PIECE = 64 << 10
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\t]*)")
_LENGTH = re.compile(rb"[0-9]{1,12}")


class Service(Protocol):
    """Who may speak, how much, and what is answered."""

    def limit(self, fingerprint: str) -> int | None:
        """Return the longest body that this certificate may send now; None for a certificate nobody knows."""
        ...

    def reply(self, fingerprint: str, body: bytes) -> bytes: ...


class Refused(Exception):
    """A request that ends its connection with an HTTP status."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class HttpsServer:
    """Answers between `start` and `stop`."""

    def __init__(self, context: ssl.SSLContext, host: str, port: int, service: Service, connections: int) -> None:
        self._context = context
        self._service = service
        self._listener = _listener(host, port)
        self.port: int = self._listener.getsockname()[1]
        self._slots = threading.BoundedSemaphore(connections)
        self._guard = threading.Lock()
        self._peers: Counter[str] = Counter()
        self._open: dict[threading.Thread, socket.socket] = {}
        self._stopping = threading.Event()
        self._accepting = threading.Thread(target=self._accept, name="federation-accept", daemon=True)

    def start(self) -> None:
        self._accepting.start()

    def stop(self, grace_s: float = 2.0) -> None:
        """Stop taking connections; those under way have a moment to end."""
        self._stopping.set()
        if self._accepting.is_alive():
            self._accepting.join()
        self._listener.close()
        deadline = time.monotonic() + grace_s
        for thread in self._threads():
            thread.join(max(0.0, deadline - time.monotonic()))
        with self._guard:
            for peer in self._open.values():
                with contextlib.suppress(OSError):
                    socket.socket.shutdown(peer, socket.SHUT_RDWR)  # the TLS object stays its thread's
        for thread in self._threads():
            thread.join()

    def _threads(self) -> list[threading.Thread]:
        with self._guard:
            return list(self._open)

    def _accept(self) -> None:
        """Accept connections, counted from their first byte on: each holds memory from there."""
        self._listener.settimeout(0.1)
        while not self._stopping.is_set():
            if not self._slots.acquire(timeout=0.1):
                continue
            try:
                peer, _ = self._listener.accept()
                thread = threading.Thread(target=self._connection, args=(peer,), name="federation", daemon=True)
                with self._guard:
                    self._open[thread] = peer
                thread.start()
            except OSError:  # nobody there, or too many open files: others must end first
                self._slots.release()

    def _connection(self, peer: socket.socket) -> None:
        fingerprint = ""
        try:
            peer.settimeout(_HANDSHAKE_S)
            peer = self._context.wrap_socket(peer, server_side=True, do_handshake_on_connect=False)
            with self._guard:
                self._open[threading.current_thread()] = peer
            peer.do_handshake()
            certificate = peer.getpeercert(binary_form=True)
            fingerprint = hashlib.sha256(certificate or b"").hexdigest()
            with self._guard:
                self._peers[fingerprint] += 1
                many = self._peers[fingerprint] > PER_PEER
            if not many:
                self._converse(fingerprint, _Line(peer))
        except (OSError, ValueError):  # gone, too slow, no TLS, no certificate, an expired or a foreign one
            pass
        finally:
            _hang_up(peer)
            with self._guard:
                self._peers[fingerprint] -= 1
                self._peers += Counter()  # forgets those at zero
                self._open.pop(threading.current_thread(), None)
            self._slots.release()

    def _converse(self, peer: str, line: _Line) -> None:
        try:
            while not self._stopping.is_set():
                length = body_length(line.until(b"\r\n\r\n", HEAD_BYTES, _HEAD_S))
                limit = self._service.limit(peer)
                if limit is None:
                    raise Refused(HTTPStatus.FORBIDDEN)
                if length > limit:
                    raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
                body = line.exactly(length, _BODY_S + length / _SLOWEST)
                try:
                    answer = self._service.reply(peer, body)
                except FederationError:
                    raise Refused(HTTPStatus.BAD_REQUEST) from None
                line.write(HTTPStatus.OK, answer)
        except Refused as refused:
            line.write(refused.status)


class _Line:
    """A connection, read piece by piece against a clock."""

    def __init__(self, peer: socket.socket) -> None:
        self._peer = peer
        self._held = bytearray()

    def until(self, end: bytes, most: int, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        while (at := self._held.find(end)) < 0:
            if len(self._held) > most:
                raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
            self._more(deadline)
        return self._take(at + len(end))

    def exactly(self, length: int, seconds: float) -> bytes:
        deadline = time.monotonic() + seconds
        while len(self._held) < length:
            self._more(deadline)
        return self._take(length)

    def write(self, status: HTTPStatus, body: bytes = b"") -> None:
        more = "" if status == HTTPStatus.OK else "Connection: close\r\n"
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/octet-stream\r\n"
            f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\n{more}\r\n"
        )
        self._peer.settimeout(_BODY_S + len(body) / _SLOWEST)  # sendall's is for all of it
        self._peer.sendall(head.encode() + body)

    def _more(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._peer.settimeout(left)
        piece = self._peer.recv(_PIECE)
        if not piece:
            raise ConnectionError
        self._held += piece

    def _take(self, length: int) -> bytes:
        taken = bytes(self._held[:length])
        del self._held[:length]
        return taken


def body_length(head: bytes) -> int:
    """Read the body's length from a request's head, strictly: what is unusual is refused, never guessed at."""
    line, *fields = head[:-4].split(b"\r\n")
    parts = line.split(b" ")
    if len(parts) != 3 or parts[2] != b"HTTP/1.1":
        raise Refused(HTTPStatus.BAD_REQUEST)
    if parts[1] != PATH.encode():
        raise Refused(HTTPStatus.NOT_FOUND)
    if parts[0] != b"POST":
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED)
    lengths = []
    for field in fields:
        found = _FIELD.fullmatch(field)
        if found is None or len(fields) > 64:
            raise Refused(HTTPStatus.BAD_REQUEST)
        name = found[1].lower()
        if name in (b"transfer-encoding", b"expect", b"upgrade"):
            raise Refused(HTTPStatus.BAD_REQUEST)
        if name == b"content-length":
            lengths.append(found[2])
    if not lengths:
        raise Refused(HTTPStatus.LENGTH_REQUIRED)
    if len(lengths) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise Refused(HTTPStatus.BAD_REQUEST)
    return int(lengths[0])


def _hang_up(peer: socket.socket) -> None:
    """Close so that the last words arrive: what the peer still sends is read away for a moment, else it resets them."""
    with contextlib.suppress(OSError, ValueError):
        peer.shutdown(socket.SHUT_WR)
        peer.settimeout(0.2)
        for _ in range(16):
            if not peer.recv(_PIECE):
                break
    with contextlib.suppress(OSError):
        peer.close()


def _listener(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "there is no such address"
        raise UsageError(f"cannot listen at {host}:{port}: {reason}") from None
