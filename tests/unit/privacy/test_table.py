"""The private table: pays first, counts, journals, and gives back only noisy things."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.errors import BudgetError, LedgerError, TooLarge, UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable, digest
from understudy.privacy.questions import Choice, Marginals
from understudy.privacy.random_source import SystemSource
from understudy.privacy.scores import INDEPENDENCE, MAXIMUM_JOINT, MUTUAL_INFORMATION, Pair
from understudy.privacy.scores.independence import Independence
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis, Schema

SIZES = {"a": 2, "b": 3, "c": 4}
ROWS = 2000


class WatchedEngine(MemoryEngine):
    """Looks into the ledger at the moment rows are counted."""

    def __init__(self, *args: Any, ledger: Ledger) -> None:
        super().__init__(*args)
        self.ledger = ledger
        self.seen: list[int] = []

    def marginals(self, workload: Any) -> Any:
        self.seen.append(len([e for e in self.ledger.entries() if e.kind == "charge"]))
        return super().marginals(workload)


def watched(ledger_path: Path, budget: Budget) -> tuple[PrivateTable, WatchedEngine]:
    schema = schema_of(SIZES, ROWS)
    ledger = Ledger(ledger_path)
    engine = WatchedEngine(columns_of(SIZES, ROWS), ROWS, schema, ledger=ledger)
    reservation = ledger.reserve(schema, budget, {})
    return LocalPrivateTable(schema, engine, reservation, SystemSource()), engine


def test_every_charge_is_on_disk_before_rows_are_counted(ledger_path: Path) -> None:
    table, engine = watched(ledger_path, Budget(1))
    table.choose(
        [Pair(Axis("a"), (Axis("b"),)), Pair(Axis("c"), (Axis("b"),))], INDEPENDENCE, Fraction(1, 2), "structure"
    )
    table.measure([(Axis("a"),), (Axis("b"), Axis("c"))], Fraction(1, 2), "tables")
    assert engine.seen == [1, 2]


def test_over_the_budget_nothing_is_counted(ledger_path: Path) -> None:
    table, engine = watched(ledger_path, Budget(1))
    with pytest.raises(BudgetError):
        table.measure([(Axis("a"),)], Fraction(2), "tables")
    assert engine.seen == []


def test_a_huge_budget_gives_the_exact_table(ledger_path: Path) -> None:
    schema, columns = schema_of(SIZES, ROWS), columns_of(SIZES, ROWS)
    table = private_table(schema, columns, Budget(5000), ledger_path)
    (seen,) = table.measure([(Axis("c"), Axis("a"))], Fraction(5000), "tables")
    exact = np.zeros((4, 2), dtype=np.int64)
    np.add.at(exact, (columns["c"], columns["a"]), 1)
    assert (seen.values == exact).all()
    assert seen.values.dtype == np.int64


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize(("neighbours", "person"), [("replace-one", 1), ("add-remove", 1), ("replace-one", 3)])
def test_noise_has_the_scale_of_the_theory(ledger_path: Path, delta: float, neighbours: str, person: int) -> None:
    sizes = {"a": 2000}
    rows = ROWS if neighbours == "replace-one" else None
    schema = schema_of(sizes, rows, neighbours, rows_per_person=person)
    table = private_table(schema, {"a": np.zeros(ROWS, dtype=np.uint16)}, Budget(1, delta), ledger_path)
    measured = table.measure([(Axis("a"),)] * 5, table.total_cost, "tables")
    factor = (2 if neighbours == "replace-one" else 1) * person
    noise = np.concatenate([m.values[1:] for m in measured]).astype(float)
    if delta == 0:
        assert measured[0].noise.scale == pytest.approx(5 * factor)
        assert np.abs(noise).mean() == pytest.approx(5 * factor, rel=0.05)
    else:
        sigma = np.sqrt(factor * person * 5 / float(table.total_cost))
        assert measured[0].noise.scale == pytest.approx(sigma, rel=1e-3)
        assert noise.std() == pytest.approx(sigma, rel=0.05)
    assert measured[0].variance == pytest.approx(noise.var(), rel=0.1)


def test_a_noisy_table_is_not_the_exact_one(ledger_path: Path) -> None:
    """The control: the same comparison with no noise would pass as exact."""
    schema, columns = schema_of(SIZES, ROWS), columns_of(SIZES, ROWS)
    table = private_table(schema, columns, Budget("0.01"), ledger_path)
    (seen,) = table.measure([(Axis("c"),)], Fraction(1, 100), "tables")
    assert (seen.values != np.bincount(columns["c"], minlength=4)).any()


def test_shares_divide_the_cost(ledger_path: Path) -> None:
    table = private_table(schema_of(SIZES, ROWS), columns_of(SIZES, ROWS), Budget(1), ledger_path)
    first, second = table.measure([(Axis("a"),), (Axis("b"),)], Fraction(1), "t", [Fraction(1, 4), Fraction(3, 4)])
    assert first.noise.scale == pytest.approx(3 * second.noise.scale)
    with pytest.raises(UsageError, match="add up"):
        table.measure([(Axis("a"),), (Axis("b"),)], Fraction(1), "t", [Fraction(3, 4), Fraction(3, 4)])


def test_the_row_count_can_be_bought(ledger_path: Path) -> None:
    schema = schema_of(SIZES, None, "add-remove")
    table = private_table(schema, columns_of(SIZES, ROWS), Budget(10), ledger_path)
    (count,) = table.measure([()], Fraction(10), "row count")
    assert abs(int(count.values) - ROWS) < 20


def test_a_penalty_counts_against_an_option(ledger_path: Path) -> None:
    table = private_table(schema_of(SIZES, ROWS), columns_of(SIZES, ROWS), Budget(100), ledger_path)
    options = [Pair(Axis("b"), (Axis("a"),)), Pair(Axis("c"), (Axis("a"),))]
    for penalty, winner in (([0, 10**12], options[0]), ([10**12, 0], options[1])):
        assert table.choose(options, INDEPENDENCE, Fraction(50), "structure", penalty) == winner


def test_refusals(ledger_path: Path) -> None:
    table = private_table(
        schema_of({"a": 2, "b": 60_000}, ROWS), columns_of({"a": 2, "b": 60_000}, ROWS), Budget(1), ledger_path
    )
    with pytest.raises(UsageError, match="nothing to choose"):
        table.choose([], INDEPENDENCE, Fraction(1, 2), "structure")
    with pytest.raises(UsageError, match="score R"):
        table.choose([Pair(Axis("b"))], MAXIMUM_JOINT, Fraction(1, 2), "structure")
    with pytest.raises(UsageError, match="no score"):
        table.choose([Pair(Axis("b"))], "Q", Fraction(1, 2), "structure")
    huge = schema_of({"a": 6000, "b": 6000}, ROWS)
    table = private_table(huge, columns_of({"a": 6000, "b": 6000}, ROWS), Budget(1), ledger_path)
    with pytest.raises(TooLarge, match="cannot be measured"):
        table.measure([(Axis("a"), Axis("b"))], Fraction(1, 2), "tables")


def test_there_is_no_way_to_exact_counts() -> None:
    """Nothing public on a private table holds the engine, the ledger's reservation, or a count."""
    verbs = {
        "ask", "choose", "choose_child", "choose_edge", "foresee", "knowing", "known", "list_values", "measure",
        "measure_coefficients", "measure_dependence", "measure_details", "measure_distances", "measure_scores", "measure_statistic",
        "measure_wavelet", "owners", "progress", "public_random_index", "regrouped", "viewed", "with_total_cost",
    }  # fmt: skip
    assert {name for name in dir(PrivateTable) if not name.startswith("_")} == verbs
    beyond = {  # an owner's side of a federation, and what a run tells its journal: no method sees these
        "answer", "check_lists", "check_query", "check_selection", "contribute", "delta_left", "known_by", "left", "list_texts",
        "select",
    }  # fmt: skip
    assert {name for name in dir(LocalPrivateTable) if not name.startswith("_")} == verbs | beyond


