"""The screen Explore: a release looked at, asked and drawn from. It needs no private data and costs nothing."""

from __future__ import annotations

import csv
import re
import tempfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from understudy.errors import UsageError
from understudy.query.answers import Answer, Figure
from understudy.release import Release
from understudy.report.markup import join
from understudy.report.network import network_section
from understudy.report.one_way import OneWay
from understudy.report.what_holds import what_holds_section
from understudy.studio.folder import RELEASES
from understudy.studio.pages import Screen
from understudy.undo import undone_on_error

PREVIEW = 12  # rows that are shown
MAX_ROWS = 1_000_000  # of a download; more on the command line
LINES = 24  # of one distribution
_EMPTY_HEAD = '<th class="bar"></th>'
_WIDTH = re.compile(r'<div style="(?:max-)?width:([0-9]+)px(?:;max-width:100%)?"><svg class="(network|heat)" ')


class ExploreScreen(Screen):
    """Distributions, the network, what holds, questions and rows."""

    def choose(self, request: Request) -> Response:
        """Show the releases of the folder."""
        names = self._studio.folder.names(RELEASES)
        return self._pages.page(request, "releases.html", "explore", releases=names)

    def show(self, request: Request) -> Response:
        """Show one release."""
        name = request.query_params.get("file", "")
        release = self._studio.release(name)
        holds = what_holds_section(release)
        return self._pages.page(
            request, "explore.html", "explore", name=name, release=release, card=release.card,
            attributes=release.schema.modelled, column=_plot(release, release.schema.names[0]),
            network=without_styles(str(network_section(release) or "")),
            holds=without_styles(str(join(holds.body))) if holds else "", example=example_question(release),
        )  # fmt: skip

    def column(self, request: Request) -> Response:
        """Return the distribution of one column."""
        release = self._studio.release(request.query_params.get("file", ""))
        attribute = release.schema[request.query_params.get("column", "")]
        if not attribute.modelled:
            raise UsageError(f"{attribute.name} is not part of the model")
        return self._pages.part("figure.html", figure=_plot(release, attribute.name))

    def query(self, request: Request) -> Response:
        """Return the answer to a question, with an interval for every figure."""
        query = request.query_params
        release = self._studio.release(query.get("file", ""))
        answer = release.query(query.get("question", ""), _confidence(query.get("confidence", "0.95")))
        return self._pages.part("answer.html", answer=answer, lines=[_line(answer, f) for f in answer.figures[:500]])

    def rows(self, request: Request) -> Response:
        """Return a few synthetic rows that meet a condition."""
        release = self._studio.release(request.query_params.get("file", ""))
        with tempfile.TemporaryDirectory(prefix="understudy-studio-") as place:
            path = _drawn(release, Path(place), PREVIEW, request.query_params.get("given", ""))
            text = path.read_text(encoding=release.schema.csv.encoding)
        lines = list(csv.reader(text.splitlines(), delimiter=release.schema.csv.delimiter))
        head, body = (lines[0], lines[1:]) if release.schema.csv.header else (list(release.columns), lines)
        return self._pages.part("rows.html", head=head, body=body)

    def sample(self, request: Request) -> Response:
        """Hand out a file of synthetic rows, drawn for this download."""
        query = request.query_params
        name = query.get("file", "")
        release = self._studio.release(name)
        wanted = query.get("rows", "").strip()
        count = int(wanted) if wanted.isdecimal() else release.default_rows
        if not 1 <= count <= MAX_ROWS:
            raise UsageError(f"rows to download are a whole number from 1 to {MAX_ROWS:,}; more with understudy sample")
        place = tempfile.TemporaryDirectory(prefix="understudy-studio-")
        with undone_on_error(place.cleanup):
            path = _drawn(release, Path(place.name), count, query.get("given", ""))
        stem = name.removesuffix(RELEASES[0])
        return FileResponse(
            path, filename=f"{stem}-rows.csv", media_type="application/octet-stream",
            background=BackgroundTask(place.cleanup),
        )  # fmt: skip


def _plot(release: Release, name: str) -> str:
    return without_styles(str(OneWay(release, release.schema[name]).card(LINES)))


def without_styles(html: str) -> str:
    """Return a figure of the report for a page whose policy allows no style in an element: widths are attributes.

    The head of a column of bars is no header: a screen reader would read an empty one.
    """
    return _WIDTH.sub(r'<div class="\2"><svg width="\1" ', html).replace(_EMPTY_HEAD, '<td class="bar"></td>')


def example_question(release: Release) -> str:
    """Return a question that this release can answer, to begin with."""
    names = [a.name for a in release.schema.modelled if a.size <= 12 and a.name.isidentifier()]
    return f"share by {names[0]}" if names else "count"


def _confidence(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < 1:
        raise UsageError("a confidence lies between 0 and 1, 0.95 for example")
    return found


def _line(answer: Answer, figure: Figure) -> tuple[list[str], str, str]:
    ends = " to ".join(_shown(answer, end) for end in figure.interval or ())
    return [figure.by[name] for name in answer.by], _shown(answer, figure.value), ends


def _shown(answer: Answer, value: float | None) -> str:
    if value is None:
        return "–"
    if answer.measure == "share":
        return f"{100 * value:.2f} %"
    return f"{value:,.0f}" if answer.measure == "count" else f"{value:,.4g}"


def _drawn(release: Release, place: Path, rows: int, given: str) -> Path:
    path = place / "rows.csv"
    release.write(path, rows, given.strip() or None, progress=False)
    return path
