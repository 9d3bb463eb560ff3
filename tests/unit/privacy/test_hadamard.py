"""Hadamard blocks and score D against brute force: all small tables, all neighbours, and wrong claims that must be caught."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.errors import TooLarge, UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.questions.hadamard import block, block_sensitivity, block_shape, hadamard
from understudy.privacy.scores import INDEPENDENCE, REFERENCE_DISTANCE, Pair
from understudy.privacy.scores.reference_distance import deviation
from understudy.schema import Axes, Axis, Schema

NEIGHBOURS = ("replace-one", "add-remove")
SHAPES = [{"a": 2}, {"a": 4}, {"a": 2, "b": 2}, {"a": 2, "b": 4}, {"a": 3, "b": 3}, {"a": 4, "b": 4, "c": 2}, {"a": 8}]


def public(sizes: dict[str, int], neighbours: str, person: int = 1) -> Schema:
    rows = 3 if neighbours == "replace-one" else None
    return schema_of(sizes, rows, neighbours, rows_per_person=person)


def subsets(sizes: dict[str, int]) -> list[Axes]:
    names = [Axis(name) for name in sizes]
    return [chosen for width in range(1, len(names) + 1) for chosen in itertools.combinations(names, width)]


def signs(row: tuple[int, ...], masks: tuple[int, ...]) -> int:
    """The definition: minus one to the number of ones that the masks and the codes share."""
    return (-1) ** sum((code & mask).bit_count() for code, mask in zip(row, masks))


def coefficients(rows: list[tuple[int, ...]], sizes: dict[str, int], workload: list[Axes]) -> np.ndarray:
    """All blocks of the asks, from the kernel's transform of exact counts."""
    names = list(sizes)
    parts = []
    for axes in workload:
        table = np.zeros([sizes[axis.attribute] for axis in axes], dtype=np.int64)
        for row in rows:
            table[tuple(row[names.index(axis.attribute)] for axis in axes)] += 1
        parts.append(block(table).ravel())
    return np.concatenate(parts)


def changes(sizes: dict[str, int], workload: list[Axes], neighbours: str) -> Iterator[np.ndarray]:
    """What one row coming, or one row becoming another, does. The transform is linear, so other rows do not matter."""
    domain = list(itertools.product(*map(range, sizes.values())))
    if neighbours == "add-remove":
        yield from (coefficients([row], sizes, workload) for row in domain)
    for old, new in itertools.product(domain, repeat=2) if neighbours == "replace-one" else ():
        yield coefficients([new], sizes, workload) - coefficients([old], sizes, workload)


def worst(sizes: dict[str, int], workload: list[Axes], neighbours: str) -> tuple[int, int]:
    found = list(changes(sizes, workload, neighbours))
    return max(int(np.abs(c).sum()) for c in found), max(int((c**2).sum()) for c in found)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("sizes", SHAPES)
def test_no_neighbours_differ_by_more_than_the_sensitivity(sizes: dict[str, int], neighbours: str) -> None:
    schema = public(sizes, neighbours)
    for workload in [[axes] for axes in subsets(sizes)] + [subsets(sizes)]:
        l1, l2_squared = worst(sizes, workload, neighbours)
        claimed = block_sensitivity(workload, schema)
        assert l1 <= claimed[0] and l2_squared <= claimed[1]
        if len(workload) == 1 and all(size & (size - 1) == 0 for size in sizes.values()):
            assert (l1, l2_squared) == claimed  # tight for one block of full domains


def test_wrong_claims_are_caught() -> None:
    """The broken twins: a bound as for one count, half the bound, and add-remove's bound under replace-one."""
    for sizes, workload in (
        ({"a": 2, "b": 4}, [(Axis("a"), Axis("b"))]),
        ({"a": 2, "b": 2}, subsets({"a": 2, "b": 2})),
    ):
        l1, _ = worst(sizes, workload, "replace-one")
        assert l1 > 2
        assert l1 > block_sensitivity(workload, public(sizes, "replace-one"))[0] / 2
        assert l1 > block_sensitivity(workload, public(sizes, "add-remove"))[0]


