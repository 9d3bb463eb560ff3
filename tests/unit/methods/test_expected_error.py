"""Expected errors: from public facts, monotone where they must be, and about right on a table of its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from conftest import chained, private_table, schema_of
from understudy.errors import UsageError
from understudy.methods import method_named
from understudy.methods.expected_error import expected_error, named_error
from understudy.methods.least_epsilon import Accuracy
from understudy.privacy.budget import Budget
from understudy.publishing import least_epsilon, plan
from understudy.schema import Schema

SIZES = {"a": 4, "b": 5, "c": 3, "d": 6, "e": 4, "f": 5}


def test_more_budget_more_rows_and_a_delta_help():
    def two_way(rows: int, epsilon: float, delta: float = 0) -> float:
        found = plan(schema_of(SIZES, rows), epsilon=epsilon, delta=delta).expected
        assert found.one_way <= found.two_way <= found.three_way
        return found.two_way

    assert two_way(5000, 2) < two_way(5000, 0.5)
    assert two_way(20_000, 1) < two_way(5000, 1)
    said = plan(schema_of(SIZES, 5000), epsilon=1)
    assert any("twice the rows" in note and "add-remove" in note for note in said.notes)
    assert said.as_json()["expected"]["two_way"]["low"] < said.expected.two_way
    assert {p["phase"]: p["expected_tvd"] for p in said.as_json()["phases"]}["tables"] == said.expected.two_way
    assert "expected total variation distance" in said.text() and "10% share of a group of 500" in said.words()


def test_a_range_counts_with_as_many_bins_as_the_plan_has():
    """A publication finds some 12 bins where rows are few, and not the 20 of those that buy no tree."""
    schema = Schema.from_toml(
        '[table]\nname = "t"\nneighbours = "replace-one"\nrows = 4000\n'
        + "".join(f'[attributes.{n}]\nkind = "integer"\nrange = [0, 5000]\n' for n in ("x", "y", "z"))
    )
    few, many = plan(schema, epsilon=0.1), plan(replace(schema, rows=4_000_000, text=None), epsilon=4)
    assert few.bins == 12 < many.bins <= 32
    public = schema.with_public_bins(12)
    assert max(a.size for a in public.modelled) < min(a.size for a in schema.with_public_bins().modelled)
    assert few.expected == expected_error(public, few)
    assert few.expected.one_way < 0.8 * expected_error(schema, replace(few, bins=20)).one_way


@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_what_is_expected_comes_about(epsilon, tmp_path: Path):
    rows = 4000
    schema, columns = schema_of(SIZES, rows), chained(SIZES, rows)
    chosen = method_named("auto", {}, schema)
    expected = expected_error(schema, chosen.plan(schema, Budget(epsilon)))
    found = {1: [], 2: [], 3: []}
    model = chosen.fit(private_table(schema, columns, Budget(epsilon), tmp_path / "l.db")).model
    for ways in found:
        for names in combinations(SIZES, ways):
            shape = [SIZES[n] for n in names]
            cells = np.ravel_multi_index([columns[n].astype(int) for n in names], shape)
            exact = np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape) / rows
            found[ways].append(0.5 * np.abs(model.project(names).table - exact).sum())
    said = {1: expected.one_way, 2: expected.two_way, 3: expected.three_way}
    for ways, errors in found.items():
        assert 1 / 3 < np.mean(errors) / said[ways] < 3, ways


def test_where_every_pair_is_measured_noise_is_all_there_is(tmp_path: Path, monkeypatch):
    """A forecast that takes all pairs as not measured, the broken twin, expects three times as much."""
    sizes, rows, budget = dict.fromkeys("abcd", 3), 40_000, Budget("4", "1e-9")
    schema, columns = schema_of(sizes, rows), chained(sizes, rows)
    chosen = method_named("auto", {}, schema)
    model = chosen.fit(private_table(schema, columns, budget, tmp_path / "l.db")).model
    errors = []
    for names in combinations(sizes, 2):
        cells = np.ravel_multi_index([columns[n].astype(int) for n in names], [3, 3])
        exact = np.bincount(cells, minlength=9).reshape(3, 3) / rows
        errors.append(0.5 * np.abs(model.project(names).table - exact).sum())
    plan = chosen.plan(schema, budget)
    assert 1 / 3 < np.mean(errors) / expected_error(schema, plan).two_way < 2
    monkeypatch.setattr("understudy.methods.expected_error._measured", lambda *_: 0.0)
    assert np.mean(errors) / expected_error(schema, plan).two_way < 1 / 3


def test_merged_groups_leave_less_noise_in_large_pairs() -> None:
    schema = schema_of({f"c{i}": size for i, size in enumerate((120, 90, 200, 60, 80))}, 60_000)
    merging, whole = (
        method_named("aim", options, schema).plan(schema, Budget("1", "1e-9")) for options in ({}, {"merge": 0})
    )
    groups = {p.name: p.groups for p in merging.phases}["tables"]
    assert 4 <= groups < 60 and not any(p.groups for p in whole.phases)
    sure = [replace(p, phases=tuple(q for q in p.phases if q.name != "dependence")) for p in (merging, whole)]
    with_groups, without = (expected_error(schema, p).two_way for p in sure)
    assert with_groups < 0.8 * without


@pytest.mark.costly
def test_the_least_epsilon():
    schema = schema_of(SIZES, 50_000)
    found = least_epsilon(schema, tvd=0.05)
    assert found.epsilon is not None and "0.05" in found.wanted and found.expected <= 0.05
    assert plan(schema, epsilon=found.epsilon).expected.two_way <= 0.05
    assert plan(schema, epsilon=found.epsilon * 0.9).expected.two_way > 0.05
    assert least_epsilon(schema, tvd=0.02).epsilon > found.epsilon
    lost = least_epsilon(schema_of(SIZES, 60), tvd=0.001)
    assert lost.epsilon is None and lost.expected > 0.001 and lost.reached.startswith("off by")
    by = least_epsilon(schema, accuracy="shares by a and b within 2 points")
    assert by.epsilon is not None and "a and b" in by.wanted and by.reached.endswith("points")
    bad = (
        "share by a and zip ± 2 points", "mean by a", "share by a, b, c, d ± 1 points", "share by a, a ± 1 point",
        "share by a ± 0 points",
    )  # fmt: skip
    for text in bad:
        with pytest.raises(UsageError):
            Accuracy.of_text(text, schema)
    with pytest.raises(UsageError):
        least_epsilon(schema)


def test_a_wish_is_about_the_table_that_it_names(tmp_path: Path):
    """Two small columns beside large ones cost less than the average pair, whose distance was the forecast before."""
    schema = schema_of({"a": 2, "b": 3, "c": 60, "d": 80, "e": 50}, 20_000)
    made = plan(schema, epsilon=1, delta=1e-9)
    assert named_error(schema, made, ("a", "b")) < 0.4 * made.expected.two_way < named_error(schema, made, ("c", "d"))
    small, large = (least_epsilon(schema, accuracy=f"share by {names} ± 1 point") for names in ("a and b", "a"))
    assert large.epsilon < small.epsilon


@pytest.mark.costly
@pytest.mark.parametrize("names", [("a",), ("a", "b"), ("c", "e"), ("a", "b", "c")])
def test_shares_come_out_about_as_a_wish_expects(names: tuple[str, ...], tmp_path: Path):
    rows, budget = 4000, Budget("1", "1e-9")
    schema, columns = schema_of(SIZES, rows), chained(SIZES, rows)
    chosen = method_named("auto", {}, schema)
    expected = Accuracy("", 0.1, names).error(schema, chosen.plan(schema, budget))
    shape, found = [SIZES[n] for n in names], []
    exact = np.bincount(np.ravel_multi_index([columns[n].astype(int) for n in names], shape), minlength=np.prod(shape))
    for i in range(4):
        model = chosen.fit(private_table(schema, columns, budget, tmp_path / f"{i}.db")).model
        found.append(np.quantile(np.abs(model.project(names).table.ravel() - exact / rows), 0.95))
    assert 1 / 4 < np.mean(found) / expected < 2
