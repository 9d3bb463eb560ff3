"""DP-SUBN, DP-CCBN and Independent on one owner's table and on several: every owner's charges, scales, models."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from federating import federation
from understudy.errors import FederationAborted, UsageError
from understudy.methods import method_named
from understudy.methods.dp_subn.gathered import Gathered, dependence, pair_correlations
from understudy.methods.dp_subn.method import DPSUBN, variant_for
from understudy.models.mixture import Mixture
from understudy.models.serialization import model_from_parts, model_parts
from understudy.privacy.accounting import PURE
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.schema import Axis

SIZES = {"a": 2, "b": 3, "c": 2, "d": 2, "e": 2}
ROWS = 2000
SETTINGS = [
    ("dp-subn", {"variant": "adaptive"}),
    ("dp-subn", {"variant": "sequential"}),
    ("dp-subn", {"variant": "frontier"}),
    ("dp-ccbn", {}),
    ("independent", {}),
]


@pytest.mark.parametrize(("method", "options"), SETTINGS)
@pytest.mark.parametrize("delta", ["0", "1e-9"])
def test_several_owners_pay_no_more_than_the_budget(
    tmp_path: Path, method: str, options: dict[str, object], delta: str
) -> None:
    """What the curator reckons is what each owner's own ledger has, and no more than all of the budget."""
    with federation(tmp_path, 3, rows=ROWS, sizes=SIZES, budget=Budget(2, delta)) as made:
        fit = method_named(method, options).fit(made.table)
        assert made.owners.refusals == []
        total_cost = made.table.total_cost
        paid = {name: kept.total_cost - kept.left for name, kept in made.reservations.items()}
        assert paid == made.table.paid
        if options != {"variant": "adaptive"}:  # where rounds end early, choices that were not made stay unspent
            assert max(paid.values()) == total_cost
        assert all(0 < cost <= total_cost for cost in paid.values())
        assert fit.rows == 3 * ROWS
    assert fit.model.project(["a", "b"]).total == pytest.approx(1)


@pytest.mark.parametrize(("method", "options"), SETTINGS)
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_one_owner_spends_its_whole_budget(
    tmp_path: Path, method: str, options: dict[str, object], neighbours: str
) -> None:
    schema = schema_of(SIZES, ROWS if neighbours == "replace-one" else None, neighbours)
    made = method_named(method, options)
    assert sum(phase.cost for phase in made.plan(schema, Budget(2), ROWS).phases) == 2
    table = private_table(schema, columns_of(SIZES, ROWS), Budget(2), tmp_path / "l.db")
    fit = made.fit(table)
    assert table.reservation.left == 0  # type: ignore[attr-defined]
    codes = fit.model.sample(500, np.random.default_rng(0))
    assert all(codes[name].max() < size for name, size in SIZES.items())


def test_every_release_of_the_frontier_is_charged_to_every_owner(tmp_path: Path) -> None:
    """As published a party pays once for sums that hold its rows in every later round; here it pays each time."""
    with federation(tmp_path, 3, rows=360, sizes=dict.fromkeys("abcdefghi", 2), budget=Budget(4)) as made:
        fit = DPSUBN(variant="frontier", rounds=2).fit(made.table)
        charges = made.table.charges
    assert fit.facts["options"] | {"degree": 2, "frontier": 3, "rounds": 2} == fit.facts["options"]
    purposes = [c["purpose"] for c in charges if c["owner"] == "all"]
    assert purposes == ["correlations", "update", "update", "tables"]
    updates = [Fraction(c["cost"]) for c in charges if c["purpose"] == "update"]
    assert updates == [Fraction(1, 2)] * 2  # ε3/T each, and together no more than ε3
    assert {c["owner"] for c in charges if c["purpose"] == "structure"} == {"ada", "bea", "cy"}


def test_candidates_share_the_budget_of_a_round(tmp_path: Path) -> None:
    """DP-CCBN's noise counts all candidates: 2(d − i)·C(i, k)·(d − 1)/ε1, times that of the extra share."""
    seen: list[tuple[int, float]] = []
    with federation(tmp_path, 3, rows=ROWS, sizes=dict.fromkeys("abcd", 2), budget=Budget(4)) as made:
        table = made.table
        measure = table.measure

        def watched(workload, cost, purpose, shares=None):  # type: ignore[no-untyped-def]
            found = measure(workload, cost, purpose, shares)
            if purpose == "candidates":
                seen.extend((len(workload), m.noise.scale) for m in found)
            return found

        table.measure = watched  # type: ignore[method-assign]
        method_named("dp-ccbn", {"degree": 1, "beta": 0.5}).fit(table)
    assert [many for many, _ in seen] == [3] * 3 + [4] * 4 + [3] * 3  # (d − i)·C(i, 1)
    for many, scale in seen:
        assert scale == pytest.approx(PURE.noise(2 * many * 3 / 2.0).summed(2, 3).scale)


