"""Uniform, Laplace, Fourier, Contingency and Majority against hand-worked and brute-force tables; budgets; refusals."""

from __future__ import annotations

import ast
import inspect
import itertools
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.errors import TooLarge, UsageError
from understudy.methods import METHODS
from understudy.privacy.accounting import total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.questions.hadamard import block
from understudy.schema import Axis

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from rivals.fourier import Fourier, needed_blocks, table_from_blocks
from rivals.laplace_tables import LaplaceTables
from rivals.majority import majority_class
from rivals.private_rivals import RIVALS, rival_named
from rivals.released_tables import ReleasedTables
from rivals.rival import RivalBudget, consistent, tables_of

BINARY = dict.fromkeys("abcde", 2)
MIXED = {"a": 2, "b": 3, "c": 5}
ROWS = 400
NEIGHBOURS = ("replace-one", "add-remove")
OPTIONS: dict[str, dict[str, Any]] = {"mwem": {"alpha": 2, "rounds": 3}}


def exact_table(columns: dict[str, np.ndarray], sizes: dict[str, int], names: tuple[str, ...]) -> np.ndarray:
    counts = np.zeros([sizes[n] for n in names])
    np.add.at(counts, tuple(columns[n] for n in names), 1)
    return counts / counts.sum()


def fitted(
    name: str, sizes: dict[str, int], budget: Budget, path: Path, neighbours: str = "replace-one", **options: Any
) -> Any:
    schema = schema_of(sizes, ROWS if neighbours == "replace-one" else None, neighbours)
    table = private_table(schema, columns_of(sizes, ROWS), budget, path)
    return rival_named(name, options).fit(table), table


# -- what holds for every rival ----------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("name", RIVALS)
def test_the_whole_budget_is_spent_and_the_plan_says_on_what(
    name: str, neighbours: str, delta: float, ledger_path: Path
) -> None:
    budget, options = Budget(2, delta), OPTIONS.get(name, {})
    fit, table = fitted(name, BINARY, budget, ledger_path, neighbours, **options)
    spent = sum(Fraction(charge["cost"]) for charge in table.reservation.charges())
    plan = rival_named(name, options).plan(table.schema, budget, ROWS)
    assert spent == sum(phase.cost for phase in plan.phases) == (0 if name == "uniform" else total_cost(budget))
    assert plan.method == name and plan.text()
    factor = fit.model.project(["a"])
    assert factor.total == pytest.approx(1) and (factor.table >= 0).all()
    by_plan = max((phase.scale for phase in plan.phases if phase.name == "tables"), default=None)
    if by_plan is not None:
        assert fit.measurements[-1].noise.scale == pytest.approx(by_plan)


