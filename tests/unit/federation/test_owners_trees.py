"""Ranges without bins among several owners: the tree is one secure sum, and owners count in the bins it found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from conftest import another_source
from federating import QuietSource
from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import FederationAborted, MessageRefused
from understudy.federation.local import LocalFederation, local_federation
from understudy.federation.messages import Place
from understudy.federation.roster import Owner, Roster, schema_hash
from understudy.methods import method_named
from understudy.privacy.budget import Budget
from understudy.privacy.questions import Marginals
from understudy.schema import Axis, Schema

ROWS, OWNERS = 6_000, ("ada", "bea", "cy")
TEXT = """
[table]
name = "people"
{table}

[attributes.income]
kind = "integer"
range = [0, 1_000_000]

[attributes.sex]
kind = "category"
values = ["f", "m"]
"""


def schema_of(neighbours: str = "add-remove", rows: int = ROWS) -> Schema:
    declared = f"rows = {rows}\n" if neighbours == "replace-one" else ""
    return Schema.from_toml(TEXT.format(table=f'{declared}neighbours = "{neighbours}"'))


def incomes(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Women earn twice what men do; a third has nothing. The tree has to find where the rows are."""
    draw = np.random.default_rng(3)
    sex = draw.integers(0, 2, rows)
    pay = np.minimum(draw.lognormal(10, 0.4, rows) * (2 - sex), 1_000_000).astype(np.int64)
    return np.where(draw.random(rows) < 0.3, 0, pay), sex


@contextmanager
def federation(folder: Path, neighbours: str = "add-remove", **more: Any) -> Iterator[LocalFederation]:
    schema, (pay, sex) = schema_of(neighbours), incomes(ROWS)
    texts = {"income": pa.array(pay.astype(str)), "sex": pa.array(np.asarray(["f", "m"])[sex])}
    own = schema_of(neighbours, ROWS // len(OWNERS))
    engines = {
        name: open_engine(
            PrivateData(pa.table({n: c[i :: len(OWNERS)] for n, c in texts.items()}), types="declared"), own
        ).engine
        for i, name in enumerate(OWNERS)
    }
    with local_federation(engines, schema, Budget(4, "1e-9"), folder, **more) as made:
        yield made


@pytest.mark.costly
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("method", ["dp-subn", "aim", "independent"])
def test_owners_find_bins_together(method: str, neighbours: str, tmp_path: Path) -> None:
    """Zero has a bin of its own, bins are where the rows are, and the model knows who earns more."""
    with federation(tmp_path, neighbours) as made:
        fit = method_named(method, {}, made.table.schema, owners=len(OWNERS)).fit(made.table)
        assert all(paid <= made.table.total_cost for paid in made.table.paid.values())
    (tree,) = fit.trees
    assert tree.attribute.name == "income"
    domain = fit.model.schema["income"].domain
    real, sex = incomes(ROWS)
    joint = fit.model.project(["income", "sex"]).table
    true = np.zeros(joint.shape)
    np.add.at(true, (domain.encode_numbers(real.astype(float)), sex), 1 / ROWS)
    assert domain.size >= 12 and abs(joint[0].sum() - (real == 0).mean()) < 0.05  # a bin of zeros alone
    assert np.abs(joint - true).sum() / 2 < 0.2 < np.abs(joint.mean(axis=1, keepdims=True) - true).sum() / 2


@pytest.mark.costly
@pytest.mark.parametrize("method", ["dp-subn", "aim", "independent"])
def test_owners_count_how_round_numbers_are(method: str, tmp_path: Path) -> None:
    """How round a number is is one more sum, about an attribute that the schema does not list."""
    text = '[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.pay]\nkind = "number"\nrange = [0, 1000]\n'
    schema = Schema.from_toml(text)
    draw = np.random.default_rng(5)
    tables = {name: pa.table({"pay": np.round(draw.uniform(0, 900, 3000), 1).astype(str)}) for name in OWNERS}
    engines = {name: open_engine(PrivateData(table, types="declared"), schema).engine for name, table in tables.items()}
    with local_federation(engines, schema, Budget(8, "1e-6"), tmp_path, source=another_source()) as made:
        fit = method_named(method, {}, made.table.schema, owners=len(OWNERS)).fit(made.table)
        assert not made.owners.refusals
        assert "rounding" in {charge["purpose"] for charge in made.table.charges}
    assert fit.model.schema["pay"].kind == "number"


def test_the_sum_in_found_bins_is_the_sum(tmp_path: Path) -> None:
    """Without noise: what owners count in bins that they are told is what all rows have in them."""
    with federation(tmp_path, source=QuietSource()) as made:
        schema = made.table.schema
        grid = schema["income"].grid
        assert grid is not None
        first = grid.public_bins(12)
        coarse = made.table.regrouped(schema.binned({"income": first}), {"income": schema["income"].homes(first)})
        (found,) = coarse.measure([(Axis("income"), Axis("sex"))], Fraction(1, 100), "tables")
    real, sex = incomes(ROWS)
    exact = np.zeros(found.values.shape, dtype=np.int64)
    np.add.at(exact, (coarse.schema["income"].domain.encode_numbers(real.astype(float)), sex), 1)
    assert (found.values == exact).all()


@pytest.mark.parametrize(
    "bins",
    [
        {"income": [0, 5, 5]}, {"income": [1, 5]}, {"income": [0, 10**9]}, {"income": [0, -1]}, {"income": []},
        {"income": "0"}, {"income": [0, True]}, {"income": [0, 1.5]}, {"sex": [0]}, {"income": [0], "sex": [0]}, {"pay": [0]},
    ],
)  # fmt: skip
def test_odd_bins_are_refused_before_anything_is_paid(bins: Any, tmp_path: Path) -> None:
    with federation(tmp_path) as made:
        place = made.table._session.place
        question = Marginals.of([(Axis("sex"),)]).as_json()
        body = Place(place.session, place.roster, 1).pack(
            "alone", question=question, cost="1/100", purpose="x", bins=bins
        )
        with pytest.raises(MessageRefused):
            made.owners.answers["ada"].answer(1, "alone", body)
        assert not made.reservations["ada"].charges()


def test_owners_who_are_told_different_bins_do_not_add_up(tmp_path: Path) -> None:
    """The bins are part of what an owner signs: a curator that words a question in two ways gets no sum."""

    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Any) -> bytes | None:
        return deliver(body.replace(b"[0,7,", b"[0,6,") if name == "bea" and stage == "keys" else body)

    with federation(tmp_path, disturb=disturb) as made:
        schema = made.table.schema
        first = np.asarray([0, 7, 90])
        coarse = made.table.regrouped(schema.binned({"income": first}), {"income": schema["income"].homes(first)})
        with pytest.raises(FederationAborted):
            coarse.measure([(Axis("income"),)], Fraction(1, 100), "tables")


def test_a_roster_of_an_earlier_version_keeps_its_public_bins() -> None:
    schema = schema_of()
    owners = tuple(Owner(name, None, "", b"") for name in OWNERS)
    old = Roster(owners, schema_hash(schema.for_owners()), Budget(1))
    new = Roster(owners, schema_hash(schema), Budget(1))
    assert not old.agreed_schema(schema).unbinned
    assert new.agreed_schema(schema).unbinned == schema.unbinned
