"""Wavelet coefficients against brute force: every pair of columns for many shapes, and wrong claims that must be caught."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import private_table
from understudy.errors import TooLarge, UsageError
from understudy.models.wavelet_trees import adjoint, invert, inverted, single_cells
from understudy.privacy.budget import Budget
from understudy.privacy.questions.wavelets import (
    Dimension,
    dimension,
    transformed,
    wavelet_dimensions,
    wavelet_sensitivity,
)
from understudy.privacy.table import PrivateTable
from understudy.schema import Attribute, Axis, Categories, Intervals, Schema, Taxonomy

NEIGHBOURS = ("replace-one", "add-remove")
TREES = {
    "t3x2": {"A": ["0", "1"], "B": ["2", "3"], "C": ["4", "5"]},
    "t2x3": {"A": ["0", "2", "4"], "B": ["1", "3", "5"]},  # groups need not be neighbours
    "uneven": {"A": ["0", "1", "2"], "B": {"C": ["3", "4"], "D": ["5"]}},  # 6 is a group of itself
}
SHAPES = [
    *[(f"h{m}",) for m in (1, 2, 3, 4, 5, 6, 7, 8, 13, 16, 24, 32)],
    ("p1",), ("p5",), ("t3x2",), ("t2x3",), ("uneven",), ("h8", "h8"), ("h3", "h5"), ("h4", "p3"), ("p3", "p4"),
    ("t3x2", "h4"), ("t2x3", "t3x2"), ("t3x2", "t3x2"), ("uneven", "h5"), ("h2", "h2", "h4"), ("h4", "t2x3", "p2"),
    ("h2", "h2", "h2", "h2"), ("h1", "h4"), ("p1", "h4"), ("h1", "p1"),
]  # fmt: skip


def attribute(name: str, what: str) -> Attribute:
    if what in TREES:
        domain = Categories(tuple(str(v) for v in range(7 if what == "uneven" else 6)))
        return Attribute(name, domain, Taxonomy.of_groups(TREES[what], domain))
    return Attribute(name, Intervals("integer", tuple(range(int(what[1:]) + 1))))


def public(shape: tuple[str, ...], neighbours: str = "replace-one", person: int = 1, rows: int = 3) -> Schema:
    attributes = tuple(attribute("abcd"[i], what) for i, what in enumerate(shape))
    count = rows if neighbours == "replace-one" else None
    return Schema("people", attributes, rows=count, neighbours=neighbours, rows_per_person=person)  # type: ignore[arg-type]


def kinds(shape: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("nominal" if w in TREES else {"h": "haar", "p": "plain"}[w[0]] for w in shape)


def dimensions(shape: tuple[str, ...]) -> tuple[Dimension, ...]:
    schema = public(shape)
    return wavelet_dimensions(schema, tuple(Axis(n) for n in schema.names), kinds(shape), 10**6)


def columns(dims: tuple[Dimension, ...]) -> np.ndarray:
    """What a row in each cell adds to the coefficients, from the kernel's own transform."""
    sizes = [d.size for d in dims]
    cells = np.eye(math.prod(sizes), dtype=np.int64).reshape(-1, *sizes)
    return np.stack([transformed(cell, dims).ravel() for cell in cells])


def worst(a: np.ndarray, neighbours: str) -> tuple[int, int]:
    """The exact sensitivity: over all cells, or over all pairs of cells."""
    if neighbours == "add-remove":
        return int(np.abs(a).sum(axis=1).max()), int((a**2).sum(axis=1).max())
    l1 = max(int(np.abs(a - one).sum(axis=1).max()) for one in a)
    return l1, max(int(((a - one) ** 2).sum(axis=1).max()) for one in a)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("shape", SHAPES, ids="-".join)
def test_no_neighbours_differ_by_more_than_the_sensitivity(shape: tuple[str, ...], neighbours: str) -> None:
    dims = dimensions(shape)
    exact = worst(columns(dims), neighbours)
    for form in ("tight", "published"):
        claimed = wavelet_sensitivity(dims, public(shape, neighbours), form)  # type: ignore[arg-type]
        assert exact[0] <= claimed[0] and exact[1] <= claimed[1]
    full = all(w[0] in "pt" or w in ("h2", "h4", "h8", "h16", "h32") for w in shape)
    if full and math.prod(d.size for d in dims) > 1 and neighbours == "replace-one":
        assert exact == wavelet_sensitivity(dims, public(shape), "tight")


@pytest.mark.parametrize("depth", range(1, 8))
def test_one_dimension_is_as_in_the_paper(depth: int) -> None:
    dims = (dimension(public((f"h{2**depth}",)), Axis("a"), "haar"),)
    assert wavelet_sensitivity(dims, public((f"h{2**depth}",)), "published")[0] == 2 * (1 + depth)
    assert wavelet_sensitivity(dims, public((f"h{2**depth}",)), "tight")[0] == 2 * depth
    assert wavelet_sensitivity(dims, public((f"h{2**depth}",), "add-remove"), "tight") == (1 + depth, 1 + depth)


def test_the_broken_twin_is_caught() -> None:
    """Leaving each dimension's base without noise would need only 18 for 8 × 8, but the marginals it shows are private."""
    dims = dimensions(("h8", "h8"))
    exact, _ = worst(columns(dims), "replace-one")
    twin = 2 * math.prod(d.levels - 1 for d in dims)
    assert (twin, exact, wavelet_sensitivity(dims, public(("h8", "h8")), "tight")[0]) == (18, 28, 28)
    assert exact > twin
    details = columns(dims).reshape(-1, 8, 8)[:, 1:, 1:].reshape(64, -1)
    assert worst(details, "replace-one")[0] == twin  # right for the coefficients it counts, and those are not all


