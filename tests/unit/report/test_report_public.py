"""The PUBLIC report: escaped, self-contained, the same bytes for the same release, and never an exact figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_stand_ins import SCRIPT, nasty_evaluation, nasty_release, outside

from understudy.errors import UsageError
from understudy.privacy.custodian import STAMP, Exact
from understudy.release import Release
from understudy.report import bought_report, public_report
from understudy.report.page import MOST_BYTES


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return nasty_release(tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def html(release: Release) -> str:
    return public_report(release)


def test_names_and_values_stay_text(html: str) -> None:
    assert "<script" not in html and "<img" not in html and "<b>people" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "&quot;&gt;&lt;img src=x onerror=alert(2)&gt;" in html


def test_nothing_is_asked_from_outside(html: str) -> None:
    assert outside(html) == [] and "://" not in html
    assert "default-src 'none'" in html.replace("&#x27;", "'")
    assert len(html.encode()) < MOST_BYTES


def test_what_it_says(html: str, release: Release) -> None:
    for words in (release.card["in_words"], *release.card["not_promised"], "Signature", release.hash, "epsilon 2"):
        assert words.replace("'", "&#x27;") in html
    for key in ("promise", "budget", "network", "tables", "limits", "card"):
        assert f'id="{key}"' in html
    assert all(charge["purpose"] in html for charge in release.card["charges"])
    assert "NOT PRIVATE" in html  # it was drawn from a seed
    assert STAMP not in html and "seconds" not in html


def test_same_release_same_bytes(html: str, release: Release, tmp_path: Path) -> None:
    assert public_report(release) == html
    release.save(tmp_path / "a.zip")
    release.save(tmp_path / "b.zip")
    assert public_report(Release.open(tmp_path / "a.zip")) == public_report(Release.open(tmp_path / "b.zip"))


def test_style_for_paper_dark_and_narrow(html: str) -> None:
    for rule in (
        "@media print{",
        "@media (prefers-color-scheme:dark){",
        "@media (max-width:640px){",
        "print-color-adjust:exact",
    ):
        assert rule in html
    assert 'name="viewport"' in html


def test_exact_figures_are_refused(release: Release) -> None:
    found = nasty_evaluation(release)
    wrong: Any = found
    with pytest.raises(UsageError, match="custodian only"):
        public_report(release, (wrong,))
    with pytest.raises(UsageError, match="custodian only"):
        bought_report(wrong)
    release.facts["tvd"] = Exact(0.25)  # after the release was made
    try:
        with pytest.raises(UsageError, match="custodian only"):
            public_report(release)
    finally:
        del release.facts["tvd"]
    other: Any = {"tvd": 0.25}
    with pytest.raises(TypeError):
        public_report(release, (other,))


def test_a_model_without_a_network_shows_its_cliques(release: Release) -> None:
    html = public_report(replace(release, facts={}))
    assert "The cliques" in html and 'class="network"' in html


def test_a_model_without_structure_has_no_drawing(tmp_path: Path) -> None:
    plain = nasty_release(tmp_path, estimate="paper")
    html = public_report(replace(plain, facts={}))
    assert 'id="network"' not in html and 'id="tables"' in html


def test_generalised_parents_are_dashed(release: Release) -> None:
    network = [{"attribute": "town", "parents": []}, {"attribute": "age", "parents": ["town@1"]}]
    html = public_report(replace(release, facts={"network": network}))
    assert 'class="edge coarse"' in html and "town@1" in html


def test_a_private_row_count_is_called_noisy(tmp_path: Path) -> None:
    html = public_report(nasty_release(tmp_path, neighbours="add-remove", delta="1e-6"))
    assert "rows, noisy" in html and "rho" in html and "row count" in html and SCRIPT not in html