def test_rivals_read_rows_through_the_private_table_alone() -> None:
    """The import contracts cover the package; this is the one rule for the rivals beside it."""
    files = [Path(inspect.getfile(rival)) for rival in {*RIVALS.values(), ReleasedTables, RivalBudget}]
    assert {file.parent.name for file in files} == {"rivals"}
    for file in files:
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        modules = {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)}
        modules |= {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
        assert not [m for m in modules if m.startswith(("understudy.engines", "opendp", "random", "secrets"))]


def test_rivals_are_never_methods() -> None:
    assert not set(RIVALS) & set(METHODS)
    with pytest.raises(UsageError, match="Did you mean 'mwem'"):
        rival_named("mwen", {})
    with pytest.raises(UsageError, match="no option 'alfa'"):
        rival_named("laplace", {"alfa": 2})


@pytest.mark.parametrize("name", ["laplace", "fourier", "contingency", "mwem", "priview-paper", "majority"])
def test_a_huge_budget_gives_the_real_tables(name: str, ledger_path: Path) -> None:
    options = {"mwem": {"alpha": 2, "rounds": 20, "passes": 300}}.get(name, {})
    fit, _ = fitted(name, BINARY, Budget(10_000), ledger_path, **options)
    columns = columns_of(BINARY, ROWS)
    width = 1 if name == "majority" else 2
    for names in itertools.combinations(BINARY, width):
        found = fit.model.project(names).table
        assert found == pytest.approx(exact_table(columns, BINARY, names), abs=0.02)


# -- one by one --------------------------------------------------------------------------------------------------


def test_uniform_reads_nothing(ledger_path: Path) -> None:
    fit, table = fitted("uniform", MIXED, Budget(1), ledger_path)
    assert fit.model.project(["c", "b"]).table == pytest.approx(np.full((5, 3), 1 / 15))
    assert table.reservation.charges() == [] and fit.measurements == ()
    assert len(fit.model.sample(7, np.random.default_rng(0))["b"]) == 7


def test_laplace_measures_every_table_once_and_answers_no_other(ledger_path: Path) -> None:
    """Three tables of three attributes: each cell has Laplace noise of scale 2·3/ε (one measurement, L1 sensitivity 6)."""
    fit, _ = fitted("laplace", MIXED, Budget(3), ledger_path, alpha=2)
    assert [m.axes for m in fit.measurements] == [tuple(map(Axis, p)) for p in itertools.combinations("abc", 2)]
    assert [m.noise.scale for m in fit.measurements] == pytest.approx([2.0] * 3)
    first = fit.measurements[0]
    assert fit.model.project(["b", "a"]).table == pytest.approx(
        np.maximum(first.values, 0).T / np.maximum(first.values, 0).sum()
    )
    assert fit.model.project(["c"]).table.shape == (5,)
    for ask in (lambda: fit.model.project(["a", "b", "c"]), lambda: fit.model.condition({"a": [0]})):
        with pytest.raises(UsageError, match="laplace"):
            ask()
    with pytest.raises(UsageError, match="no rows to draw"):
        fit.model.sample(3, np.random.default_rng(0))


def test_consistency_worked_by_hand() -> None:
    assert consistent((Axis("a"),), np.array([6, -2, 2])).table == pytest.approx([0.75, 0, 0.25])
    assert consistent((Axis("a"),), np.array([-1, -2])).table == pytest.approx([0.5, 0.5])


def test_too_many_tables_are_refused() -> None:
    with pytest.raises(TooLarge, match="lower alpha"):
        LaplaceTables(alpha=4).plan(schema_of({f"a{i}": 2 for i in range(60)}, ROWS), Budget(1))
    assert len(tables_of(schema_of(MIXED, ROWS), 7)) == 1


@pytest.mark.parametrize("sizes", [BINARY, MIXED, {"a": 4, "b": 1, "c": 3}])
@pytest.mark.parametrize("alpha", [1, 2, 3])
def test_exact_coefficients_give_back_the_exact_tables(sizes: dict[str, int], alpha: int) -> None:
    schema, columns = schema_of(sizes, ROWS), columns_of(sizes, ROWS)

    def counts(axes: Any) -> np.ndarray:
        return np.rint(ROWS * exact_table(columns, sizes, tuple(a.attribute for a in axes))).astype(np.int64)

    blocks = {frozenset(a): (a, block(counts(a)).astype(float)) for a in needed_blocks(schema, alpha)}
    for axes in tables_of(schema, alpha):
        for order in itertools.permutations(axes):
            assert table_from_blocks(order, blocks, ROWS, schema) == pytest.approx(counts(order), abs=1e-9)


def test_fourier_worked_by_hand(ledger_path: Path) -> None:
    """Two binary attributes: three coefficients (a, b, ab), noise of scale 2·3/ε on each; the sum is n without noise."""
    fit, _ = fitted("fourier", {"a": 2, "b": 2}, Budget(3), ledger_path)
    assert fit.facts["coefficients"] == 3
    plan = Fourier().plan(schema_of({"a": 2, "b": 2}, ROWS), Budget(3))
    assert plan.phases[0].scale == pytest.approx(2.0)
    two = table_from_blocks(
        (Axis("a"),), {frozenset([Axis("a")]): ((Axis("a"),), np.array([4.0]))}, 10, schema_of({"a": 2}, 10)
    )
    assert two == pytest.approx([7, 3])


def test_contingency_is_refused_where_the_domain_is_too_large(ledger_path: Path) -> None:
    wide = {f"a{i}": 2 for i in range(30)}
    table = private_table(schema_of(wide, ROWS), columns_of(wide, ROWS), Budget(1), ledger_path)
    for name in ("contingency", "mwem"):
        with pytest.raises(TooLarge, match="1.07e\\+09 cells"):
            rival_named(name, {}).fit(table)
        with pytest.raises(TooLarge, match="whole domain"):
            rival_named(name, {}).plan(table.schema, Budget(1))
    assert table.reservation.charges() == []


def test_contingency_clips_the_table_or_the_projection(ledger_path: Path) -> None:
    for clip in ("table", "projection"):
        fit, _ = fitted("contingency", MIXED, Budget(1), ledger_path.with_name(clip), clip=clip)
        noisy = fit.measurements[0].values
        first = np.maximum(noisy, 0) if clip == "table" else noisy
        two = np.maximum(first.sum(axis=1), 0)
        assert fit.model.project(["c", "a"]).table == pytest.approx(two.T / two.sum())
        if clip == "table":
            assert set(fit.model.sample(50, np.random.default_rng(0))) == set(MIXED)
            assert fit.model.condition({"a": [1]}).project(["a"]).table == pytest.approx([0, 1])
        else:
            with pytest.raises(UsageError, match="no rows"):
                fit.model.sample(50, np.random.default_rng(0))


def test_majority_splits_the_budget_over_its_targets(ledger_path: Path) -> None:
    fit, table = fitted("majority", MIXED, Budget(1000), ledger_path, targets="c, a")
    columns = columns_of(MIXED, ROWS)
    assert [m.axes for m in fit.measurements] == [(Axis("c"),), (Axis("a"),)]
    assert fit.facts["majority"] == {n: str(np.bincount(columns[n]).argmax()) for n in ("c", "a")}
    label = np.array([0, 0, 1, 1, 1])
    assert majority_class(fit.model, "c", label) == np.bincount(label[columns["c"]]).argmax()
    with pytest.raises(UsageError, match="no attribute"):
        rival_named("majority", {"targets": "q"}).plan(table.schema, Budget(1))
