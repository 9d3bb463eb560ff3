"""The CUSTODIAN report: stamped, exact, and kept apart from the public one; bought figures are public."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from report_stand_ins import ROWS, nasty_evaluation, nasty_frame, nasty_release, nasty_schema, outside

from understudy.errors import UsageError
from understudy.evaluate.buying import BoughtFigures, buy
from understudy.evaluate.evaluation import Evaluation, evaluate
from understudy.privacy.custodian import STAMP
from understudy.publishing import publish
from understudy.release import Release
from understudy.report import custodian_report, evaluation_report, public_report
from understudy.report.file import check_custodian_file, check_public_file, check_release
from understudy.report.page import MAX_BYTES
from understudy.schema import Attribute, Intervals, Schema
from understudy.testing import SeededSource


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return nasty_release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def found(release: Release) -> Evaluation:
    return nasty_evaluation(release)


@pytest.fixture(scope="module")
def bought(release: Release, tmp_path_factory: pytest.TempPathFactory) -> BoughtFigures:
    ledger = tmp_path_factory.mktemp("ledger") / "ledger.db"
    return buy(
        nasty_frame(), release.sample(seed=4), nasty_schema(), epsilon=1, ledger=ledger, cap="none", alpha=[2],
        source=SeededSource(1),
    )  # fmt: skip


def test_the_stamp_is_above_below_and_on_every_sheet(found: Evaluation) -> None:
    html = custodian_report(found)
    body = html[html.index("<body") :]
    assert body.startswith(f'<body class="custodian"><div class="stamp" role="note">{STAMP}</div>')
    assert html.count(STAMP) == 2 and f"<strong>{STAMP}</strong>" in html
    assert ".stamp{display:table-header-group" in html  # repeated by the printer


def test_every_part_is_there(found: Evaluation, release: Release) -> None:
    html = custodian_report(found, release)
    for key in ("promise", "budget", "errors", "pairs", "tables", "classifiers", "numbers", "more", "network", "card"):
        assert f'id="{key}"' in html
    worst = found.tables[3].worst[0]
    assert f"{worst.tvd:.4f}" in html and f"{found.tables[2].mean:.4f}" in html
    assert html.count('class="heat"') == 2 and 'class="mark"' in html
    assert outside(html) == [] and len(html.encode()) < MAX_BYTES
    assert "<script" not in html and "This page is not among them." in html


def test_the_overlay_is_both_tables(found: Evaluation) -> None:
    html = custodian_report(found)
    for share in (*found.one_way["town"].original, *found.one_way["town"].synthetic):
        assert f"{100 * share:.1f} %" in html


def test_parts_that_were_not_asked_for_are_left_out(release: Release) -> None:
    html = custodian_report(nasty_evaluation(release, alpha=[1], classify=[], measures=["tvd"], network=None))
    assert 'id="pairs"' not in html and 'id="classifiers"' not in html and 'id="tables"' in html and STAMP in html


def test_the_public_page_has_no_custodian_figure(found: Evaluation, release: Release) -> None:
    """Not one exact share, error or mean, to the digits in which the custodian sees them."""
    html = public_report(release)
    exact = [f"{t.tvd:.4f}" for errors in found.tables.values() for t in errors.each]
    exact += [f"{found.tables[2].mean:.4f}", f"{found.tables[2].k_marginal:.1f}"]
    assert not [figure for figure in exact if figure in html]
    assert "What holds" in html  # its map shows expected errors, from the release alone


def test_figures_decide_the_kind_of_page(found: Evaluation, release: Release, bought: BoughtFigures) -> None:
    assert STAMP in evaluation_report(found) and STAMP in evaluation_report(found, release)
    alone, beside = evaluation_report(bought), evaluation_report(bought, release)
    assert STAMP not in alone + beside
    for page in (alone, beside):
        assert "mean TVD of 2-way tables" in page and f"{bought.figures[0].value:.4f}" in page and "epsilon 1" in page
    assert 'id="card"' in beside and 'id="card"' not in alone
    assert "costs add up" in beside and "costs add up" not in public_report(release)
    for page in (alone, beside):
        assert "figures that were bought" in page and "no row was read" not in page
        assert "share of rows that would have to move" in page and "k-marginal score" in page


def test_same_figures_same_bytes(found: Evaluation, release: Release) -> None:
    assert custodian_report(found, release) == custodian_report(found, release)


@pytest.mark.parametrize("name", ["out.html", "out.custodian.htm", "custodian.html", "out.custodian.html.txt"])
def test_a_custodian_file_is_called_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"must end \.custodian\.html"):
        check_custodian_file(tmp_path / name)


def test_a_public_file_is_not_called_one(tmp_path: Path) -> None:
    check_public_file(tmp_path / "out.html")
    check_custodian_file(tmp_path / "out.custodian.html")
    for name in ("out.custodian.html", "out.CUSTODIAN.html", "out.pdf"):
        with pytest.raises(UsageError):
            check_public_file(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be written"):
        check_public_file(tmp_path / "nowhere" / "out.html")


def test_a_release_of_another_schema_is_refused(release: Release, tmp_path: Path) -> None:
    own, other = tmp_path / "own.toml", tmp_path / "other.toml"
    own.write_text(nasty_schema().to_toml(), encoding="utf-8")
    other.write_text(nasty_schema().to_toml().replace(f"rows = {ROWS}", "rows = 601"), encoding="utf-8")
    check_release(release, own)
    with pytest.raises(UsageError, match="another schema"):
        check_release(release, other)


def test_the_schema_as_it_was_declared_is_the_release_s_own(tmp_path: Path) -> None:
    """Bins are found while publishing, so the release's schema is not the file's; its card has the hash of the file."""
    own = tmp_path / "own.toml"
    own.write_text(
        '[table]\nname = "t"\nrows = 300\n[attributes.x]\nkind = "integer"\nrange = [0, 999]\n', encoding="utf-8"
    )
    table = {"x": [7 * i % 1000 for i in range(300)]}
    release = publish(pa.table(table), own, epsilon=1, ledger=tmp_path / "l.db", cap="none")
    assert release.schema.hash != Schema.open(own).hash
    check_release(release, own)


def test_a_sample_of_tables_is_stated_and_may_be_broken_on_a_phone(release: Release) -> None:
    html = custodian_report(nasty_evaluation(release, alpha=[2], tables=2, seed=5, measures=["tvd"], classify=[]))
    assert '<td class="figure many">2 of 3, seed 5</td>' in html and ".many{white-space:normal}" in html


def test_the_spread_of_dates_has_a_unit(tmp_path: Path) -> None:
    schema = Schema("t", (Attribute("day", Intervals("date", (18262.0, 18300.0, 18400.0))),), rows=2)
    frame = pd.DataFrame({"day": ["2020-01-01", "2020-01-03"]})
    html = custodian_report(evaluate(frame, frame, schema))
    assert "standard deviation, days" in html and "2020-01-02" in html


def test_figures_come_with_what_they_mean(found: Evaluation) -> None:
    html = custodian_report(found)
    assert "rows were copied" in html and "A range query asks" in html and "depend on each other" in html
