"""Ties: pairs of values in one row that simulated histories get wrong are bought, and come back in what is drawn."""

from __future__ import annotations

import itertools
import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy.audit.losses import gaussian_loss
from understudy.errors import ReleaseError
from understudy.privacy.accounting import GDP, accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import run
from understudy.relations.calibration import _given_before
from understudy.relations.changes import Moves, StepChanges
from understudy.relations.fitting import StepsPlan
from understudy.relations.history_model import HistoryModel
from understudy.relations.panel import Panel
from understudy.relations.storage import model_of, parts_of
from understudy.relations.tie_pairs import tie_pairs
from understudy.relations.tie_rounds import Calibration
from understudy.relations.tilts import Move, Tie
from understudy.release.storage import Format, release_bytes
from understudy.schema import Axis
from understudy.testing import SeededSource
from visits import visits_schema

BUDGET = Budget("30", "1e-6")
STATES = ("well", "ill", "cured")


def tied_visits(people: int) -> Any:
    """Who is ill weighs 50, who is cured 70, who is well 100: nothing but the state says so, row by row."""
    draw = np.random.default_rng(7)
    rows = []
    for patient in range(people):
        for year in range(2001, 2001 + int(draw.integers(2, 6))):
            state = int(draw.integers(3))
            weight = (100, 50, 70)[state] + int(draw.integers(-4, 5))
            rows.append(
                (str(patient), str(year), str(1930 + patient % 70), "fm"[patient % 2], STATES[state], str(weight))
            )
    return pa.table(dict(zip(("patient", "year", "born", "sex", "state", "weight"), map(list, zip(*rows)))))


def published(path: Path) -> understudy.Release:
    return run(
        tied_visits(1500), visits_schema(), BUDGET, "auto", {}, ledger=path / "l.db", cap="none",
        source=SeededSource(5), types="declared", quiet=True,
    ).release  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> understudy.Release:
    return published(tmp_path_factory.mktemp("tied"))


def heavy(release: understudy.Release) -> dict[str, float]:
    """Return the share of people of each state who weigh more than 85."""
    rows = release.sample(6000, seed=2)
    state, weight = (np.asarray(rows[name]).astype(str) for name in ("state", "weight"))
    known = weight != ""
    return {s: float((weight[known & (state == s)].astype(float) > 85).mean()) for s in STATES}