def test_only_what_is_listed_can_be_asked(ledger_path: Path) -> None:
    """A subclass may compute anything and claim any sensitivity: only the listed types themselves are answered."""

    class Peek(Marginals):
        pass

    class Peeking(Independence):
        pass

    table = private_table(schema_of(SIZES, ROWS), columns_of(SIZES, ROWS), Budget(1), ledger_path)
    with pytest.raises(UsageError, match="Peek has no proved sensitivity"):
        table.ask(Peek([(Axis("a"),)], [Fraction(1)]), Fraction(1, 2), "tables")
    for score in (Peeking(), "R", None):
        with pytest.raises(UsageError, match="no score"):
            table.choose([Pair(Axis("b"))], score, Fraction(1, 2), "structure")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="no score"):
            table.choose_edge((Axis("a"),), (Axis("b"),), score, Fraction(1, 2), "structure", cells=9)  # type: ignore[arg-type]
    assert table.reservation.charges() == []  # type: ignore[attr-defined]
    assert table.ask(Marginals.of([(Axis("a"),)]), Fraction(1, 2), "tables")


def test_a_resumed_run_repeats_its_outcomes(ledger_path: Path) -> None:
    schema, columns = schema_of(SIZES, ROWS), columns_of(SIZES, ROWS)
    options = [Pair(Axis("b"), (Axis("a"),)), Pair(Axis("c"), (Axis("a"),))]
    seen = []
    for _ in range(2):
        table = private_table(schema, columns, Budget(1), ledger_path)
        first = table.public_random_index(1000, "first")
        choice = table.choose(options, INDEPENDENCE, Fraction(1, 100), "structure")
        (noisy,) = table.measure([(Axis("c"), Axis("b"))], Fraction(1, 2), "tables")
        seen.append((first, choice, noisy.values.tolist(), noisy.noise.scale))
        table.reservation._lock.release()  # type: ignore[attr-defined]  # the process ends without a release
    assert seen[0] == seen[1]
    assert len(Ledger(ledger_path).entries()) == 4  # open, reserve and two charges


