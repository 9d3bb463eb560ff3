"""PrivBayes on wide tables: candidates are bounded, never listed beyond the bound, and never a matter of the rows."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import columns_of, private_table, schema_of
from understudy.errors import TooLarge
from understudy.methods.privbayes import PrivBayes
from understudy.methods.toolkit import network_decision as decision
from understudy.privacy.accounting import ZCDP
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import ChooseEdge, Selection
from understudy.schema import Schema


def binary(attributes: int, rows: int = 100_000) -> Schema:
    return schema_of({f"a{i:04}": 2 for i in range(attributes)}, rows)


# -- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize(("attributes", "links"), [(50, False), (120, False), (122, True), (500, True)])
def test_beyond_the_bound_a_tree_is_chosen_without_listing(attributes: int, links: bool, size: int) -> None:
    schema = schema_of({f"a{i:04}": size for i in range(attributes)}, 100_000)
    found = PrivBayes().decide(schema, ZCDP, Fraction(1, 50), 100_000)
    assert found.links == links == (math.comb(attributes + 1, 3) > decision.MAX_OPTIONS)
    assert links or found.options <= 2 * decision.MAX_OPTIONS
    assert found.degree == 1 or not links


@pytest.mark.parametrize(("attributes", "options"), [(1100, {}), (300, {"degree": 2}), (60, {"degree": 5})])
def test_too_many_candidates_are_refused_at_once(attributes: int, options: dict[str, Any]) -> None:
    schema = binary(attributes)
    begin = time.process_time()
    with pytest.raises(TooLarge) as refused:
        PrivBayes(**options).plan(schema, Budget(1, 1e-9))
    assert time.process_time() - begin < 20  # listing them would take minutes
    for words in ("'people'", "privabn", "degree", "drop"):
        assert words in str(refused.value)


def test_the_estimate_of_time_has_no_ceiling() -> None:
    seconds = [PrivBayes().plan(binary(d), Budget(1, 1e-9)).seconds for d in (200, 500, 1000)]
    assert seconds[1] > 4 * seconds[0] and seconds[2] > 4 * seconds[1]


# -- a tree --------------------------------------------------------------------------------------------------------


@pytest.fixture
def narrow_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if more than three attributes were wide."""
    monkeypatch.setattr(decision, "MAX_OPTIONS", 5)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_the_tree_is_the_best_one_and_the_total_cost_is_spent(
    size: int, delta: float, narrow_bound: None, ledger_path: Path
) -> None:
    """A chain in which every attribute follows the one before."""
    sizes = dict.fromkeys("abcdef", size)
    table = private_table(schema_of(sizes, 30_000), columns_of(sizes, 30_000), Budget(40, delta), ledger_path)
    fit = PrivBayes().fit(table)
    edges = {frozenset((line["attribute"], *line["parents"])) for line in fit.facts["network"] if line["parents"]}
    assert edges == {frozenset(pair) for pair in itertools.pairwise("abcdef")}
    assert table.reservation.left == 0  # type: ignore[attr-defined]


def test_a_model_that_is_full_takes_no_more_links(narrow_bound: None, ledger_path: Path) -> None:
    sizes = dict.fromkeys("abcdef", 4)
    table = private_table(schema_of(sizes, 30_000), columns_of(sizes, 30_000), Budget(40, 1e-9), ledger_path)
    fit = PrivBayes(cells=24 + 8 * 16 // 3).fit(table)  # no table may take over an eighth of it
    assert not any(line["parents"] for line in fit.facts["network"])


# -- what is offered is public -------------------------------------------------------------------------------------


class Spy(LocalPrivateTable):
    """Answers choices from a script, whatever the rows say, and writes down what was asked."""

    def _select(self, question: Selection, cost: Fraction, purpose: str, of: int) -> int:
        self.asked.append((question.as_json(), question.count, cost))  # type: ignore[attr-defined]
        return int(next(self.script) * question.count)  # type: ignore[attr-defined]


def script(seed: int) -> Iterator[float]:
    generator = np.random.default_rng(seed)
    while True:
        yield float(generator.random())


@pytest.mark.costly
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=2, max_size=7),
    seed=st.integers(0, 2**20),
    bound=st.sampled_from([5, 300_000]),
    options=st.sampled_from([{}, {"theta": 2.0}, {"estimate": "paper"}, {"degree": 1}, {"cells": 60}]),
    delta=st.sampled_from([0, 1e-9]),
)
def test_what_is_offered_never_depends_on_the_rows(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    sizes: list[int],
    seed: int,
    bound: int,
    options: dict[str, Any],
    delta: float,
) -> None:
    """Two tables without anything in common, the same outcomes of every choice: the same questions to the last bit."""
    monkeypatch.setattr(decision, "MAX_OPTIONS", bound)
    named = {f"a{i}": size for i, size in enumerate(sizes)}
    schema, asked = schema_of(named, 400), []
    for columns in (columns_of(named, 400, 1), {name: np.zeros(400, dtype=np.uint8) for name in named}):
        spied = private_table(schema, columns, Budget(3, delta), Ledger(tmp_path_factory.mktemp("l") / "l.db"))
        spied.__class__ = Spy
        spied.asked, spied.script = [], script(seed)  # type: ignore[attr-defined]
        monkeypatch.setattr(spied, "public_random_index", lambda count, _: seed % count)
        PrivBayes(**options).fit(spied)
        asked.append(spied.asked)  # type: ignore[attr-defined]
    assert asked[0] == asked[1]
    if bound == 5 and len(sizes) > 3 and asked[0]:
        assert all(question[0] == ChooseEdge.kind for question, *_ in asked[0])