def test_a_person_of_three_rows_moves_three_times_as_far() -> None:
    workload = subsets({"a": 2, "b": 4})
    one, three = (block_sensitivity(workload, public({"a": 2, "b": 4}, "replace-one", k)) for k in (1, 3))
    assert three == (3 * one[0], 9 * one[1])


@pytest.mark.parametrize("sizes", SHAPES)
def test_coefficients_are_the_signed_sums_of_the_definition(sizes: dict[str, int]) -> None:
    generator = np.random.default_rng(4)
    rows = [tuple(int(generator.integers(size)) for size in sizes.values()) for _ in range(30)]
    axes = tuple(Axis(name) for name in sizes)
    masks = itertools.product(*(range(1, n + 1) for n in block_shape(axes, public(sizes, "replace-one"))))
    expected = [sum(signs(row, mask) for row in rows) for mask in masks]
    assert coefficients(rows, sizes, [axes]).tolist() == expected


def test_the_transform_twice_is_the_length_times_the_identity() -> None:
    values = np.random.default_rng(5).integers(0, 99, (8, 3))
    assert (hadamard(hadamard(values)) == 8 * values).all()
    assert hadamard(values[:5]).shape == (8, 3)


# -- the verb ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_measured_coefficients_have_the_noise_that_was_paid_for(
    ledger_path: Path, delta: float, neighbours: str
) -> None:
    sizes = {"a": 512, "b": 2}
    schema = schema_of(sizes, 500 if neighbours == "replace-one" else None, neighbours)
    columns = columns_of(sizes, 500)
    table = private_table(schema, columns, Budget(1, delta), ledger_path)
    workload = [(Axis("a"), Axis("b")), (Axis("b"),)]
    measured = table.measure_coefficients(workload, table.total_cost, "coefficients")
    l1, l2_squared = block_sensitivity(workload, schema)
    expected = l1 if delta == 0 else (l2_squared / float(table.total_cost)) ** 0.5
    assert measured[0].noise.scale == measured[1].noise.scale == pytest.approx(expected, rel=1e-3)
    assert [m.values.shape for m in measured] == [(511, 1), (1,)]
    exact = coefficients(list(zip(columns["a"].tolist(), columns["b"].tolist())), sizes, workload)
    noise = np.concatenate([m.values.ravel() for m in measured]) - exact
    spread = np.abs(noise).mean() if delta == 0 else noise.std()
    assert spread == pytest.approx(expected, rel=0.25)
    assert sum(Fraction(c["cost"]) for c in table.reservation.charges()) == table.total_cost  # type: ignore[attr-defined]


def test_a_huge_budget_gives_the_exact_coefficients_and_a_resume_gives_them_again(ledger_path: Path) -> None:
    sizes, rows = {"a": 3, "b": 2}, 200
    columns = columns_of(sizes, rows)
    seen = []
    for _ in range(2):
        table = private_table(schema_of(sizes, rows), columns, Budget(5000), ledger_path)
        (measured,) = table.measure_coefficients([(Axis("a"), Axis("b"))], Fraction(5000), "coefficients")
        seen.append(measured.values)
        table.reservation._lock.release()  # type: ignore[attr-defined]
    exact = coefficients(list(zip(columns["a"].tolist(), columns["b"].tolist())), sizes, [(Axis("a"), Axis("b"))])
    assert (seen[0].ravel() == exact).all() and (seen[1] == seen[0]).all()


def test_no_coefficients_and_too_many_are_refused_before_anything_is_charged(ledger_path: Path) -> None:
    sizes = {"a": 6000, "b": 6000}
    table = private_table(schema_of(sizes, 10), columns_of(sizes, 10), Budget(1), ledger_path)
    for workload in ([], [(Axis("a"), Axis("b"))]):
        with pytest.raises(TooLarge, match="coefficients"):
            table.measure_coefficients(workload, Fraction(1, 2), "coefficients")
    assert table.reservation.charges() == []  # type: ignore[attr-defined]


