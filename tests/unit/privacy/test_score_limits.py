"""Scores and statistics of huge tables, up to the limit of 2^40 rows: against Python's unbounded integers.

A product of counts of 3,037,000,500 rows does not fit 64 bits. What overflows moves without a bound, so that a claimed
sensitivity is worth nothing; and what is refused because of the rows tells about them.
"""

from __future__ import annotations

import decimal
import itertools
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from conftest import schema_of
from understudy.engines.coding import row_misfits
from understudy.engines.pairs import PairCounts
from understudy.errors import SchemaError, TooLarge, UsageError
from understudy.methods import method_named
from understudy.privacy.accounting import PURE, ZCDP
from understudy.privacy.budget import Budget
from understudy.privacy.questions import Choice, ChooseChild, ChooseEdge, StatisticQuery, statistics
from understudy.privacy.questions.choice import MAX_PENALTY
from understudy.privacy.questions.statistics import LargestVariation, SumOfVariations, SyntheticTables, variation
from understudy.privacy.scores import (
    INDEPENDENCE,
    MAXIMUM_JOINT,
    REFERENCE_DISTANCE,
    SCORES,
    Pair,
    score_named,
)
from understudy.privacy.scores.independence import R_UNIT, WIDE_ROWS
from understudy.privacy.scores.mutual_information import binary_digits
from understudy.privacy.scores.scorer import Scorer
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import MAX_ROWS, Axes, Axis, Schema
from understudy.testing import SeededSource

NEIGHBOURS = ("replace-one", "add-remove")
# around every power of two at which some product, sum or scale changes its size, and the counts named in the finding
ROWS = (
    999, 2**30 - 1, 2**30, 2**31 - 1, 2**31, 3_037_000_499, 3_037_000_500, 2**32 + 1, 8_000_000_000, 2**36, 2**40 - 1,
    2**40,
)  # fmt: skip
SHAPES = ((2, 2), (3, 2), (2, 3), (3, 3), (8, 2), (1, 3), (5, 4))
Table = np.ndarray


