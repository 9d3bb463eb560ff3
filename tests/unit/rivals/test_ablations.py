"""BestNetwork chooses by exact counts and measures with noise; BestMarginal the other way round. Neither is importable
from the package."""

from __future__ import annotations

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.methods.privbayes import PrivBayes
from understudy.privacy.budget import Budget
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.schema import Axis

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from rivals.ablations import BestMarginal, BestNetwork

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4}
ROWS = 3000


def both(path: Path, epsilon: str):  # type: ignore[no-untyped-def]
    schema, columns = schema_of(SIZES, ROWS), columns_of(SIZES, ROWS)
    table = private_table(schema, columns, Budget(epsilon), path)
    return table, MemoryEngine(columns, ROWS, schema), columns


def joint(columns: dict[str, np.ndarray], one: str, other: str) -> np.ndarray:
    counts = np.zeros((SIZES[one], SIZES[other]))
    np.add.at(counts, (columns[one], columns[other]), 1)
    return counts / ROWS


def dependence(columns: dict[str, np.ndarray], one: str, other: str) -> float:
    p = joint(columns, one, other)
    return float(np.abs(p - np.outer(p.sum(1), p.sum(0))).sum())


def test_best_network_takes_the_highest_score_and_leaves_the_tables_noisy(ledger_path: Path) -> None:
    table, engine, columns = both(ledger_path, "0.01")
    best = BestNetwork(table, engine)
    options = [Pair(Axis(x), (Axis(p),)) for x, p in (("d", "a"), ("c", "b"), ("b", "a"), ("d", "c"))]
    highest = max(options, key=lambda o: dependence(columns, o.child.attribute, o.parents[0].attribute))
    for _ in range(5):
        assert best.choose(options, INDEPENDENCE, Fraction(1, 10**6), "structure") == highest
    assert (
        best.choose(
            options, INDEPENDENCE, Fraction(1), "structure", [0 if o == options[1] else 10**12 for o in options]
        )
        == options[1]
    )
    (noisy,) = best.measure([(Axis("d"),)], Fraction(1, 100), "tables")
    assert noisy.noise.scale == pytest.approx(200)


def test_best_marginal_gives_exact_tables_and_leaves_the_choices_noisy(ledger_path: Path) -> None:
    table, engine, columns = both(ledger_path, "0.01")
    best = BestMarginal(table, engine)
    (exact,) = best.measure([(Axis("a"), Axis("d"))], Fraction(1), "tables")
    assert exact.values / ROWS == pytest.approx(joint(columns, "a", "d")) and exact.noise.scale == 0
    options = [Pair(Axis(x), (Axis(p),)) for x, p in (("d", "a"), ("c", "b"), ("b", "a"))]
    assert {best.choose(options, INDEPENDENCE, Fraction(1, 10**5), "structure") for _ in range(60)} == set(options)


@pytest.mark.parametrize("estimate", ["ml", "paper"])
def test_privbayes_runs_on_both(ledger_path: Path, estimate: str) -> None:
    """With exact tables at a small budget the one-way tables are right; with noisy ones they are not."""
    found = {}
    for kind in (BestMarginal, BestNetwork):
        table, engine, columns = both(ledger_path.with_name(kind.__name__), "0.02")
        fit = PrivBayes(estimate=estimate, degree=1).fit(kind(table, engine))  # type: ignore[arg-type]
        real = np.bincount(columns["d"], minlength=4) / ROWS
        found[kind] = float(np.abs(fit.model.project(["d"]).table - real).sum())
    assert found[BestMarginal] < 0.02 < found[BestNetwork]


def test_they_are_no_part_of_the_package() -> None:
    for name in ("understudy.rivals", "understudy.methods.ablations", "understudy.methods.rivals"):
        assert importlib.util.find_spec(name) is None
    source = Path(__file__).resolve().parents[3] / "src"
    assert not [
        p for p in source.rglob("*.py") if "from rivals" in p.read_text() or "import benchmarks" in p.read_text()
    ]
