"""Amounts that a person or a file gives: the rational that was meant, or a refusal before it is worked out."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from conftest import schema_of
from understudy.errors import UsageError
from understudy.privacy.accounting import PURE, ZCDP
from understudy.privacy.budget import Budget, exact, show
from understudy.privacy.scores import batches
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Axis


@pytest.mark.parametrize(
    ("given", "meant"),
    [("0.5", Fraction(1, 2)), ("1e-9", Fraction(1, 10**9)), (Decimal("1E+2"), Fraction(100)), (0.1, Fraction(1, 10)),
     ("1/3", Fraction(1, 3)), (" 2 ", Fraction(2)), (0, Fraction(0)), ("1e-200", Fraction(1, 10**200))],
)  # fmt: skip
def test_what_was_meant(given: Any, meant: Fraction) -> None:
    assert exact(given) == meant


@pytest.mark.parametrize(
    "given",
    ["1e999999999", "1E-999999999", Decimal("1e999999"), "1e400", "1e-400", 10**400, Fraction(1, 10**400), "9" * 6000,
     "1/" + "9" * 6000, "nan", float("inf"), Decimal("nan"), "1e\u0661\u0661\u0661\u0661\u0661\u0661", "", "x", None],
)  # fmt: skip
def test_what_is_no_amount(given: Any) -> None:
    """10^999999999 would keep a processor busy for hours; what no floating-point number holds could not be shown."""
    begun = time.process_time()
    with pytest.raises(UsageError, match="must be a number"):
        exact(given)
    with pytest.raises(UsageError):
        Budget(given)
    assert time.process_time() - begun < 5
    assert show(exact("1e-299"))


@pytest.mark.parametrize("accounting", [PURE, ZCDP])
@pytest.mark.parametrize("cost", [Fraction(1, 10**400), Fraction(1, 10**101), Fraction(10**400), Fraction(0)])
def test_a_cost_without_a_scale_is_refused(accounting: Any, cost: Fraction) -> None:
    for scale in (
        lambda: accounting.noise.for_cost(Sensitivity(2, 2), cost).scale,
        lambda: accounting.selection_scale(2, cost),
    ):
        with pytest.raises(UsageError, match="whatever reads rows"):
            scale()
    assert accounting.noise.for_cost(Sensitivity(2, 2), Fraction(1, 10**100)).scale > 1e40


def test_a_batch_of_tables_fits_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four hundred tables of twenty million cells would take 64 GB."""
    monkeypatch.setattr(batches, "_BATCH_CELLS", 100)
    schema = schema_of({"a": 10, "b": 60, "c": 2}, 10)
    workload = [(Axis(name),) for name in "abcbbcaac" * 9]
    parts = list(batches.batches(object(), workload, schema))  # type: ignore[arg-type]
    assert [ask for part in parts for ask in workload[part]] == workload
    assert all(sum(map(schema.cells, workload[part])) <= 100 for part in parts)
    assert list(batches.batches(object(), [], schema)) == []  # type: ignore[arg-type]
