"""Several owners as one private table: turns, prices, penalties, missing owners, and every method unchanged."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from federating import NAMES, SIZES, A, B, C, QuietSource, exact_counts, federation, parts_of
from understudy.demo import demo_schema, demo_table
from understudy.engines.memory import MemoryEngine
from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import BudgetError, FederationAborted, UsageError
from understudy.federation.federated_table import FederatedTable
from understudy.federation.local import Deliver, local_federation
from understudy.methods import method_named
from understudy.privacy.accounting import PURE
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import (
    Choice,
    ChooseChild,
    ChooseEdge,
    FineDetails,
    HadamardBlocks,
    Marginals,
    WaveletTable,
)
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, MUTUAL_INFORMATION, REFERENCE_DISTANCE, Pair
from understudy.schema import Axis
from understudy.testing import SeededSource

OPTIONS = [Pair(B, (A,)), Pair(B, (C,)), Pair(B)]
EACH = Fraction(1, 1000)


def spent(made: Any) -> dict[str, Fraction]:
    return {name: kept.total_cost - kept.left for name, kept in made.reservations.items()}


@pytest.mark.parametrize(("owners", "dropping"), [(2, 0), (3, 0), (4, 1), (6, 2)])
@pytest.mark.parametrize("choices", [1, 2, 3, 5, 7])
def test_no_owner_pays_more_than_all_choices_cost(tmp_path: Path, owners: int, dropping: int, choices: int) -> None:
    with federation(tmp_path, owners, dropping=dropping) as made:
        for _ in range(choices):
            assert made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure", of=choices) in OPTIONS
        paid = spent(made)
        assert max(paid.values()) <= choices * EACH
        turns = Counter(charge["owner"] for charge in made.table.charges)
        assert sum(turns.values()) == choices
        assert max(turns.values()) - min(turns[name] for name in paid) <= 1
        if not dropping:  # whoever has a turn spends all that the group may cost it
            assert {paid[name] for name in turns} == {choices * EACH}
        assert made.table.paid == paid


def test_more_choices_than_announced_are_a_new_group(tmp_path: Path) -> None:
    """Each group costs each owner at most what its choices cost together: so do two of them."""
    with federation(tmp_path) as made:
        for _ in range(8):
            made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure", of=4)
        assert max(spent(made).values()) <= 8 * EACH
        assert {c["cost"] for c in made.table.charges} == {str(EACH * 4 / 2), str(EACH * 4)}


def test_groups_do_not_all_begin_with_the_same_owner(tmp_path: Path) -> None:
    with federation(tmp_path) as made:
        for n in (1, 2, 3):
            made.table.choose(OPTIONS, INDEPENDENCE, EACH * n, "structure")
        assert sorted(spent(made).values()) == [EACH, EACH * 2, EACH * 3]


def test_an_owner_chooses_by_its_own_rows(tmp_path: Path) -> None:
    """Ada's b follows a, bea's follows c: each answers for its rows, at a budget that leaves no doubt."""
    generator = np.random.default_rng(1)
    parts = []
    for follows in ("a", "c"):
        codes = {name: generator.integers(0, size, 4000).astype(np.uint8) for name, size in SIZES.items()}
        codes["b"] = codes[follows].copy()
        parts.append(codes)
    with federation(tmp_path, 2, rows=4000, columns=parts, budget=Budget(100)) as made:
        chosen = [made.table.choose(OPTIONS, INDEPENDENCE, Fraction(10), "structure", of=4) for _ in range(4)]
        assert chosen == [OPTIONS[0], OPTIONS[1]] * 2


def test_a_penalty_is_in_proportion_to_an_owners_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Score R under replace-one is on the scale of n²: a third of the rows has a ninth of the penalty."""
    seen = []
    select = LocalPrivateTable.select
    monkeypatch.setattr(
        LocalPrivateTable,
        "select",
        lambda self, question, *rest: seen.append(question) or select(self, question, *rest),
    )
    with federation(tmp_path) as made:
        made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure", penalty=[90, 900, -9000])
        made.table.choose_child((A, B), (C,), EACH, "structure", penalty_per_cell=45)
    (tmp_path / "2").mkdir()
    with federation(tmp_path / "2", neighbours="add-remove") as made:
        made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure", penalty=[90, 900, -9000])
    assert [list(q.penalty) if hasattr(q, "penalty") else q.penalty_per_cell for q in seen] == [
        [10, 100, -1000], 5, [30, 300, -3000],
    ]  # fmt: skip