def big_table(shape: tuple[int, int], rows: int, generator: np.random.Generator) -> Table:
    """A table of exactly so many rows: even, or nearly all in a few cells, or with ones and zeros among them."""
    weights = generator.dirichlet([float(generator.choice([0.05, 1.0, 50.0]))] * (shape[0] * shape[1]))
    cells = [int(w * rows) for w in weights]
    for i in generator.permutation(len(cells))[: len(cells) // 3]:
        cells[i] = int(generator.integers(0, 3))
    cells[int(generator.integers(len(cells)))] += rows - sum(cells)
    if min(cells) < 0:
        cells = [rows // len(cells)] * len(cells)
        cells[0] += rows - sum(cells)
    return np.array(cells, dtype=np.int64).reshape(shape)


def public_schema(shape: tuple[int, int], rows: int, neighbours: str) -> Schema:
    declared = rows if neighbours == "replace-one" else None
    return schema_of({"x": shape[1], "p": shape[0]}, declared, neighbours, rows_max=MAX_ROWS)


# -- the same in unbounded integers ------------------------------------------------------------------------------


def r_score(table: Sequence[Sequence[int]], schema: Schema) -> int:
    n = sum(map(sum, table))
    columns = [sum(column) for column in zip(*table)]
    whole = sum(abs(n * c - sum(line) * columns[x]) for line in table for x, c in enumerate(line))
    if schema.rows is not None and schema.rows < WIDE_ROWS:
        return whole
    return R_UNIT * whole // (2 * n) if n else 0


def f_score(table: Sequence[Sequence[int]], schema: Schema) -> int:
    n = sum(map(sum, table))
    lines = [(*line, 0)[:2] for line in table]
    found = []
    for side in itertools.product((0, 1), repeat=len(lines)):
        a, b = (sum(line[s] for line, s in zip(lines, side) if s == k) for k in (0, 1))
        found.append(max(0, n - 2 * a) + max(0, n - 2 * b))
    return -min(found)


def i_score(table: Sequence[Sequence[int]], schema: Schema) -> int:
    bits = binary_digits(schema)

    def term(count: int) -> int:
        exact = count * (Decimal(count).ln() / Decimal(2).ln()) * 2**bits if count > 1 else Decimal(0)
        return int(exact.to_integral_value(decimal.ROUND_HALF_EVEN))

    with decimal.localcontext(decimal.Context(prec=90)):
        cells = sum(term(c) for line in table for c in line)
        sides = sum(term(sum(line)) for line in table) + sum(term(sum(column)) for column in zip(*table))
        return cells - sides + term(sum(map(sum, table)))


REFERENCE = {"R": r_score, "F": f_score, "I": i_score}


def checked(score: str, table: Table, schema: Schema) -> int:
    """The kernel's value, which must be the reference's."""
    found = score_named(score).value(table, int(table.sum()), schema)
    assert found == REFERENCE[score](table.tolist(), schema)
    assert abs(found) <= 2**61
    return found


def neighbours_of(table: Table, neighbours: str, generator: np.random.Generator, count: int) -> Iterator[Table]:
    """Rows moved from the largest and from random cells to others; or one added, or taken away."""
    places = list(np.ndindex(table.shape))
    largest = np.unravel_index(int(table.argmax()), table.shape)
    for _ in range(count):
        source = largest if generator.random() < 0.4 else places[int(generator.integers(len(places)))]
        goal = places[int(generator.integers(len(places)))]
        other = table.copy()
        if neighbours == "replace-one" or generator.random() < 0.5 or table.sum() == MAX_ROWS:
            if not other[source]:
                continue
            other[source] -= 1
        if neighbours == "replace-one" or other.sum() == table.sum():
            other[goal] += 1
        yield other


def trials(score: str, neighbours: str, many: int) -> None:
    generator = np.random.default_rng(14)
    for rows, shape in itertools.islice(itertools.cycle(itertools.product(ROWS, SHAPES)), many):
        if score == "F" and shape[1] > 2:
            continue
        schema = public_schema(shape, rows, neighbours)
        claimed = score_named(score).sensitivity(Pair(Axis("x"), (Axis("p"),)), schema)
        table = big_table(shape, rows, generator)
        own = checked(score, table, schema)
        for other in neighbours_of(table, neighbours, generator, 6):
            assert abs(checked(score, other, schema) - own) <= claimed, (rows, shape)


@pytest.mark.costly
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("score", ["R", "F", "I"])
def test_scores_are_exact_and_move_no_further_than_claimed(score: str, neighbours: str) -> None:
    trials(score, neighbours, len(ROWS) * len(SHAPES))


@pytest.mark.long
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("score", ["R", "F", "I"])
def test_scores_are_exact_and_move_no_further_than_claimed_many_times(score: str, neighbours: str) -> None:
    trials(score, neighbours, 100 * len(ROWS) * len(SHAPES))


def test_the_finding_score_r_under_add_remove() -> None:
    """At n = 3,037,000,500 the published arithmetic moved by 1.5e9 times its claim."""
    rule = INDEPENDENCE
    schema = public_schema((2, 2), 0, "add-remove")
    for n in (3_037_000_499, 3_037_000_500, 3_037_000_501, 2**40 - 1):
        table = np.array([[n // 2, 0], [0, n - n // 2]], dtype=np.int64)
        more = table + np.array([[1, 0], [0, 0]])
        moved = abs(rule.value(more, n + 1, schema) - rule.value(table, n, schema))
        assert moved <= rule.sensitivity(Pair(Axis("x"), (Axis("p"),)), schema) == 2 * R_UNIT


@pytest.mark.costly
def test_the_finding_score_f_of_eight_billion_rows() -> None:
    """An attribute with more zeros than ones whatever its parents are, so that the best assignment must be searched."""
    generator = np.random.default_rng(8)
    for n in (8_000_000_000, 2**36, 2**40):
        schema = public_schema((8, 2), n, "replace-one")
        for _ in range(200):
            weight, zeros = generator.dirichlet([1.0] * 8), generator.uniform(0.55, 0.95, 8)
            table = (n * np.stack([weight * zeros, weight * (1 - zeros)], axis=1)).astype(np.int64)
            checked("F", table, schema)


def test_a_wrapped_product_would_be_caught() -> None:
    """The broken twin: the same sums in integers of 64 bits that wrap around."""
    n = 3_037_000_500
    table = np.array([[n // 2, 0], [0, n - n // 2]], dtype=np.int64)
    rows, columns = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
    wrapped = int(np.abs(n * table - rows * columns).sum())
    assert abs(R_UNIT * wrapped // (2 * n) - r_score(table.tolist(), public_schema((2, 2), n, "add-remove"))) > R_UNIT


# -- whole questions ---------------------------------------------------------------------------------------------


class Joint:
    """An engine that has the counts of a whole table and no rows: of any size."""

    name = "joint"

    def __init__(self, table: Table, names: str) -> None:
        self._table, self._names = table, names

    def rows(self) -> int:
        return int(self._table.sum())

    def marginals(self, workload: Sequence[Axes]) -> Iterator[Any]:
        for axes in workload:
            kept = [self._names.index(axis.attribute) for axis in axes]
            gone = tuple(i for i in range(self._table.ndim) if i not in kept)
            table = self._table.sum(axis=gone)
            left = [i for i in range(self._table.ndim) if i in kept]
            yield table.transpose([left.index(i) for i in kept]) if kept else table


class JointPairs(Joint):
    """One that counts all pairwise tables at once, too."""

    def pairs(self, axes: Axes) -> PairCounts:
        sizes = [self._table.shape[self._names.index(axis.attribute)] for axis in axes]
        first = np.concatenate([[0], np.cumsum(np.array(sizes) - 1)])
        gram = np.zeros((first[-1], first[-1]), dtype=np.int64)
        for i, a in enumerate(axes):
            for j, b in enumerate(axes):
                if a == b:
                    (own,) = self.marginals([(a,)])
                    block = np.diag(own)
                else:
                    (block,) = self.marginals([(a, b)])
                gram[first[i] : first[i + 1], first[j] : first[j + 1]] = block[1:, 1:]
        return PairCounts(self.rows(), first, gram)


NAMES = "abc"
AXES = tuple(Axis(name) for name in NAMES)


def joint(shape: tuple[int, ...], rows: int, generator: np.random.Generator) -> Table:
    return big_table((int(np.prod(shape[:-1])), shape[-1]), rows, generator).reshape(shape)


@pytest.mark.costly
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("rows", ROWS)
def test_all_pairs_at_once_and_one_by_one_are_the_reference(neighbours: str, rows: int) -> None:
    generator = np.random.default_rng(rows)
    for shape, score, found in (((2, 3, 12), "R", INDEPENDENCE.all_pairs), ((2, 2, 2), "F", MAXIMUM_JOINT.all_pairs)):
        sizes = dict(zip(NAMES, shape))
        schema = schema_of(sizes, rows if neighbours == "replace-one" else None, neighbours)
        table = joint(shape, rows, generator)
        expected = np.zeros((3, 3), dtype=np.int64)
        for i, j in itertools.permutations(range(3), 2):
            (counts,) = Joint(table, NAMES).marginals([(AXES[j], AXES[i])])
            expected[i, j] = REFERENCE[score](counts.tolist(), schema)
        for engine in (Joint(table, NAMES), JointPairs(table, NAMES)):
            assert (found(engine, AXES, schema) == expected).all()


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("rows", ROWS)
def test_no_choice_is_refused_because_of_its_scores(neighbours: str, rows: int) -> None:
    """Whatever the rows and the public penalties are, the scores stay where the mechanism takes them."""
    generator = np.random.default_rng(rows)
    schema = schema_of(
        dict.fromkeys(NAMES, 2), rows if neighbours == "replace-one" else None, neighbours, rows_max=MAX_ROWS
    )
    for table in (joint((2, 2, 2), rows, generator), diagonal(rows)):
        scorer = Scorer(JointPairs(table, NAMES), schema)
        pairs = [Pair(AXES[0], (AXES[1],)), Pair(AXES[0], AXES[1:]), Pair(AXES[2])]
        fines = [MAX_PENALTY * 4, -MAX_PENALTY * 4, 0]
        half, whole = np.full((2, 2), 2**58 - 2**39, dtype=np.int64), np.zeros(8, dtype=np.int64).reshape(2, 2, 2)
        references = [half, whole, np.array([2**59, -(2**59) + 2**41], dtype=np.int64)]
        for score in SCORES.values():
            question = Choice(pairs, score, fines, references if score.has_references else None)
            question.check(schema)
            assert 0 <= PURE.select(question.exact(scorer), 1e18, SeededSource(1)) < 3
        for fine in (0, 2**50):
            for question in (
                ChooseChild(AXES[:2], AXES[2:], fine),
                ChooseEdge.of(schema, AXES[:2], AXES[2:], INDEPENDENCE, fine, 99, True),
            ):
                question.check(schema)
                ZCDP.select(question.exact(scorer), 1e18, SeededSource(1))


def diagonal(rows: int) -> Table:
    """All attributes equal: the largest scores there are."""
    table = np.zeros((2, 2, 2), dtype=np.int64)
    table[0, 0, 0], table[1, 1, 1] = rows // 2, rows - rows // 2
    return table


def test_a_reference_table_that_is_too_large_is_refused_by_itself() -> None:
    schema = schema_of(dict.fromkeys(NAMES, 2), 100)
    for value, fits in ((2**58, False), (2**58 - 2**39, True), (-(2**63), False), (2**40, True)):
        question = Choice(
            [Pair(AXES[0], (AXES[1],))], REFERENCE_DISTANCE, None, [np.full((2, 2), value, dtype=np.int64)]
        )
        if fits:
            question.check(schema)
        else:
            with pytest.raises(Exception, match="2\\^60 at most"):
                question.check(schema)


def test_the_distance_from_a_reference_is_exact() -> None:
    schema = schema_of(dict.fromkeys(NAMES, 2), 2**40)
    generator = np.random.default_rng(4)
    for rows in ROWS:
        table = joint((2, 2, 2), rows, generator)
        reference = joint((2, 2, 2), 2**40, generator)
        (found,) = Scorer(Joint(table, NAMES), schema).deviations([Pair(AXES[2], AXES[:2])], [reference])
        assert found == sum(abs(c - r) for c, r in zip(table.ravel().tolist(), reference.ravel().tolist()))


# -- statistics --------------------------------------------------------------------------------------------------


def v_of(real: Table, synthetic: Table) -> int:
    n, other = int(real.sum()), int(synthetic.sum())
    return sum(abs(other * c - n * s) for c, s in zip(real.ravel().tolist(), synthetic.ravel().tolist()))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("synthetic_rows", [1, 1000, 2**31 - 1, 2**31, 2**40])
def test_variations_are_exact_and_move_no_further_than_claimed(rows: int, synthetic_rows: int) -> None:
    generator = np.random.default_rng(rows + synthetic_rows)
    schema = schema_of({"a": 3, "b": 4}, None, "add-remove")
    axes = (Axis("a"), Axis("b"))
    synthetic = big_table((3, 4), synthetic_rows, generator)
    for statistic in (SumOfVariations, LargestVariation):
        question = statistic(SyntheticTables((axes,), (synthetic,), synthetic_rows))
        real = big_table((3, 4), rows, generator)
        own = question.value(Joint(real, "ab"))
        assert own == min(v_of(real, synthetic), statistics.MAX_FIGURE)
        assert variation(real, rows, synthetic, synthetic_rows) == v_of(real, synthetic)
        assert StatisticQuery(question).exact(Joint(real, "ab"), schema).tolist() == [own]
        for neighbours in NEIGHBOURS:
            for other in neighbours_of(real, neighbours, generator, 4):
                assert abs(question.value(Joint(other, "ab")) - own) <= question.sensitivity(schema)


# -- limits that are public --------------------------------------------------------------------------------------


def test_the_limit_of_the_schema_is_the_limit_of_the_arithmetic() -> None:
    assert schema_of({"a": 2}, 2**40).rows == MAX_ROWS
    for rows, most in ((2**40 + 1, None), (None, 2**40 + 1)):
        with pytest.raises(SchemaError, match="1,099,511,627,776"):
            schema_of({"a": 2}, rows, "replace-one" if rows else "add-remove", rows_max=most)


@pytest.mark.parametrize("rows_max", [None, 2**40])
def test_more_rows_are_no_table_of_any_schema(rows_max: int | None) -> None:
    """Under add-remove too, where nothing is declared: the custodian is told before anything is charged."""
    schema = schema_of({"a": 2}, None, "add-remove", rows_max=rows_max)
    assert row_misfits(schema, MAX_ROWS) == []
    (misfit,) = row_misfits(schema, MAX_ROWS + 1)
    assert misfit.reason == "rows" and "1,099,511,627,776" in misfit.message


def test_score_f_of_many_parents_and_rows_is_refused_by_public_facts() -> None:
    """Its exact search may need a state for each row."""
    wide = Pair(Axis("x"), (Axis("p"),))
    for declared, neighbours in ((2**31, "replace-one"), (None, "add-remove")):
        schema = schema_of({"x": 2, "p": 17}, declared, neighbours, rows_max=2**31)
        assert "score R" in (MAXIMUM_JOINT.refusal(wide, schema) or "")
        assert MAXIMUM_JOINT.refusal(wide, schema_of({"x": 2, "p": 16}, declared, neighbours, rows_max=2**31)) is None
    assert MAXIMUM_JOINT.refusal(wide, schema_of({"x": 2, "p": 17}, 2**31 - 1)) is None


def test_a_person_with_very_many_rows_is_refused_by_the_sensitivity() -> None:
    for scale in (
        lambda: PURE.selection_scale(2**62, 1),
        lambda: ZCDP.noise.for_cost(Sensitivity(2**62, 2**124), 1).scale,
    ):
        with pytest.raises(TooLarge, match="rows_per_person"):
            scale()


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_a_method_hears_of_it_before_anything_is_charged(neighbours: str) -> None:
    """A choice that is refused in a later round would leave a run that has paid and cannot go on."""
    declared = 2**31 if neighbours == "replace-one" else None
    schema = schema_of(dict.fromkeys("abcdefgh", 2), declared, neighbours, rows_max=2**31)
    for degree in (4, 5):
        method = method_named("privbayes", {"score": "F", "degree": degree}, schema)
        if degree == 4:
            assert method.plan(schema, Budget(1), 2**31).options["score"] == "F"
        else:
            with pytest.raises(UsageError, match="use score R"):
                method.plan(schema, Budget(1), 2**31)
    few = method_named("privbayes", {"degree": 5}, schema).plan(schema, Budget("1e-9"), 2**31)
    assert few.options["score"] == "R"  # so little budget that F is taken otherwise
    few = method_named("privbayes", {"degree": 4}, schema).plan(schema, Budget("1e-9"), 2**31)
    assert few.options["score"] == "F"