def test_independent_mixes_by_rows_and_adds_up_common_tables(tmp_path: Path) -> None:
    with federation(tmp_path, 3, rows=ROWS, sizes=SIZES, budget=Budget(50)) as made:
        fit = method_named("independent", {}).fit(made.table)
        charges = made.table.charges
    assert isinstance(fit.model, Mixture) and len(fit.model.parts) == 3
    assert {c["owner"] for c in charges} == {"ada", "bea", "cy"}  # nothing is summed, so nobody pays for another
    alone = {m.axes: m for m in fit.measurements}[(Axis("b"),)]
    truth = np.bincount(columns_of(SIZES, 3 * ROWS, seed=3)["b"], minlength=3)
    assert np.abs(alone.values - truth).max() < 20 * np.sqrt(alone.variance)
    assert np.abs(fit.model.project(["b"]).table - truth / (3 * ROWS)).max() < 0.02
    document, arrays = model_parts(fit.model)
    again = model_from_parts(document, arrays, fit.model.schema)
    assert again.project(["a", "c"]).table == pytest.approx(fit.model.project(["a", "c"]).table)


def test_an_owner_that_does_not_answer_alone_ends_the_run(tmp_path: Path) -> None:
    def silent(name, round, stage, body, deliver):  # type: ignore[no-untyped-def]
        return None if name == "bea" else deliver(body)

    with (
        federation(tmp_path, 3, rows=ROWS, sizes=SIZES, budget=Budget(1), disturb=silent) as made,
        pytest.raises(FederationAborted, match="'bea' did not answer"),
    ):
        method_named("independent", {}).fit(made.table)


@pytest.mark.costly
def test_the_public_rule_between_the_variants(tmp_path: Path) -> None:
    """Adaptive for general tables. Else sequential while most owners choose about as well as all rows would."""

    def variant(attributes: int, rows: list[int | None], size: int = 2) -> str:
        return variant_for(schema_of({f"a{i}": size for i in range(attributes)}, ROWS), rows)

    assert variant(15, [100] * 3, size=3) == variant(5, [100] * 17, size=3) == "adaptive"
    assert variant(15, [100] * 3, size=100) == "sequential"  # a million cells in all pairs
    assert variant(15, [100] * 3) == variant(15, [None] * 10) == variant(1, [1]) == "sequential"
    assert variant(5, [100] * 16) == "sequential"
    assert variant(5, [100] * 17) == variant(5, [None] * 17) == "frontier"
    assert variant(15, [10, 1000, 1000]) == "sequential"
    assert variant(15, [10, 10, 1000]) == "frontier"
    assert variant(201, [10, 10, 1000]) == "sequential"
    for owners, expected in ((4, "sequential"), (5, "frontier")):
        (tmp_path / expected).mkdir()
        with federation(tmp_path / expected, owners, sizes={"a": 2, "b": 2}) as made:
            assert DPSUBN().fit(made.table).facts["options"]["variant"] == expected
    with federation(tmp_path, 3, sizes=SIZES) as made:
        assert DPSUBN().fit(made.table).facts["options"]["variant"] == "adaptive"


def test_a_wide_frontier_is_refused_before_anything_is_charged() -> None:
    schema = schema_of({f"a{i}": 2 for i in range(201)}, ROWS)
    with pytest.raises(UsageError, match="variant=sequential"):
        DPSUBN(variant="frontier").plan(schema, Budget(1))


# -- gathered tables ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [Laplace, Gaussian])
@pytest.mark.parametrize("variance", [0.01, 1.0, 37.5, 1e6, 1e12])
def test_a_scale_has_its_variance(noise: type[Noise], variance: float) -> None:
    assert noise.of_variance(variance).variance == pytest.approx(variance, rel=1e-4)


def test_gathered_tables_are_weighed_by_their_noise() -> None:
    x, y, z = map(Axis, "xyz")
    gathered = Gathered()
    assert gathered.about((x, y)) is None
    gathered.add([Measurement((x, y, z), np.full((2, 2, 2), 10), Gaussian(1.0))])
    gathered.add([Measurement((y, x), np.array([[17, 23], [17, 23]]), Gaussian(2.0))])
    found = gathered.about((x, y))
    assert found is not None
    # 20 with variance 2, and 17 or 23 with variance 4: weights 2/3 and 1/3
    assert found.values.tolist() == [[19, 19], [21, 21]]
    assert found.variance == pytest.approx(4 / 3)


def test_correlations_do_not_come_from_noise() -> None:
    """A dependence is seen; of independent pairs only noise is left, and most of it is taken off."""
    generator = np.random.default_rng(3)
    x, y, z = map(Axis, "xyz")
    counts = np.array([[[400, 50], [380, 70]], [[60, 390], [55, 395]]])  # x follows z, y follows nobody
    noisy = counts + np.rint(generator.normal(0, 20, counts.shape)).astype(np.int64)
    gathered = Gathered()
    gathered.add([Measurement((x, y, z), noisy, Gaussian(20.0))])
    found = pair_correlations(gathered, (x, y, z), int(counts.sum()))
    assert found[0, 2] > 0.2 and found[0, 1] < 0.005 and found[1, 2] < 0.005
    assert (found == found.T).all()
    assert dependence(noisy.sum(axis=1)) > 20 * dependence(noisy.sum(axis=2))