def test_a_penalty_is_in_the_units_of_each_score(tmp_path: Path) -> None:
    """What a row is worth depends on the table for R, and for I on how many digits its row count leaves room for."""
    with federation(tmp_path) as made:
        table = made.table
        binary = (A, B)
        questions: list[tuple[Any, Fraction]] = [
            (Choice(OPTIONS, INDEPENDENCE), Fraction(1, 9)),
            (ChooseChild(binary, (C,)), Fraction(1, 9)),
            (ChooseEdge.of(table.schema, binary, (C,), INDEPENDENCE, 5, 99, True), Fraction(1, 9)),
            (ChooseEdge.of(table.schema, binary, (C,), MAXIMUM_JOINT, 5, 99, True), Fraction(1, 3)),
            (Choice(OPTIONS, MAXIMUM_JOINT), Fraction(1, 3)),
            (Choice(OPTIONS, MUTUAL_INFORMATION), Fraction(1, 3)),
            (Choice(OPTIONS, REFERENCE_DISTANCE), Fraction(1, 3)),
        ]
        for question, part in questions:
            assert table._part(NAMES[0], question) == part
        table.schema = replace(table.schema, rows=2**40)
        own = Fraction(40, 2**40)  # NAMES[0] has 40 rows
        assert table._part(NAMES[0], Choice(OPTIONS, INDEPENDENCE)) == own * Fraction(80, 2**20)
        assert (
            table._part(NAMES[0], Choice(OPTIONS, MUTUAL_INFORMATION)) == own * 2**26
        )  # 40 digits, and 14 where there are 2^40 rows


def test_a_comparison_is_with_the_owners_part_of_the_public_table(tmp_path: Path) -> None:
    """Score D: the option furthest from its reference wins, at a budget that leaves no doubt."""
    with federation(tmp_path, 3, budget=Budget(1000)) as made:
        parts = parts_of(columns_of(SIZES, 120, seed=3), 3)
        true = [exact_counts(made.table.schema, parts, pair.axes) for pair in OPTIONS]
        for wrong in range(3):
            references = [table.copy() for table in true]
            references[wrong] = references[wrong][..., ::-1].copy() + 20
            chosen = made.table.choose(
                OPTIONS, REFERENCE_DISTANCE, Fraction(100), "structure", references=references, of=3
            )
            assert chosen == OPTIONS[wrong]


def test_what_does_not_add_up_is_refused(tmp_path: Path) -> None:
    with federation(tmp_path) as made:
        with pytest.raises(UsageError, match="cannot measure"):
            made.table.measure_scores((A, B, C), EACH, "structure")
        assert set(spent(made).values()) == {0}


def test_every_vector_that_adds_up_adds_up(tmp_path: Path) -> None:
    """Marginals, Hadamard blocks, wavelets and details of several owners, without noise, against those of all rows."""
    whole = demo_table(600, np.random.default_rng(2))
    schema, own = demo_schema(rows=600), demo_schema(rows=200)
    age, sex, region = (Axis(name) for name in ("age", "sex", "region"))
    workload = [
        Marginals.of([(age, sex), (region,)]),
        HadamardBlocks([(age, sex)]),
        WaveletTable((age, region), ("haar", "nominal")),
        FineDetails("income", 2),
    ]
    with ExitStack() as stack:
        pieces = [open_engine(PrivateData(whole.slice(200 * i, 200)), own).engine for i in range(3)]
        everyone = open_engine(PrivateData(whole), schema).engine
        for engine in (*pieces, everyone):
            stack.callback(engine.close)
        made = stack.enter_context(
            local_federation(dict(zip(NAMES, pieces)), schema, Budget(1, "1e-9"), tmp_path, source=QuietSource())
        )
        for question in workload:
            noisy = made.table._measure(question, EACH, "tables")
            assert (np.concatenate([block.values for block in noisy]) == question.exact(everyone, schema)).all()
        assert not made.owners.refusals


