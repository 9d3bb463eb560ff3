"""The raw benchmark: its blind schemas can be read, and its measures see what they are for."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from understudy.schema import Attribute, Categories, Intervals, Schema

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks" / "raw"))

from closeness import measures
from derived_facts import broken, outside
from k_marginal import k_marginal
from tables import NAMES, RawTable

ROWS = 4_000


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["drafted", "expert"])
def test_blind_schemas_can_be_read(name: str, form: str) -> None:
    table = RawTable(name)
    if "codebook" in table.about and not table.available:
        pytest.skip("its lists of codes are read from the codebook beside the data")
    for neighbours in ("add-remove", "replace-one"):
        schema = table.schema(form, neighbours)  # type: ignore[arg-type]
        assert set(table.about["targets"]) <= {a.name for a in schema.modelled}
        assert (schema.rows is None) == (neighbours == "add-remove")


def schema() -> Schema:
    amount = Attribute("amount", Intervals("number", (0.0, 50.0, 100.0)), missing=("",))
    return Schema("small", (amount, Attribute("group", Categories(("a", "b")))), neighbours="add-remove")


def frame(seed: int) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    amount = np.where(draw.random(ROWS) < 0.3, 0.0, draw.exponential(5, ROWS))
    texts = [f"{v:.2f}" if v else "0" for v in amount]
    texts = np.where(draw.random(ROWS) < 0.1, "", texts)
    return pd.DataFrame({"amount": texts, "group": np.where(amount > 3, "b", "a")}).astype(str)


def test_a_table_is_no_distance_from_itself_and_little_from_its_like() -> None:
    real = frame(1)
    same = measures(real, real, schema())
    assert same.pop("format") == 1.0 and set(same.values()) == {0.0}
    like = measures(real, frame(2), schema())
    assert 0 < like["w1"] < 0.1 and 0 < like["pairs"] < 0.05 and like["format"] == 1.0


@pytest.mark.parametrize(
    ("changed", "figures"),
    [
        (lambda f: f.assign(amount=f.amount.replace("0", "1.00")), {"zeros": 0.25, "ks": 0.25, "w1": 0.04}),
        (lambda f: f.assign(amount=f.amount.replace("", "1.00")), {"missing": 0.08, "pairs": 0.08}),
        (lambda f: f.assign(group=f.group.to_numpy()[::-1]), {"association": 0.5, "pairs": 0.3}),
        (lambda f: f.assign(amount=f.amount.where(f.amount.isin(["", "0"]), f.amount + "17")), {"format": -0.3}),
        (lambda f: f.assign(amount=[t and f"{round(float(t))}" for t in f.amount]), {"rounding": 0.4}),
    ],
)  # fmt: skip
def test_each_measure_sees_what_it_is_for(changed, figures) -> None:  # type: ignore[no-untyped-def]
    """At least so much; of the share of cells that look real, at most one less so much."""
    real = frame(1)
    found = measures(real, changed(real), schema())
    for name, least in figures.items():
        assert (1 - found[name] >= -least) if least < 0 else (found[name] >= least), (name, found[name])


def test_rows_that_break_a_fact_and_cells_outside_the_schema_are_counted() -> None:
    made = pd.DataFrame({"amount": ["5", "", "70", "120", "99"], "group": ["a", "b", "a", "b", "c"]})
    facts = ['group == "a" and amount > 50', "amount.isnull()", "group__place == 2"]
    assert broken(made, schema(), {"broken": facts}) == dict(zip(facts, [0.2, 0.2, 0.4]))
    assert broken(made, schema(), {}) == {}
    assert outside(made, schema()) == pytest.approx(0.2)  # 120, and the group c: two of ten


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_the_tables_name_their_columns(name: str) -> None:
    table = RawTable(name)
    if "codebook" in table.about and not table.available:
        pytest.skip("its lists of codes are read from the codebook beside the data")
    known = table.schema("drafted", "add-remove")
    one = pd.DataFrame({a.name: [_some_text(a)] for a in known.modelled})
    assert outside(one, known) == 0
    assert set(broken(one, known, table.about)) == set(table.about["broken"])


def _some_text(attribute: Attribute) -> str:
    domain = attribute.domain
    return domain.show(float(np.ceil(domain.edges[0]))) if isinstance(domain, Intervals) else domain.texts[0]


def test_the_k_marginal_score_is_a_thousand_less_the_distance_of_triples() -> None:
    rng = np.random.default_rng(3)
    real, made = ([rng.integers(0, size, 500) for size in (2, 3, 4, 2)] for _ in range(2))
    distances = []
    for a, b, c in itertools.combinations(range(4), 3):
        tables = [np.histogramdd(np.stack([x[a], x[b], x[c]]).T, [range(6)] * 3)[0] / 500 for x in (real, made)]
        distances.append(0.5 * np.abs(tables[0] - tables[1]).sum())
    assert k_marginal(real, made, [2, 3, 4, 2]) == pytest.approx(1000 * (1 - np.mean(distances)))
    assert k_marginal(real, real, [2, 3, 4, 2]) == 1000
    assert k_marginal(real, [column + 5 for column in real], [9] * 4) == 0
