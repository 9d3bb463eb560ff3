"""Details inside bins: exact coefficients, sensitivities over all neighbours, and the law of what comes out."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import another_source
from understudy.engines.memory import MemoryEngine
from understudy.errors import UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import FineDetails
from understudy.privacy.questions.details import detail_sensitivity, detailed
from understudy.schema import Attribute, Intervals, Schema
from understudy.schema.fine_grid import FineGrid

SHAPES = {
    "full bins": ((-0.5, 7.5, 15.5), ()),
    "one full bin": ((-0.5, 7.5), ()),
    "ragged": ((-0.5, 2.5, 9.5, 14.5), ()),
    "with points": ((-0.5, 8.5, 17.5), (0, 4, 12)),
    "two values": ((-0.5, 1.5, 3.5), ()),
}


def schema_of(shape: str, neighbours: str = "replace-one", k: int = 1, rows: int = 1) -> Schema:
    edges, points = SHAPES[shape]
    attribute = Attribute("v", Intervals("integer", edges, points), missing=("",), fine="wavelet")
    known = rows if neighbours == "replace-one" else None
    return Schema("t", (attribute,), rows=known, neighbours=neighbours, rows_per_person=k)  # type: ignore[arg-type]


def columns(schema: Schema, depth: int) -> np.ndarray:
    """What one row at each fine code adds, by the kernel's own transform."""
    grid = schema["v"].finest_grid
    assert grid is not None
    size = schema.counted["v (fine)"].size
    return np.stack([detailed(row, grid, depth) for row in np.eye(size, dtype=np.int64)])


def exact_sensitivity(schema: Schema, depth: int) -> tuple[int, int]:
    """By brute force over every row that could be replaced, or come or go."""
    rows = columns(schema, depth)
    moves = [a - b for a, b in itertools.product(rows, rows)] if schema.rows is not None else list(rows)
    return max(int(abs(m).sum()) for m in moves), max(int((m * m).sum()) for m in moves)


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sensitivity_by_brute_force(shape: str, neighbours: str) -> None:
    schema = schema_of(shape, neighbours)
    grid = schema["v"].finest_grid
    assert grid is not None
    for depth in range(1, grid.depth + 1):
        found, claimed = exact_sensitivity(schema, depth), detail_sensitivity(depth, schema)
        assert found[0] <= claimed[0] and found[1] <= claimed[1]
        if shape in ("full bins", "one full bin", "two values"):  # every path has full depth
            assert found == claimed


def test_two_broken_twins_are_caught() -> None:
    """A row inside one bin moves less in L1 than a naive count says, and more in L2: 2·depth alone would be too low."""
    schema = schema_of("full bins")
    for depth in (1, 2, 3):
        l1, l2_squared = exact_sensitivity(schema, depth)
        assert l2_squared > 2 * depth  # the twin that takes L1 for squared L2, as if coefficients moved by one each
        assert l1 > depth  # the twin that forgets that a replaced row leaves one place and enters another


@pytest.mark.parametrize("k", [2, 3])
def test_a_person_with_several_rows(k: int) -> None:
    """k rows moved together: from the left end of a bin to its right end, all of them."""
    schema = schema_of("full bins", k=k)
    rows = columns(schema, 3)
    moved = k * (rows[0] - rows[4])  # the first value of each half: the paths part at once
    assert detail_sensitivity(3, schema) == (abs(moved).sum(), (moved**2).sum()) == (6 * k, 8 * k * k)


@pytest.mark.parametrize("shape", SHAPES)
def test_bins_and_details_give_every_cell(shape: str) -> None:
    """With the bins' totals the map is one-to-one, and the details alone hold nothing of a bin's total."""
    schema = schema_of(shape)
    attribute, grid = schema["v"], schema["v"].finest_grid
    assert grid is not None
    rows = columns(schema, grid.depth)
    fine = grid.fine
    bins = np.zeros((len(rows), attribute.domain.bins))  # type: ignore[union-attr]
    bins[fine.bin_codes, grid.bin] = 1
    both = np.concatenate([rows, bins], axis=1)[fine.bin_codes]
    assert np.linalg.matrix_rank(both) == fine.bins and rows.shape[1] == fine.bins - attribute.domain.bins  # type: ignore[union-attr]
    others = np.setdiff1d(np.arange(len(rows)), fine.bin_codes)
    assert not rows[others].any()  # points and missing values have no details
    even = np.zeros(len(rows), dtype=np.int64)
    even[fine.bin_codes] = 1
    if shape in ("full bins", "one full bin", "two values"):
        assert not detailed(even, grid, grid.depth).any()


