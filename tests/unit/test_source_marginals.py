"""Marginals measured elsewhere: the estimator finds the model behind them, and the card says whose promise it is."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import understudy
from clinic import CLINIC, people
from understudy.errors import UsageError
from understudy.report import public_report

SCHEMA = understudy.Schema.from_toml(CLINIC)
SD = 2.0


def tables(rng: np.random.Generator) -> list[Any]:
    """Two noisy tables as a GROUP BY prints them, and one as an array."""
    frame = people()
    grouped = frame.groupby(["sex", "smoker"]).size()
    lines = [(*key, float(n + rng.normal(0, SD))) for key, n in grouped.items()]
    ages = np.histogram(frame["age"], [18, 30, 45, 60, 75, 101])[0]
    visits = [(int(v), float(n + rng.normal(0, SD))) for v, n in frame["visits"].value_counts().items()]
    return [
        (("sex", "smoker"), lines, SD),
        (("age",), ages + rng.normal(0, SD, 5), SD, "laplace"),
        understudy.NoisyMarginal(("visits",), visits, SD),
    ]


def test_the_release_follows_its_tables(tmp_path: Path) -> None:
    made = understudy.from_marginals(tables(np.random.default_rng(5)), SCHEMA, epsilon=0.5, source="the registry")
    frame = people()
    for sex in ("Female", "Male"):
        true = ((frame["sex"] == sex) & (frame["smoker"] == "yes")).sum()
        answer = made.query(f"count where sex = {sex} and smoker = yes")
        assert abs((answer.value or 0) - true) < 6 * SD and answer.stderr is not None
    assert made.rows == 2000 and len(made.sample(11)) == 11
    made.save(tmp_path / "m.release.zip")
    again = understudy.Release.open(tmp_path / "m.release.zip")
    assert again.card == made.card and again.hash == made.hash


def test_the_card_says_whose_promise_it_is() -> None:
    made = understudy.from_marginals(
        tables(np.random.default_rng(5)), SCHEMA, epsilon=0.5, delta="1e-6", source="<b>R</b>"
    )
    stamp = "privacy as promised by the source (<b>R</b>)"
    assert (
        made.card.warnings[0].startswith(stamp)
        and made.card.as_json()["source"] == "<b>R</b>"
        and not made.card.charges
    )
    assert f"!! {stamp}" in made.summary() and "no ledger of understudy was charged" in made.summary()
    for page in (public_report(made), made._repr_html_()):
        assert "privacy as promised by the source (&lt;b&gt;R" in page and "<b>R</b>" not in page


def test_what_no_table_shows_is_told() -> None:
    made = understudy.from_marginals([("sex", [1200.4, 800.2], 3.0)], SCHEMA, epsilon=1)
    assert made.card.notes == ("no table shows age, smoker, visits: every value is equally likely there",)
    assert made.query("share where smoker = yes").value == pytest.approx(0.5)


def test_a_private_row_count_is_pooled_from_the_tables() -> None:
    hidden = replace(SCHEMA, rows=None, neighbours="add-remove", text=None)
    made = understudy.from_marginals([("sex", [1200, 800], 3.0), ("smoker", [1500, 506], 3.0)], hidden, epsilon=1)
    assert made.rows == 2003


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "no table"),
        ([("sex", [1, 2])], "a table is a NoisyMarginal"),
        (["sex"], "a table is a NoisyMarginal"),
        ([("sexx", [1, 2], 1.0)], "no attribute 'sexx'"),
        ([(("sex", "sex"), [[1, 2], [3, 4]], 1.0)], "each once"),
        ([("sex", [1, 2, 3], 1.0)], r"must have the shape \(2,\)"),
        ([("sex", "many", 1.0)], "no array of numbers"),
        ([("sex", [1, float("nan")], 1.0)], "not a finite number"),
        ([("sex", [1, 2], 0)], "sd 0: give the standard deviation"),
        ([("sex", [1, 2], 1.0, "uniform")], "noise is one of"),
        ([("sex", [("Femal", 3.0)], 1.0)], "no value 'Femal'"),
        ([("sex", [("Female", "3")], 1.0)], "count is no number"),
    ],
)
def test_wrong_tables_are_told_apart(given: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        understudy.from_marginals(given, SCHEMA, epsilon=1)


def test_an_epsilon_must_be_said() -> None:
    with pytest.raises(UsageError, match="what the source promises"):
        understudy.from_marginals([("sex", [1, 2], 1.0)], SCHEMA)


def test_lines_of_a_group_by_come_in_many_forms() -> None:
    """What a database driver, a frame or JSON gives: the same release."""
    lines = [("no", 1480.0), ("yes", 520.0)]
    forms: list[Any] = [
        lines, tuple(lines), [list(line) for line in lines], [(value, Decimal(str(n))) for value, n in lines],
        pandas.DataFrame(lines, columns=["smoker", "n"]), polars.DataFrame(lines, schema=["smoker", "n"], orient="row"),
        [1480.0, 520.0], np.array([1480.0, 520.0]),
    ]  # fmt: skip
    hashes = {understudy.from_marginals([("smoker", form, np.float32(2))], SCHEMA, epsilon=1).hash for form in forms}
    assert len(hashes) == 1
    square = understudy.from_marginals([(("sex", "smoker"), [[1.0, 2.0], [3.0, 4.0]], 1.0)], SCHEMA, epsilon=1)
    assert square.measurements[0].values.tolist() == [[1, 2], [3, 4]]  # an array stays an array
