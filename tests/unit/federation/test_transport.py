"""The transport on real sockets: who may speak, what is delivered, and what is cut off."""

from __future__ import annotations

import contextlib
import http.client
import re
import resource
import socket
import ssl
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("cryptography")

from session import LONG_S, NAMES, EchoOwner, Federation, echo, join, make_federation

from luck import once_more
from servers import free_port
from understudy.errors import FederationError, UsageError
from understudy.federation import https
from understudy.federation.certificates import make_certificates
from understudy.federation.client import address_of
from understudy.federation.journal import CuratorJournal
from understudy.federation.wire import HEAD, LARGEST_NOTE, PATH, Message
from understudy.privacy.budget import Budget


@pytest.fixture(scope="module")
def federation(tmp_path_factory) -> Federation:
    return make_federation(tmp_path_factory.mktemp("federation"))


@pytest.fixture
def journal(federation, tmp_path):
    opened = federation.journal(f"{tmp_path.name}.db")
    yield opened
    opened.close_file()


def test_every_owner_is_asked_and_told(federation, journal):
    with federation.server(journal) as server:
        owners = [EchoOwner(federation, name, server.port) for name in NAMES]
        for owner in owners:
            owner.start()
        server.gather(LONG_S)
        for round in range(3):
            bodies = {name: f"{name} {round}".encode() for name in NAMES}
            replies = server.ask(round, "keys", bodies, 100)
            assert replies == {n: echo(n, Message("task", stage="keys", body=b)) for n, b in bodies.items()}
        assert server.ask(3, "decide", {"bea": b"x"}, 100).keys() == {"bea"}
        assert server.finish(outcome="done", release="00") == []
        for owner in owners:
            owner.join(LONG_S)
            assert owner.failure is None and owner.end is not None and owner.end.facts["outcome"] == "done"
        assert server.dropped == {}
        assert owners[0].asked == [(0, "keys"), (1, "keys"), (2, "keys")]
        assert all(t["sent"] > 0 and t["received"] > 0 for t in server.traffic.values())


def test_an_owner_that_is_silent_is_waited_for_once(federation, tmp_path):
    """The others have the same time to answer, so on a machine that stands still for as long it is tried once more."""

    def trial(number: int) -> None:
        journal = federation.journal(f"{tmp_path.name}-{number}.db")
        try:
            wait_for_the_silent(federation, journal, (0.6, 6.0)[number])
        finally:
            journal.close_file()

    once_more(trial)


def wait_for_the_silent(federation: Federation, journal: CuratorJournal, timeout: float) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(federation.server(journal, timeout=timeout))
        owners = {name: EchoOwner(federation, name, server.port) for name in NAMES[:2]}
        for owner in owners.values():
            owner.start()
            stack.callback(owner.join, LONG_S)
        stack.callback(server.finish, outcome="done")
        client = federation.client("cy", server.port)
        stack.callback(client.close)
        session = join(client, federation.roster).session
        server.gather(LONG_S)
        started = time.monotonic()
        assert set(server.ask(0, "keys", dict.fromkeys(NAMES, b""), 100)) == {"ada", "bea"}
        assert time.monotonic() - started > 0.9 * timeout
        assert server.dropped == {"cy": "did not answer in time"}
        server._timeout = 2 * LONG_S
        started = time.monotonic()
        assert set(server.ask(1, "keys", dict.fromkeys(NAMES, b""), 100)) == {"ada", "bea"}
        assert time.monotonic() - started < LONG_S  # not waited for again
        late = client.send(Message("answer", session, 0, "keys", b"here"))
        assert late.kind == "refused" and late.facts["code"] == "late"
        assert server.dropped == {}  # it is back
        client.send(Message.note("leave", session, reason="enough"))


def test_one_that_leaves_is_not_waited_for(federation, journal):
    with federation.server(journal, timeout=2 * LONG_S) as server:
        clients = {name: federation.client(name, server.port) for name in NAMES}
        (session,) = {join(c, federation.roster).session for c in clients.values()}
        server.gather(LONG_S)
        for name, client in clients.items():
            client.send(Message.note("leave", session, reason=f"{name}'s ledger\nrefused"))
        started = time.monotonic()
        assert server.ask(0, "keys", dict.fromkeys(NAMES, b""), 100) == {}
        assert time.monotonic() - started < LONG_S
        assert server.dropped["bea"] == "bea's ledger refused"  # words from outside, made fit for a terminal
        for client in clients.values():
            client.close()


