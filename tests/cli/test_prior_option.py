"""--prior: an earlier release or a public table, in the plan, on the card, in the file; and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import understudy
from conftest import same_noise
from understudy.errors import BudgetError, UsageError
from understudy.inference.refits import Refits
from understudy.models.refit import refit
from understudy.prior_source import open_prior
from understudy.release import Release
from understudy.schema import Schema

ROWS = 3000
SCHEMA = f"""\
[table]
name = "survey"
rows = {ROWS}

[attributes.age]
kind = "integer"
range = [18, 89]
bins = 8

[attributes.region]
kind = "category"
values = ["north", "south", "east"]

[attributes.smoker]
kind = "boolean"

[attributes.income]
kind = "integer"
range = [0, 200000]
"""


def people(seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    region = draw.choice(["north", "south", "east"], ROWS, p=[0.5, 0.3, 0.2])
    smoker = draw.random(ROWS) < 0.2 + 0.5 * (region == "south")
    income = np.exp(draw.normal(10, 0.5, ROWS) + 0.5 * smoker).astype(int).clip(0, 200_000)
    age = draw.integers(18, 90, ROWS)
    return pd.DataFrame({"age": age, "region": region, "smoker": smoker, "income": income})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNDERSTUDY_LEDGER", str(tmp_path / "ledger.db"))
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "binned.toml").write_text(SCHEMA.replace("200000]", "200000]\nbins = 10"))
    people(1).to_csv("2025.csv", index=False)
    people(2).to_csv("2026.csv", index=False)
    return tmp_path


def published(data: str, schema: str, save: str, **more: Any) -> Release:
    with same_noise(more.pop("seed", 1)):
        return understudy.publish(data, schema, epsilon=1, cap="none", save=save, **more)


@pytest.mark.costly
def test_a_release_is_published_from_last_years(place: Path) -> None:
    before = published("2025.csv", "schema.toml", "2025.zip")
    made = published("2026.csv", "schema.toml", "2026.zip", prior="2025.zip", seed=2)
    assert before.trees and [t.attribute.name for t in made.trees] == ["income"]
    assert np.array_equal(made.trees[0].first, before.trees[0].first)  # last year's bins
    purposes = [charge.purpose for charge in made.card.charges]
    assert "prior" in purposes and "bins" not in purposes
    (said,) = (note for note in made.card.notes if note.startswith("prior"))
    assert before.hash[:16] in said and "epsilon 1" in said and "spent separately" in said
    assert made.card.payer.epsilon == 2  # type: ignore[union-attr]
    assert made.facts.more["prior"]["hash"] == before.hash
    read = Release.open("2026.zip")
    assert read.hash == made.hash and read.prior is not None
    refitted = refit(read.measurements, read.design)  # type: ignore[arg-type]
    assert np.allclose(
        refitted.model.project(("region", "smoker")).table, read.model.project(("region", "smoker")).table
    )
    assert Refits.of(read, count=2) is not None
    again = published("2026.csv", "schema.toml", "again.zip", prior=before, seed=2)  # not its file, the release itself
    assert all(np.array_equal(x.values, y.values) for x, y in zip(again.measurements, made.measurements, strict=True))


def test_a_public_table_is_stamped(place: Path) -> None:
    made = published("2026.csv", "binned.toml", "2026.zip", prior="2025.csv")
    (said,) = (note for note in made.card.notes if note.startswith("prior"))
    assert "said to be public by the custodian" in said
    plan = understudy.plan("binned.toml", epsilon=1, prior="2025.csv")
    assert any("said to be public by the custodian" in note for note in plan.notes)
    assert made.summary().count("said to be public") == 1
    made.report().save("report.html")
    assert "said to be public" in Path("report.html").read_text()


@pytest.mark.costly
def test_a_run_goes_on_with_the_same_prior_only(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal knows the prior by its hash: another one at the same epsilon is another run, which the cap refuses."""
    from understudy.methods.aim import prior_use

    def stop(*_: Any) -> Any:
        raise KeyboardInterrupt

    published("2025.csv", "binned.toml", "2025.zip")
    published("2025.csv", "binned.toml", "other.zip", seed=5)
    whole = published("2026.csv", "binned.toml", "whole.zip", prior="2025.zip", seed=2)
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr("understudy.models.refit.refit", stop)
        understudy.publish("2026.csv", "binned.toml", epsilon=1, cap=1, save="cut.zip", prior="2025.zip", ledger="n.db")
    with pytest.raises(BudgetError), same_noise(3):
        understudy.publish("2026.csv", "binned.toml", epsilon=1, cap=1, prior="other.zip", ledger="n.db", save="o.zip")
    with same_noise(4), monkeypatch.context() as counting:
        asked: list[str] = []
        used = prior_use.used_prior
        counting.setattr("understudy.methods.aim.run.used_prior", lambda *a: asked.append("prior") or used(*a))
        made = understudy.publish("2026.csv", "binned.toml", epsilon=1, cap=1, save="cut.zip", prior="2025.zip",
                                  ledger="n.db")  # fmt: skip
    assert asked == ["prior"] and made.card.payer.epsilon == 1  # type: ignore[union-attr]
    assert whole.prior is not None and made.prior is not None and made.prior.hash == whole.prior.hash


@pytest.mark.costly
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("[attributes.smoker]", "[attributes.smokes]"), "smokes only in the schema; smoker only in the prior"),
        (('"east"]', '"west"]'), r"other values or bins of 'region' \(3: north, south, east\)"),
        (("bins = 8", "bins = 9"), "other values or bins of 'age'"),
        (("200000]", "250000]"), "other values or bins of 'income'"),
    ],
)
def test_other_columns_or_bins_are_refused_before_anything_is_spent(
    place: Path, change: tuple[str, str], words: str
) -> None:
    published("2025.csv", "schema.toml", "2025.zip")
    (place / "changed.toml").write_text(SCHEMA.replace(*change))
    with pytest.raises(UsageError, match=words):
        understudy.publish("2026.csv", "changed.toml", epsilon=1, prior="2025.zip", ledger="fresh.db")
    assert not (place / "fresh.db").exists()


def test_the_private_table_is_no_public_one(place: Path) -> None:
    """Its exact tables would be in the release."""
    (place / "again.csv").symlink_to(place / "2026.csv")
    for prior in ("2026.csv", "again.csv", Path("2026.csv").absolute()):
        with pytest.raises(UsageError, match="the private table itself"):
            understudy.publish("2026.csv", "binned.toml", epsilon=1, prior=prior, ledger="fresh.db")
    assert not (place / "fresh.db").exists()


def test_what_cannot_be_a_prior_is_refused(place: Path) -> None:
    schema = Schema.open("schema.toml")
    with pytest.raises(UsageError, match=r"income would get bins from this run"):
        open_prior("2025.csv", schema)
    people(1).drop(columns="region").to_csv("narrow.csv", index=False)
    with pytest.raises(UsageError, match=r"'narrow.csv' does not fit the schema"):
        open_prior("narrow.csv", Schema.open("binned.toml"))
    people(1).head(0).to_csv("empty.csv", index=False)
    with pytest.raises(UsageError, match="no rows"):
        open_prior("empty.csv", Schema.open("binned.toml"))
    made = published("2025.csv", "binned.toml", "wavelet.zip", method="privelet", attributes="age,smoker")
    with pytest.raises(UsageError):
        open_prior(made, Schema.open("binned.toml"))
