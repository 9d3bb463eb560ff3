"""Details around every method: what they cost, how deep they go, and what a release does with them."""

from __future__ import annotations

import json
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from conftest import same_noise
from understudy.errors import ReleaseError, UsageError
from understudy.evaluate.raw import wasserstein
from understudy.methods import Detailed, method_named
from understudy.methods.detailed import MOST, SHARE, portions
from understudy.methods.model_error import PURPOSE as MODEL_ERROR
from understudy.privacy.accounting import PURE, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import plan, publish
from understudy.release import Release
from understudy.release.storage import Format
from understudy.schema import Schema

ROWS = 4000
METHODS = ("privbayes", "jtree", "privabn", "priview", "privelet", "auto")
TOP = '[table]\nname = "t"\n'
AMOUNT = """
[attributes.amount]
kind = "integer"
range = [0, 10000]
bins = {bins}
points = [0]
missing = true
{fine}
[attributes.sex]
kind = "category"
values = ["f", "m"]
[attributes.home]
kind = "boolean"
"""


def schema_of(fine: str = 'fine = "wavelet"', neighbours: str = "replace-one", bins: int = 4) -> Schema:
    rows = f"rows = {ROWS}\n" if neighbours == "replace-one" else 'neighbours = "add-remove"\n'
    return Schema.from_toml(TOP + rows + AMOUNT.format(fine=fine, bins=bins))


def binary_schema(fine: str = 'fine = "wavelet"') -> Schema:
    """Two bins, nothing else: what PriView takes."""
    text = AMOUNT.format(fine=fine, bins=2).replace("points = [0]\n", "").replace("missing = true\n", "")
    return Schema.from_toml(TOP + f"rows = {ROWS}\n" + text)


