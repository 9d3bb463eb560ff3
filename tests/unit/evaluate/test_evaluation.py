"""The whole evaluation: what it holds, what it prints, what it refuses, and that it stays with the custodian."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import understudy
from conftest import columns_of, schema_of
from understudy.errors import DataError, UsageError
from understudy.evaluate.evaluation import Evaluation, evaluate
from understudy.evaluate.question import MEASURES
from understudy.privacy.custodian import STAMP, CustodianFigures, Exact, ExactTable, refuse_exact
from understudy.schema import Attribute, Intervals, Schema

SIZES = {"a": 2, "b": 3, "c": 4}
ROWS = 600


def schema() -> Schema:
    plain = schema_of(SIZES, ROWS)
    age = Attribute("age", Intervals("integer", (0.0, 25.0, 50.0, 75.0, 100.0)))
    return dataclasses.replace(plain, attributes=(*plain.attributes, age))


def frame(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    columns: dict[str, Any] = {n: c.astype(str) for n, c in columns_of(SIZES, rows, seed).items()}
    return pd.DataFrame(columns | {"age": np.random.default_rng(seed).integers(0, 100, rows)})


def everything(synthetic: pd.DataFrame, **more: Any) -> Evaluation:
    network = {"network": [{"attribute": "a", "parents": []}, {"attribute": "b", "parents": ["a"]}]}
    return evaluate(frame(), synthetic, schema(), classify=["a"], network=network, **more)


def numbers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [x for item in value.values() for x in numbers(item)]
    if isinstance(value, list):
        return [x for item in value for x in numbers(item)]
    return [value] if isinstance(value, float) else []


def test_equal_tables_differ_nowhere() -> None:
    found = everything(frame(), alpha=[1, 2, 3, 4])
    document = found.as_json()
    assert [document["tvd"][a][k] for a in "1234" for k in ("mean", "max")] == [0] * 8
    assert document["l2"]["3"]["mean"] == document["ranges"]["mean_relative"] == 0
    assert document["correlation"]["cramers_v"]["max"] == 0
    assert document["numeric"]["age"]["wasserstein"] == 0
    assert document["matches"]["raw"]["rate"] == 1
    assert document["information"]["original"] == document["information"]["synthetic"] > 0
    assert document["k_marginal"] == dict.fromkeys("1234", 1000)


@pytest.mark.costly
def test_the_document_is_stamped_and_plain() -> None:
    document = everything(frame(400, 1)).as_json()
    assert json.loads(json.dumps(document, allow_nan=False))["stamp"] == STAMP
    assert document["rows"] == {"original": ROWS, "synthetic": 400}
    assert list(document["tvd"]) == ["2", "3"]
    text = everything(frame(400, 1)).text()
    assert text.startswith(STAMP) and text.endswith(STAMP)
    assert f"{document['tvd']['3']['mean']:.4f}" in text


def test_every_figure_refuses_to_leave() -> None:
    found = everything(frame(400, 1))
    document = found.as_json()
    document.pop("stamp")
    figures = [x for x in numbers(document) if x is not document["ranges"]["sanity"]]
    assert len(figures) > 50 and all(isinstance(x, Exact) for x in figures)
    for part in (found, document, found.one_way, found.tables[2].worst, found.classification):
        with pytest.raises(UsageError, match="custodian only"):
            refuse_exact({"deep": [part]})
    assert all(
        isinstance(getattr(found, f.name), CustodianFigures) for f in dataclasses.fields(found) if f.name == "ranges"
    )


@pytest.mark.parametrize("measure", list(MEASURES))
def test_one_measure_alone(measure: str) -> None:
    key = {"k-marginal": "k_marginal", "classify": "classification"}.get(measure, measure)
    assert set(everything(frame(), measures=[measure]).as_json()) == {key, "rows", "schema", "stamp"}


def test_one_way_tables_for_pictures() -> None:
    found = evaluate(frame(), frame(400, 1), schema(), measures=["tvd"])
    shares = found.one_way["a"]
    assert shares.labels == ("0", "1")
    assert shares.original == pytest.approx(frame()["a"].value_counts(normalize=True).sort_index().tolist())
    assert sum(shares.synthetic) == pytest.approx(1)


def test_tables_already_in_codes() -> None:
    """No raw columns then, and no numeric measure; the rest is there."""
    plain = schema_of(SIZES, ROWS)
    real = ExactTable(columns_of(SIZES, ROWS), ROWS, plain)
    found = evaluate(real, ExactTable(columns_of(SIZES, 300, 1), 300, plain), plain)
    assert found.numeric == {} and found.matches_raw is None and found.matches_coded is not None
    assert found.tables[2].mean > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measures": ["tdv"]}, "Did you mean 'tvd'"),
        ({"models": ["svn"], "classify": ["a"]}, "Did you mean 'svm'"),
        ({"measures": ["classify"]}, "needs a target"),
        ({"measures": ["information"]}, "needs a release"),
        ({"classify": ["agee"]}, "Did you mean 'age'"),
        ({"classify": ["a"], "ignore": ["aeg"]}, "Did you mean 'age'"),
        ({"alpha": [5]}, "from 1 to 4"),
        ({"queries": 0}, "at least one"),
        ({"tables": 0}, "at least one"),
    ],
)
def test_a_wrong_question_is_refused_before_the_data_is_opened(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        evaluate("no-such-file.csv", "neither.csv", schema(), **options)


def test_the_original_must_fit_and_the_stand_in_may_be_any_size() -> None:
    with pytest.raises(DataError, match="original table"):
        evaluate(frame(ROWS - 1), frame(), schema())
    assert evaluate(frame(), frame(7, 3), schema(), measures=["tvd"]).rows == (ROWS, 7)


def test_a_published_table_is_evaluated_with_its_neutralised_cells(tmp_path: Path) -> None:
    """Values that a spreadsheet would run come out with a leading '; they are the same values."""
    from understudy.schema import Categories

    odd = Schema("odd", (Attribute("x", Categories(("=1+1", "-2"))), Attribute("y", Categories(("p", "q")))), rows=200)
    g = np.random.default_rng(0)
    real = pd.DataFrame({"x": g.choice(["=1+1", "-2"], 200), "y": g.choice(["p", "q"], 200)})
    release = understudy.publish(real, odd, epsilon=5, ledger=tmp_path / "l.db")
    release.write(tmp_path / "out.csv", seed=1)
    assert "'=1+1" in (tmp_path / "out.csv").read_text()
    assert evaluate(real, tmp_path / "out.csv", odd, measures=["tvd"]).tables[2].max < 0.3


