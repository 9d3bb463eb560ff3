"""What objects look like: short in a console, drawn in a notebook, and nothing that could run or leak."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas
import pytest

import understudy
from clinic import CLINIC, people
from understudy.errors import UsageError
from understudy.privacy.custodian import STAMP
from understudy.query.answers import Comparison
from understudy.report.style import STYLE
from understudy.report.view_style import SCOPE, VIEW_STYLE, scoped
from understudy.report.views import view_of

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def things(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("views")
    text = CLINIC.replace('name = "clinic"', f'name = "{NASTY}"').replace('"yes"]', f'"{NASTY}"]')
    schema = understudy.Schema.from_toml(text)
    frame = people(2000).replace({"smoker": {"yes": NASTY}})
    ledger = understudy.Ledger(folder / "views.db")
    release = understudy.publish(frame, schema, epsilon=1, ledger=ledger, cap=3, method="privbayes", progress=False)
    found = understudy.evaluate(frame, release.sample(500), schema, measures=["tvd"])
    return {
        "release": release, "plan": understudy.plan(schema, epsilon=1), "schema": schema, "ledger": ledger,
        "evaluation": found, "answer": release.query("count by smoker"), "share": release.query("share where age >= 45"),
    }  # fmt: skip


KINDS = ["release", "plan", "schema", "ledger", "evaluation", "answer", "share"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_view_is_small_whole_and_runs_nothing(things: dict[str, Any], kind: str) -> None:
    html = things[kind]._repr_html_()
    assert html == view_of(things[kind]).html and len(html) < 200_000
    assert html.startswith('<div class="understudy"><style>') and html.endswith("</div>")
    assert "<script" not in html and "http" not in html and "javascript" not in html
    for name in ("div", "table", "tr", "details", "svg", "p"):
        assert len(re.findall(f"<{name}[ >]", html)) == html.count(f"</{name}>"), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_console_gets_one_short_line(things: dict[str, Any], kind: str) -> None:
    shown = repr(things[kind])
    assert len(shown) < 240 and "\n" not in shown and shown.startswith("<")


def test_printing_shows_the_page(things: dict[str, Any]) -> None:
    assert str(things["release"]) == things["release"].summary() and str(things["plan"]) == things["plan"].text()


def test_exact_figures_are_stamped_and_kept_apart(things: dict[str, Any], tmp_path: Path) -> None:
    found = things["evaluation"]
    for view in (view_of(found), found.plot(), found.plot("age")):
        assert STAMP in view.html
        with pytest.raises(UsageError, match="custodian"):
            view.save(tmp_path / "figures.html")
    found.plot().save(tmp_path / "pairs.custodian.html")
    found.report(tmp_path / "all.custodian.html")
    assert all(STAMP in file.read_text("utf-8") for file in tmp_path.iterdir())
    assert STAMP not in view_of(things["release"]).html


def test_figures_of_a_release(things: dict[str, Any], tmp_path: Path) -> None:
    release = things["release"]
    assert release.network().html.count("<svg") >= 1 and "age" in release.network().html
    assert "<svg" in release.plot("age").html
    page = release.report(tmp_path / "public.html")
    written = (tmp_path / "public.html").read_text("utf-8")
    from understudy.report import public_report

    assert written == public_report(release) and "<iframe" in page._repr_html_()
    with pytest.raises(UsageError, match="no attribute 'agee'"):
        release.plot("agee")


def test_an_answer_shows_its_intervals(things: dict[str, Any]) -> None:
    """Whoever asked for intervals sees them: both ends, what they cover, and the groups compared."""
    answer = things["answer"]
    first, second = (figure.by for figure in answer.figures)
    compared = (Comparison(second, first, -1234.5, -1400.25, 17.5),)
    shown = answer.with_intervals([(11.5, 22.5), (33.5, 44.5)], 0.9, "noise of a kind", compared)._repr_html_()
    for words in ("11.5", "22.5", "33.5", "44.5", "90 % interval: noise of a kind.", "-1,400.2", "no difference can"):
        assert words in shown, words
    assert "interval" not in answer._repr_html_()
    share = things["share"].with_intervals([(0.125, 0.25)], 0.95, "noise", ())._repr_html_()
    assert "0.12500 to 0.25000" in share and "95 % interval" in share


def test_an_answer_as_a_frame(things: dict[str, Any]) -> None:
    frame = things["answer"].to_pandas()
    assert isinstance(frame, pandas.DataFrame) and frame.columns.tolist() == ["smoker", "count", "stderr"]
    assert frame["count"].tolist() == [figure.value for figure in things["answer"].figures]
    assert things["share"].to_pandas().shape == (1, 2)


def test_the_sheet_of_views_touches_nothing_else() -> None:
    assert scoped("a,b{c:d}e{f:g}", ".x") == ".x a,.x b{c:d}.x e{f:g}"
    rules = re.sub(r"@media[^{]*\{((?:[^{}]*\{[^{}]*\})*)\}", r"\1", VIEW_STYLE)
    selectors = [s for rule in re.findall(r"([^{}]+)\{", rules) for s in rule.split(",")]
    assert selectors and all(SCOPE in s for s in selectors)
    assert STYLE.startswith(":root{color-scheme:light dark;--paper:") and "@media (prefers-color-scheme:dark)" in STYLE
