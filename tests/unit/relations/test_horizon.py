"""The horizon: a gap is as likely as the rows to come fit behind it; and histories of a strict order have no ties."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import understudy
from understudy.relations import horizon
from understudy.relations.changes import StepChanges
from understudy.relations.horizon import Horizon
from understudy.release import Release
from visits import visits_schema


def test_chances_are_those_of_all_paths() -> None:
    gap = StepChanges(5, upward=True)
    shares = np.random.default_rng(1).dirichlet(np.ones(gap.size), 5)
    found = Horizon.of(gap, shares, 4)
    assert found is not None and gap.size == 5  # a code for each gap from 0 to 4
    for unit, left in itertools.product(range(5), range(4)):
        total = 0.0
        for gaps in itertools.product(range(5), repeat=left):
            chance, at = 1.0, unit
            for one in gaps:
                chance, at = (chance * shares[at, one], at + one) if at < 5 else (0.0, at)
            total += chance if at < 5 else 0.0
        assert np.isclose(found.fits[left, unit], total)
    assert (found.gaps(np.asarray([4]), np.asarray([2]))[0, 1:] < 1e-6).all()  # nothing comes after the end


def test_too_large_a_table_is_not_made() -> None:
    gap = StepChanges(1000, upward=True)
    assert Horizon.of(gap, np.ones((1000, gap.size)), horizon.MAX_ENTRIES // 1000) is None


def strict(people: int = 900) -> pa.Table:
    """Return rows of people whose years never repeat, many of them in all years that there are."""
    draw = np.random.default_rng(3)
    rows = []
    for patient in range(people):
        many = 5 if patient % 2 else int(draw.integers(1, 5))
        years = np.sort(draw.choice(np.arange(2001, 2007), many, replace=False))
        rows += [(str(patient), str(y), "1950", "f", "well", "70") for y in years]
    return pa.table(dict(zip(("patient", "year", "born", "sex", "state", "weight"), map(list, zip(*rows)))))


@pytest.mark.costly
def test_years_do_not_pile_up_at_the_end(tmp_path: Path) -> None:
    schema = visits_schema(**{"range = [2001, 2012]": "range = [2001, 2006]"})
    made = understudy.publish(
        strict(), schema, epsilon=10, delta="1e-6", ledger=tmp_path / "l.db", cap="none", types="declared"
    )

    def ties(release: Release) -> float:
        rows = release.sample(4000, seed=1)
        who, year = (np.asarray(rows[name]) for name in ("patient", "year"))
        return float(((who[1:] == who[:-1]) & (year[1:] == year[:-1])).mean())

    made.save(tmp_path / "a.zip")
    again = Release.open(tmp_path / "a.zip")
    assert ties(made) == ties(again) < 0.02
    object.__setattr__(again.model, "horizon", None)  # as it was
    assert ties(again) > 0.05
