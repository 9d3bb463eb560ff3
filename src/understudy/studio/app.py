"""The application: every route, behind the guard. GET reads, POST changes, and there is nothing else."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp

from understudy.errors import UsageError
from understudy.report.view_style import VIEW_STYLE
from understudy.studio.budget_screen import BudgetScreen
from understudy.studio.explore_screen import ExploreScreen
from understudy.studio.guard import Guard
from understudy.studio.pages import HERE, Pages
from understudy.studio.publish_screen import PublishScreen
from understudy.studio.schema_screen import SchemaScreen
from understudy.studio.studio import Studio

ASSETS = {
    "studio.css": "text/css",
    "studio.js": "text/javascript",
    "htmx.min.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


def make_app(studio: Studio, port: int) -> ASGIApp:
    """Return the guarded application of a studio that listens on this port."""
    inner = Starlette(routes=[Mount(studio.sessions.base, routes=routes(studio))])
    return Guard(inner, studio.sessions, port, lambda: studio.used())


def routes(studio: Studio) -> list[BaseRoute]:
    """Return every route, under the server's own path."""
    pages = Pages(studio)
    schema, budget = SchemaScreen(studio, pages), BudgetScreen(studio, pages)
    publish, explore = PublishScreen(studio, pages), ExploreScreen(studio, pages)
    read, change = pages.reading, pages.change
    reads = {
        "/": read(lambda request: RedirectResponse(studio.url("/schema")), "schema"),
        "/assets/{name}": read(_asset, "schema"),
        "/schema": read(schema.choose, "schema"),
        "/schema/edit": read(schema.edit, "schema"),
        "/budget": read(budget.show, "budget"),
        "/budget/forecast": read(budget.forecast, "budget"),
        "/publish": read(publish.show, "publish"),
        "/runs/{run}": read(publish.run, "publish"),
        "/runs/{run}/events": publish.events,
        "/runs/{run}/files/{what}": read(publish.download, "publish"),
        "/report": read(publish.report, "explore"),
        "/explore": read(explore.choose, "explore"),
        "/explore/release": read(explore.show, "explore"),
        "/explore/column": read(explore.column, "explore"),
        "/explore/query": read(explore.query, "explore"),
        "/explore/rows": read(explore.rows, "explore"),
        "/explore/sample": read(explore.sample, "explore"),
    }
    changes = {
        "/schema/draft": schema.draft,
        "/schema/column": schema.save_column,
        "/schema/settle": schema.settle_column,
        "/schema/table": schema.save_table,
        "/schema/table/settle": schema.settle_table,
        "/schema/rules": schema.save_rules,
        "/schema/text": schema.save_text,
        "/schema/check": schema.check,
        "/publish/prepare": publish.prepare,
        "/publish/start": publish.start,
        "/runs/{run}/sign": publish.sign,
    }
    return [
        *(Route(path, endpoint, methods=["GET"]) for path, endpoint in reads.items()),
        *(Route(path, change(handler), methods=["POST"]) for path, handler in changes.items()),
    ]


def _asset(request: Request) -> Response:
    name = request.path_params["name"]
    if name == "figures.css":
        return Response(VIEW_STYLE, media_type="text/css")
    if name not in ASSETS:
        raise UsageError("there is no such file")
    return FileResponse(HERE / "assets" / name, media_type=ASSETS[name])