def test_not_everyone_came(federation, journal):
    with federation.server(journal) as server:
        client = federation.client("ada", server.port)
        join(client, federation.roster)
        with pytest.raises(FederationError, match=r"bea, cy did not join within 0.3 s. Nobody was charged"):
            server.gather(0.3)
        client.close()


def test_a_second_answer_changes_nothing(federation, journal):
    with federation.server(journal) as server:
        client = federation.client("ada", server.port)
        session = join(client, federation.roster).session
        replies = {}
        asked = threading.Thread(target=lambda: replies.update(server.ask(7, "keys", {"ada": b"q", "bea": b"q"}, 10)))
        asked.start()
        assert client.send(Message("next", session)).body == b"q"
        assert client.send(Message("next", session)).body == b"q"  # until it is answered
        early = client.send(Message("answer", session, 8, "keys", b"early"))
        assert early.facts["code"] == "late"
        assert client.send(Message("answer", session, 7, "keys", b"one")).kind == "taken"
        assert client.send(Message("answer", session, 7, "keys", b"one")).kind == "taken"  # sent again
        assert client.send(Message("answer", session, 7, "keys", b"two")).facts["code"] == "twice"
        bea = federation.client("bea", server.port)
        assert bea.send(Message("answer", session, 7, "keys", b"far too long an answer")).kind == "taken"
        asked.join(LONG_S)
        assert replies == {"ada": b"one"}  # bea's was over the limit: it did not answer
        client.close()
        bea.close()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"budget": Budget(2)}, r"epsilon \(1 at curator, 2 at ada\)"),
        ({"schema_hash": "1" * 64}, "the schema's hash"),
        ({"method": "jtree"}, r"method \(auto at curator, jtree at ada\)"),
        ({"options": (("theta", "9"),)}, "options"),
        ({"name": "another"}, "name"),
    ],
)
def test_another_roster_is_refused_by_the_name_of_what_differs(federation, journal, change, named):
    with federation.server(journal) as server:
        client = federation.client("ada", server.port)
        answer = join(client, replace(federation.roster, **change))
        assert answer.kind == "refused"
        assert re.search(named, answer.facts["message"])
        rows = replace(federation.roster.owners[1], rows=21)
        owners = (federation.roster.owners[0], rows, federation.roster.owners[2])
        answer = join(client, replace(federation.roster, owners=owners))
        assert "rows of bea" in answer.facts["message"]
        client.close()


def test_another_session_is_refused(federation, journal):
    with federation.server(journal) as server:
        client = federation.client("ada", server.port)
        answer = client.send(Message("next", "ab" * 16))
        assert answer.facts["code"] == "session"
        client.close()


# -- certificates --------------------------------------------------------------------------------------------


def test_a_foreign_certificate_is_refused(federation, journal, tmp_path):
    make_certificates(tmp_path / "foreign", ["ada"], "office")
    with federation.server(journal) as server:
        client = federation.client("ada", server.port, folder=tmp_path / "foreign")
        with pytest.raises(FederationError, match=r"refused this certificate \(unknown ca\)"):
            join(client, federation.roster)
        client.close()


def test_an_expired_certificate_is_refused(federation, journal, tmp_path):
    from understudy.federation import certificates as c

    make_expired(federation, tmp_path)
    with pytest.raises(UsageError, match="is not valid now"):
        c.certificate_facts(tmp_path / "ada.pem")
    with federation.server(journal) as server:
        client = federation.client("ada", server.port, folder=tmp_path)
        with pytest.raises(FederationError, match=r"refused this certificate \(.*certificate expired\)"):
            join(client, federation.roster)
        client.close()


