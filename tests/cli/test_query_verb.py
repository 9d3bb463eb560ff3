"""`understudy query`: numbers from a release alone, as text or JSON; errors that point at the place."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import ROWS, process, run, write_release

from understudy.release import Release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("query"))


def test_a_number(release):
    done = run("query", release, "count")
    assert (done.code, done.err) == (0, "")
    assert done.out == "count  stderr\n120.0     0.0\n\nstderr: everything: the number of rows is public\n"


def test_json_of_one_number_and_of_groups(release):
    one = run("query", release, "share where sex = Female", "--json").json
    assert set(one) == {"value", "stderr", "stderr_covers", "notes"}
    assert 0 < one["value"] < 1 and one["stderr"] > 0 and "noise of the measured table" in one["stderr_covers"]
    many = run("query", release, "count by sex, town", "--json").json
    assert set(many) == {"groups", "stderr_covers", "notes"}
    assert len(many["groups"]) == 2 * 5
    assert many["groups"][-1]["by"] == {"sex": "Male", "town": "missing"}
    assert sum(group["value"] for group in many["groups"]) == pytest.approx(ROWS)
    assert all(set(group) == {"by", "value", "stderr"} for group in many["groups"])


def test_the_answer_fits_the_sampled_rows(release):
    """The same model speaks through both: systematic rows differ by rounding alone."""
    opened = Release.open(release)
    rows = opened.sample(200_000, seed=1)
    ages, income = rows["age"], rows["income"]
    asked = opened.query("share where 33 <= age < 47 and income > 120.5").value
    assert asked == pytest.approx(((ages >= 33) & (ages < 47) & (income > 120.5)).mean(), abs=0.004)
    mean = opened.query("mean(income) where age < 30").value
    assert mean == pytest.approx(income[ages < 30].mean(), rel=0.02)


def test_a_cut_bin_is_said(release):
    done = run("query", release, "count where age < 30")
    assert done.code == 0
    assert "note: age: the conditions cut the bin 20..39 (10 of its 20 values)" in done.out


def test_an_error_points_at_its_place(release):
    done = run("query", release, "count by sex where agee > 30")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "understudy: there is no attribute 'agee'. Did you mean 'age'?\n"
        "  count by sex where agee > 30\n"
        "                     ^^^^\n"
    )
    error = run("query", release, "count by sex where agee > 30", "--json").error
    assert (error["kind"], error["attribute"]) == ("usage", "agee")
    assert run("query", release, "count by id", "--json").error["message"].startswith("id is not part of the release")


def test_a_missing_file_and_a_missing_query(release, tmp_path):
    assert run("query", tmp_path / "none.zip", "count").code == 1
    assert run("query", release).code == 2


@pytest.mark.costly
def test_as_a_process(release):
    done = process("query", release, "mean(income) by smokes where town = 'North'")
    assert done.code == 0
    assert done.out.splitlines()[0].split()[:2] == ["smokes", "mean"]
