"""Every figure's quick mode on a small generated table writes its CSV and SVG; the verdicts are what the intervals say."""

from __future__ import annotations

import csv
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, schema_of

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks" / "reproduce"))

import claims
import jtree
import privabn
import privbayes
import trials
from battery import Grid, main
from records import Point, Records

import datasets
from rivals import published_privabn
from understudy.evaluate.targets import Target
from understudy.privacy.custodian import ExactTable

ROOT = Path(__file__).resolve().parents[3]
ROWS = 400
PAPERS: dict[str, Any] = {"privbayes": privbayes, "jtree": jtree, "privabn": privabn}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve binary attributes for the binary data sets, five mixed ones for the others."""
    names = "abcdefghijkl"
    binary, mixed = dict.fromkeys(names, 2), dict(zip(names, (2, 3, 2, 4, 2)))

    def data(name: str) -> trials.Data:
        sizes = mixed if name in ("adult", "tpce") else binary
        return trials.Data(name, ExactTable(columns_of(sizes, ROWS), ROWS, schema_of(sizes, ROWS)))

    made = {name: data(name) for name in ("nltcs", "acs", "adult", "tpce", "retail")}
    monkeypatch.setattr(trials.Data, "named", staticmethod(made.__getitem__))
    monkeypatch.setattr(datasets, "TARGETS", dict.fromkeys(made, tuple(Target(n, ("1",)) for n in "abcd")))
    privabn.scores_of.cache_clear()
    yield
    privabn.scores_of.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("paper", "key"), [(name, figure.key) for name, module in PAPERS.items() for figure in module.figures(Grid())]
)
def test_quick_mode_writes_figure_and_numbers(small: None, tmp_path: Path, paper: str, key: str) -> None:
    module = PAPERS[paper]
    asked = ["--repetitions", "1", "--figure", key, "--output", str(tmp_path)]
    main(paper, module.figures, module.run, asked)
    with (tmp_path / f"{key}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    figure = next(f for f in module.figures(Grid(quick=True)) if f.key == key)
    assert len(rows) == sum(len(c.points) for p in figure.panels for c in p.curves)
    assert all(np.isfinite(float(row["mean"])) and row["repetitions"] == "1" for row in rows)
    drawing = (tmp_path / f"{key}.svg").read_text(encoding="utf-8")
    assert drawing.count("<polyline") == sum(len(p.curves) for p in figure.panels)
    before = (tmp_path / "runs.csv").read_bytes()
    main(paper, module.figures, module.run, asked)  # nothing is missing, so nothing is run
    assert (tmp_path / "runs.csv").read_bytes() == before


@pytest.mark.slow
def test_a_trial_can_be_had_again(small: None) -> None:
    points = [Point("nltcs", "tables", "PrivBayes", "1.6", m) for m in ("tvd3", "tvd4")]
    assert privbayes.run(points, 3) == privbayes.run(points, 3)
    assert privbayes.run(points, 3) != privbayes.run(points, 4)


# -- verdicts ------------------------------------------------------------------------------------------------------


def recorded(tmp_path: Path, lines: dict[str, list[float]]) -> Records:
    records = Records.open(tmp_path / "runs.csv")
    for name, values in lines.items():
        for repetition, value in enumerate(values):
            records.add({point(name): value}, repetition)
    return Records.open(tmp_path / "runs.csv")  # as a later command finds it


def point(name: str) -> Point:
    return Point("data", "tables", name, "1", "tvd2")


def test_intervals_are_paired(tmp_path: Path) -> None:
    from scipy.stats import ttest_rel

    first, second = [1.0, 2.0, 3.5, 4.0], [1.2, 2.3, 3.6, 4.4]
    found = recorded(tmp_path, {"a": first, "b": second}).difference(point("a"), point("b"))
    assert found is not None
    low, high = ttest_rel(first, second).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.high < 0  # although the two lines overlap


@pytest.mark.parametrize(
    ("other", "word"),
    [([1.2, 2.3, 3.6, 4.4], "agree"), ([0.8, 1.7, 2.9, 3.6], "disagree"), ([0.5, 2.9, 3.0, 4.6], "undecided")],
)
def test_verdict_of_a_claim_about_every_setting(tmp_path: Path, other: list[float], word: str) -> None:
    records = recorded(tmp_path, {"a": [1.0, 2.0, 3.2, 4.0], "b": other})
    claim = claims.Claim("1", "a is below b", (claims.less("here", point("a"), point("b")),))
    assert claims.judge(claim, records).word == word


def test_verdict_of_a_claim_about_most_settings(tmp_path: Path) -> None:
    records = recorded(tmp_path, {"a": [1, 2, 3], "b": [2, 3.1, 4], "c": [0, 1.1, 2]})
    good, bad = claims.less("good", point("a"), point("b")), claims.less("bad", point("a"), point("c"))
    most = claims.judge(claims.Claim("1", "", (good, good, bad), most=True), records)
    assert (most.word, most.holds, most.reversed, most.exceptions) == ("agree", 2, 1, ("bad",))
    assert claims.judge(claims.Claim("1", "", (good, bad, bad), most=True), records).word == "disagree"
    assert claims.judge(claims.Claim("1", "", (good, bad)), records).word == "disagree"


@pytest.mark.parametrize(
    ("other", "holds"), [([1.01, 1.0, 1.02], True), ([1.3, 1.31, 1.3], False), ([1, 1.3, 1], None)]
)
def test_alike_means_within_a_tenth(tmp_path: Path, other: list[float], holds: bool | None) -> None:
    records = recorded(tmp_path, {"a": [1.0, 1.0, 1.0], "b": other})
    assert claims.alike("", point("a"), point("b")).holds(records) is holds


def test_one_repetition_decides_nothing(tmp_path: Path) -> None:
    records = recorded(tmp_path, {"a": [1.0], "b": [2.0]})
    assert claims.less("", point("a"), point("b")).holds(records) is None


# -- the published PrivABN -----------------------------------------------------------------------------------------


def test_the_published_privabn_here_is_the_one_of_the_audit() -> None:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "tests/audit/test_privabn_counterexamples.py")
    assert spec is not None and spec.loader is not None
    audit = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(audit)
    for rows in (*audit.THREE, *audit.FIVE):
        scores = published_privabn.Scores(np.array(rows, dtype=np.uint8).T)
        ours: Any = {}
        theirs: Any = {}
        for newest, most in ((0, 1), (1, 2)):
            for child in range(2, len(rows[0])):
                found = published_privabn.remember(scores, ours, child, newest, most)
                assert found == audit.remember(rows, theirs, child, newest, most)
                for parents in found:
                    assert scores.information(child, parents) == pytest.approx(audit.information(rows, child, parents))
    assert published_privabn.sensitivity_in_nats(21_574) == audit.nats(21_574)


def test_the_published_privabn_without_noise_is_close() -> None:
    generator = np.random.default_rng(0)
    a = generator.random(5000) < 0.3
    b = a ^ (generator.random(5000) < 0.1)
    made = published_privabn.publish(published_privabn.Scores(np.stack([a, b]).astype(np.uint8)), 1e9, generator)
    counts = [np.bincount(2 * x + y, minlength=4) / 5000 for x, y in ((a, b), made)]
    assert np.abs(counts[0] - counts[1]).max() < 0.03
