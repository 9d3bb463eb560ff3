"""Views and reports of panels, of tables with foreign keys, of rules and of what is bought: nothing is left out."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import understudy
from orders import orders, orders_schema
from understudy.errors import UsageError
from understudy.evaluate.hops import compare_tables
from understudy.privacy.custodian import STAMP
from understudy.report import public_report
from understudy.report.budget import TONES
from understudy.report.style import DARK, LIGHT, STYLE
from visits import visits, visits_schema

OPEN = """
[table]
name = "people"
rows = 4000
[attributes.job]
kind = "category"
values = "discover"
[attributes.age]
kind = "integer"
range = "discover"
[attributes.born]
kind = "discover"
[attributes.sex]
kind = "category"
values = ["f", "m"]
"""
RULED = """
[table]
name = "sums"
rows = 100
[attributes.a]
kind = "integer"
range = [0, 9]
[attributes.b]
kind = "integer"
range = [0, 18]
[[rules]]
rule = "b >= a"
[[uses]]
analysis = "a by b"
[[uses]]
target = "b"
"""


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> understudy.Release:
    ledger = tmp_path_factory.mktemp("linked") / "l.db"
    return understudy.publish(orders(60), orders_schema(), epsilon=4, ledger=ledger, cap="none", progress=False)


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> understudy.Release:
    ledger = tmp_path_factory.mktemp("panel") / "l.db"
    return understudy.publish(visits(60), visits_schema(), epsilon=4, ledger=ledger, cap="none", progress=False)


def texts(html: str) -> str:
    """Return what a reader sees of a page: no style sheet, no tags."""
    return re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL))


def test_every_table_is_in_the_view_and_in_the_report(linked: understudy.Release) -> None:
    for html in (linked._repr_html_(), public_report(linked)):
        for name in ("orders.channel", "items.price", "cards.gold", "region"):
            assert name in html, name
    assert "5 attributes" in public_report(linked) and "4 private tables" in public_report(linked)
    assert public_report(linked) == public_report(linked)


def test_an_attribute_below_the_root_is_drawn(linked: understudy.Release) -> None:
    drawn = linked.plot("orders.channel")
    assert "web" in drawn.html and "shop" in drawn.html and repr(drawn).startswith("<orders.channel:")
    with pytest.raises(UsageError, match="no attribute 'chanel'"):
        linked.plot("orders.chanel")
    with pytest.raises(UsageError, match="not part of the model"):
        linked.plot("orders.order_id")


def test_the_schema_shows_tables_people_rules_and_uses() -> None:
    html = texts(orders_schema()._repr_html_())
    assert "Up to 2 rows for a row of orders, which order names." in html and "price" in html and "gold" in html
    html = texts(visits_schema()._repr_html_())
    assert "Rows with the same patient are one person&#x27;s, in the order of year." in html
    html = texts(understudy.Schema.from_toml(RULED)._repr_html_())
    for words in ("b &gt;= a", "a table of a and b", "predicting b from all other columns"):
        assert words in html, words


def test_what_is_to_be_bought_is_not_called_dropped() -> None:
    html = texts(understudy.Schema.from_toml(OPEN)._repr_html_())
    assert "values to be bought" in html and "range to be bought" in html
    assert "not published" not in html and "drop" not in html and "nothing here was read" not in html
    assert re.search(r"4\s+attributes modelled", html)


@pytest.mark.costly
def test_no_internal_name_is_shown(linked: understudy.Release, panel: understudy.Release) -> None:
    shown: list[Any] = [linked, panel, linked.schema, panel.schema]
    shown += [understudy.plan(r.schema, epsilon=4, rows=60) for r in (linked, panel)]
    for thing in shown:
        assert "@" not in texts(thing._repr_html_())
    for release in (linked, panel):
        assert "@" not in texts(public_report(release))


def test_every_phase_has_a_colour_of_its_own() -> None:
    html = understudy.plan(orders_schema(), epsilon=2, rows=400)._repr_html_()
    swatches = re.findall(r'class="swatch"[^>]*><rect class="(tone\d+)"', html)
    assert len(swatches) == len(set(swatches)) == 8
    for colours in (LIGHT, DARK):
        named = re.findall(r"--t\d+:(#\w+)", colours)
        assert len(named) == len(set(named)) == TONES
    assert all(f".tone{i}{{" in STYLE for i in range(TONES))


@pytest.mark.costly
def test_an_answer_is_headed_by_its_question(panel: understudy.Release, tmp_path: Path) -> None:
    answer = panel.query("mean(weight)  by sex where state = ill")
    assert "<h1>mean(weight) by sex where state = ill</h1>" in answer._repr_html_()
    assert answer.as_json().keys() == {"groups", "stderr_covers", "notes"}


def test_comparing_tables_has_a_view_under_the_stamp(linked: understudy.Release) -> None:
    found = compare_tables(orders(60), linked.sample(), orders_schema())
    html = found._repr_html_()
    assert html.count(STAMP) == 1 and "accounts and orders" in html and "TVD of rows per parent" in html
    assert repr(found).count("\n") == 0 and STAMP in repr(found) and str(found) == found.text()
    with pytest.raises(UsageError, match="one table"):
        compare_tables(orders(3), orders(3), visits_schema())
