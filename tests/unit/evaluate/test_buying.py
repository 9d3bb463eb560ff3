"""Bought figures: paid for through the ledger, near the exact ones, with bars that hold, and nothing without a lemma."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, schema_of
from understudy.errors import BudgetError, TooLarge, UsageError
from understudy.evaluate.buying import NO_LEMMA, BoughtFigures, buy
from understudy.evaluate.classification import linear_classifier
from understudy.evaluate.evaluation import evaluate
from understudy.evaluate.question import MEASURES
from understudy.evaluate.targets import Target
from understudy.privacy.custodian import STAMP, ExactTable, refuse_exact
from understudy.privacy.ledger import Ledger
from understudy.testing import SeededSource

SIZES = {"a": 2, "b": 3, "c": 4, "d": 3}
ROWS = 3000


def tables(neighbours: str = "replace-one", **more: Any) -> tuple[ExactTable, ExactTable, Any]:
    schema = schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours, **more)
    real, other = columns_of(SIZES, ROWS, 1), columns_of(SIZES, 2000, 2)
    other["c"] = np.random.default_rng(0).permutation(other["c"])
    return ExactTable(real, ROWS, schema), ExactTable(other, 2000, schema), schema


def bought(path: Path, epsilon: Any = 1, neighbours: str = "replace-one", **more: Any) -> BoughtFigures:
    real, other, schema = tables(neighbours)
    return buy(real, other, schema, epsilon=epsilon, ledger=path, alpha=[2, 3], classify=["a", "d=0|1"], **more)


def exact_figures() -> dict[str, float]:
    real, other, schema = tables()
    found = evaluate(real, other, schema, measures=["tvd"], alpha=[2, 3]).tables
    figures = {
        f"{kind} TVD of {a}-way tables": v
        for a in (2, 3)
        for kind, v in (("mean", found[a].mean), ("maximum", found[a].max))
    }
    for target in ("a", "d=0|1"):
        for model in ("svm", "logistic"):
            public = linear_classifier(other, Target.parse(target, schema), model)
            figures[f"error of {model} on {target}"] = real.errors(public) / ROWS
    return figures


@pytest.mark.parametrize("delta", [0, 1e-9])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_bought_figures_are_near_the_exact_ones(ledger_path: Path, neighbours: str, delta: float) -> None:
    truth = exact_figures()
    found = bought(ledger_path, 20, neighbours, delta=delta)
    assert {f.name for f in found.figures} == set(truth)
    for figure in found.figures:
        assert figure.value == pytest.approx(truth[figure.name], abs=0.01)
        assert figure.low <= figure.value <= figure.high


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_bars_hold(tmp_path: Path, neighbours: str) -> None:
    """Of 12 × 8 figures with 95 % bars at least 85 % hold the truth; a bar half as wide would not be enough."""
    truth = exact_figures()
    figures = [
        figure
        for trial in range(12)
        for figure in bought(tmp_path / f"{trial}.db", 0.2, neighbours, source=SeededSource(trial)).figures
    ]
    held = np.mean([f.low <= truth[f.name] <= f.high for f in figures])
    assert held >= 0.85
    width = np.mean([f.high - f.low for f in figures])
    assert 0.01 < width < 0.2


def test_the_whole_cost_is_on_the_ledger_and_every_figure_is_charged(ledger_path: Path) -> None:
    found = bought(ledger_path, "0.8")
    ledger = Ledger(ledger_path)
    ledger.verify()
    account = ledger.account("people")
    assert account is not None and account.spent_epsilon == Fraction(4, 5)
    charges = [e.body for e in ledger.entries() if e.kind == "charge"]
    assert [c["purpose"] for c in charges] == [f"evaluation: {f.name}" for f in found.figures]
    assert sum(Fraction(c["cost"]) for c in charges) == Fraction(4, 5)
    assert [e.kind for e in ledger.entries()][-1] == "release"
    with pytest.raises(BudgetError, match="Nothing was read"):
        buy("no-such.csv", "neither.csv", tables()[2], epsilon="0.1", ledger=ledger_path)


def test_the_document_is_public_and_says_what_it_cost(ledger_path: Path) -> None:
    document = bought(ledger_path, "0.8").as_json()
    refuse_exact(document)
    json.dumps(document, allow_nan=False)
    assert STAMP not in json.dumps(document, ensure_ascii=False)
    assert document["stamp"] == "DIFFERENTIALLY PRIVATE — epsilon 0.8, replace-one neighbours"
    assert (document["epsilon"], document["unit"], len(document["bought"])) == (0.8, "epsilon", 8)
    assert set(document["tvd"]["2"]) == {"mean", "max", "tables", "of", "seed"}
    assert set(document["errors"]) == {"a", "d=0|1"}
    assert document["k_marginal"]["2"] == pytest.approx(1000 * (1 - document["tvd"]["2"]["mean"]))


def test_a_seed_is_stamped(tmp_path: Path) -> None:
    """On the figures and in the ledger; a purchase without a seed stamps neither."""
    found = bought(tmp_path / "l.db", source=SeededSource(1))
    assert found.stamp.startswith("NOT PRIVATE") and "NOT PRIVATE" in found.text()
    bought(tmp_path / "private.db")
    for name, private in (("l.db", False), ("private.db", True)):
        book = Ledger(tmp_path / name)
        account = book.account("people")
        book.close()
        assert account is not None and account.private is private


@pytest.mark.parametrize("measure", list(NO_LEMMA))
def test_a_figure_without_a_lemma_is_refused_before_anything_is_opened(ledger_path: Path, measure: str) -> None:
    _, _, schema = tables()
    with pytest.raises(UsageError, match="no sensitivity lemma"):
        buy("no-such.csv", "neither.csv", schema, epsilon=1, ledger=ledger_path, measures=["tvd", measure])
    assert not ledger_path.exists()


def test_every_measure_is_for_sale_or_refused() -> None:
    from understudy.evaluate.buying import FOR_SALE

    assert set(MEASURES) == set(NO_LEMMA) | set(FOR_SALE)


def test_boosting_is_refused_before_anything_is_charged(ledger_path: Path) -> None:
    with pytest.raises(UsageError, match="linear classifiers only"):
        bought(ledger_path, models=["boosting"])
    assert not ledger_path.exists()


def test_figures_are_handed_over_before_the_ledger_closes(ledger_path: Path) -> None:
    """A run killed while printing goes on without paying or drawing twice."""
    seen: list[BoughtFigures] = []

    def crash(figures: BoughtFigures) -> None:
        seen.append(figures)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bought(ledger_path, save=crash)
    again = bought(ledger_path)
    assert [f.value for f in again.figures] == [f.value for f in seen[0].figures]
    assert [e.kind for e in Ledger(ledger_path).entries()].count("reserve") == 1


def test_a_person_with_more_rows_costs_more_noise(tmp_path: Path) -> None:
    scales = []
    for person in (1, 4):
        real, other, schema = tables(rows_per_person=person)
        found = buy(real, other, schema, epsilon=1, ledger=tmp_path / f"{person}.db", alpha=[2])
        scales.append(found.figures[0].scale)
    assert scales[1] == pytest.approx(4 * scales[0])


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_the_costs_that_are_shown_add_up(ledger_path: Path, neighbours: str) -> None:
    """A private row count is bought too, and the text says so."""
    found = bought(ledger_path, 1, neighbours)
    assert (found.row_count is None) == (neighbours == "replace-one")
    assert ("row count" in found.text()) == (neighbours == "add-remove")
    shares = sum(f.cost for f in found.figures) + (found.figures[0].cost if found.row_count else 0)
    assert shares == 1 and (found.row_count is None or f"{float(found.figures[0].cost):.6g}" in found.row_count)


def test_k_marginal_scores_have_the_bars_of_the_mean(ledger_path: Path) -> None:
    found = bought(ledger_path, 1)
    mean = found.figures[0]
    assert mean.name == "mean TVD of 2-way tables"
    assert found.scores["2"] == (1000 * (1 - mean.value), 1000 * (1 - mean.high), 1000 * (1 - mean.low))
    assert found.scores["2"][0] == pytest.approx(found.as_json()["k_marginal"]["2"])


def test_a_table_too_large_to_count_is_refused_with_advice(ledger_path: Path) -> None:
    sizes = {"a": 11_000, "b": 11_000, "c": 2}
    schema = schema_of(sizes, 3)
    table = ExactTable({name: np.zeros(3, dtype=np.uint16) for name in sizes}, 3, schema)
    with pytest.raises(TooLarge, match=r"\(a × b\)\. Take fewer .* Nothing was charged"):
        buy(table, table, schema, epsilon=1, ledger=ledger_path, alpha=[2])
    assert [e.kind for e in Ledger(ledger_path).entries()] == []