def test_a_missing_owner_is_passed_over(tmp_path: Path) -> None:
    def without_bea(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        return None if name == "bea" else deliver(body)

    with federation(tmp_path, 4, dropping=1, disturb=without_bea) as made:
        for _ in range(9):
            made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure", of=9)
        assert max(spent(made).values()) <= 9 * EACH
        assert spent(made)["bea"] == 0
        made.table.measure([(A,)], EACH, "tables")
    (tmp_path / "none").mkdir()
    with federation(tmp_path / "none", 3, disturb=without_bea) as made:
        with pytest.raises(FederationAborted, match="no owner is left"):
            for _ in range(9):
                made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure", of=9)
        assert max(spent(made).values()) <= 9 * EACH


@pytest.mark.parametrize("index", [-1, 3, True, "0", None, 10**30])
def test_an_index_that_is_none_is_no_answer(tmp_path: Path, index: Any) -> None:
    def lying(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        if name != "ada":
            return reply
        return made.table._session.place.pack("decide", index=index)

    with federation(tmp_path, 4, dropping=1, disturb=lying) as made:
        assert made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure", of=1) in OPTIONS
        assert [charge["owner"] for charge in made.table.charges] == ["ada", "bea"]


def test_an_early_stop_never_overspends(tmp_path: Path) -> None:
    """One choice of ten is made, at ten quarters of its cost; the method then asks for all it thinks is left."""
    with federation(tmp_path, budget=Budget(1)) as made:
        made.table.choose(OPTIONS, INDEPENDENCE, Fraction(1, 20), "structure", of=10)
        (table,) = made.table.measure([(A,)], Fraction(19, 20), "tables")
        assert max(spent(made).values()) == 1
        left = 1 - Fraction(10, 20) / 4
        assert min(spent(made).values()) == left
        assert table.noise.scale == pytest.approx(PURE.noise(float(2 / left)).summed(2, 3).scale)
        with pytest.raises(UsageError, match="cost something"):
            made.table.measure([(A,)], Fraction(1, 20), "tables")


def test_an_owner_refuses_what_it_cannot_pay(tmp_path: Path) -> None:
    with federation(tmp_path) as made:
        total_cost = made.table.total_cost
        made.table._whole = 10 * total_cost  # a curator that miscounts, or cheats
        with pytest.raises(FederationAborted):
            made.table.measure([(A,)], total_cost * 2, "tables")
        with pytest.raises(FederationAborted):
            made.table.choose(OPTIONS, INDEPENDENCE, total_cost * 2, "structure")
        assert set(spent(made).values()) == {0}
        assert all(isinstance(e, BudgetError) or "more than is left" in str(e) for *_, e in made.owners.refusals)


def test_nothing_is_counted_before_it_is_paid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = []
    marginals = MemoryEngine.marginals
    append = Ledger.append
    monkeypatch.setattr(
        MemoryEngine, "marginals", lambda self, workload: order.append("count") or marginals(self, workload)
    )
    monkeypatch.setattr(Ledger, "append", lambda self, kind, *rest: order.append(kind) or append(self, kind, *rest))
    with federation(tmp_path) as made:
        order.clear()
        made.table.measure([(A, B)], EACH, "tables")
        made.table.choose(OPTIONS, INDEPENDENCE, EACH, "structure")
    assert order == ["charge", "count"] * 4


def test_the_stated_scale_is_that_of_the_survivors(tmp_path: Path) -> None:
    def without_bea(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        return None if name == "bea" and stage == "masked" else deliver(body)

    with federation(tmp_path, 5, dropping=1, budget=Budget(1), disturb=without_bea) as made:
        (table,) = made.table.measure([(A,)], Fraction(1, 2), "tables")
        assert table.variance == pytest.approx(4 / 3 * 2 * 4**2, rel=0.01)  # four shares calibrated to three


def test_picks_are_public_and_the_same_after_a_restart(tmp_path: Path) -> None:
    with federation(tmp_path) as made:
        picks = [made.table.public_random_index(n, "first") for n in (2, 7, 7, 7, 100)]
        again = FederatedTable(schema_of(SIZES, 120), made.roster, made.owners, made.table._session.place.session)
        assert [again.public_random_index(n, "first") for n in (2, 7, 7, 7, 100)] == picks
        many = np.bincount([again.public_random_index(4, "x") for _ in range(4000)])
        assert np.abs(many - 1000).max() < 150


def test_copies_of_a_table_share_its_rounds(tmp_path: Path) -> None:
    with federation(tmp_path, source=QuietSource()) as made:
        made.table.with_total_cost(made.table.total_cost / 2).measure([(A,)], EACH, "tables")
        made.table.measure([(A,)], EACH, "tables")
        assert not made.owners.refusals
        assert set(spent(made).values()) == {2 * EACH}


WIDE = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 3}
BITS = dict.fromkeys("abcdefg", 2)


def two_way_error(model: Any, schema: Any, columns: dict[str, np.ndarray]) -> float:
    errors = []
    for pair in combinations(schema.names, 2):
        table = np.zeros(schema.sizes([Axis(n) for n in pair]))
        np.add.at(table, tuple(columns[n] for n in pair), 1 / len(columns[pair[0]]))
        found = np.asarray(model.project(pair).table, dtype=float)
        errors.append(np.abs(found / found.sum() - table).sum() / 2)
    return float(np.mean(errors))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize(
    ("method", "sizes"), [("privbayes", WIDE), ("jtree", WIDE), ("privabn", WIDE), ("priview", BITS)]
)
def test_a_method_is_as_good_across_owners(tmp_path: Path, method: str, sizes: dict[str, int], delta: Any) -> None:
    """The same method on the same 9,000 rows in one place and at three owners, whose noise has √(3/2) the size."""
    rows, budget = 9000, Budget(1, delta)
    schema, columns = schema_of(sizes, rows), columns_of(sizes, rows, seed=8)
    central, across = [], []
    for run in range(4):
        (folder := tmp_path / str(run)).mkdir()
        table = private_table(schema, columns, budget, ledger := Ledger(folder / "central.db"), SeededSource(run))
        central.append(two_way_error(method_named(method, {}, schema).fit(table).model, schema, columns))
        table.reservation.abandon("done")  # type: ignore[attr-defined]
        ledger.close()
        with federation(
            folder, 3, 3000, sizes, budget, columns=parts_of(columns, 3), source=SeededSource(100 + run)
        ) as made:
            fit = method_named(method, {}, made.table.schema).fit(made.table)
            assert not made.owners.refusals
            assert max(spent(made).values()) <= made.table.total_cost
            assert made.table.paid == spent(made)
        assert fit.rows == rows
        across.append(two_way_error(fit.model, schema, columns))
    assert np.mean(across) < 1.6 * np.mean(central) + 0.005
    assert NAMES[:3] == made.roster.names
