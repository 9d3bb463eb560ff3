"""Pages: templates filled in, with every name escaped, and the answers that changes give."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import jinja2
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from understudy.errors import UnderstudyError, UsageError
from understudy.schema.scales import ORDERED_KINDS
from understudy.studio.sessions import HEADER, Session
from understudy.studio.studio import Studio
from understudy.studio.texts import TEXTS
from understudy.version import VERSION

HERE = Path(__file__).parent
MAX_FIELDS = 500
Form = Mapping[str, str]
Endpoint = Callable[[Request], Awaitable[Response]]


class Pages:
    """Fills templates for one studio."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined,
            trim_blocks=True, lstrip_blocks=True,
        )  # fmt: skip
        self._environment.globals |= {
            "t": TEXTS,
            "version": VERSION,
            "url": self.url,
            "folder": studio.folder.root.name,
            "ordered": " ".join(ORDERED_KINDS),  # the kinds that a range is asked of
        }
        self._environment.filters["drawn"] = Markup  # markup of the report's own builders, which escape

    def url(self, path: str, **query: str) -> str:
        """Return an address with its query escaped."""
        said = urlencode({key: value for key, value in query.items() if value})
        return self._studio.url(path) + (f"?{said}" if said else "")

    def fill(self, template: str, **values: Any) -> str:
        """Return a filled template."""
        return self._environment.get_template(template).render(**values)

    def page(self, request: Request, template: str, screen: str, status: int = 200, **values: Any) -> Response:
        """Return a whole page of a screen; its token lets htmx make changes."""
        session: Session = request.scope["session"]
        headers = f'{{"{HEADER}": "{session.token}"}}'
        schema = values.pop("schema_name", "")
        html = self.fill(template, screen=screen, headers=headers, schema_name=schema, **values)
        return HTMLResponse(html, status)

    def part(self, template: str, **values: Any) -> Response:
        """Return a piece of a page."""
        return HTMLResponse(self.fill(template, **values))

    def onward(self, path: str, **query: str) -> Response:
        """Send the browser to another page, after a change."""
        return Response(status_code=204, headers={"HX-Redirect": self.url(path, **query)})

    # -- endpoints -------------------------------------------------------------------------------------------

    def reading(self, handler: Callable[[Request], Response], screen: str) -> Endpoint:
        """Return the endpoint of a page or a piece of one; an error of ours becomes words."""

        async def endpoint(request: Request) -> Response:
            try:
                return await run_in_threadpool(handler, request)
            except Exception as raised:
                error = told(raised)
                if request.headers.get("hx-request"):
                    return self._error(error)
                return self.page(request, "problem.html", screen, 404, message=error.message)

        return endpoint

    def change(self, handler: Callable[[Request, Form], Response]) -> Endpoint:
        """Return the endpoint of a change, which is given the form that was sent."""

        async def endpoint(request: Request) -> Response:
            try:
                form = sent_form(await request.body())
                return await run_in_threadpool(handler, request, form)
            except Exception as raised:
                return self._error(told(raised))

        return endpoint

    def _error(self, error: UnderstudyError) -> Response:
        headers = {"HX-Retarget": "#message", "HX-Reswap": "innerHTML"}
        return HTMLResponse(self.fill("message.html", message=error.message, good=False), 422, headers)


class Screen:
    """A screen of one studio: what its addresses show and change."""

    def __init__(self, studio: Studio, pages: Pages) -> None:
        self._studio, self._pages = studio, pages


def told(raised: Exception) -> UnderstudyError:
    """Return an error that may be shown; the text of a foreign one may hold a cell, so its kind alone is told."""
    if isinstance(raised, UnderstudyError):
        return raised
    return UnderstudyError(TEXTS["unexpected"].format(kind=type(raised).__name__))


def sent_form(body: bytes) -> Form:
    """Return the fields of a form, the last one of each name."""
    try:
        fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise UsageError("the form cannot be read") from None
    return {key: values[-1] for key, values in fields.items()}
