"""What a page that can spend a privacy budget must hold: each test does the attack."""

from __future__ import annotations

import http.client
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from starlette.routing import Mount, Route
from visitor import HOST, ORIGIN, PORT, Visitor, write_table

from understudy.errors import UsageError
from understudy.studio.app import routes
from understudy.studio.entrance import Entrance
from understudy.studio.server import StudioServer, check_host
from understudy.studio.sessions import HEADER, Sessions


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    write_table(tmp_path)
    return Visitor(tmp_path)


def every_route(visitor: Visitor) -> list[tuple[str, str]]:
    """Method and path of every route, with something in the place of its parameters."""
    found = []
    for route in routes(visitor.studio):
        assert isinstance(route, Route) and not isinstance(route, Mount) and route.methods
        path = route.path.replace("{run}", "0" * 20).replace("{name}", "studio.css").replace("{what}", "release")
        found += [(method, visitor.base + path) for method in sorted(route.methods - {"HEAD"})]
    assert len(found) > 20
    return found


# -- who is let in -------------------------------------------------------------------------------------------------


def test_every_route_refuses_a_browser_without_a_session(visitor):
    visitor.client.cookies.clear()
    for method, path in every_route(visitor):
        answer = visitor.client.request(method, path, headers=visitor.headers)
        assert answer.status_code == 403, path


def test_every_route_refuses_a_made_up_cookie(visitor):
    visitor.client.cookies.clear()
    for method, path in every_route(visitor):
        headers = visitor.headers | {"cookie": f"understudy-studio-{PORT}=guessed"}
        assert visitor.client.request(method, path, headers=headers).status_code == 403, path


def test_without_the_path_the_cookie_is_nothing(visitor):
    """The cookie of one host goes to all its ports; who has it must know the random path as well."""
    stolen = {"cookie": f"understudy-studio-{PORT}={visitor.session.cookie}"}
    for path in ("/", "/schema", "/publish", "//schema", "/../schema"):
        assert visitor.client.get(path, headers=stolen).status_code == 403


def test_the_cookie_is_strict_hidden_from_scripts_and_of_the_random_path(visitor):
    cookie = visitor.entered.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and f"Path={visitor.base}/" in cookie
    assert len(visitor.base) >= 20


def test_an_entrance_opens_once(visitor):
    token = visitor.studio.sessions.new_entry()
    enter = lambda: visitor.client.post("/enter", data={"token": token}, headers={"origin": "null"}).status_code  # noqa: E731
    assert (enter(), enter()) == (200, 403)


def test_an_entrance_is_gone_in_a_minute():
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    late, early = sessions.new_entry(), sessions.new_entry()
    now[0] = 59.0
    assert sessions.enter(early) is not None
    now[0] = 61.0
    assert sessions.enter(late) is None


def test_a_wrong_token_or_another_pages_form_does_not_enter(visitor):
    good = visitor.studio.sessions.new_entry
    assert visitor.client.post("/enter", data={"token": "guess"}, headers={"origin": "null"}).status_code == 403
    assert (
        visitor.client.post("/enter", data={"token": good()}, headers={"origin": "http://evil.example"}).status_code
        == 403
    )
    assert visitor.client.get("/enter", params={"token": good()}).status_code == 403


def test_the_entrance_file_is_for_its_owner_alone_and_hides_the_token_from_addresses():
    entrance = Entrance(f"{ORIGIN}/enter", "the-token")
    try:
        assert stat.S_IMODE(entrance.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(entrance.path.parent.stat().st_mode) == 0o700
        page = entrance.path.read_text()
        assert 'method="post"' in page and "?token" not in page and "the-token" not in entrance.path.as_uri()
    finally:
        entrance.close()
    assert not entrance.path.parent.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="becoming another user needs root")
def test_another_user_of_the_machine_cannot_read_the_entrance():
    entrance = Entrance(f"{ORIGIN}/enter", "the-token")
    try:
        script = f"import os; os.setuid(65534); open({str(entrance.path)!r}).read()"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode != 0 and "PermissionError" in done.stderr
    finally:
        entrance.close()


# -- where a request comes from ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", f"127.0.0.1.evil:{PORT}"]
)
def test_a_rebound_name_is_refused(visitor, host):
    for path in (visitor.base + "/schema", "/enter"):
        assert visitor.client.get(path, headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", f"http://127.0.0.1:{PORT + 1}", f"http://localhost:{PORT}", f"https://{HOST}", "null"],
)
def test_no_request_of_another_origin_passes(visitor, origin):
    for method, path in every_route(visitor):
        headers = visitor.headers | {"origin": origin}
        assert visitor.client.request(method, path, headers=headers).status_code == 403, path


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_request_of_another_site_or_port_passes(visitor, site):
    """Another port of this machine is the same site: the strict cookie travels, and the request is refused."""
    for method, path in every_route(visitor):
        headers = visitor.headers | {"sec-fetch-site": site}
        assert visitor.client.request(method, path, headers=headers).status_code == 403, path


