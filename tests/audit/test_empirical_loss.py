"""An empirical audit: run the real thing on two neighbouring tables and bound the loss from below by what comes out.

The auditor sees the measurements of a release and knows both tables, and uses the best test there is, the likelihood
ratio. Half of the runs choose a threshold; the other half give a Clopper–Pearson lower bound on epsilon. The bound must
stay below the claim, must not be empty, and must rise above the claim for twins that are broken on purpose.

What goes wrong is tried once more: a sound mechanism, whose bound is above its claim with probability ALPHA at most,
fails with 10⁻¹⁰, and so does a twin that is missed once in a hundred thousand times.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import beta

from conftest import schema_of
from luck import once_more
from understudy.engines.memory import MemoryEngine
from understudy.methods import method_named
from understudy.privacy.accounting import Accounting, accounting_of, purse
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace
from understudy.privacy.random_source import SystemSource
from understudy.privacy.sensitivity import Sensitivity
from understudy.publishing import publish
from understudy.schema import Schema

pytestmark = pytest.mark.slow

NAMES = ("a", "b", "c")
ALPHA = 1e-5  # the chance that the bound is above the claim of a sound mechanism
Codes = dict[str, np.ndarray]
Runs = Callable[[Codes, int], list[tuple[Measurement, ...]]]

# Six people who are all alike; in the neighbour one of them is everything the others are not (or is not there).
SAME = np.zeros((6, 3), dtype=np.uint8)
OTHER = np.vstack([SAME[:5], np.ones((1, 3), dtype=np.uint8)])
FEWER = SAME[:5]


def codes_of(rows: np.ndarray) -> Codes:
    return {name: rows[:, i].copy() for i, name in enumerate(NAMES)}


def neighbours(kind: str, columns: int = 1) -> tuple[Schema, Codes, Codes]:
    """One column is the sharpest case: the whole budget goes to one table, and one row moves all of it."""
    sizes = dict.fromkeys(NAMES[:columns], 2)
    rows, one, two = (6, SAME, OTHER) if kind == "replace-one" else (None, OTHER, FEWER)
    first, second = codes_of(one), codes_of(two)
    return schema_of(sizes, rows, kind), {n: first[n] for n in sizes}, {n: second[n] for n in sizes}


@pytest.fixture(autouse=True)
def scales_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scale is a function of public numbers, and finding it is most of the work of a tiny fit: find each once."""
    monkeypatch.setattr(Accounting, "selection_scale", cache(Accounting.selection_scale))
    for noise in (Laplace, Gaussian):
        monkeypatch.setattr(noise, "for_cost", staticmethod(cache(noise.for_cost)))


# -- the audit -----------------------------------------------------------------------------------------------------


def log_ratio(measured: tuple[Measurement, ...], schema: Schema, one: Codes, two: Codes) -> float:
    """ln of how much likelier these noisy tables are under the first table than under the second."""
    total = 0.0
    for m in measured:
        here, there = (
            next(iter(MemoryEngine(codes, len(codes["a"]), schema).marginals([m.axes]))).reshape(m.values.shape)
            for codes in (one, two)
        )
        if isinstance(m.noise, Laplace):
            total += float((np.abs(m.values - there) - np.abs(m.values - here)).sum() / m.noise.scale)
        else:
            total += float(((m.values - there) ** 2 - (m.values - here) ** 2).sum() / (2 * m.noise.scale**2))
    return total


def lower_bound(runs: Runs, schema: Schema, one: Codes, two: Codes, count: int, delta: float = 0.0) -> float:
    """A lower confidence bound on epsilon: ln((P[E | one] − delta) / P[E | two]) for the best event found."""
    first, second = (np.asarray([log_ratio(m, schema, one, two) for m in runs(codes, count)]) for codes in (one, two))
    half = count // 2
    best = 0.0
    for a, b in ((first, second), (-second, -first)):  # either table may be the likelier one
        levels = np.unique(a[:half])
        level = levels[np.argmax(_bound(_reach(a[:half], levels), _reach(b[:half], levels), half, delta))]
        best = max(best, float(_bound(_reach(a[half:], level), _reach(b[half:], level), count - half, delta)))
    return best


def _reach(values: np.ndarray, levels: Any) -> Any:
    """How many of the values reach each level."""
    return len(values) - np.searchsorted(np.sort(values), levels)


def _bound(hits: Any, false_hits: Any, count: int, delta: float) -> Any:
    low = beta.ppf(ALPHA / 4, np.maximum(hits, 1), count - hits + 1) * (np.asarray(hits) > 0)
    high = np.where(false_hits < count, beta.ppf(1 - ALPHA / 4, false_hits + 1, np.maximum(count - false_hits, 1)), 1.0)
    return np.log(np.maximum(low - delta, 1e-300) / high)


# -- two ways to run it --------------------------------------------------------------------------------------------