def table(seed: int = 0, missing: bool = True) -> pa.Table:
    """Amounts that fall off steeply inside every bin."""
    generator = np.random.default_rng(seed)
    amounts = np.minimum(generator.exponential(900, ROWS).astype(int), 10_000)
    amounts[: ROWS // 10] = 0
    absent = np.arange(ROWS) % 9 == 0 if missing else np.zeros(ROWS, dtype=bool)
    sexes = np.asarray(["f", "m"])[generator.integers(0, 2, ROWS)]
    return pa.table({"amount": pa.array(amounts, mask=absent), "sex": sexes, "home": amounts > 800})


def fits(method: str, **more: Any) -> tuple[pa.Table, Schema]:
    return (table(missing=False), binary_schema(**more)) if method == "priview" else (table(), schema_of(**more))


def amounts_of(frame: pa.Table) -> np.ndarray:
    return np.asarray(frame["amount"].drop_null(), dtype=float)


@pytest.mark.usefixtures("same_noise")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_publishes_the_shape(method: str, tmp_path: Path) -> None:
    data, schema = fits(method)
    ledger = Ledger(tmp_path / "l.db")
    release = publish(data, schema, epsilon=4, method=method, ledger=ledger)
    charges = [(e.body["purpose"], Fraction(e.body["cost"])) for e in ledger.entries() if e.kind == "charge"]
    assert sum(cost for _, cost in charges) == 4
    checked = sum(cost for purpose, cost in charges if purpose == MODEL_ERROR)
    assert dict(charges)["details"] == (4 - checked) * SHARE
    assert any(c["purpose"] == "details" for c in release.card.as_json()["charges"])
    assert any("amount inside its" in note and "5 % of the budget" in note for note in release.card.notes)
    flat = publish(data, fits(method, fine="")[1], epsilon=4, method=method, ledger=tmp_path / "flat.db")
    truth = amounts_of(data)
    near, far = (wasserstein(truth, amounts_of(r.sample(ROWS, seed=1))) for r in (release, flat))
    assert near < 0.6 * far  # type: ignore[operator]
    codes = release.sample_codes(2000, None, release.generator(2))["amount"]
    assert codes.max() < schema["amount"].size


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_one_budget_pays_for_everything(neighbours: str, delta: float, tmp_path: Path) -> None:
    schema, ledger = schema_of(neighbours=neighbours), Ledger(tmp_path / "l.db")
    release = publish(table(), schema, epsilon=2, delta=delta, ledger=ledger)
    costs = [Fraction(e.body["cost"]) for e in ledger.entries() if e.kind == "charge"]
    assert sum(costs) == total_cost(Budget(2, delta))
    planned = plan(schema, epsilon=2, delta=delta, rows=ROWS)
    assert sum(p.cost for p in planned.phases) == total_cost(Budget(2, delta)) and planned.budget == Budget(2, delta)
    (phase,) = [p for p in planned.phases if p.name == "details"]
    left = total_cost(Budget(2, delta)) - sum(p.cost for p in planned.phases if p.name == MODEL_ERROR)
    assert phase.cost == left * SHARE and "amount inside its 4 bins" in phase.detail
    (details,) = release.details
    if neighbours == "replace-one":
        assert phase.scale == details.noise.scale and phase.cells == len(details.values)
    assert "details" in planned.text()


def test_depth_follows_rows_and_budget() -> None:
    def depth(rows: int, epsilon: float, fine: str = 'fine = "wavelet"') -> int | None:
        schema = Schema.from_toml(TOP + f"rows = {rows}\n" + AMOUNT.format(fine=fine, bins=4))
        taken = portions(schema, schema.names, PURE, Fraction(epsilon))
        return taken[0].depth(schema, PURE, rows) if taken else None

    assert depth(100, 1) is None and depth(4000, 0.01) is None
    found = [depth(rows, 1) for rows in (4000, 40_000, 400_000, 4_000_000)]
    assert found == sorted(found) and found[0] >= 1 and found[-1] > found[0]  # type: ignore[type-var,operator]
    assert depth(100, 1, 'fine = "wavelet"\nfine_cells = 8') == 3  # what is declared is done


def test_an_attribute_lost_in_noise_costs_nothing(tmp_path: Path) -> None:
    schema = schema_of()
    planned = plan(schema, epsilon=0.01)
    assert [p.name for p in planned.phases].count("details") == 0
    assert any("left flat" in note for note in planned.notes)
    release = publish(table(), schema, epsilon=0.01, ledger=tmp_path / "l.db")
    assert release.details == () and any("left flat" in note for note in release.card.notes)
    assert sum(c["cost"] for c in release.card.as_json()["charges"]) == pytest.approx(0.01)


def test_many_fine_attributes_share_a_fifth() -> None:
    one = '[attributes.a{}]\nkind = "integer"\nrange = [0, 999]\nbins = 2\nfine = "wavelet"\nfine_cells = 4\n'
    schema = Schema.from_toml(TOP + "rows = 50\n" + "".join(one.format(i) for i in range(10)))
    taken = portions(schema, schema.names, PURE, Fraction(1))
    assert len(taken) == 10 and sum(p.cost for p in taken) == MOST


def test_only_covered_attributes_are_paid_for(tmp_path: Path) -> None:
    release = publish(
        table(), schema_of(), epsilon=1, method="privelet", attributes="sex,home", ledger=tmp_path / "l.db"
    )
    assert release.details == () and [c["purpose"] for c in release.card.as_json()["charges"]] == ["coefficients"]


def test_without_fine_nothing_changes() -> None:
    schema = schema_of(fine="")
    assert not isinstance(method_named("privbayes", {}, schema), Detailed)
    assert isinstance(method_named("privbayes", {}, schema_of()), Detailed)
    assert method_named("auto", {}, binary_schema()).name == "priview"


# -- the release ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("fine")
    with same_noise():
        return publish(table(), schema_of(), epsilon=8, ledger=folder / "l.db")


def test_saved_and_opened(release: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "r.zip")
    again = Release.open(tmp_path / "r.zip")
    assert (again.details[0].values == release.details[0].values).all()
    assert again.shapes["amount"].shares == pytest.approx(release.shapes["amount"].shares)
    assert [a.name for a in again.schema.attributes] == ["amount", "sex", "home"]
    rows, before = again.sample(50, seed=3), release.sample(50, seed=3)
    assert rows["amount"].dropna().tolist() == amounts_of(before).tolist()
    assert rows["sex"].tolist() == before["sex"].to_pylist()
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == Format.DETAILS
    release.write(tmp_path / "r.csv", 500, seed=4)
    from understudy.privacy.custodian import ExactTable

    ExactTable.stand_in(tmp_path / "r.csv", schema_of())  # fits the schema


def test_a_plain_release_stays_readable_by_older_versions(tmp_path: Path) -> None:
    plain = publish(table(), schema_of(fine=""), epsilon=1, ledger=tmp_path / "l.db")
    plain.save(tmp_path / "r.zip")
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == Format.PLAIN
        assert "details" not in json.loads(archive.read("model.json"))


@pytest.mark.parametrize(
    "damage",
    [
        {"attribute": "sex"}, {"attribute": "amont"}, {"depth": 40}, {"depth": 1.5}, {"depth": True}, {"scale": 0},
        {"scale": "x"}, {"noise": "uniform"}, {"twice": True}, {"short": True},
    ],
    ids=str,
)  # fmt: skip
def test_damaged_details_are_refused(damage: dict[str, Any], release: Release) -> None:
    from understudy.models.serialization import Arrays, details_from_parts, details_parts

    listed, arrays = details_parts(release.details)
    if "twice" in damage:
        listed, arrays = listed * 2, Arrays({**arrays, "details-1": arrays["details-0"]})
    elif "short" in damage:
        arrays = Arrays({"details-0": arrays["details-0"][:-1]})
    else:
        listed = [listed[0] | damage]
    assert len(details_from_parts(*details_parts(release.details), release.schema)) == 1
    with pytest.raises(ReleaseError, match="damaged"):
        details_from_parts(listed, arrays, release.schema)


def test_values_stay_in_their_bin_and_type(release: Release) -> None:
    frame = release.sample(3000, seed=5)
    assert str(frame["amount"].type) == "int64" and frame.column_names == ["amount", "sex", "home"]
    generator = release.generator(6)
    schema, shape = release.schema["amount"], release.shapes["amount"]
    codes = np.repeat(np.arange(schema.size, dtype=np.uint8), 200)
    values, absent = shape.fine.decode(shape.cells(codes, generator), generator)
    again = schema.encode_numbers(values.astype(float), np.zeros(len(values), bool))
    assert (again == codes)[~absent].all() and absent.sum() == 200


def test_given_evidence_the_bins_keep_their_shape(release: Release) -> None:
    """All rows in one bin: they are spread as the shape says, not evenly."""
    label = release.schema["amount"].labels[1]
    seen = amounts_of(release.sample(20_000, given={"amount": label}, seed=7))
    assert seen.min() >= 1 and seen.max() < 2500
    inside = release.query("count where 0 < amount < 625").value, release.query("count where 0 < amount < 2500").value
    assert (seen < 625).mean() == pytest.approx(inside[0] / inside[1], abs=0.02)  # type: ignore[operator]
    assert (seen < 625).mean() > 0.4


# -- queries -------------------------------------------------------------------------------------------------


def test_a_cut_bin_is_answered_by_its_shape(release: Release) -> None:
    data = table()
    amounts = amounts_of(data)
    flat = publish_like_flat(release)
    for text, truth in (
        ("count where 0 < amount < 625", ((amounts > 0) & (amounts < 625)).sum()),
        ("count where 1250 <= amount < 1875", ((amounts >= 1250) & (amounts < 1875)).sum()),
    ):
        found = release.query(text)
        assert found.stderr is not None and found.value is not None
        assert abs(found.value - truth) < 6 * found.stderr + 60
        assert abs(found.value - truth) < abs(flat.query(text).value - truth)  # type: ignore[operator]
        assert "details inside bins" in (found.stderr_covers or "")
        assert any("follow the measured details" in note for note in found.notes)
    seen = amounts_of(release.sample(100_000, seed=8))
    share = release.query("share where 0 < amount < 625").value
    kept = release.query("share where amount is not missing").value
    assert share / kept == pytest.approx(((seen > 0) & (seen < 625)).mean(), abs=0.01)  # type: ignore[operator]


def publish_like_flat(release: Release) -> Release:
    """The same model without its details."""
    from dataclasses import replace

    return replace(release, details=())


def test_whole_bins_are_as_before(release: Release) -> None:
    flat = publish_like_flat(release)
    for text in ("count", "count by sex", "count where amount = 0", "count where amount is missing"):
        assert [f.value for f in release.query(text).figures] == pytest.approx(
            [f.value for f in flat.query(text).figures]
        )
        assert [f.stderr for f in release.query(text).figures] == pytest.approx(
            [f.stderr for f in flat.query(text).figures]
        )


def test_means_use_the_shape(release: Release) -> None:
    truth = amounts_of(table()).mean()
    found, flat = release.query("mean(amount)"), publish_like_flat(release).query("mean(amount)")
    assert found.value is not None and flat.value is not None and found.stderr is not None
    assert abs(found.value - truth) < abs(flat.value - truth)
    assert "to first order" in (found.stderr_covers or "") and any("details" in note for note in found.notes)
    by = release.query("mean(amount) by sex")
    assert by.stderr_covers is None or "cut bin's shape" in by.stderr_covers


def test_with_other_attributes_the_shape_is_the_bins_own(release: Release) -> None:
    """Given the bin, the place inside is independent of the rest: so shares inside a bin are the same by sex."""
    parts = [release.query(f"count where sex = {sex} and 0 < amount < 625").value for sex in ("f", "m")]
    wholes = [release.query(f"count where sex = {sex} and 0 < amount < 2500").value for sex in ("f", "m")]
    assert parts[0] / wholes[0] == pytest.approx(parts[1] / wholes[1])  # type: ignore[operator]
    answer = release.query("count where sex = f and 0 < amount < 625")
    assert answer.stderr_covers is None or "cut bin's shape" in answer.stderr_covers


def test_bad_queries_say_the_same_as_before(release: Release) -> None:
    for text, message in (
        ("count where amount > 20000", "it is declared from 0 to 10000"),
        ("count where 30 <= amount < 20", "the bounds are reversed"),
        ("count where amount = 3.5", "whole numbers only"),
    ):
        with pytest.raises(UsageError, match=message):
            release.query(text)
    assert release.query("count where amount = 9999").value is not None  # where the shape may have no rows at all
