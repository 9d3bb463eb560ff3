"""Weak trends: what shrinkage takes from a release is in its intervals, and not taken again from its draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from understudy.inference import refits as refitting
from understudy.inference.intervals import Inference
from understudy.inference.kept_refits import read_refits, write_refits
from understudy.inference.least_squares import Pooled
from understudy.inference.refits import Refits
from understudy.models.ruled_model import free_model
from understudy.release import Release
from understudy.schema import Attribute, Categories, Intervals, Schema
from understudy.schema.uses import Use
from understudy.testing import publish_seeded

ROWS = 5000
SLOPE = 0.045  # of the share of yes, for a standard deviation of age: six standard errors of the real rows
SCHEMA = Schema(
    "weak",
    (Attribute("age", Intervals("integer", tuple(float(e) for e in range(0, 101, 5)))),
     *(Attribute(n, Categories(("no", "yes"))) for n in ("h", "sex"))),
    rows=ROWS, uses=(Use(("age", "h")),),
)  # fmt: skip


def people() -> pd.DataFrame:
    generator = np.random.default_rng(3)
    age = np.clip(np.rint(50 + 18 * generator.standard_normal(ROWS)), 0, 99).astype(int)
    yes = generator.random(ROWS) < 0.5 + SLOPE * (age - age.mean()) / age.std()
    return pd.DataFrame({"age": age, "h": np.where(yes, "yes", "no"), "sex": generator.choice(["no", "yes"], ROWS)})


@pytest.fixture(scope="module")
def release(tmp_path_factory: Any) -> Release:
    ledger = tmp_path_factory.mktemp("ledger") / "l.db"
    return publish_seeded(people(), SCHEMA, seed=1, epsilon=1, delta=1e-6, ledger=ledger, cap="none").release


def trend(table: Any) -> float:
    """Return the difference of the mean bin of age between the two values of h."""
    means = (np.arange(len(table)) @ table) / table.sum(axis=0)
    return float(means[1] - means[0])


def noisy_trend(release: Release) -> float:
    pooled = Pooled.of(release.measurements, release.schema, ("age", "h"))
    assert pooled is not None
    return trend(pooled.table)


def mean_trend(found: Refits) -> float:
    return float(np.mean([trend(table) for table in found.project(("age", "h"))]))


def test_refits_keep_a_weak_trend_that_the_release_lost(release: Release) -> None:
    wanted, own = noisy_trend(release), trend(release.model.project(("age", "h")).table)
    assert own < 0.7 * wanted  # the release is closer so, cell by cell
    assert 0.8 * wanted < mean_trend(release.inference().refits) < 1.15 * wanted


def test_refits_of_a_shrunk_model_lose_it_twice(release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: tables counted from the release's model, and shrunk again."""
    refit = refitting.refit
    monkeypatch.setattr(refitting, "unshrunk", lambda released: free_model(released.model))
    monkeypatch.setattr(refitting, "refit", lambda tables, design, tolerance: refit(tables, release.design, tolerance))
    twice = Refits.of(release, count=6)
    assert twice is not None
    assert mean_trend(twice) < 0.8 * trend(release.model.project(("age", "h")).table)


@pytest.mark.parametrize("marked", [{}, {"shrunk": True}])
def test_kept_refits_that_were_shrunk_are_made_again(release: Release, tmp_path: Path, marked: dict[str, bool]) -> None:
    """Those that an earlier version left beside the release say nothing of it, and must not be in an interval."""
    beside = tmp_path / "kept.npz"
    made = Refits.of(release, count=2)
    assert made is not None
    write_refits(beside, release, made)
    assert read_refits(beside, release, "finite", 2) is not None
    with np.load(beside) as kept:
        head = {key: value for key, value in json.loads(bytes(kept["head"])).items() if key != "shrunk"} | marked
        earlier = 0.5 * kept["beliefs"] + 0.5 * kept["beliefs"].mean()  # other tables, so that using them would show
    np.savez(beside, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), beliefs=earlier)
    assert read_refits(beside, release, "finite", 2) is None
    again = Refits.of(release, count=2, cache=beside)
    assert again is not None and np.allclose(again.project(("age", "h")), made.project(("age", "h")))
    assert read_refits(beside, release, "finite", 2) is not None  # the new ones took their place


@pytest.mark.parametrize("population", ["finite", "sample"])
def test_draws_hold_the_trend(release: Release, population: Any) -> None:
    estimates, variances = [], []
    draws = release.draws(20, about=["age", "h"], population=population, seed=1)
    for frame in draws:
        yes, no = (frame["age"][frame["h"].astype(str) == own] for own in ("yes", "no"))
        estimates.append(float(yes.mean() - no.mean()))
        variances.append(float(yes.var() / len(yes) + no.var() / len(no)))
    rows = people()
    real = rows["age"][rows["h"] == "yes"].mean() - rows["age"][rows["h"] == "no"].mean()
    low, high = draws.combine(estimates, variances).interval(0.95)
    assert low <= real <= high


def test_a_comparison_holds_the_trend_and_what_is_published(release: Release) -> None:
    """Also where a condition makes a table that was not measured of the one that was."""
    rows = people()
    for condition, kept in (("", rows), (" where sex = 'yes'", rows[rows["sex"] == "yes"])):
        real = kept["age"][kept["h"] == "yes"].mean() - kept["age"][kept["h"] == "no"].mean()
        answer = release.answer(f"mean(age) by h{condition}", Inference(release), 0.95)
        (compared,) = answer.comparisons
        assert compared.low <= compared.difference <= compared.high
        assert compared.low <= real <= compared.high