def test_a_person_of_three_rows_moves_three_times_as_far() -> None:
    dims = dimensions(("h8", "t3x2"))
    one, three = (wavelet_sensitivity(dims, public(("h8", "t3x2"), person=k), "tight") for k in (1, 3))
    assert three == (3 * one[0], 9 * one[1])


def test_a_coefficient_is_left_less_right() -> None:
    (haar,) = dimensions(("h5",))
    assert haar.forward(np.array([9, 3, 6, 2, 8])).tolist() == [28, 20 - 8, 12 - 8, 9 - 3, 6 - 2]
    (tree,) = dimensions(("t3x2",))
    assert tree.forward(np.array([1, 2, 3, 4, 5, 6])).tolist() == [21, 3, 7, 11, -1, -1, -1]


# -- there and back ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES, ids="-".join)
def test_back_and_forth_is_the_identity(shape: tuple[str, ...]) -> None:
    dims = dimensions(shape)
    counts = np.random.default_rng(1).integers(0, 50, [d.size for d in dims])
    values = transformed(counts, dims)
    assert values.dtype == np.int64 and values.shape == tuple(d.coefficients for d in dims)
    assert inverted(values.astype(float), dims) == pytest.approx(counts)
    if all(w[0] == "h" for w in shape):
        assert values.size == counts.size  # no padding is left


@pytest.mark.parametrize("what", ["h1", "h7", "h16", "p4", "t3x2", "t2x3", "uneven"])
def test_the_adjoint_is_the_transpose_of_the_inverse(what: str) -> None:
    (d,) = dimensions((what,))
    back = invert(np.eye(d.coefficients), d)
    across = adjoint(np.eye(d.size), d)
    assert across == pytest.approx(back.T)
    square, base = single_cells(d)
    assert square == pytest.approx((across**2).sum(axis=0))
    total = np.ones(d.size) if d.kind == "plain" else np.eye(d.coefficients)[0]
    assert base == pytest.approx(total @ across)


def test_a_range_takes_at_most_two_coefficients_of_each_level() -> None:
    (d,) = dimensions(("h200",))
    for low, high in itertools.combinations(range(0, 201, 7), 2):
        weights = ((np.arange(200) >= low) & (np.arange(200) < high)).astype(float)
        assert np.count_nonzero(adjoint(weights, d)) <= 1 + 2 * 8


# -- the verb ----------------------------------------------------------------------------------------------------


def table_of(shape: tuple[str, ...], path: Path, budget: Budget, rows: int = 500) -> tuple[PrivateTable, np.ndarray]:
    schema, generator = public(shape, rows=rows), np.random.default_rng(2)
    codes = {a.name: generator.integers(0, a.size, rows).astype(np.uint8) for a in schema.modelled}
    exact = np.zeros([a.size for a in schema.modelled], dtype=np.int64)
    np.add.at(exact, tuple(codes.values()), 1)
    return private_table(schema, codes, budget, path), exact


AB = (Axis("a"), Axis("b"))


def test_a_huge_budget_gives_the_exact_coefficients(ledger_path: Path) -> None:
    table, exact = table_of(("h5", "t3x2"), ledger_path, Budget(9999))
    seen = table.measure_wavelet(AB, ("haar", "nominal"), table.total_cost, "coefficients")
    assert (seen.values == transformed(exact, dimensions(("h5", "t3x2")))).all()
    assert table.reservation.left == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("delta", [0, 1e-9])
def test_noise_has_the_scale_of_the_theory(ledger_path: Path, delta: float) -> None:
    table, exact = table_of(("h64", "h64"), ledger_path, Budget(1, delta), rows=10)
    seen = table.measure_wavelet(AB, ("haar", "haar"), table.total_cost, "coefficients")
    noise = seen.values - transformed(exact, dimensions(("h64", "h64")))
    expected = 2 * 49 - 4 if not delta else math.sqrt(2 * 49 / float(table.total_cost))
    assert seen.noise.scale == pytest.approx(expected, rel=1e-3)
    assert noise.std() == pytest.approx(math.sqrt(seen.noise.variance), rel=0.1)
    assert abs(noise.mean()) < 5 * noise.std() / math.sqrt(noise.size)


def test_a_journalled_outcome_is_replayed(ledger_path: Path) -> None:
    seen = []
    for _ in range(2):
        table, _ = table_of(("h5", "t3x2"), ledger_path, Budget(1))
        seen.append(table.measure_wavelet(AB, ("haar", "nominal"), Fraction(1), "coefficients").values)
        table.reservation._lock.release()  # type: ignore[attr-defined]
    assert (seen[0] == seen[1]).all()


def test_what_cannot_be_measured_is_refused_before_it_is_paid_for(ledger_path: Path) -> None:
    table, _ = table_of(("h5", "t3x2"), ledger_path, Budget(1))
    for axes, asked, words in (
        ((), (), "one to 4"),
        ((AB[0], AB[0]), ("haar", "haar"), "one to 4"),
        (AB, ("haar", "haar"), "b has no order"),
        (AB, ("haar", "fourier"), "no transform 'fourier'"),
    ):
        with pytest.raises(UsageError, match=words):
            table.measure_wavelet(axes, asked, Fraction(1), "coefficients")  # type: ignore[arg-type]
    assert table.reservation.left == 1  # type: ignore[attr-defined]


def test_a_domain_that_is_too_large_is_named() -> None:
    schema = public(("h5000", "h6000"))
    with pytest.raises(TooLarge, match="a × b = 5,000 × 6,000 is 30,000,000 cells"):
        wavelet_dimensions(schema, AB, ("haar", "haar"), 20_000_000)