def test_a_change_needs_its_origin_and_the_token_in_a_header(visitor):
    for method, path in every_route(visitor):
        if method != "POST":
            continue
        for left_out in ("origin", HEADER):
            headers = {key: value for key, value in visitor.headers.items() if key != left_out}
            assert visitor.client.post(path, headers=headers).status_code == 403, (path, left_out)
        wrong = visitor.headers | {HEADER: "guess"}
        assert visitor.client.post(path, headers=wrong).status_code == 403
        in_form = {key: value for key, value in visitor.headers.items() if key != HEADER}
        assert visitor.client.post(path, data={HEADER: visitor.session.token}, headers=in_form).status_code == 403


def test_the_token_of_one_session_is_nothing_in_another(visitor):
    other = visitor.studio.sessions.enter(visitor.studio.sessions.new_entry())
    headers = visitor.headers | {HEADER: other.token}
    assert visitor.client.post(visitor.base + "/schema/check", headers=headers).status_code == 403


def test_nobody_is_told_that_another_origin_may_ask(visitor):
    answer = visitor.client.options(visitor.base + "/schema", headers={"origin": "http://evil.example"})
    assert answer.status_code in (403, 405)
    for method, path in every_route(visitor):
        answer = visitor.client.request(method, path, headers=visitor.headers)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_other_methods_do_not_exist(visitor):
    for method in ("PUT", "DELETE", "PATCH", "TRACE", "OPTIONS"):
        assert visitor.client.request(method, visitor.base + "/schema", headers=visitor.headers).status_code == 405


def test_a_large_change_is_refused_before_it_is_read(visitor):
    answer = visitor.client.post(visitor.base + "/schema/text", content=b"x" * (2 << 20), headers=visitor.headers)
    assert answer.status_code == 413


# -- what every answer carries -------------------------------------------------------------------------------------


def test_every_answer_carries_the_policy(visitor):
    answers = [visitor.client.request(method, path, headers=visitor.headers) for method, path in every_route(visitor)]
    answers += [visitor.client.get("/"), visitor.client.get("/", headers={"host": "evil"}), visitor.entered]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert answer.headers["x-frame-options"] == "DENY" and answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_no_page_has_a_script_a_style_or_a_handler_of_its_own(visitor):
    """The policy would stop it; a page that needs one would not work."""
    for path in ("/schema", "/schema/edit", "/budget", "/publish", "/explore"):
        page = visitor.get(path, schema="schema.toml" if path != "/explore" else "").text
        assert "<style" not in page and " style=" not in page and "hx-on" not in page and "javascript:" not in page
        assert page.count("<script") == page.count("<script src=") == 2


def test_no_get_changes_anything(visitor):
    folder = visitor.studio.folder.root
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
    for method, path in every_route(visitor):
        if method == "GET":
            query = {"schema": "schema.toml", "epsilon": "1", "file": "x.release.zip"}
            visitor.client.get(path, params=query, headers=visitor.headers)
            assert visitor.client.post(path, headers=visitor.headers).status_code in (404, 405)
        else:
            assert visitor.client.get(path, headers=visitor.headers).status_code in (404, 405), path
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("*")} == before


# -- the server ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_another_host_is_refused(host):
    with pytest.raises(UsageError, match="tunnel"):
        check_host(host)


def serving(visitor: Visitor, **options: float) -> tuple[StudioServer, threading.Thread]:
    server = StudioServer(visitor.studio, **options)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    return server, thread


def answered(port: int, path: str) -> int:
    """Ask a server that is starting, until it answers; the status."""
    ends = time.monotonic() + 60
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except ConnectionError:
            assert time.monotonic() < ends
            time.sleep(0.05)
        finally:
            connection.close()


def test_the_server_listens_on_this_machine_alone_and_logs_nothing(visitor, capfd):
    server, thread = serving(visitor)
    try:
        assert answered(server.port, "/secret-in-the-address") == 403
        assert server._socket.getsockname()[0] == "127.0.0.1"
        other = next(
            (
                a[4][0]
                for a in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)
                if not a[4][0].startswith("127.")
            ),
            None,
        )
        if other is not None:
            with pytest.raises(OSError):
                socket.create_connection((other, server.port), timeout=5)
    finally:
        server.stop()
        thread.join(60)
    said = capfd.readouterr()
    assert "secret" not in said.out + said.err and not thread.is_alive()


def test_the_server_ends_when_nobody_uses_it(visitor):
    server, thread = serving(visitor, idle_minutes=0.01)
    entrance = server.new_entrance()
    assert answered(server.port, "/") == 403  # a stranger's request is no use
    thread.join(60)
    assert not thread.is_alive() and not entrance.path.exists()
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", server.port), timeout=5)