def interrupted(ledger_path: Path, ask: str, outcome: bytes) -> PrivateTable:
    """A table whose run has answered one choice, known by `ask`, and was then killed."""
    schema, columns = schema_of(SIZES, ROWS), columns_of(SIZES, ROWS)
    table = private_table(schema, columns, Budget(1), ledger_path)
    charge = table.reservation.charge("structure", Fraction(1, 100), ask)  # type: ignore[attr-defined]
    charge.drawing()
    charge.journal(outcome)
    table.reservation._lock.release()  # type: ignore[attr-defined]
    return private_table(schema, columns, Budget(1), ledger_path)


OFFERED = [Pair(Axis("b"), (Axis("a"),)), Pair(Axis("c"), (Axis("a"),)), Pair(Axis("c"))]


@pytest.mark.parametrize("outcome", range(3))
def test_a_choice_of_an_earlier_version_is_known_by_all_of_its_question(ledger_path: Path, outcome: int) -> None:
    """Version 0.1 had penalties in what identifies a choice; its interrupted runs are finished."""
    asked = digest(Choice(OFFERED, INDEPENDENCE, [1, 2, 3]).as_json(), "1/100")
    table = interrupted(ledger_path, asked, str(outcome).encode())
    assert table.choose(OFFERED, INDEPENDENCE, Fraction(1, 100), "structure", [1, 2, 3]) == OFFERED[outcome]


