"""The forecast: what is said before anything is spent follows from public facts, and is about right."""

from __future__ import annotations

import logging
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conftest import columns_of, private_table, same_noise, schema_of
from understudy.methods import method_named
from understudy.methods.column_errors import column_error
from understudy.methods.forecast import count_deviation, forecast, promise, recommended_delta
from understudy.privacy.budget import Budget
from understudy.publishing import plan, publish, run
from understudy.schema import Attribute, Intervals, Schema

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 8}
WIDE = {f"c{i}": size for i, size in enumerate((2, 3, 4, 5, 8, 20, 20, 20, 10, 2))}


def lines(schema: Schema, epsilon: float = 1, rows: int | None = None, method: str = "auto") -> str:
    made = method_named(method, {}, schema).plan(schema, Budget(epsilon), rows)
    return "\n".join(forecast(schema, made))


def test_a_table_with_rows_enough_hears_nothing() -> None:
    assert lines(schema_of(SIZES, 50_000)) == ""
    assert lines(schema_of(SIZES, None, "add-remove"), rows=50_000) == ""


def test_too_few_rows() -> None:
    said = lines(schema_of(WIDE, 228))
    assert said.startswith("too few rows for this epsilon: expect an average column to be off by about 21%")
    assert lines(schema_of(WIDE, 228), epsilon=9) == ""


@pytest.mark.parametrize("method", ["auto", "privbayes"])
@pytest.mark.parametrize("rows", [228, 1000])
def test_what_is_forecast_comes_about(method: str, rows: int, tmp_path: Path) -> None:
    schema, columns = schema_of(WIDE, rows), columns_of(WIDE, rows)
    chosen = method_named(method, {}, schema)
    errors = []
    for run_ in range(3):
        model = chosen.fit(private_table(schema, columns, Budget(1), tmp_path / f"{run_}.db")).model
        for name, size in WIDE.items():
            exact = np.bincount(columns[name], minlength=size) / rows
            errors.append(np.abs(model.project([name]).table - exact).sum() / 2)
    said = column_error(schema, chosen.plan(schema, Budget(1)))
    assert 0.5 < np.mean(errors) / said < 2


@pytest.mark.costly
@pytest.mark.parametrize("method", ["aim", "privbayes", "jtree"])
def test_the_deviation_of_the_count_is_what_runs_show(method: str, tmp_path: Path) -> None:
    schema, columns = schema_of(SIZES, None, "add-remove"), columns_of(SIZES, 300)
    chosen = method_named(method, {}, schema)
    off = [chosen.fit(private_table(schema, columns, Budget(1), tmp_path / f"{i}.db")).rows - 300 for i in range(10)]
    said = count_deviation(schema, chosen.plan(schema, Budget(1), 300))
    assert 0.3 < np.sqrt(np.mean(np.square(off))) / said < 2


def test_a_count_that_would_drown_proposes_to_declare_rows() -> None:
    schema = schema_of(SIZES, None, "add-remove")
    assert "declare `rows`" in lines(schema, epsilon=0.2, rows=63)
    assert "declare `rows`" not in lines(schema_of(SIZES, 63), epsilon=0.2)
    assert "declare `rows`" not in lines(schema, rows=5000)


def test_a_column_with_more_values_than_rows_is_named() -> None:
    days = Attribute("day", Intervals("date", tuple(i - 0.5 for i in range(55_884))))
    schema = replace(schema_of(SIZES, 933), attributes=(*schema_of(SIZES, 933).attributes, days))
    assert "day (55,883 values) has more values than the table has rows (933)" in lines(schema)
    assert "day" not in lines(replace(schema, rows=60_000))


# -- the promise -----------------------------------------------------------------------------------------------


def test_the_promise_compares_like_with_like() -> None:
    schema = schema_of(WIDE, 1000)
    said = promise(schema, Budget(1))
    assert said is not None and "\n" not in said
    assert said.startswith("noise in a cell at epsilon 1: about 54 rows as it is, 34 with --delta 1e-09, 27 with")
    assert said.endswith("protects its change at epsilon 2 only")
    half = promise(schema_of(WIDE, None, "add-remove"), Budget("0.5"))
    assert half is not None and "about 54 rows as it is" in half  # the same protection of a change, the same noise
    assert "twice the mu squared" in str(promise(schema, Budget(1, "1e-9")))
    assert promise(schema_of(WIDE, None, "add-remove"), Budget(1, "1e-9")) is None


def test_a_delta_is_at_most_one_in_a_hundred_times_the_rows() -> None:
    assert recommended_delta(None) == recommended_delta(1000) == Fraction(1, 10**9)
    assert recommended_delta(10**9) == Fraction(1, 10**11)


def test_plan_says_both() -> None:
    notes = plan(schema_of(WIDE, 228), epsilon=1).notes
    assert any(note.startswith("too few rows") for note in notes)
    assert any(note.startswith("noise in a cell at epsilon 1") for note in notes)


def test_publish_warns_before_it_spends_and_the_first_time_tells_the_promise(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A run that is refused by the data itself, after the forecast, has spent nothing and was warned."""
    schema = schema_of(WIDE, 228)
    frame = pd.DataFrame({name: codes.astype(str) for name, codes in columns_of(WIDE, 228).items()})
    with caplog.at_level(logging.WARNING, "understudy"), pytest.raises(Exception, match="rows"):
        publish(frame[:100], schema, epsilon=1, ledger=tmp_path / "l.db", save=tmp_path / "r.zip")
    assert [record.getMessage()[:12] for record in caplog.records] == ["too few rows"]
    with same_noise():
        first = run(frame, schema, Budget(1), "auto", {}, ledger=tmp_path / "l.db", cap=3, register=False)
        again = run(frame, schema, Budget(1), "auto", {}, ledger=tmp_path / "l.db", register=False)
    assert any(note.startswith("noise in a cell") for note in first.notes)
    assert not any(note.startswith("noise in a cell") for note in again.notes)
    assert first.warned and first.warned == again.warned


def test_without_a_public_row_count_the_forecast_comes_afterwards_from_the_noisy_one(tmp_path: Path) -> None:
    schema = schema_of(WIDE, None, "add-remove")
    frame = pd.DataFrame({name: codes.astype(str) for name, codes in columns_of(WIDE, 228).items()})
    with same_noise():
        made = run(frame, schema, Budget(1), "auto", {}, ledger=tmp_path / "l.db", register=False)
    assert made.warned == ()
    assert any(note.startswith("too few rows") for note in made.notes)
