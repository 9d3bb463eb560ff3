"""Intervals of answers: they hold the truth about as often as they say, on measured and on unmeasured tables."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from understudy.errors import TooLarge, UsageError
from understudy.inference import size_law
from understudy.inference.discrepancy import discrepancies, measured_parts
from understudy.inference.intervals import Inference
from understudy.inference.kept_refits import read_refits, refits_beside, write_refits
from understudy.inference.refits import Refits, renoised, unshrunk
from understudy.inference.size_law import DiscrepancyLaw
from understudy.inference.trust import verdict
from understudy.models.junction_tree import JunctionTree
from understudy.models.refit import refit
from understudy.release import Release
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema
from understudy.testing import publish_seeded

ROWS = 3000
NAMES = ("a", "b", "c", "d", "e", "age")


def people(seed: int = 1) -> dict[str, Any]:
    """Links between all columns, more than a small budget can measure."""
    generator = np.random.default_rng(seed)
    hidden = generator.standard_normal(ROWS)
    codes = {
        name: np.clip(np.rint(1.5 + weight * hidden + generator.standard_normal(ROWS)), 0, 3).astype(int)
        for name, weight in zip(NAMES[:5], (1.0, 0.7, 0.5, 0.3, 0.0))
    }
    return codes | {"age": np.clip(np.rint(45 + 12 * hidden + 8 * generator.standard_normal(ROWS)), 0, 99).astype(int)}


SCHEMA = Schema(
    "people",
    (*(Attribute(n, Categories(("0", "1", "2", "3"))) for n in NAMES[:5]),
     Attribute("age", Intervals("integer", tuple(float(e) for e in range(0, 101, 10))))),
    rows=ROWS,
)  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    import pandas as pd

    ledger = tmp_path_factory.mktemp("ledger") / "l.db"
    frame = pd.DataFrame({n: v if n == "age" else v.astype(str) for n, v in people().items()})
    return publish_seeded(frame, SCHEMA, seed=4, epsilon=2, delta=1e-9, ledger=ledger, cap="none", rounds=4).release


def measured(release: Release) -> set[frozenset[str]]:
    return {frozenset(axis.attribute for axis in m.axes) for m in release.measurements if len(m.axes) == 2}


def test_a_refit_of_the_release_is_the_release(release):
    again = refit(release.measurements, release.design)
    assert np.allclose(again.model.project(("a", "b")).table, release.model.project(("a", "b")).table, atol=1e-6)
    refits = release.inference().refits
    assert len(refits.models) == 20 and refits.rows == (ROWS,) * 20


def test_fresh_noise_has_the_law_of_the_release(release):
    generator = np.random.default_rng(0)
    m = next(m for m in release.measurements if len(m.axes) == 2)
    i = release.measurements.index(m)
    truth = unshrunk(release)
    expected = ROWS * truth.project(m.axes).table
    apart = np.stack([renoised(truth, release, "finite", generator)[i].values - expected for _ in range(60)])
    assert np.std(apart) == pytest.approx(m.noise.scale, rel=0.1)
    rows = [renoised(truth, release, "sample", generator) for _ in range(3)]
    assert len({r[i].values.tobytes() for r in rows}) == 3


def coverage(release: Release, pairs: list[tuple[str, str]], queries: int) -> tuple[float, float]:
    generator = np.random.default_rng(8)
    rows, hits, widths = people(), [], []
    for _ in range(queries):
        one, other = pairs[generator.integers(len(pairs))]
        words, kept = [], np.ones(ROWS, dtype=bool)
        for name in (one, other):
            if name == "age":
                low = 10 * int(generator.integers(2, 6))
                words.append(f"age >= {low}")
                kept &= rows["age"] >= low
                continue
            chosen = generator.choice(4, 2, replace=False)
            words.append(f"{name} in ({', '.join(map(str, chosen))})")
            kept &= np.isin(rows[name], chosen)
        answer = release.query(f"count where {' and '.join(words)}", 0.95)
        low, high = answer.interval
        assert low <= answer.value <= high
        hits.append(low - 0.5 <= kept.sum() <= high + 0.5)
        widths.append(high - low)
    return float(np.mean(hits)), float(np.median(widths))


@pytest.mark.costly
def test_intervals_hold_the_truth(release):
    together = measured(release)
    pairs = [(a, b) for i, a in enumerate(NAMES) for b in NAMES[i + 1 :]]
    known = [p for p in pairs if frozenset(p) in together]
    unknown = [p for p in pairs if frozenset(p) not in together]
    assert known and unknown
    held, width = coverage(release, known, 150)
    assert held > 0.88 and width < 600
    held, width = coverage(release, unknown, 150)
    assert held > 0.85 and width < 1200


def unbought(release):
    from dataclasses import replace

    more = {k: v for k, v in release.facts.more.items() if k != "model_error"}
    return replace(release, facts=replace(release.facts, more=more))


def test_without_the_bought_size_the_interval_is_of_a_usual_one_and_says_so(release):
    plain = unbought(release)
    pair = next(p for p in ("a", "b", "c") if frozenset((p, "e")) not in measured(release))
    said = plain.query(f"count where {pair} = 1 and e = 2", 0.95)
    full = release.query(f"count where {pair} = 1 and e = 2", 0.95)
    assert "model error of a usual size (its own was not bought)" in said.interval_covers
    assert "not bought" not in full.interval_covers and "model error" in full.interval_covers
    noise = plain.inference("finite")
    spread = np.ptp([t[1, 2] for t in noise.refits.project((pair, "e"))]) * release.rows
    assert said.interval[1] - said.interval[0] > 2 * spread
    assert "usual size" in plain.draws(2, about=[pair, "e"]).covers


@pytest.mark.costly
@pytest.mark.parametrize("text", [
    "count by a", "share by a where b = 1", "rate by a where age >= 40", "mean(age) by b", "sum(age)",
    "median(age) by a", "quantile(age, 0.9)", "mean(age) by a where b in (1, 2) and c = 0",
])  # fmt: skip
def test_every_measure_has_an_interval(release, text):
    answer = release.query(text, 0.95)
    for figure in answer.figures:
        low, high = figure.interval
        assert low <= figure.value <= high and math.isfinite(low) and math.isfinite(high)
    wide = release.query(text, 0.99)
    together = release.query(text, 0.95, simultaneous=True)
    sampled = release.query(text, 0.95, population="sample")
    for i, figure in enumerate(answer.figures):
        own = figure.interval[1] - figure.interval[0]
        assert wide.figures[i].interval[1] - wide.figures[i].interval[0] >= own * 0.999
        assert together.figures[i].interval[1] - together.figures[i].interval[0] >= own * 0.999
    assert sampled.interval_covers != answer.interval_covers
    frame = answer.to_pandas()
    assert list(frame.columns)[-2:] == ["low", "high"] and len(frame) == len(answer.figures)
    assert answer.as_json()["confidence"] == 0.95


@pytest.mark.costly
def test_values_are_right():
    """Median, quantile, sum and rate on a release without noise to speak of are those of the rows."""
    rows = people()
    schema = SCHEMA
    import tempfile

    import pandas as pd

    frame = pd.DataFrame({n: v if n == "age" else v.astype(str) for n, v in rows.items()})
    with tempfile.TemporaryDirectory() as folder:
        made = publish_seeded(frame, schema, seed=1, epsilon=9, delta=1e-3, ledger=Path(folder) / "l.db", cap="none")
    release = made.release
    assert release.query("median(age)").value == pytest.approx(np.median(rows["age"]), abs=2)
    assert release.query("quantile(age, 0.9)").value == pytest.approx(np.quantile(rows["age"], 0.9), abs=2.5)
    assert release.query("sum(age)").value == pytest.approx(rows["age"].sum(), rel=0.03)
    exact = np.mean(rows["b"][rows["a"] == 1] >= 2)
    assert release.query("rate where b in (2, 3) and a = 1 by a").figures[0].value == pytest.approx(exact, abs=0.08)


def test_groups_are_compared_and_sameness_is_said(release):
    answer = release.query("mean(age) by a", 0.95)
    assert len(answer.comparisons) == 3 and answer.comparisons[-1].shown
    assert "minus" in str(answer) and "95 % interval" in str(answer)
    independent = [p for p in release.what_holds if p.status == "assumed independent" and "age" not in (p.one, p.other)]
    for pair in independent[:1]:
        said = release.query(f"rate by {pair.one} where {pair.other} = 1", 0.95)
        assert any("no link between" in note for note in said.notes)
        assert not any(c.shown for c in said.comparisons)


def test_bad_requests(release):
    for confidence in (0.2, 1.0, 95):
        with pytest.raises(UsageError, match="confidence"):
            release.query("count by a", confidence)
    with pytest.raises(UsageError, match="population"):
        release.query("count by a", 0.95, population="all")
    for text in ("quantile(age, 90)", "quantile(age)", "median(a)", "median(age) by age"):
        with pytest.raises(UsageError):
            release.query(text)


def test_discrepancies_leave_measured_tables_alone(release):
    law = DiscrepancyLaw.of(release, None)
    assert law is not None and 0 < law.pairs.mean < law.triples.mean * 1.0001 < 2
    names = tuple(sorted(next(iter(measured(release))))) + ("e",)
    names = tuple(dict.fromkeys(names)) if len(set(names)) == 3 else ("a", "b", "e")
    table = release.model.project(names).table
    drawn = discrepancies(table, names, release, law, np.random.default_rng(1), 20)
    for part in measured_parts(release, names):
        others = tuple(i + 1 for i in range(3) if i not in part)
        assert np.abs(drawn.sum(axis=others)).max() < 0.15 * np.abs(drawn).reshape(20, -1).sum(axis=1).max()
    assert np.allclose(drawn.reshape(20, -1).sum(axis=1), 0, atol=1e-6)


def test_a_measured_table_has_no_discrepancy_at_all(release):
    """What raking leaves of it is rounding; scaled to the bought size, it made tables about measured columns noise."""
    law = DiscrepancyLaw.of(release, None)
    for names in sorted(tuple(sorted(pair)) for pair in measured(release)):
        table = release.model.project(names).table
        assert not discrepancies(table, names, release, law, np.random.default_rng(1), 5).any()
        draws = release.draws(2, about=list(names), seed=1).coded
        model = draws.inference.refits.models[0]
        assert (draws._ratio(model, np.random.default_rng(2)) == (model.project(names).table > 0)).all()


def test_a_compared_table_that_is_too_large_leaves_the_other_questions_their_intervals(release, monkeypatch):
    """One triple of ma2019 at (4, 1e-9) took 480 million cells, and no question of that release had an interval."""
    known, project = DiscrepancyLaw.of(release, None), JunctionTree.project

    def refusing(model, names, *limit):
        if tuple(names) == tuple(large):
            raise TooLarge("a table is too large")
        return project(model, names, *limit)

    monkeypatch.setattr(JunctionTree, "project", refusing)
    large = release.model_error["compared"]["triples"][0]
    without = DiscrepancyLaw.of(release, None)
    assert without.triples.mean == pytest.approx(known.triples.mean, rel=0.3)
    one = SimpleNamespace(**{name: getattr(release, name) for name in ("rows", "model")})
    one.model_error = release.model_error | {"compared": release.model_error["compared"] | {"triples": [large]}}
    assert DiscrepancyLaw.of(one, None) is None  # nothing to compare with: sizes are usual ones


def test_refits_are_kept_beside_the_release(release, tmp_path):
    file = tmp_path / "people.release.zip"
    release.save(file)
    beside = refits_beside(file, "finite")
    made = Refits.of(release, count=3, cache=beside)
    assert beside.exists()
    read = Refits.of(release, count=3, cache=beside)
    names = ("a", "e")
    assert np.allclose(made.project(names), read.project(names), rtol=1e-9, atol=0)  # tiny shares too


def test_kept_refits_give_the_intervals_of_fresh_ones_where_a_share_is_tiny(release, tmp_path):
    """A share below the least float32 was kept as 0, and the mean of its group then had no interval."""
    path, made = tmp_path / "kept.npz", Refits.of(release, count=2)
    tiny = made.models[0].beliefs.copy()
    tiny[0] = 1e-60
    object.__setattr__(made.models[0], "beliefs", tiny)
    write_refits(path, release, made)
    read = read_refits(path, release, "finite", 2)
    assert read is not None and 0 < read.models[0].beliefs[0] < 1e-55
    with np.load(path) as kept:
        np.savez(path, head=kept["head"], beliefs=kept["beliefs"].astype(np.float32))
    assert read_refits(path, release, "finite", 2) is None  # of an earlier version


def test_a_broken_file_of_refits_is_made_again(release, tmp_path):
    beside, names = tmp_path / "broken.npz", ("a", "e")
    made = Refits.of(release, count=3)
    write_refits(beside, release, made)
    for broken in (b"not an archive", beside.read_bytes()[:2000]):
        beside.write_bytes(broken)
        assert np.allclose(Refits.of(release, count=3, cache=beside).project(names), made.project(names))


def test_what_the_size_law_needs_is_kept_with_the_refits(release, tmp_path, monkeypatch):
    """It took 2 to 4 seconds of every question to a release of Adult."""
    beside = tmp_path / "kept.npz"
    first = Inference(release, cache=beside, count=3).law
    read = Inference(release, cache=beside, count=3)
    assert set(read.refits.known) == {"pairs", "triples"}
    monkeypatch.setattr(size_law, "known_distance", None)  # is not asked again
    assert read.law.pairs.mean == first.pairs.mean and read.law.triples.spread == first.triples.spread
    with np.load(beside) as kept:
        np.savez(beside, **(dict(kept) | {"known pairs": -np.ones(3)}))
    assert read_refits(beside, release, "finite", 3) is None


def test_a_folder_that_cannot_be_written_to_is_no_reason_to_fail(release, tmp_path):
    nowhere = tmp_path / "missing" / "kept.npz"
    assert Inference(release, cache=nowhere, count=3).law.pairs.mean > 0
    assert not nowhere.parent.exists()


def test_draws_spread_as_the_law_says_and_combine(release):
    draws = release.draws(20, about=["a", "e"], seed=3)
    frames = list(draws)
    assert len(frames) == len(draws) == 20 and len(frames[0]) == ROWS
    shares = [float(((f["a"].astype(str) == "1") & (f["e"].astype(str) == "2")).mean()) for f in frames]
    found = draws.combine(shares, [s * (1 - s) / ROWS for s in shares])
    rows = people()
    truth = np.mean((rows["a"] == 1) & (rows["e"] == 2))
    assert found.interval(0.999)[0] <= truth <= found.interval(0.999)[1]
    assert "model error" in draws.covers and "only" in release.draws(2, seed=1).covers
    assert [f.to_csv() for f in release.draws(2, seed=1)] == [f.to_csv() for f in release.draws(2, seed=1)]
    with pytest.raises(UsageError, match="no modelled column"):
        release.draws(2, about=["zip"])


def test_systematic_rows_about_columns_are_the_changed_table_to_the_row(release):
    """Independent rows, the broken twin, are off by the chance of rows."""
    for rows_by, most in (("systematic", 1.0), ("multinomial", np.inf)):
        draws = release.draws(2, about=["a", "e"], rows_by=rows_by, seed=3).coded
        for which, rows in enumerate(draws):
            model = draws.inference.refits.models[which]
            ratio = draws._ratio(model, np.random.default_rng([draws.seed, which, 2]))
            wanted = model.project(("a", "e")).table * ratio
            counts = np.zeros(wanted.shape)
            np.add.at(counts, (rows["a"].astype(int), rows["e"].astype(int)), 1)
            assert counts.sum() == ROWS
            apart = np.abs(counts - ROWS * wanted / wanted.sum()).max()
            assert apart <= most and (most == 1.0 or apart > 3.0)


@pytest.mark.costly
def test_what_holds(release):
    sheet = release.what_holds
    assert len(sheet) == 15
    for pair in sheet:
        assert (pair.status == "measured") == (frozenset((pair.one, pair.other)) in measured(release))
        assert release.trust(pair.other, pair.one).status == pair.status
        assert pair.error is not None and 0 < pair.error < 1
    assert "pairs" in verdict(sheet)
    with pytest.raises(UsageError):
        release.trust("a", "a")
    assert str(sheet[0]).startswith("a × b")


def test_axes_of_a_release_are_as_they_are(release):
    assert all(axis == Axis(axis.attribute) for m in release.measurements for axis in m.axes)


def test_a_condition_across_columns_is_no_sum_of_measured_cells(release):
    """Least squares over a measured pair would leave the condition out, and be sure of a wrong number."""
    x, y = sorted(next(iter(measured(release))))
    if "age" in (x, y):
        x, y = sorted(next(pair for pair in measured(release) if "age" not in pair))
    said = release.query(f"count where {x} = '1' or {y} = '1'", confidence=0.95)
    codes = people()
    truth = int(((codes[x] == 1) | (codes[y] == 1)).sum())
    (figure,) = said.figures
    low, high = figure.interval
    assert low <= figure.value <= high and high - low < truth
    assert abs(figure.value - truth) < 0.2 * truth and "least squares" not in said.interval_covers