def test_a_deep_column_is_counted_on_a_shallow_grid() -> None:
    schema = schema_of("ragged")
    domain = schema["v"].domain
    assert isinstance(domain, Intervals)
    values = np.random.default_rng(2).integers(0, 15, 400)
    deep = schema["v"].finest_grid
    assert deep is not None
    counts = np.bincount(deep.fine.encode_numbers(values.astype(float)), minlength=deep.fine.size + 1)
    for depth in range(1, deep.depth):
        own = FineGrid(domain, depth)
        direct = np.bincount(own.fine.encode_numbers(values.astype(float)), minlength=own.fine.size + 1)
        assert (detailed(counts, deep, depth) == detailed(direct, own, depth)).all()


def table_of(schema: Schema, values: np.ndarray, budget: Budget, ledger: Ledger) -> LocalPrivateTable:
    counted = schema.counted
    codes = {a.name: a.encode([str(v) for v in values]).astype(np.uint16) for a in counted.modelled}
    reservation = ledger.reserve(schema, budget, {"method": "test"}, unlimited=True)
    return LocalPrivateTable(schema, MemoryEngine(codes, len(values), counted), reservation, another_source())


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_law_of_what_comes_out(delta: float, tmp_path: Path) -> None:
    """Unbiased, and spread as the scale says; a scale for half the sensitivity would be caught."""
    values = np.repeat(np.arange(16), np.arange(16) * 3)
    schema = schema_of("full bins", rows=len(values))
    budget, ledger = Budget(2, delta), Ledger(tmp_path / "l.db")
    found, trials = [], 120
    for _ in range(trials):
        table = table_of(schema, values, budget, ledger)
        details = table.measure_details("v", 3, table.total_cost, "fine details")
        found.append(details.values)
    grid = schema["v"].finest_grid
    assert grid is not None
    counts = np.bincount(values, minlength=17)
    errors = np.asarray(found) - detailed(counts, grid, 3)
    l1, l2_squared = detail_sensitivity(3, schema)
    expected = (l1 / 2) ** 2 * 2 if delta == 0 else l2_squared / float(table.total_cost)
    assert details.noise.variance == pytest.approx(expected, rel=0.02)
    assert (errors**2).mean() == pytest.approx(details.noise.variance, rel=0.25)
    assert (errors**2).mean() != pytest.approx(details.noise.variance / 4, rel=0.25)
    assert abs(errors.mean(axis=0)).max() < 4.5 * np.sqrt(details.noise.variance / trials)


def test_it_is_paid_for_and_resumed(tmp_path: Path) -> None:
    values = np.arange(16)
    schema = schema_of("full bins", rows=16)
    ledger = Ledger(tmp_path / "l.db")
    table = table_of(schema, values, Budget(1), ledger)
    part = table.with_total_cost(Fraction(9, 10))
    assert part.total_cost == Fraction(9, 10) and table.total_cost == 1
    part.measure_details("v", 2, Fraction(1, 2), "fine details")
    charges = [e.body for e in ledger.entries() if e.kind == "charge"]
    assert [(c["purpose"], Fraction(c["cost"])) for c in charges] == [("fine details", Fraction(1, 2))]
    with pytest.raises(Exception, match="left"):
        table.measure_details("v", 2, Fraction(6, 10), "fine details")


def test_what_cannot_be_asked() -> None:
    schema = schema_of("full bins")
    with pytest.raises(UsageError, match="1 to 3 times, not 4"):
        FineDetails("v", 4).check(schema)
    plain = Schema("t", (Attribute("v", Intervals("integer", (0, 5))),), rows=1)
    with pytest.raises(UsageError, match="no fine grid"):
        FineDetails("v", 1).check(plain)
