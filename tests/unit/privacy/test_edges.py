"""Pairwise scores counted at once, the choice by best link, and the release of all scores: against brute force."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.questions import AllPairScores, Choice, ChooseEdge
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, SMALL_DOMAIN, Pair
from understudy.privacy.scores.scorer import Scorer
from understudy.schema import Axes, Axis, Schema
from understudy.testing import SeededSource

NEIGHBOURS = ("replace-one", "add-remove")


def axes_of(sizes: dict[str, int]) -> Axes:
    return tuple(Axis(name) for name in sizes)


def one_by_one(columns: dict[str, np.ndarray], rows: int, schema: Schema) -> np.ndarray:
    rule = INDEPENDENCE
    names = list(columns)
    out = np.zeros((len(names), len(names)), dtype=np.int64)
    for (i, a), (j, b) in itertools.permutations(enumerate(names), 2):
        table = np.zeros((schema[b].size, schema[a].size), dtype=np.int64)
        np.add.at(table, (columns[b], columns[a]), 1)
        out[i, j] = rule.value(table, rows, schema)
    return out


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("rows", [1, 2, 65, 3000])
def test_scores_of_all_pairs_are_those_of_each(neighbours: str, rows: int) -> None:
    """Small domains in one go, large ones by themselves, one value included; integers, so equal and not just close."""
    sizes = {"a": 2, "b": 3, "c": 1, "d": 2, "e": SMALL_DOMAIN, "f": SMALL_DOMAIN + 1, "g": 40}
    schema = schema_of(sizes, rows if neighbours == "replace-one" else None, neighbours)
    columns = columns_of(sizes, rows)
    found = INDEPENDENCE.all_pairs(MemoryEngine(columns, rows, schema), axes_of(sizes), schema)
    assert (found == one_by_one(columns, rows, schema)).all()


class CountsOnly:
    """An engine that can only count tables."""

    name = "plain"

    def __init__(self, engine: MemoryEngine) -> None:
        self.rows = engine.rows
        self.marginals = engine.marginals


def test_an_engine_without_pairs_gives_the_same() -> None:
    sizes = {"a": 2, "b": 3, "c": 12}
    schema, columns = schema_of(sizes, 200), columns_of(sizes, 200)
    engine = MemoryEngine(columns, 200, schema)
    both = [INDEPENDENCE.all_pairs(e, axes_of(sizes), schema) for e in (engine, CountsOnly(engine))]
    assert (both[0] == both[1]).all()


# -- sensitivity, by all neighbours ------------------------------------------------------------------------------


def tables_of(sizes: dict[str, int], rows: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    domain = list(itertools.product(*map(range, sizes.values())))
    return itertools.combinations_with_replacement(domain, rows)


def neighbours_of(rows: tuple[Any, ...], sizes: dict[str, int], neighbours: str) -> Iterator[tuple[Any, ...]]:
    domain = itertools.product(*map(range, sizes.values()))
    if neighbours == "add-remove":
        yield from ((*rows, new) for new in domain)
    else:
        yield from ((*rows[:i], new, *rows[i + 1 :]) for new in domain for i in range(len(rows)))


def exact(rows: tuple[Any, ...], sizes: dict[str, int], schema: Schema) -> np.ndarray:
    columns = dict(zip(sizes, np.array(rows, dtype=np.int64).reshape(-1, len(sizes)).T))
    return one_by_one(columns, len(rows), schema)


def worst_moves(sizes: dict[str, int], rows: int, neighbours: str, fine: int) -> tuple[int, int, int]:
    """Over all neighbours: how far the best link of an attribute moves, and the vector of all scores in L1 and L2²."""
    schema = schema_of(sizes, rows if neighbours == "replace-one" else None, neighbours)
    shape = list(sizes.values())
    fines = fine * np.outer(shape, shape)
    link = l1 = l2 = 0
    known: dict[Any, np.ndarray] = {}

    def scores(table: tuple[Any, ...]) -> np.ndarray:
        key = tuple(sorted(table))
        if key not in known:
            known[key] = exact(key, sizes, schema)
        return known[key]

    def best(matrix: np.ndarray) -> np.ndarray:
        return np.maximum((matrix - fines)[:1, 1:].max(axis=1), -fine * shape[0])

    for table in tables_of(sizes, rows):
        for other in neighbours_of(table, sizes, neighbours):
            before, after = scores(table), scores(other)
            link = max(link, int(np.abs(best(after) - best(before)).max()))
            change = np.abs(after - before)[np.tril_indices(len(sizes), -1)]
            l1, l2 = max(l1, int(change.sum())), max(l2, int((change**2).sum()))
    return link, l1, l2


CASES = [
    ({"a": 2, "b": 2, "c": 2}, 3),
    ({"a": 2, "b": 2, "c": 2}, 4),
    ({"a": 3, "b": 3, "c": 2}, 2),
    ({"a": 2, "b": 3, "c": 3}, 2),
]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("fine", [0, 1])
@pytest.mark.parametrize(("sizes", "rows"), CASES)
def test_nothing_moves_further_than_claimed(sizes: dict[str, int], rows: int, neighbours: str, fine: int) -> None:
    schema = schema_of(sizes, rows if neighbours == "replace-one" else None, neighbours)
    axes = axes_of(sizes)
    claimed = max(INDEPENDENCE.sensitivity(Pair(axes[0], (axis,)), schema) for axis in axes[1:])
    link, l1, l2 = worst_moves(sizes, rows, neighbours, fine)
    assert link <= claimed
    assert link > 0 or fine  # not by being blind to the row
    most_l1, most_l2 = AllPairScores(axes).sensitivity(schema)
    assert l1 <= most_l1
    assert l2 <= most_l2


def test_a_wrong_claim_is_caught() -> None:
    """The broken twins: the vector of scores with the sensitivity of one score, or of one less."""
    sizes = {"a": 2, "b": 2, "c": 2}
    link, l1, _ = worst_moves(sizes, 4, "replace-one", 0)
    one = INDEPENDENCE.sensitivity(Pair(Axis("a"), (Axis("b"),)), schema_of(sizes, 4))
    assert link == one  # tight
    assert l1 > one


@pytest.mark.parametrize("person", [1, 3])
def test_sensitivity_adds_up_over_the_pairs(person: int) -> None:
    schema = schema_of({"a": 2, "b": 2, "c": 5, "d": 6}, 100, rows_per_person=person)
    narrow, wide = 4 * 99, 6 * 100 + 4
    assert AllPairScores(axes_of({"a": 2, "b": 2, "c": 5, "d": 6})).sensitivity(schema) == (
        person * (5 * narrow + wide),
        person**2 * (5 * narrow**2 + wide**2),
    )


# -- the verbs ---------------------------------------------------------------------------------------------------


class Listening(SeededSource):
    """Keeps what the mechanism was given."""

    def __init__(self) -> None:
        super().__init__(0)
        self.heard: list[tuple[list[int], float]] = []

    def permute_and_flip(self, scores: Any, scale: float) -> int:
        self.heard.append((list(scores), scale))
        return int(np.argmax(scores))

    def laplace(self, values: Any, scale: float) -> Any:
        self.heard.append((list(values), scale))
        return values


SIZES = {"a": 2, "b": 2, "c": 3, "d": 4}


@pytest.mark.parametrize("fine", [0, 5000])
def test_the_mechanism_hears_best_links_and_the_right_scale(ledger_path: Path, fine: int) -> None:
    rows, source = 500, Listening()
    schema, columns = schema_of(SIZES, rows), columns_of(SIZES, rows)
    table = private_table(schema, columns, Budget(1), ledger_path, source)
    scores = one_by_one(columns, rows, schema)
    a, b, c, d = axes_of(SIZES)
    table.choose_child((c, d), (a, b), Fraction(1, 4), "structure", fine)
    table.choose_child((a, d), (c,), Fraction(1, 4), "structure", fine)
    first = [max(*(int(scores[x, p]) - fine * (x + 1) * 2 for p in (0, 1)), -fine * (x + 1)) for x in (2, 3)]
    assert source.heard[0][0] == first
    assert source.heard[0][1] == pytest.approx(2 * 4 * (rows - 1) * 4)  # every link has a binary side
    assert source.heard[1][1] == pytest.approx(2 * (6 * rows + 4) * 4)  # d–c has none


def test_choose_uses_the_pairs_that_are_counted_already(ledger_path: Path) -> None:
    rows, source = 500, Listening()
    schema, columns = schema_of(SIZES, rows), columns_of(SIZES, rows)
    a, b, c, d = axes_of(SIZES)
    seen = []
    for name, counted in (("one", False), ("two", True)):
        table = private_table(schema, columns, Budget(1), ledger_path.parent / name, source)
        if counted:
            table.choose_child((c, d), (a, b), Fraction(1, 4), "structure")
        table.choose(
            [Pair(d, (a,)), Pair(d, (b,)), Pair(d), Pair(d, (a, b))], INDEPENDENCE, Fraction(1, 4), "structure"
        )
        seen.append(source.heard[-1])
    assert seen[0] == seen[1]


def test_all_scores_come_back_with_noise_of_the_claimed_scale(ledger_path: Path) -> None:
    rows, source = 500, Listening()
    schema, columns = schema_of(SIZES, rows), columns_of(SIZES, rows)
    table = private_table(schema, columns, Budget(1), ledger_path, source)
    found = table.measure_scores(axes_of(SIZES), Fraction(1, 2), "structure")
    assert (found.values == one_by_one(columns, rows, schema)).all()
    assert found.noise.scale == source.heard[0][1] == pytest.approx(2 * (5 * 4 * (rows - 1) + 6 * rows + 4))
    assert [float(Fraction(c["cost"])) for c in table.reservation.charges()] == [0.5]  # type: ignore[attr-defined]


@pytest.mark.parametrize("delta", [0, 1e-9])
def test_noise_is_drawn(ledger_path: Path, delta: float) -> None:
    sizes = {f"a{i:02}": 2 for i in range(40)}
    schema = schema_of(sizes, 300)
    columns = {name: np.zeros(300, dtype=np.uint8) for name in sizes}  # every score is 0
    table = private_table(schema, columns, Budget(1, delta), ledger_path)
    found = table.measure_scores(axes_of(sizes), table.purse, "structure")
    noise = found.values[np.tril_indices(40, -1)].astype(float)
    deviation = found.noise.scale * (math.sqrt(2) if delta == 0 else 1)
    assert noise.std() == pytest.approx(deviation, rel=0.2)
    assert (found.values == found.values.T).all()


def test_a_resumed_run_repeats_both(ledger_path: Path) -> None:
    schema, columns = schema_of(SIZES, 500), columns_of(SIZES, 500)
    a, b, c, d = axes_of(SIZES)
    seen = []
    for _ in range(2):
        table = private_table(schema, columns, Budget(1), ledger_path)
        chosen = table.choose_child((c, d), (a, b), Fraction(1, 100), "structure", 3)
        scores = table.measure_scores((a, b, c), Fraction(1, 2), "structure")
        seen.append((chosen, scores.values.tolist()))
        table.reservation._lock.release()  # type: ignore[attr-defined]
    assert seen[0] == seen[1]


def test_refusals(ledger_path: Path) -> None:
    table = private_table(schema_of(SIZES, 500), columns_of(SIZES, 500), Budget(1), ledger_path)
    a = Axis("a")
    for call in (
        lambda: table.choose_child((), (a,), Fraction(1, 2), "s"),
        lambda: table.choose_child((a,), (), Fraction(1, 2), "s"),
        lambda: table.choose_child((a,), (Axis("b"),), Fraction(1, 2), "s", -1),
        lambda: table.choose_child((a,), (Axis("c", bit=0),), Fraction(1, 2), "s"),
        lambda: table.measure_scores((a,), Fraction(1, 2), "s"),
        lambda: table.measure_scores((a, a), Fraction(1, 2), "s"),
    ):
        with pytest.raises(UsageError):
            call()
    assert table.reservation.charges() == []  # type: ignore[attr-defined]


# -- all links at once -------------------------------------------------------------------------------------------


def listed(links: ChooseEdge, schema: Schema) -> tuple[list[Pair], list[int]]:
    """The options of a question about links as `Choice` would have them, and their fines."""
    options = []
    for child in links.left:
        fitting = [Pair(child, (p,)) for p in links.placed if schema.cells((p, child)) <= links.cells]
        options += fitting + [Pair(child)] * (links.allow_no_parent or not fitting)
    return options, [links.penalty_per_cell * schema.cells(pair.axes) for pair in options]


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("score", ["R", "F"])
@pytest.mark.parametrize(
    ("cells", "alone", "fine"), [(10**6, False, 0), (10**6, True, 7), (12, True, 3), (6, False, 0)]
)
@pytest.mark.parametrize("counts_only", [False, True])
def test_links_are_a_choice_that_is_not_listed(
    neighbours: str, score: str, cells: int, alone: bool, fine: int, counts_only: bool
) -> None:
    """The same options in the same order, the same integers, the same sensitivity: so the same law."""
    sizes = {"a": 2, "b": 2, "c": 1, "d": 2, "e": 2} if score == "F" else {"a": 2, "b": 3, "c": 1, "d": 9, "e": 4}
    rows = 300
    schema, columns = (
        schema_of(sizes, rows if neighbours == "replace-one" else None, neighbours),
        columns_of(sizes, rows),
    )
    engine: Any = MemoryEngine(columns, rows, schema)
    axes = axes_of(sizes)
    for placed in (1, 2, 4):
        links = ChooseEdge.of(schema, axes[placed:], axes[:placed], score, fine, cells, alone)
        links.check(schema)
        options, fines = listed(links, schema)
        choice = Choice(options, score, fines)
        assert [links.pair(i) for i in range(links.count)] == options
        scorer = Scorer(CountsOnly(engine) if counts_only else engine, schema)  # type: ignore[arg-type]
        assert links.exact(scorer) == choice.exact(Scorer(engine, schema))
        assert links.sensitivity(schema) == choice.sensitivity(schema)


@pytest.mark.parametrize("neighbours", NEIGHBOURS)
def test_no_link_moves_further_than_claimed_and_a_narrow_claim_is_caught(neighbours: str) -> None:
    """By all neighbours of all tables of four rows. The broken twin takes the narrowest link's sensitivity for all."""
    sizes, rows = {"a": 2, "b": 3, "c": 3}, 4
    varied = {name: sizes[name] for name in "bc"}
    schema = schema_of(sizes, rows if neighbours == "replace-one" else None, neighbours)
    a, b, c = axes_of(sizes)
    links = ChooseEdge.of(schema, (c,), (a, b), INDEPENDENCE, 1, 100, True)

    @cache
    def scores(table: tuple[Any, ...]) -> np.ndarray:
        columns = {"a": np.zeros(len(table), dtype=np.uint8), **dict(zip("bc", np.array(table, dtype=np.uint8).T))}
        return np.array(links.exact(Scorer(MemoryEngine(columns, len(table), schema), schema)))

    worst = max(
        int(np.abs(scores(tuple(sorted(other))) - scores(table)).max())
        for table in tables_of(varied, rows) for other in neighbours_of(table, varied, neighbours)
    )  # fmt: skip
    assert 0 < worst <= links.sensitivity(schema)
    if neighbours == "replace-one":  # where the claim depends on the width
        assert worst > INDEPENDENCE.sensitivity(Pair(c, (a,)), schema)