def make_expired(federation: Federation, folder: Path) -> None:
    """A certificate of the right authority that ended yesterday."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    from understudy.federation import certificates as c

    authority = load_pem_private_key((federation.folder / "ca.key").read_bytes(), None)
    key = c.ec.generate_private_key(c.ec.SECP256R1())
    extensions = c._end_entity("ada", "office", ())
    issuer = c._name("understudy trial authority")
    c._save(folder, "ada", c._certificate(c._name("ada"), key.public_key(), issuer, authority, -1, extensions), key)


def test_no_certificate_no_conversation(federation, journal):
    context = ssl.create_default_context(cafile=str(federation.folder / "ca.pem"))
    with federation.server(journal) as server:
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, context=context, timeout=LONG_S)
        with pytest.raises((ssl.SSLError, ConnectionError)):
            connection.request("POST", PATH, body=b"x")
            connection.getresponse()
        connection.close()
        assert server.traffic["ada"] == {"received": 0, "sent": 0}


def test_a_valid_certificate_outside_the_roster_is_refused(federation, journal):
    roster = replace(federation.roster, owners=federation.roster.owners[:2])
    smaller = Federation(federation.folder, roster)
    with smaller.server(journal) as server:
        client = federation.client("cy", server.port)
        with pytest.raises(FederationError, match="does not have this certificate"):
            join(client, roster)
        client.close()


def test_an_owner_speaks_for_itself_only(federation, journal):
    with federation.server(journal) as server:
        bea = federation.client("bea", server.port)
        session = join(bea, federation.roster).session
        bea.send(Message.note("leave", session, reason="ada says no"))
        assert list(server.dropped) == ["bea"]  # whatever it says
        bea.close()


def test_an_owner_cannot_stand_in_for_the_curator(federation, journal):
    """Its certificate is of the right authority and would pass by name: it is not the one in the roster."""
    with federation.server(journal) as server:
        client = federation.client("ada", server.port)
        client._fingerprint = federation.roster.owners[1].fingerprint
        with pytest.raises(FederationError, match="not the curator's in the roster"):
            join(client, federation.roster)
        client.close()


def test_old_tls_is_refused(federation, journal):
    context = federation.identity("ada").client_context()
    with pytest.warns(DeprecationWarning):
        context.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning):
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        federation.server(journal) as server,
        pytest.raises(OSError),
        socket.create_connection(("127.0.0.1", server.port), timeout=LONG_S) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1"),
    ):
        pass


# -- bad manners ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def a_line(federation: Federation, port: int, name: str = "ada"):
    context = federation.identity(name).client_context()
    with (
        socket.create_connection(("127.0.0.1", port), timeout=LONG_S) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as line,
    ):
        yield line


def head(length: object = 10, line: str = f"POST {PATH} HTTP/1.1", more: str = "") -> bytes:
    return f"{line}\r\nHost: x\r\nContent-Length: {length}\r\n{more}\r\n".encode()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head(2 << 30), 413),
        (head(HEAD + LARGEST_NOTE + 1), 413),
        (head("-1"), 400),
        (head("+5"), 400),
        (head("1e3"), 400),
        (head("9" * 30), 400),
        (head(more="Content-Length: 10\r\n"), 400),
        (head(more="Transfer-Encoding: chunked\r\n"), 400),
        (head(more="Expect: 100-continue\r\n"), 400),
        (head(more=" folded: line\r\n"), 400),
        (head(more="name : spaced\r\n"), 400),
        (head(more="name: a\x00b\r\n"), 400),
        (f"POST {PATH} HTTP/1.1\r\nHost: x\r\n\r\n".encode(), 411),
        (head(line=f"GET {PATH} HTTP/1.1"), 405),
        (head(line="POST / HTTP/1.1"), 404),
        (head(line=f"POST {PATH} HTTP/1.0"), 400),
        (head(line=f"POST  {PATH} HTTP/1.1"), 400),
        (b"nonsense\r\n\r\n", 400),
        (b"a" * 40_000, 431),
        (head(3) + b"abc", 400),
        (head(HEAD) + b"UsF\x02" + bytes(HEAD - 4), 400),
        (head(HEAD) + b"UsF\x01\xff" + bytes(HEAD - 5), 400),
        (head(HEAD + 1) + b"UsF\x01" + bytes(HEAD - 3), 400),
    ],
)
def test_what_is_unusual_is_refused(federation, journal, sent, status):
    with federation.server(journal) as server, a_line(federation, server.port) as line:
        line.sendall(sent)
        assert line.recv(100).split(b" ")[1] == str(status).encode()
        while line.recv(1000):
            pass  # and the connection is closed


def test_a_body_of_two_gibibytes_costs_no_memory(federation, journal):
    with federation.server(journal) as server:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(5):
            with a_line(federation, server.port) as line:
                line.sendall(head(2 << 30))
                with contextlib.suppress(OSError):
                    for _ in range(64):
                        line.sendall(bytes(1 << 20))  # all it can push before it is cut off
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10
        assert grown < 32, f"{grown} MiB"


def test_slow_senders_are_cut_off(federation, journal, monkeypatch):
    monkeypatch.setattr(https, "_BODY_S", 0.5)
    monkeypatch.setattr(https, "_HEAD_S", 0.5)
    with federation.server(journal) as server:
        for slowly in (b"P", head(1000) + b"x"):
            with a_line(federation, server.port) as line:
                started = time.monotonic()
                line.sendall(slowly)
                with contextlib.suppress(OSError):
                    while time.monotonic() - started < LONG_S:
                        line.settimeout(0.1)
                        with contextlib.suppress(TimeoutError):
                            if not line.recv(10):
                                break
                        line.sendall(b"x")  # a byte now and then does not help
                assert time.monotonic() - started < LONG_S


def test_a_certificate_has_so_many_connections(federation, journal):
    """One too many, and one is closed: the last that the server has counted, which need not be the last that came."""
    with federation.server(journal) as server, contextlib.ExitStack() as stack:
        lines = [stack.enter_context(a_line(federation, server.port)) for _ in range(https.PER_PEER + 1)]
        deadline = time.monotonic() + LONG_S
        while not (closed := [line for line in lines if is_closed(line)]) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(closed) == 1
        client = federation.client("bea", server.port)
        assert join(client, federation.roster).kind == "welcome"  # another owner is not in the way
        client.close()
        assert [line for line in lines if is_closed(line)] == closed


def is_closed(line: ssl.SSLSocket) -> bool:
    line.settimeout(0.01)
    try:
        return line.recv(10) == b""
    except TimeoutError:
        return False


# -- the journal ---------------------------------------------------------------------------------------------


def test_a_curator_that_starts_again_knows_what_was_answered(federation, tmp_path):
    first = federation.journal("again.db")
    with federation.server(first, timeout=LONG_S) as server:
        owner = EchoOwner(federation, "ada", server.port)
        owner.start()
        bea = federation.client("bea", server.port)
        bea.send(Message.note("leave", join(bea, federation.roster).session, reason="enough"))
        bea.close()
        replies = server.ask(0, "keys", {"ada": b"a", "bea": b"b"}, 100)
        assert set(replies) == {"ada"}
        server.finish(outcome="done")
        owner.join(LONG_S)
    first.close_file()
    assert oct(first.path.stat().st_mode & 0o777) == "0o600"
    again = federation.journal("again.db")
    assert again.resumed and again.session == first.session
    with federation.server(again, timeout=0.3) as server:
        assert server.ask(0, "keys", {"ada": b"a", "bea": b"b"}, 100) == replies  # nobody is asked
        with pytest.raises(FederationError, match="asked something else"):
            server.ask(0, "keys", {"ada": b"a", "bea": b"c"}, 100)
        assert server.ask(1, "keys", {"ada": b"a"}, 100) == {}
    again.remove()
    assert not list(federation.folder.glob("again.db*"))


def test_one_curator_for_one_journal(federation):
    one = federation.journal("one.db")
    with pytest.raises(FederationError, match="another curator is at work"):
        federation.journal("one.db")
    one.close_file()
    other = replace(federation.roster, method="jtree")
    with pytest.raises(FederationError, match="of another session"):
        Federation(federation.folder, other).journal("one.db")
    federation.journal("one.db").remove()


def test_a_curator_away_for_a_moment_is_waited_for(federation):
    journal, port = federation.journal("away.db"), free_port()
    with federation.server(journal, port=port):
        client = federation.client("ada", port, patience=LONG_S)
        session = join(client, federation.roster).session
    with pytest.raises(FederationError, match="cannot be reached"):
        client.send(Message("next", session), patience=0.3)
    got, tried = [], threading.Event()
    client._waiting = lambda reason: tried.set()
    waiting = threading.Thread(target=lambda: got.append(client.send(Message("next", session))))
    waiting.start()
    assert tried.wait(LONG_S)
    with federation.server(journal, port=port) as server:
        server.finish(outcome="aborted")
        waiting.join(LONG_S)
    assert got[0].kind == "end"
    client.close()
    journal.remove()


@pytest.mark.parametrize("url", ["http://h:1", "h:1", "https://", "https://h:1/x", "https://u:p@h:1", "https://h:x"])
def test_an_address_is_https(url):
    with pytest.raises(UsageError):
        address_of(url)
    assert address_of("https://h") == ("h", 443)
