"""Value lists: sensitivity over all small neighbours, what may be shown, and what a run pays and hears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import another_source
from understudy.engines.engine import Grouping, Groups
from understudy.errors import BudgetError, UsageError
from understudy.privacy.accounting import PURE, ZCDP
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.noise import Gaussian
from understudy.privacy.questions import ValueLists
from understudy.privacy.questions import value_lists as lists_module
from understudy.schema import Attribute, Categories, Schema

TEXTS = ("a", "b", "c")
QUESTION = ValueLists((Grouping("x"),), Fraction(1, 10**6))


def schema_of(neighbours: str, k: int = 1, rows: int = 3) -> Schema:
    known = rows if neighbours == "replace-one" else None
    attribute = Attribute("other column", Categories(("0", "1")))
    return Schema("t", (attribute,), rows=known, neighbours=neighbours, rows_per_person=k)  # type: ignore[arg-type]


def answer(rows: Sequence[str], listed: Sequence[str]) -> np.ndarray:
    """All texts' counts, and the rest once the list is fixed."""
    counts = Counter(rows)
    return np.asarray([*(counts[t] for t in TEXTS), sum(counts[t] for t in TEXTS if t not in listed)])


def moves(neighbours: str, k: int) -> Iterator[np.ndarray]:
    """What one person with up to k rows changes, for every list that could have come out before the rest is asked."""
    held = [h for size in range(k + 1) for h in combinations_with_replacement(TEXTS, size)]
    others = ("a", "b", "b")
    for listed in (some for size in range(4) for some in combinations(TEXTS, size)):
        if neighbours == "add-remove":
            for rows in held:
                yield answer((*others, *rows), listed) - answer(others, listed)
        else:
            for one, two in product(held, held):
                if len(one) == len(two):
                    yield answer((*others, *one), listed) - answer((*others, *two), listed)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_sensitivity_by_brute_force(neighbours: str, k: int) -> None:
    """It is attained; the twin that forgets the rest (the sensitivity of a table) is too low."""
    claimed = QUESTION.sensitivity(schema_of(neighbours, k))
    found = max(int((move * move).sum()) for move in moves(neighbours, k))
    assert found == claimed.l2_squared
    assert found > claimed.l2_squared // (3 if neighbours == "replace-one" else 2) * (neighbours == "replace-one" or 1)
    assert max(int(abs(move).sum()) for move in moves(neighbours, k)) <= claimed.l1


def test_the_noise_costs_what_is_paid_and_half_of_it_would_not() -> None:
    from understudy.privacy.random_source import gaussian_measurement

    schema, cost = schema_of("replace-one"), Fraction(1, 100)
    noise = QUESTION.noise(schema, ZCDP, cost)
    reach = 3**0.5
    assert Fraction(gaussian_measurement(noise.scale).map(reach)) <= cost * Fraction(1000001, 1000000)
    assert Fraction(gaussian_measurement(noise.scale / 2).map(reach)) > cost


class Still:
    """No noise at all."""

    private = False

    def gaussian(self, values: Any, scale: float) -> Any:
        return values


def drawn(texts: dict[str, int], rows: int, threshold: int, missing: int = 0) -> tuple[list[str], list[int]]:
    found = Groups(list(texts), np.asarray(list(texts.values()), dtype=np.int64), rows, missing, missing > 0)
    return lists_module._drawn(found, Gaussian(1.0), threshold, Still())  # type: ignore[arg-type]


def test_only_what_passes_is_shown_in_the_order_of_bytes() -> None:
    values, counts = drawn({"é": 40, "z": 30, "Z": 20, "rare": 19}, 120, 20, missing=5)
    assert values == ["Z", "z", "é"]
    assert counts == [20, 30, 40, 120 - 90 - 5, 5]


def test_a_long_list_is_cut_by_its_noisy_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists_module, "MAX_LISTED", 2)
    assert drawn({"a": 30, "b": 50, "c": 40}, 120, 20) == (["b", "c"], [50, 40, 30])


def test_no_value_passes() -> None:
    assert drawn({"a": 3}, 10, 20) == ([], [10])


class Texts:
    """An engine that groups once and then never again."""

    def __init__(self, texts: dict[str, int]) -> None:
        self.texts, self.asked = texts, 0

    def groups(self, groupings: Sequence[Grouping], above: int) -> Iterator[Groups]:
        self.asked += 1
        kept = {t: c for t, c in self.texts.items() if c > above}
        for _ in groupings:
            counts = np.asarray(list(kept.values()), dtype=np.int64)
            yield Groups(list(kept), counts, sum(self.texts.values()), 0, False)


def table_of(book: Ledger, engine: Texts, aside: Fraction = Fraction(1, 10**6)) -> LocalPrivateTable:
    schema = schema_of("add-remove")
    budget = Budget(1, "2e-6").setting_aside(aside)
    reservation = book.reserve(schema, budget, {"method": "test"}, unlimited=True, fingerprint="of this table")
    return LocalPrivateTable(schema, None, reservation, another_source(), groups=engine)  # type: ignore[arg-type]


def test_a_killed_run_hears_the_same_list_and_pays_once(tmp_path: Path) -> None:
    engine, heard = Texts({"red": 5000, "blue": 3000, "mine alone": 1}), []
    for _ in range(2):
        with Ledger(tmp_path / "ledger.db") as book:
            table = table_of(book, engine)
            (found,) = table.list_values([Grouping("x")], Fraction(1, 10**6), table.total_cost / 2, "value lists")
            heard.append((found.values, found.counts.tolist()))
            spent = [e.body for e in book.entries() if e.kind == "charge"]
            table._LocalPrivateTable__reservation._lock.release()  # type: ignore[attr-defined]
    assert heard[0] == heard[1] and heard[0][0] == ("blue", "red")
    assert engine.asked == 1
    assert [body["delta"] for body in spent] == ["1/1000000"]


def test_a_delta_that_was_not_set_aside_is_refused(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as book:
        table = table_of(book, Texts({"red": 5000}), aside=Fraction(1, 10**7))
        with pytest.raises(BudgetError, match="set aside"):
            table.list_values([Grouping("x")], Fraction(1, 10**6), table.total_cost / 2, "value lists")


def test_pure_epsilon_is_refused_with_three_ways_out() -> None:
    with pytest.raises(UsageError, match="Three ways out"):
        QUESTION.noise(schema_of("add-remove"), PURE, Fraction(1))


def test_setting_aside_splits_delta() -> None:
    budget = Budget(1, "1e-6").setting_aside(Fraction(1, 2 * 10**6))
    assert budget.delta == Fraction(1, 10**6) and budget.shared(Fraction(1, 2)).aside == budget.aside
    assert ZCDP.whole(budget) == ZCDP.whole(Budget(1, "5e-7")) < ZCDP.whole(Budget(1, "1e-6"))
    for wrong in (Fraction(1, 10**6), Fraction(1), Fraction(-1)):
        with pytest.raises(UsageError):
            Budget(1, "1e-6").setting_aside(wrong)


def test_columns_must_differ() -> None:
    with pytest.raises(UsageError):
        ValueLists((Grouping("x"), Grouping("x")), Fraction(1, 10)).check(schema_of("add-remove"))
    with pytest.raises(UsageError):
        ValueLists((), Fraction(1, 10)).check(schema_of("add-remove"))