class FreeReservation:
    """A purse without a file: the kernel's own charging rule, thousands of times a second."""

    def __init__(self, accounting: str, purse: Fraction) -> None:
        self.accounting, self.purse, self.left = accounting, purse, purse

    def charge(self, purpose: str, cost: Fraction, ask: str, formerly: Any = None) -> Any:
        assert 0 <= cost <= self.left
        self.left -= cost
        return SimpleNamespace(outcome=None, drawing=lambda: None, journal=lambda _: None, note=lambda _: None)


def fits(schema: Schema, budget: Budget, source: Any, **options: Any) -> Runs:
    """The method on the real private table."""
    method = method_named("privbayes", {"estimate": "paper", **options})
    terms = accounting_of(budget), purse(budget)  # finding rho takes a while: once

    def run(codes: Codes, count: int) -> list[tuple[Measurement, ...]]:
        rows = len(codes["a"])
        return [
            method.fit(
                LocalPrivateTable(schema, MemoryEngine(codes, rows, schema), FreeReservation(*terms), source)  # type: ignore[arg-type]
            ).measurements
            for _ in range(count)
        ]

    return run


def publications(schema: Schema, budget: Budget, folder: Path) -> Runs:
    """`publish` itself, ledger and all; only the disk is not waited for."""

    def run(codes: Codes, count: int) -> list[tuple[Measurement, ...]]:
        table = pa.table({name: [str(code) for code in column] for name, column in codes.items()})
        found = []
        for i in range(count):
            ledger = Ledger(folder / f"{len(list(folder.iterdir()))}-{i}.db")
            ledger.connection.execute("PRAGMA synchronous = OFF")
            found.append(publish(table, schema, epsilon=budget.epsilon, delta=budget.delta, ledger=ledger).measurements)
            ledger.close()
            ledger.path.unlink()
        return found

    return run


class TooQuiet(SystemSource):
    """The noise of a probability put on a count: n times too little."""

    def laplace(self, values: Any, scale: float) -> Any:
        return super().laplace(values, scale / 6)

    def gaussian(self, values: Any, scale: float) -> Any:
        return super().gaussian(values, scale / 6)


# -- what must hold ------------------------------------------------------------------------------------------------

CASES = [
    pytest.param("replace-one", 0, 1, id="replace-one, pure"),
    pytest.param("add-remove", 0, 1, id="add-remove, pure"),
    pytest.param("replace-one", 0, 3, id="replace-one, pure, with structure"),
    pytest.param("replace-one", 1e-3, 1, id="replace-one, zCDP"),
]


@pytest.mark.parametrize(("kind", "delta", "columns"), CASES)
def test_the_loss_stays_below_the_claim(kind, delta, columns):
    schema, one, two = neighbours(kind, columns)
    claim = 4 if delta else 2  # under zCDP a thousand runs may see nothing at 2
    runs = fits(schema, Budget(claim, delta), SystemSource(), degree=2)

    def trial(_: int) -> None:
        found = lower_bound(runs, schema, one, two, 1000, delta)
        assert found <= claim
        assert found > (0 if delta or columns > 1 else 0.4)  # the audit sees something: it could have failed

    once_more(trial)


def above(claim: float, found: float) -> None:
    assert found > claim


@pytest.mark.parametrize(("kind", "delta", "columns"), CASES)
def test_noise_that_is_too_small_is_caught(kind, delta, columns):
    schema, one, two = neighbours(kind, columns)
    runs = fits(schema, Budget(1, delta), TooQuiet(), degree=2)
    count = 1000 if delta else 300  # under zCDP one of five audits with 300 runs would miss it
    once_more(lambda _: above(1, lower_bound(runs, schema, one, two, count, delta)))


def test_a_halved_sensitivity_is_caught(monkeypatch):
    """As if a replaced row moved one cell and not two: the papers' definition with the noise of another."""
    monkeypatch.setattr("understudy.privacy.questions.marginals.table_sensitivity", lambda schema: Sensitivity(1, 2))
    schema, one, two = neighbours("replace-one")
    runs = fits(schema, Budget(2), SystemSource())
    once_more(lambda _: above(2, lower_bound(runs, schema, one, two, 1200)))


def test_the_whole_of_publish(tmp_path):
    schema, one, two = neighbours("replace-one")

    def trial(_: int) -> None:
        assert 0 < lower_bound(publications(schema, Budget(2), tmp_path), schema, one, two, 300) <= 2

    once_more(trial)


def test_the_whole_of_publish_with_a_broken_source(tmp_path, monkeypatch):
    monkeypatch.setattr("understudy.publishing.SystemSource", TooQuiet)
    schema, one, two = neighbours("replace-one")
    runs = publications(schema, Budget(1), tmp_path)
    once_more(lambda _: above(1, lower_bound(runs, schema, one, two, 200)))