# -- the verb is a package --------------------------------------------------------------------------------------


def test_the_verb_is_callable_before_and_after_its_package_is_imported() -> None:
    import understudy.evaluate.distances

    for _ in range(2):
        found = understudy.evaluate(frame(), frame(), schema(), measures=["tvd"])
        assert found.tables[3].max == 0
    assert understudy.evaluate.distances.WORST


@pytest.mark.costly
def test_importing_understudy_imports_nothing_heavy() -> None:
    code = (
        "import sys, understudy; print([m for m in ('numpy', 'understudy.evaluate') if m in sys.modules]); "
        "understudy.evaluate; import understudy.cli, understudy.evaluate.evaluation; "
        "print([m for m in ('sklearn', 'joblib', 'pandas', 'opendp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]


def test_dates_are_printed_as_dates() -> None:
    day = np.datetime64("2020-01-01")
    days = (day - np.datetime64("1970-01-01")).astype(float)
    joined = Attribute("joined", Intervals("date", (days, days + 100, days + 200)))
    table = Schema("t", (joined, Attribute("age", Intervals("integer", (0.0, 50.0, 100.0)))), rows=3)
    real = pd.DataFrame({"joined": [str(day + d) for d in (0, 10, 20)], "age": [1, 2, 3]})
    other = pd.DataFrame({"joined": [str(day + d) for d in (5, 15, 25)], "age": [1, 2, 3]})
    lines = evaluate(real, other, table, measures=["numeric"]).text().splitlines()
    (original, synthetic) = [line.split() for line in lines if " days" in line]
    assert original == ["joined", "original", "2020-01-11", "10", "days", "2020-01-11"]
    assert synthetic == ["synthetic", "2020-01-16", "10", "days", "2020-01-16", "5", "days"]
    assert [line.split()[-4:] for line in lines if line.startswith("age")] == [["original", "2", "1", "2"]]


def test_a_set_of_attributes_to_ignore_needs_a_target() -> None:
    with pytest.raises(UsageError, match="no target"):
        evaluate(frame(), frame(), schema(), ignore=["a"])


def test_whoever_prints_it_sees_the_stamp() -> None:
    found = everything(frame(seed=1))
    assert str(found) == found.text() and str(found).startswith(STAMP)
    assert STAMP in repr(found) and "\n" not in repr(found)
