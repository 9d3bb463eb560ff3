"""AIM from a prior: what it costs, when it is used, and that a wrong one does little harm."""

from __future__ import annotations

import itertools
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import chained, columns_of, private_table, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import UsageError
from understudy.methods import method_named
from understudy.methods.aim import Aim
from understudy.methods.method import Fit
from understudy.methods.toolkit.public_tables import public_prior
from understudy.models.prior import Prior
from understudy.models.refit import Design, refit
from understudy.privacy.budget import Budget
from understudy.schema import Schema

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}
ROWS = 8000


def table_schema(neighbours: str = "replace-one") -> Schema:
    return schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours)


def last_year(columns: dict[str, Any] | None = None) -> Prior:
    """What a public table says: the same law with other rows, or these rows."""
    rows = chained(SIZES, ROWS, seed=7) if columns is None else columns
    schema = schema_of(SIZES, ROWS)
    return public_prior(schema, MemoryEngine(rows, ROWS, schema).marginals, ROWS, "1" * 64)


def distance(model: Any, columns: dict[str, Any]) -> float:
    """The mean total variation distance of all pairs."""
    found = []
    for one, other in itertools.combinations(SIZES, 2):
        cells = columns[one].astype(np.int64) * SIZES[other] + columns[other]
        real = np.bincount(cells, minlength=SIZES[one] * SIZES[other]) / ROWS
        found.append(0.5 * np.abs(model.project((one, other)).table.ravel() - real).sum())
    return float(np.mean(found))


def fits(method: Aim, columns: dict[str, Any], budget: Budget, folder: Path) -> list[Fit]:
    """Some runs, each with noise of its own."""
    found = []
    for _ in range(15):
        with tempfile.TemporaryDirectory(dir=folder) as own:
            found.append(method.fit(private_table(table_schema(), columns, budget, Path(own) / "l.db")))
    return found


def off(found: list[Fit], columns: dict[str, Any]) -> float:
    return float(np.mean([distance(fit.model, columns) for fit in found]))


def relabelled(columns: dict[str, Any]) -> dict[str, Any]:
    draw = np.random.default_rng(3)
    return {name: draw.permutation(SIZES[name])[codes].astype(codes.dtype) for name, codes in columns.items()}


@pytest.mark.costly
@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "3"])
@pytest.mark.parametrize("options", [{}, {"rounds": 3}])
def test_the_charges_are_the_total_cost_exactly(
    ledger_path: Path, delta: float, neighbours: str, epsilon: str, options: dict[str, int]
) -> None:
    budget, method = Budget(epsilon, delta), Aim(prior=last_year(), **options)
    table = private_table(table_schema(neighbours), chained(SIZES, ROWS), budget, ledger_path)
    fit = method.fit(table)
    charges = table.reservation.charges()  # type: ignore[attr-defined]
    assert sum(Fraction(c["cost"]) for c in charges) == table.total_cost
    assert [c["purpose"] for c in charges].count("prior") == 1
    plan = method.plan(table.schema, budget, ROWS)
    assert sum(phase.cost for phase in plan.phases) == table.total_cost
    again = refit(fit.measurements, Design(table.schema, prior=fit.prior))
    assert np.array_equal(again.model.project(("a", "b")).table, fit.model.project(("a", "b")).table)


@pytest.mark.costly
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_what_is_known_need_not_be_bought(tmp_path: Path, delta: float) -> None:
    columns, budget = chained(SIZES, ROWS), Budget("0.2", delta)
    known = fits(Aim(prior=last_year()), columns, budget, tmp_path)
    alone = fits(Aim(), columns, budget, tmp_path)
    assert all(fit.prior is not None and fit.prior.distance is not None for fit in known)
    assert off(known, columns) < 0.6 * off(alone, columns)
    said = known[0].notes[-1]
    assert "said to be public by the custodian" in said and "1111111111111111" in said


@pytest.mark.costly
@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("epsilon", ["0.2", "1"])
def test_a_wrong_prior_does_little_harm(tmp_path: Path, delta: float, epsilon: str) -> None:
    """Every value has another name: neither its columns nor its pairs hold. Its pairs are left out."""
    columns, budget = chained(SIZES, ROWS), Budget(epsilon, delta)
    wrong = last_year(relabelled(chained(SIZES, ROWS, seed=7)))
    misled, alone = (fits(method, columns, budget, tmp_path) for method in (Aim(prior=wrong), Aim()))
    for fit in misled:
        assert fit.prior is not None and fit.prior.distance is None
        assert all(len(m.axes) == 1 for m in fit.prior.tables) and "no nearer to its pairs" in fit.notes[-1]
    assert off(misled, columns) < 1.25 * off(alone, columns)


def test_what_is_asked_does_not_depend_on_rows_before_the_first_answer(ledger_path: Path, tmp_path: Path) -> None:
    """The price of the distance and the compared tables are public: the first charges are the same for any rows."""
    first = []
    for columns, path in ((chained(SIZES, ROWS), ledger_path), (columns_of(SIZES, ROWS, 5), tmp_path / "other.db")):
        table = private_table(table_schema(), columns, Budget("0.5"), path)
        Aim(prior=last_year()).fit(table)
        charges = table.reservation.charges()  # type: ignore[attr-defined]
        first.append([(c["purpose"], c["cost"]) for c in charges[:2]])
    assert first[0] == first[1] and [purpose for purpose, _ in first[0]] == ["dependence", "prior"]


def test_auto_takes_the_method_that_knows_priors() -> None:
    binary = schema_of({"a": 2, "b": 2, "c": 2}, ROWS)
    assert method_named("auto", {}, binary, prior=last_year()).name == "aim"
    with pytest.raises(UsageError, match="privbayes cannot start from a prior"):
        method_named("privbayes", {}, table_schema(), prior=last_year())
    with pytest.raises(UsageError, match="no option 'prior'"):
        method_named("aim", {"prior": "x"}, table_schema())


def test_a_public_table_gives_pairs_that_depend_and_no_others() -> None:
    """Columns in a chain are joined; columns that have nothing to do with each other are not."""
    assert {("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")} <= {
        tuple(axis.attribute for axis in m.axes) for m in last_year().tables
    }
    draw = np.random.default_rng(1)
    noise = {name: draw.integers(0, size, ROWS).astype(np.uint8) for name, size in SIZES.items()}
    assert all(len(m.axes) == 1 for m in last_year(noise).tables)
