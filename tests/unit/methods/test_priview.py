"""PriView with maximum likelihood: designs that cover, the public rule, refusals, and recovery."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.errors import TooLarge, UsageError
from understudy.methods import best_for, method_named
from understudy.methods.priview import PriView, covers
from understudy.privacy.budget import Budget

BINARY = {f"a{i}": 2 for i in range(9)}


@pytest.mark.parametrize("strength", [2, 3])
def test_every_set_is_in_some_view(ledger_path: Path, strength: int) -> None:
    table = private_table(schema_of(BINARY, 500), columns_of(BINARY, 500), Budget(1), ledger_path)
    fit = PriView(strength=strength).fit(table)
    views = [set(view) for view in fit.facts["views"]]
    for members in itertools.combinations(BINARY, strength):
        assert any(set(members) <= view for view in views)
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == 1  # type: ignore[attr-defined]


def test_without_noise_the_joint_is_recovered_in_pairs(ledger_path: Path) -> None:
    rows = 3000
    columns = columns_of(BINARY, rows)
    fit = PriView().fit(private_table(schema_of(BINARY, rows), columns, Budget(5000), ledger_path))
    for x, y in itertools.combinations(BINARY, 2):
        exact = np.zeros((2, 2))
        np.add.at(exact, (columns[x], columns[y]), 1 / rows)
        assert 0.5 * np.abs(fit.model.project([x, y]).table - exact).sum() < 0.005


def test_the_block_follows_the_budget() -> None:
    schema = schema_of({f"a{i}": 2 for i in range(16)}, 21_574)
    blocks = [PriView().plan(schema, Budget(e)).options["block"] for e in ("0.1", "1.6", "20")]
    assert blocks == sorted(blocks)
    assert (blocks[0], blocks[-1]) == (4, 6)
    assert PriView(block=5).plan(schema, Budget(1)).options["block"] == 5


def test_all_triples_are_covered_where_gaussian_noise_bears_it() -> None:
    schema = schema_of({f"a{i}": 2 for i in range(16)}, None, "add-remove")
    covered = [
        [PriView().plan(schema, Budget(e, delta), 20_000).options["strength"] for e in ("0.1", "3", "4")]
        for delta in ("1e-9", 0)
    ]
    assert covered == [[2, 3, 3], [2, 2, 2]]
    assert PriView(strength=2).plan(schema, Budget("1.6", "1e-9"), 20_000).options["strength"] == 2


def test_refusals_name_the_way_out() -> None:
    with pytest.raises(UsageError, match="use --method privbayes"):
        PriView().plan(schema_of({"a": 2, "b": 3, "c": 2}, 50), Budget(1))
    with pytest.raises(TooLarge, match="one table of"):
        PriView().plan(schema_of({f"a{i}": 2 for i in range(40)}, 50), Budget(1))


def test_auto_asks_the_schema_only() -> None:
    small, general = schema_of(BINARY, 500), schema_of({"a": 2, "b": 3, "c": 4}, 500)
    assert covers(small) and not covers(general)
    assert best_for(small, {}) == "priview"
    assert best_for(small, {"score": "R"}) == "privbayes"  # an option of the other method
    assert best_for(general, {}) != "priview"
    assert method_named("auto", {}, small).name == "priview"
