"""Exact figures: what the custodian may see, and that none of it can get into a release."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import columns_of, schema_of
from understudy.errors import DataError, UsageError
from understudy.privacy.custodian import STAMP, CustodianFigures, Exact, ExactTable, refuse_exact
from understudy.privacy.ledger import Ledger
from understudy.publishing import publish
from understudy.release.release import Release
from understudy.schema import Attribute, Axis, Categories, Dropped, Identifier, Intervals, Schema

SIZES = {"a": 2, "b": 3, "c": 4}


@dataclasses.dataclass(frozen=True)
class Pair(CustodianFigures):
    one: float
    many: dict[str, Any]
    rows: tuple[int, ...] = (123,)


@pytest.fixture
def release(ledger_path: Path) -> Release:
    columns = columns_of(SIZES, 300)
    frame = pd.DataFrame({name: codes.astype(str) for name, codes in columns.items()})
    return publish(frame, schema_of(SIZES, 300), epsilon=1, ledger=Ledger(ledger_path))


FIGURES = Pair(0.5, {"x": (1.0, 2.0)})


@pytest.mark.parametrize(
    "secret",
    [
        Exact(0.25),
        FIGURES,
        FIGURES.one,
        FIGURES.many["x"][1],
        FIGURES.rows[0],
        copy.deepcopy(FIGURES).rows[0],
        dataclasses.replace(FIGURES, one=0.75).one,
        [{"deep": (FIGURES,)}],
        FIGURES.as_json(),
        f"x {STAMP} y",
    ],
)
def test_no_release_takes_an_exact_figure(release: Release, secret: Any) -> None:
    facts = dataclasses.replace(release.facts, more={"quality": secret})
    card = dataclasses.replace(release.card, options={"quality": secret})
    for part in ({"facts": facts}, {"card": card}):
        with pytest.raises(UsageError, match="custodian only"):
            dataclasses.replace(release, **part)


def test_an_exact_figure_smuggled_in_later_is_not_saved(release: Release, tmp_path: Path) -> None:
    fresh = dataclasses.replace(release, facts=dataclasses.replace(release.facts, more={}))
    fresh.facts.more["quality"] = {"tvd": FIGURES.one}
    with pytest.raises(UsageError, match="custodian only"):
        fresh.save(tmp_path / "out.zip")
    assert not (tmp_path / "out.zip").exists()


def test_an_ordinary_release_passes(release: Release, tmp_path: Path) -> None:
    refuse_exact(release.facts, release.card, {"a": 0.5, "b": [1, "x", None]})
    dataclasses.replace(release, facts=dataclasses.replace(release.facts, more={"quality": 0.25})).save(
        tmp_path / "out.zip"
    )


def test_figures_are_numbers_with_a_mark() -> None:
    assert FIGURES.one == 0.5 and isinstance(FIGURES.many["x"][0], Exact)
    assert json.dumps({"x": FIGURES.one, "n": FIGURES.rows}) == '{"x": 0.5, "n": [123]}'
    assert FIGURES.as_json()["stamp"] == "CUSTODIAN ONLY — NOT FOR RELEASE"


def written() -> tuple[Schema, pd.DataFrame]:
    schema = Schema(
        "visits",
        (
            Attribute("id", Identifier()),
            Attribute("age", Intervals("integer", (0.0, 50.0, 100.0)), missing=("NA",)),
            Attribute("income", Intervals("number", (0.0, 10.0, 20.0))),
            Attribute("sex", Categories(("f", "m"))),
            Attribute("note", Dropped()),
        ),
        rows=4,
    )
    frame = pd.DataFrame(
        {
            "id": list("wxyz"),
            "age": ["7", "130", "NA", "51"],
            "income": ["1.25", "19", "0", "3e0"],
            "sex": list("fmmf"),
            "note": list("...."),
        }
    )
    return schema, frame


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_numbers_are_as_written(tmp_path: Path, kind: str) -> None:
    """Before binning and clamping; a missing value is no number."""
    schema, frame = written()
    data: Any = frame
    if kind == "csv":
        frame.to_csv(data := tmp_path / "t.csv", index=False)
    if kind == "parquet":
        frame.assign(income=frame["income"].astype(float)).to_parquet(data := tmp_path / "t.parquet")
    table = ExactTable.original(data, schema)
    numbers = table.numbers(["age", "income"])
    assert numbers["age"][[0, 1, 3]].tolist() == [7, 130, 51] and np.isnan(numbers["age"][2])
    assert numbers["income"].tolist() == [1.25, 19, 0, 3]
    assert table.numbers([]) == {}


def test_a_stand_in_may_have_other_rows_and_lack_what_a_publication_leaves_out() -> None:
    schema, frame = written()
    table = ExactTable.stand_in(frame[["age", "income", "sex"]].iloc[:3], schema)
    assert table.rows() == 3
    with pytest.raises(DataError, match="another number of rows"):
        ExactTable.original(frame.iloc[:3], schema)


@pytest.mark.parametrize(
    ("change", "attribute", "words"),
    [
        (lambda f: f.drop(columns="sex"), "sex", "no such column"),
        (lambda f: f.assign(extra="1"), None, "column 6 of the data is not in the schema"),
        (lambda f: f.assign(sex="x"), "sex", "not the values"),
        (lambda f: f.iloc[:0], "age", "no rows"),
    ],
)
def test_a_misfit_names_the_table_and_the_attribute(change: Any, attribute: str | None, words: str) -> None:
    schema, frame = written()
    with pytest.raises(DataError, match=words) as caught:
        ExactTable.stand_in(change(frame), schema)
    assert caught.value.attribute == attribute
    assert "synthetic" in caught.value.message


def test_cells_number_the_table() -> None:
    columns = columns_of(SIZES, 500)
    table = ExactTable(columns, 500, schema_of(SIZES, 500))
    axes = (Axis("c"), Axis("a"))
    (counts,) = table.marginals([axes])
    assert (np.bincount(table.cells(axes), minlength=8).reshape(4, 2) == counts).all()
