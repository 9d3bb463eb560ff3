"""Model error as a phase: bought where a public rule says so, paid out of the same budget, and right."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from understudy.demo import demo_schema, demo_table
from understudy.engines.opening import PrivateData, open_engine
from understudy.methods.model_error import PARTS, PURPOSE, compared, error_cost
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.noise import NOISES
from understudy.publishing import plan
from understudy.schema import Axis
from understudy.testing import publish_seeded

ROWS = 4000


def published(tmp_path: Any, **more: Any) -> Any:
    schema = demo_schema(rows=ROWS)
    table = demo_table(ROWS, np.random.default_rng(1))
    return publish_seeded(table, schema, seed=1, epsilon=4, delta=1e-9, ledger=tmp_path / "l.db", cap="none", **more)


@pytest.mark.costly
def test_the_whole_budget_is_spent_and_the_figures_are_in_the_release(tmp_path):
    made = published(tmp_path)
    charges = [c for c in made.charges if c["purpose"] == PURPOSE]
    assert len(charges) == len(PARTS)
    whole = total_cost(Budget(4, 1e-9))
    assert sum(Fraction(c["cost"]) for c in made.charges) == whole
    assert sum(Fraction(c["cost"]) for c in charges) == whole / 100
    assert {"pairs", "largest", "triples", "compared"} == set(made.release.facts.more["model_error"])


@pytest.mark.costly
def test_the_figures_are_those_of_the_rows(tmp_path):
    """Each within six standard deviations of its noise from the exact distance."""
    release = published(tmp_path).release
    found = release.facts.more["model_error"]
    opened = open_engine(PrivateData(demo_table(ROWS, np.random.default_rng(1))), demo_schema(rows=ROWS))
    distances = {
        ways: [_distance(release, opened.engine, names) for names in found["compared"][ways]]
        for ways in ("pairs", "triples")
    }
    exact = {
        "pairs": np.mean(distances["pairs"]), "largest": np.max(distances["pairs"]),
        "triples": np.mean(distances["triples"]),
    }  # fmt: skip
    for name, value in exact.items():
        noise = NOISES[found[name]["noise"]](found[name]["scale"])
        assert abs(found[name]["rows"] - value) < 6 * max(1.0, noise.scale), name


def _distance(release: Any, engine: Any, names: list[str]) -> float:
    (counts,) = engine.marginals([tuple(Axis(name) for name in names)])
    return float(np.abs(counts - np.rint(release.rows * release.model.project(names).table)).sum())


@pytest.mark.parametrize(("epsilon", "delta", "bought"), [(4, 1e-9, True), (4, 0, True), (0.1, 0, False)])
def test_a_plan_says_whether_it_is_bought(epsilon, delta, bought):
    made = plan(demo_schema(rows=ROWS), epsilon=epsilon, delta=delta)
    assert any(p.name == PURPOSE for p in made.phases) == bought
    assert sum(p.cost for p in made.phases) == total_cost(Budget(epsilon, delta))


def test_the_rule_is_public():
    """The cost follows from the schema and the budget; a private row count does not take part."""
    schema = demo_schema(rows=ROWS)
    budget = Budget(4, 1e-9)
    assert error_cost(schema, accounting_of(budget), total_cost(budget)) == total_cost(budget) / 100
    few = demo_schema(rows=50)
    assert error_cost(few, accounting_of(budget), total_cost(budget)) == 0


def test_compared_tables_are_those_inside_no_measured_one():
    schema = demo_schema(rows=ROWS)
    names = schema.names
    pairs = compared(schema, [names[:3]], 2, 1000)
    assert set(pairs) == set(combinations(names, 2)) - set(combinations(names[:3], 2))
    assert compared(schema, [names[:3]], 3, 7) == compared(schema, [names[:3]], 3, 7)
    assert len(compared(schema, [], 3, 7)) == 7
    everything = compared(schema, [names], 2, 1000)  # where all was measured, all is compared
    assert len(everything) == len(names) * (len(names) - 1) // 2


@pytest.mark.costly
def test_an_interrupted_run_of_an_earlier_version_goes_on_without_the_phase(tmp_path, monkeypatch):
    """Begun by a program that did not buy it, finished by this one: what was drawn is used, nothing is paid twice."""
    import understudy.planning as planning
    from understudy.privacy.ledger import Ledger
    from understudy.privacy.reservation import Charge

    plain = planning.method_named
    monkeypatch.setattr(planning, "method_named", lambda *a, **k: plain(*a, **{**k, "model_error": False}))
    journal, kept = Charge.journal, []

    def failing(self: Charge, outcome: bytes) -> None:
        journal(self, outcome)
        kept.append(outcome)
        if len(kept) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(Charge, "journal", failing)
    with pytest.raises(KeyboardInterrupt):
        published(tmp_path)
    monkeypatch.undo()
    made = published(tmp_path)
    assert made.resumed and "model_error" not in made.release.facts.more
    with Ledger(tmp_path / "l.db") as ledger:
        assert ledger.account(made.release.schema.account).spent_epsilon == 4
    again = published(tmp_path)
    assert not again.resumed and "model_error" in again.release.facts.more
