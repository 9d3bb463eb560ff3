"""The benchmarks' stand-ins for a federation say what the real one does: charges, scales, bytes. And two fixtures."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, schema_of
from understudy.evaluate.targets import Target
from understudy.methods import method_named
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import ExactTable
from understudy.schema import Axis

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

import federation as sides
from rivals.dist_diff_gen import publish
from rivals.paillier import Paillier

SIZES = {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2}
ROWS = 3000


def table(sizes: dict[str, int] = SIZES) -> ExactTable:
    return ExactTable(columns_of(sizes, ROWS), ROWS, schema_of(sizes, ROWS))


@pytest.mark.parametrize(
    ("method", "options"),
    [("dp-subn", {"variant": "sequential"}), ("dp-subn", {"variant": "frontier"}), ("dp-ccbn", {"degree": 1})],
)
def test_a_pooled_table_charges_and_reports_like_the_wire(
    tmp_path: Path, method: str, options: dict[str, object]
) -> None:
    whole = table()
    parts = sides.parts_of(whole, 3, seed=1)
    pooled = sides.Pooled(whole, parts, Budget(1), seed=2)
    fit = method_named(method, options).fit(pooled)
    with sides.local_federation(parts, whole.schema, Budget(1), tmp_path, source=sides.SeededSource(3)) as made:
        real = method_named(method, options).fit(made.table)
        assert sum(pooled.paid.values()) == sum(made.table.paid.values())
        assert max(pooled.paid.values()) == max(made.table.paid.values()) == 1
        assert [c["purpose"] for c in pooled.charges] == [c["purpose"] for c in made.table.charges]
    assert (
        sorted({m.noise.scale for m in fit.measurements})[:1] == sorted({m.noise.scale for m in real.measurements})[:1]
    )


def test_the_noise_of_a_pooled_table_has_the_variance_of_all_shares() -> None:
    whole = table()
    pooled = sides.Pooled(whole, sides.parts_of(whole, 3, seed=1), Budget(2), seed=5)
    (exact,) = whole.marginals([(Axis("a"),)])
    found = [pooled.measure([(Axis("a"),)], pooled.total_cost / 800, "tables")[0] for _ in range(800)]
    noise = np.concatenate([m.values - exact for m in found]) / np.sqrt(found[0].variance)
    assert noise.var() == pytest.approx(1, abs=0.25)  # 1,600 draws of kurtosis 5 or 6: sd 0.06
    assert abs(noise.mean()) < 0.15


def test_the_traffic_of_ccbn_is_reckoned_as_it_is() -> None:
    whole = table({**SIZES, "f": 2, "g": 2})
    parts = sides.parts_of(whole, 3, seed=1)
    variables = [Axis(name) for name in whole.schema.names]
    reckoned = sides.ccbn_traffic(variables, 1, sides.surroundings(whole, parts))
    _, real = sides.over_the_wire(whole, parts, "dp-ccbn", {"degree": 1}, "1", seed=4)
    assert reckoned.exchanges == real.exchanges == 5 * 7  # d − 1 rounds of candidates and one of tables
    assert reckoned.sent == pytest.approx(real.sent, rel=0.02)
    assert reckoned.received == pytest.approx(real.received, rel=0.02)


def test_a_split_by_an_attribute() -> None:
    whole = table({"a": 5, "b": 2})
    parts = sides.parts_of(whole, 3, seed=0, by="a")
    assert sum(part.rows() for part in parts.values()) == ROWS
    seen = [set(np.unique(part.codes("a")).tolist()) for part in parts.values()]
    assert [len(values) for values in seen] == [1, 1, 3] and len(set.union(*seen)) == 5


def test_paillier_adds_up() -> None:
    key = Paillier.fresh(1024)
    assert key.decrypt(key.add(key.encrypt(20), key.encrypt(22))) == 42
    assert key.encrypt(1) != key.encrypt(1)
    assert key.bytes_each == 256


def test_dist_diff_gen_keeps_what_tells_classes_apart() -> None:
    whole = table({"a": 2, "b": 4, "y": 2})
    target = Target("y", ("1",))
    made, label = publish(whole, target, epsilon=50.0, seed=0)
    counts = np.bincount(made.codes("b").astype(int) * 2 + label, minlength=8)
    truth = np.bincount(whole.codes("b").astype(int) * 2 + whole.codes("y"), minlength=8)
    assert np.abs(counts - truth).sum() < 0.1 * ROWS


@pytest.mark.parametrize("name", ["federation", "dist_diff_gen", "paillier", "published_nocd"])
def test_no_fixture_is_importable_from_the_package(name: str) -> None:
    for package in ("understudy", "understudy.methods", "understudy.federation"):
        if package != "understudy" or name != "federation":
            assert importlib.util.find_spec(f"{package}.{name}") is None
