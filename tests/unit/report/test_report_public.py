"""The PUBLIC report: escaped, self-contained, the same bytes for the same release, and never an exact figure."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest
from report_stand_ins import SCRIPT, nasty_evaluation, nasty_release, outside

from understudy.errors import UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import STAMP, Exact
from understudy.release import Release
from understudy.release.card import suspicion_in_words
from understudy.release.facts import ReleaseFacts
from understudy.report import bought_report, public_report
from understudy.report.budget import suspicion
from understudy.report.heat_map import HIGH, SHADES
from understudy.report.markup import coded
from understudy.report.page import MAX_BYTES
from understudy.report.style import STYLE


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
    assert len(html.encode()) < MAX_BYTES


def test_what_it_says(html: str, release: Release) -> None:
    for words in (release.card.in_words, *release.card.not_promised, "Signature", release.hash, "epsilon 2"):
        assert coded(words) in html
    assert "<code>rows_per_person</code>" in html and "Made from the release alone; no row was read." in html
    for key in ("promise", "budget", "network", "tables", "limits", "card"):
        assert f'id="{key}"' in html
    assert all(charge["purpose"] in html for charge in release.card.as_json()["charges"])
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
    release.facts.more["tvd"] = Exact(0.25)  # after the release was made
    try:
        with pytest.raises(UsageError, match="custodian only"):
            public_report(release)
    finally:
        del release.facts.more["tvd"]
    other: Any = {"tvd": 0.25}
    with pytest.raises(TypeError):
        public_report(release, (other,))


def test_a_model_without_a_network_shows_its_cliques(release: Release) -> None:
    html = public_report(replace(release, facts=ReleaseFacts()))
    assert "The cliques" in html and 'class="network"' in html


def test_a_model_without_structure_has_no_drawing(tmp_path: Path) -> None:
    plain = nasty_release(tmp_path, estimate="paper")
    html = public_report(replace(plain, facts=ReleaseFacts()))
    assert 'id="network"' not in html and 'id="tables"' in html


def test_generalised_parents_are_dashed(release: Release) -> None:
    network = [{"attribute": "town", "parents": []}, {"attribute": "age", "parents": ["town@1"]}]
    html = public_report(replace(release, facts=ReleaseFacts.of({"network": network})))
    assert 'class="edge coarse"' in html and "town@1" in html


def test_a_private_row_count_is_called_noisy(tmp_path: Path) -> None:
    html = public_report(nasty_release(tmp_path, neighbours="add-remove", delta="1e-6"))
    assert "rows, noisy" in html and "mu squared" in html and "row count" in html and SCRIPT not in html


def test_cliques_name_attributes_in_the_order_of_the_schema(release: Release) -> None:
    """Whatever order the model keeps them in, so that a page does not change with the model's insides."""
    turned = replace(release.schema, attributes=tuple(reversed(release.schema.attributes)))
    for schema in (release.schema, turned):
        html = public_report(replace(release, facts=ReleaseFacts(), schema=schema))
        listed = html[html.index("The cliques as a list") :].split("</ol>")[0]
        order = [escape(name) for name in schema.names]
        for line in re.findall(r"<li>(.*?)</li>", listed):
            places = [order.index(name) for name in line.split(", ")]
            assert places == sorted(places)


@pytest.mark.parametrize("epsilon", [0.1, 1, 3.5, 4, 5, 9])
def test_the_large_figure_says_what_the_words_say(epsilon: float) -> None:
    words = suspicion_in_words(Budget(str(epsilon)))
    (drawn,) = re.findall(r"<b>(.*?)</b>", suspicion(epsilon))
    assert words.endswith(f"at most {drawn}")


def _luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear))


def _contrast(a: str, b: str) -> float:
    light, dark = sorted((_luminance(a), _luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_text_can_be_read_in_light_dark_and_on_paper() -> None:
    """WCAG's 4.5 to 1 for text on its ground, and white on the custodian's banner."""
    palettes = [
        dict(re.findall(r"(--\w+):(#[0-9a-f]{3,6})\b", block)) for block in re.findall(r":root\{([^}]*)\}", STYLE)
    ]
    assert len(palettes) == 3
    for given in palettes:
        colours = {name: c if len(c) == 7 else "#" + "".join(2 * d for d in c[1:]) for name, c in given.items()}
        assert _contrast("#ffffff", colours["--banner"]) >= 4.5
        for text in ("--ink", "--muted", "--accent", "--alarm"):
            for ground in ("--paper", "--sheet"):
                assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        for shade in range(SHADES):
            figure = colours["--sheet" if shade >= HIGH else "--ink"]
            assert _contrast(figure, colours[f"--h{shade}"]) >= 4.5, shade