# -- score D -----------------------------------------------------------------------------------------------------


def worst_deviation(cells: int, rows: int, neighbours: str, reference: np.ndarray) -> int:
    """Over all tables of so many rows and all their neighbours."""
    tables = [t for t in itertools.product(range(rows + 1), repeat=cells) if sum(t) == rows]
    found = 0
    for table in tables:
        own = deviation(np.array(table), reference)
        for up, down in itertools.product(range(cells), range(-1, cells)):
            other = np.array(table)
            other[up] += 1
            if (down < 0) != (neighbours == "add-remove") or (down >= 0 and not table[down]):
                continue
            if down >= 0:
                other[down] -= 1
            found = max(found, abs(deviation(other, reference) - own))
    return found


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_score_d_moves_by_no_more_than_its_sensitivity_whatever_the_reference(neighbours: str) -> None:
    claimed = REFERENCE_DISTANCE.sensitivity(Pair(Axis("a")), public({"a": 4}, neighbours))
    references: list[Callable[[], np.ndarray]] = [lambda: np.array([0, 1, 2, 1]), lambda: np.array([9, -3, 0, 2])]
    found = [worst_deviation(4, 4, neighbours, make()) for make in references]
    assert max(found) == claimed == (2 if neighbours == "replace-one" else 1)


def test_a_wrong_claim_for_score_d_is_caught() -> None:
    """The broken twin: add-remove's bound under replace-one, which is also the bound of a total variation distance."""
    assert worst_deviation(4, 4, "replace-one", np.array([0, 1, 2, 1])) > 1


def test_the_worst_table_is_chosen_and_a_penalty_counts(ledger_path: Path) -> None:
    sizes, rows = {"a": 2, "b": 3, "c": 4}, 2000
    columns = columns_of(sizes, rows)
    table = private_table(schema_of(sizes, rows), columns, Budget(100), ledger_path)
    options = [Pair(Axis("b"), (Axis("a"),)), Pair(Axis("c"), (Axis("a"),))]
    exact = []
    for pair in options:
        counts = np.zeros((2, sizes[pair.child.attribute]), dtype=np.int64)
        np.add.at(counts, (columns["a"], columns[pair.child.attribute]), 1)
        exact.append(counts)
    off = np.zeros((2, 4), dtype=np.int64)
    assert table.choose(options, REFERENCE_DISTANCE, Fraction(20), "t", references=[exact[0], off]) == options[1]
    assert table.choose(options, REFERENCE_DISTANCE, Fraction(20), "t", references=[off[:, :3], exact[1]]) == options[0]
    assert (
        table.choose(options, REFERENCE_DISTANCE, Fraction(20), "t", [0, 10**6], references=[exact[0], off])
        == options[0]
    )


def test_references_that_do_not_fit_are_refused(ledger_path: Path) -> None:
    table = private_table(schema_of({"a": 2}, 10), columns_of({"a": 2}, 10), Budget(1), ledger_path)
    options = [Pair(Axis("a"))]
    fitting = np.zeros(2, dtype=np.int64)
    distance = REFERENCE_DISTANCE
    for score, references in (
        (distance, None),
        (INDEPENDENCE, [fitting]),
        (distance, []),
        (distance, [fitting, fitting]),
    ):
        with pytest.raises(UsageError, match="reference"):
            table.choose(options, score, Fraction(1, 2), "t", references=references)
    for wrong in (np.zeros(3, dtype=np.int64), np.zeros(2), np.full(2, 2**60)):
        with pytest.raises(UsageError, match="whole number"):
            table.choose(options, REFERENCE_DISTANCE, Fraction(1, 2), "t", references=[wrong])
    assert table.reservation.charges() == []  # type: ignore[attr-defined]