@pytest.mark.costly
def test_values_of_one_row_go_together(
    release: understudy.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = release.model
    assert isinstance(model, HistoryModel)
    assert ("weight", "state") in [(tie.attribute, tie.to) for tie in model.ties]
    found = heavy(release)
    assert found["well"] > 0.8 and found["ill"] < 0.2 and found["cured"] < 0.2
    monkeypatch.setattr("understudy.relations.fitting.affordable_ties", lambda *_: 0)  # the twin: without ties
    without = heavy(published(tmp_path))
    assert without["well"] - without["ill"] < 0.6


@pytest.mark.costly
def test_ties_are_paid_for_with_the_noise_of_all_steps(release: understudy.Release) -> None:
    model = release.model
    assert isinstance(model, HistoryModel) and model.panel.steps.rows_per_person == 4
    pairs = [m for m in model.measured[1] if len(m.axes) == 2 and m.axes[-1].attribute.endswith("@now")]
    spent = sum(Fraction(c.cost) for c in release.card.charges if c.purpose == "steps: ties")
    assert sum(4**2 * gaussian_loss(m.noise.scale, GDP) for m in pairs) == pytest.approx(float(spent), rel=1e-3)


@pytest.mark.costly
def test_all_is_spent_and_the_plan_says_on_what(tmp_path: Path) -> None:
    published(tmp_path)
    with Ledger(tmp_path / "l.db") as book:
        paid = [Fraction(entry.body["cost"]) for entry in book.entries() if entry.kind == "charge"]
    assert sum(paid) == total_cost(BUDGET)
    for budget, rows in itertools.product((BUDGET, Budget(1), Budget("0.1", "1e-6")), (100, 10**6)):
        panel = Panel.of(visits_schema())
        plan = StepsPlan.of(panel, rows, accounting_of(budget), total_cost(budget))
        assert plan.single_cost + plan.table_cost + plan.tie_cost == total_cost(budget)
        assert (plan.rounds > 0) == (plan.tie_cost > 0) and plan.rounds <= 2 * len(panel.varying)
        made = understudy.plan(visits_schema(), epsilon=budget.epsilon, delta=budget.delta, rows=rows)
        assert sum(phase.cost for phase in made.phases) == total_cost(budget)


def test_an_attribute_is_tied_to_what_comes_before_it() -> None:
    panel = Panel.of(visits_schema())
    pairs = tie_pairs(panel)
    assert ("weight", "state") in pairs and ("state", "sex") in pairs and ("weight", "year") in pairs
    assert ("state", "weight") not in pairs and all(attribute in panel.varying for attribute, _ in pairs)


@pytest.mark.costly
def test_a_release_with_ties_is_the_same_after_a_file_and_a_crafted_one_is_refused(
    release: understudy.Release, tmp_path: Path
) -> None:
    release.save(tmp_path / "a.zip")
    again = understudy.Release.open(tmp_path / "a.zip")
    assert heavy(again) == heavy(release) and "weight, this row, tied to state" in again.summary()
    document, arrays = parts_of(release.model)
    for ties in ([["state", "weight"]], [["year", "sex"]], [["weight", "nobody"]], {"weight": "state"}, [["weight"]]):
        with pytest.raises(ReleaseError):
            model_of(document | {"ties": ties}, arrays, release.schema)
    with pytest.raises(ReleaseError):
        model_of(document, type(arrays)({**arrays, "steps-tie-0": -arrays["steps-tie-0"]}), release.schema)


@pytest.mark.costly
def test_a_program_that_knows_no_ties_says_that_the_release_is_newer(
    release: understudy.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    release.save(tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == Format.TIES == 10
    ledger = {"seq": release.head.seq, "hash": release.head.hash}
    (tmp_path / "early.zip").write_bytes(release_bytes(release.members, ledger, Format.HISTORIES))
    assert understudy.Release.open(tmp_path / "early.zip").hash == release.hash  # of the time before the number
    monkeypatch.setattr("understudy.release.storage.NEWEST", Format.TIES - 1)
    with pytest.raises(ReleaseError, match="newer understudy"):
        understudy.Release.open(tmp_path / "a.zip")


def test_the_weight_of_a_change_is_the_mean_of_those_of_the_values_it_leads_to() -> None:
    draw = np.random.default_rng(3)
    move = Move(StepChanges(6, missing=True), 7, draw.random(7))
    before, weights = np.arange(7), draw.random((7, 7))
    found = move.reach(before, weights)
    for row, change in itertools.product(range(7), range(move.change.size)):
        leads = [v for v in range(7) if move.change.code(np.array([row]), np.array([v]))[0] == change]
        assert move.weights is not None
        due = np.mean([move.weights[v] * weights[row, v] for v in leads]) if leads else 0.0
        assert found[row, change] == pytest.approx(due)
    assert np.allclose(move.reach(before, np.ones((7, 7))), move.reach(before))


def far_from_measured(release: understudy.Release) -> float:
    """Return how far changes of weight after each weight, in simulated rows, are from those without ties: the mean
    total variation distance, over rows."""
    model = release.model
    assert isinstance(model, HistoryModel)
    panel, move = model.panel, model.moves["weight@change"]
    joint = next(m for m in model.measured[1] if m.axes[-1].attribute == "weight@change")
    due = move.tilted_changes(_given_before(panel, joint, move))
    rows = model.histories(20_000, np.random.default_rng(4))
    later = np.flatnonzero(np.diff(rows["patient"]) == 0) + 1
    seen = np.zeros(due.shape)
    before, now = rows["weight"][later - 1], rows["weight"][later]
    np.add.at(seen, (before, move.classes[before, now]), 1)
    return float(np.abs(seen - seen.sum(axis=1, keepdims=True) * due).sum() / (2 * len(later)))


@pytest.mark.costly
def test_ties_leave_changes_as_likely_as_they_were_measured(
    release: understudy.Release, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = far_from_measured(release)
    monkeypatch.setattr(Calibration, "_undisturbed", lambda self, gain: self.model.steps)  # the twin
    assert found < 0.85 * far_from_measured(published(tmp_path))


def test_a_tie_moves_what_goes_together_and_its_share_of_the_column() -> None:
    reached = np.array([[0.1, 0.3], [0.2, 0.4]])
    tie = Tie("state", "sex", np.ones((2, 2)))
    only_column = reached * np.array([1.5, 0.7857142857142857])
    assert np.allclose(tie.nearer(only_column, reached, 1.0, 1e-9, 0.0).weights, 1)
    assert np.allclose(tie.nearer(only_column, reached, 1.0, 1e-9, 1.0).weights, only_column / reached)
    wanted = np.array([[0.2, 0.2], [0.1, 0.5]])
    moved = tie.nearer(wanted, reached, 1.0, 1e-9, 0.0).weights
    assert moved[0, 0] > 1 > moved[0, 1] and moved[1, 0] < 1 < moved[1, 1]
    few = tie.nearer(wanted, reached, 1.0, 10.0, 0.0).weights  # the twin: too few rows to say anything
    assert np.abs(few - 1).max() < 0.02


def test_changes_that_lead_to_one_value_tell_the_column_after_them() -> None:
    draw = np.random.default_rng(8)
    before, now = draw.integers(5, size=(2, 400))
    for change in (Moves(5), StepChanges(5)):
        counts = np.zeros((5, change.size))
        np.add.at(counts, (before, change.code(before, now)), 1)
        found = Move(change, 5).led(counts)
        if isinstance(change, StepChanges):  # a step of 3 or 4 is one change
            assert found is None
        else:
            assert found is not None and found.tolist() == np.bincount(now, minlength=5).tolist()


@pytest.mark.costly
def test_the_number_of_rows_is_bought_first_where_the_method_of_people_can_use_it(
    release: understudy.Release, tmp_path: Path
) -> None:
    first = release.card.charges[0]
    assert first.purpose == "people: rows" and first.cost == pytest.approx(float(total_cost(BUDGET) / 20))
    model = release.model
    assert isinstance(model, HistoryModel)
    (seen,) = [m for m in model.measured[0] if m.axes == (Axis("@rows"),)]
    assert gaussian_loss(seen.noise.scale, GDP) == pytest.approx(float(total_cost(BUDGET) / 20), rel=1e-3)
    other = run(
        tied_visits(200), visits_schema(), BUDGET, "privbayes", {}, ledger=tmp_path / "l.db", cap="none",
        source=SeededSource(5), types="declared", quiet=True,
    ).release  # fmt: skip
    assert all(charge.purpose != "people: rows" for charge in other.card.charges)