def test_links_that_cannot_be_asked() -> None:
    schema = schema_of({"a": 2, "b": 3}, 10)
    a, b = axes_of({"a": 2, "b": 3})
    for left, placed, score, fine in [((), (a,), "R", 0), ((a,), (), "R", 0), ((b,), (a,), "F", 0), ((a,), (b,), "I", 0),
                                      ((a,), (b,), "R", -1), ((a,), (b,), "R", 2**60)]:  # fmt: skip
        with pytest.raises(UsageError):
            ChooseEdge.of(schema, left, placed, score, fine, 100, False).check(schema)


def test_a_link_is_chosen_and_paid(ledger_path: Path) -> None:
    sizes = {"a": 2, "b": 2, "c": 2}
    table = private_table(schema_of(sizes, 5000), columns_of(sizes, 5000), Budget(50), ledger_path, SeededSource(1))
    a, b, c = axes_of(sizes)
    assert table.choose_edge((b, c), (a,), INDEPENDENCE, Fraction(50), "structure", cells=4) == Pair(b, (a,))
    assert table.reservation.left == 0  # type: ignore[attr-defined]


def test_links_by_f_are_for_binary_tables() -> None:
    """Scores F of all pairs are counted at once, from one bit each: a wider parent would be taken for a part of it."""
    schema = schema_of({"a": 2, "b": 2, "w": 5}, 50)
    with pytest.raises(UsageError, match="binary"):
        ChooseEdge.of(schema, (Axis("a"), Axis("b")), (Axis("w"),), MAXIMUM_JOINT, 0, 100, False).check(schema)
    binary = schema_of({"a": 2, "b": 2, "w": 2}, 50)
    ChooseEdge.of(binary, (Axis("a"), Axis("b")), (Axis("w"),), MAXIMUM_JOINT, 0, 100, False).check(binary)
