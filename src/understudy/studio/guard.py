"""The guard: what every request must show before a page hears of it, and what every answer carries.

    Host             one of this server's own names: a name that was rebound to this machine is refused
    Origin           absent or this server's own; of a change: present
    Sec-Fetch-Site   absent, "same-origin" or "none"; another port of this machine is "same-site", which is refused
    path and cookie  under the server's random path, with the cookie of a session
    method           GET and HEAD read; POST changes, and carries the session's token in a header; nothing else exists

One route is outside: POST /enter, which takes a token from the entrance file, whose origin is "null".
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from understudy.studio.sessions import HEADER, Session, Sessions
from understudy.studio.texts import TEXTS

ENTER = "/enter"
MAX_BODY = 1 << 20  # bytes of a change
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_ONWARD = """<!DOCTYPE html>
<html lang="en"><title>{title}</title><link rel="icon" href="{onward}assets/icon.svg">
<meta http-equiv="refresh" content="0;url={onward}"></html>
"""
ALWAYS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
UNLESS_SAID = {"content-security-policy": _POLICY, "x-frame-options": "DENY"}


class Guard:
    """Refuses what did not come from a page of this server, by a browser that came in."""

    def __init__(self, app: ASGIApp, sessions: Sessions, port: int, seen: Callable[[], None]) -> None:
        self._app, self._sessions, self._seen = app, sessions, seen
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.cookie = f"understudy-studio-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        answer = self._with_headers(send)
        headers = Headers(scope=scope)
        if len(headers.getlist("host")) != 1 or headers["host"] not in self._hosts:
            await _refusal(421, "refused_host")(scope, receive, answer)
        elif scope["path"] == ENTER:
            await (await self._enter(scope, headers, receive))(scope, receive, answer)
        elif (refused := self._refused(scope, headers)) is not None:
            await refused(scope, receive, answer)
        else:
            self._seen()
            await self._app(scope, _limited(receive), answer)

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """Return why the request is refused, None where it may pass; sets the session."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        change = scope["method"] == "POST"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return _refusal(405, "refused_method")
        if (origin is not None or change) and origin != f"http://{headers['host']}":
            return _refusal(403, "refused_origin")
        if site not in ((None, "same-origin") if change else (None, "same-origin", "none")):
            return _refusal(403, "refused_origin")
        session = self._session(scope["path"], headers)
        if session is None:
            return _refusal(403, "refused_session")
        if change and not hmac.compare_digest(headers.get(HEADER, "").encode(), session.token.encode()):
            return _refusal(403, "refused_token")
        if change and not headers.get("content-length", "").isdecimal():
            return _refusal(411, "refused_length")
        if change and int(headers["content-length"]) > MAX_BODY:
            return _refusal(413, "refused_length")
        scope["session"] = session
        return None

    def _session(self, path: str, headers: Headers) -> Session | None:
        if not path.startswith(self._sessions.base + "/"):
            return None
        return self._sessions.session(_cookie(headers, self.cookie))

    async def _enter(self, scope: Scope, headers: Headers, receive: Receive) -> Response:
        """Take the token of the entrance file, and give a cookie for it.

        The page that answers goes on by itself: a redirect would still count as coming from the file, and a browser
        sends no strict cookie with that.
        """
        if scope["method"] != "POST":
            return _refusal(403, "refused_session")
        if headers.get("origin") not in (None, "null", f"http://{headers['host']}"):
            return _refusal(403, "refused_origin")
        body = await _body(receive, 2000)
        session = self._sessions.enter(parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0])
        if session is None:
            return _refusal(403, "refused_entry")
        self._seen()
        onward = f"{self._sessions.base}/"
        response = Response(_ONWARD.format(title=TEXTS["title"], onward=onward), media_type="text/html")
        response.set_cookie(self.cookie, session.cookie, path=onward, httponly=True, samesite="strict")
        return response

    @staticmethod
    def _with_headers(send: Send) -> Send:
        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in ALWAYS.items():
                    headers[name] = value
                for name, value in UNLESS_SAID.items():
                    headers.setdefault(name, value)
            await send(message)

        return answer


def _cookie(headers: Headers, name: str) -> str | None:
    try:
        found: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
    except CookieError:
        return None
    return found[name].value if name in found else None


def _refusal(status: int, text: str) -> Response:
    return PlainTextResponse(TEXTS[text] + "\n", status)


async def _body(receive: Receive, most: int) -> bytes:
    body, more = b"", True
    while more and len(body) <= most:
        message: dict[str, Any] = dict(await receive())
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body[:most]


def _limited(receive: Receive) -> Receive:
    """Hand on no more than a change may hold, whatever its header said."""
    left = [MAX_BODY]

    async def limited() -> Message:
        message = await receive()
        left[0] -= len(message.get("body", b""))
        return message if left[0] >= 0 else {"type": "http.disconnect"}

    return limited