def test_a_choice_is_known_by_its_options_score_and_cost(ledger_path: Path) -> None:
    """A penalty that was worked out again, on another machine, may be another; another option may not."""
    asked = digest(Choice(OFFERED, INDEPENDENCE).asked(), "1/100")
    table = interrupted(ledger_path, asked, b"2")
    assert table.choose(OFFERED, INDEPENDENCE, Fraction(1, 100), "structure", [7, 8, 9]) == OFFERED[2]
    table.reservation._lock.release()  # type: ignore[attr-defined]
    for at, (options, score, cost) in enumerate(
        ((OFFERED[:2], INDEPENDENCE, "1/100"), (OFFERED, MUTUAL_INFORMATION, "1/100"), (OFFERED, INDEPENDENCE, "1/50"))
    ):
        other = interrupted(ledger_path.with_name(f"{at}.db"), asked, b"2")  # refused once, a run is closed
        with pytest.raises(LedgerError, match="asked something else"):
            other.choose(options, score, Fraction(cost), "structure")
        other.reservation._lock.release()  # type: ignore[attr-defined]


def in_bins(first: list[int], ledger_path: Path) -> PrivateTable:
    """A table whose run was killed, or that begins: counted in bins of a range that begin at these units."""
    text = '[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.n]\nkind = "integer"\nrange = [0, 999]\n'
    schema = Schema.from_toml(text)
    columns = {name: np.full(ROWS, 7, dtype=np.uint16) for name in schema.counted.names}
    table, bins = private_table(schema, columns, Budget(1), ledger_path), np.asarray(first)
    table.reservation._lock.release()  # type: ignore[attr-defined]
    return table.regrouped(schema.binned({"n": bins}), {"n": schema["n"].homes(bins)})


@pytest.mark.parametrize("other", [[0, 8, 9], [0, 7]])
def test_an_answer_is_known_by_the_cells_that_it_is_about(other: list[int], ledger_path: Path) -> None:
    """A resumed run whose earlier answers lead to other bins is not given what was counted in the first ones."""
    question, options = Marginals.of([(Axis("n"),)]), [Pair(Axis("n")), Pair(Axis("n", 1))]
    before = in_bins([0, 7, 8], ledger_path)
    (counts,) = before.ask(question, Fraction(1, 4), "spikes")
    chosen = before.choose(options, INDEPENDENCE, Fraction(1, 4), "structure")
    again = in_bins([0, 7, 8], ledger_path)
    assert again.ask(question, Fraction(1, 4), "spikes")[0].values.tolist() == counts.values.tolist()
    assert again.choose(options, INDEPENDENCE, Fraction(1, 4), "structure") == chosen
    with pytest.raises(LedgerError, match="asked something else"):
        in_bins(other, ledger_path).ask(question, Fraction(1, 4), "spikes")


def test_an_answer_of_an_earlier_version_is_known_without_its_cells(ledger_path: Path) -> None:
    """Its interrupted runs are finished: they had no bins in what identifies a question."""
    question, table = Marginals.of([(Axis("n"),)]), in_bins([0, 7, 8], ledger_path)
    charge = table.reservation.charge("spikes", Fraction(1, 4), digest(question.as_json(), "1/4"))  # type: ignore[attr-defined]
    charge.drawing()
    charge.journal(np.asarray([3, 1, 4], dtype="<i8").tobytes())
    (counts,) = in_bins([0, 7, 8], ledger_path).ask(question, Fraction(1, 4), "spikes")
    assert counts.values.tolist() == [3, 1, 4]


def test_an_answer_is_known_by_the_table_that_it_is_about(ledger_path: Path) -> None:
    """Where a run has several, of which two may have a column of one name."""
    question = Marginals.of([(Axis("n"),)])
    (counts,) = in_bins([0, 7], ledger_path).known_by("people").ask(question, Fraction(1, 4), "tables")  # type: ignore[attr-defined]
    again = in_bins([0, 7], ledger_path).known_by("people")  # type: ignore[attr-defined]
    assert again.ask(question, Fraction(1, 4), "tables")[0].values.tolist() == counts.values.tolist()
    with pytest.raises(LedgerError, match="asked something else"):
        in_bins([0, 7], ledger_path).known_by("visits").ask(question, Fraction(1, 4), "tables")  # type: ignore[attr-defined]
