"""A prior: tables known before, believed as far as released figures say that they still hold."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from conftest import schema_of
from understudy.models.prior import Prior
from understudy.models.prior_parts import prior_from_parts, prior_parts
from understudy.models.refit import Design, refit
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Gaussian
from understudy.schema import Axis

SIZES = {"a": 4, "b": 3}
A, B = Axis("a"), Axis("b")
BEFORE = np.array([[400, 50, 50], [50, 300, 50], [30, 30, 40], [0, 0, 1000]])


def table(axes: tuple[Axis, ...], values: object, scale: float) -> Measurement:
    return Measurement(axes, np.asarray(values, dtype=np.int64), Gaussian(scale))


def prior_of(distance: float | None = 0.01, scale: float = 1.0) -> Prior:
    tables = [table((A,), BEFORE.sum(axis=1), scale), table((B,), BEFORE.sum(axis=0), scale)]
    pairs = [table((A, B), BEFORE, scale)] if distance is not None else []
    return Prior("release", "0" * 64, int(BEFORE.sum()), (*tables, *pairs), distance)


def measured(shift: int = 0, scale: float = 30.0) -> list[Measurement]:
    """The one-way tables of twice as many rows; `shift` of them moved from one value of `a` to another."""
    a, b = 2 * BEFORE.sum(axis=1), 2 * BEFORE.sum(axis=0)
    return [table((A,), a + np.array([shift, -shift, 0, 0]), scale), table((B,), b, scale)]


def test_tables_are_scaled_to_the_new_number_of_rows() -> None:
    weighed = prior_of().weighed(measured(), 4000)
    assert [m.values.sum() for m in weighed] == [4000] * 3
    assert np.array_equal(weighed[2].values, 2 * BEFORE)


def test_a_table_that_still_holds_is_believed_up_to_its_noise_and_chance() -> None:
    one_way = prior_of().weighed(measured(), 4000)[0]
    assert one_way.variance == pytest.approx(2**2 * 1.0 + 4000 * 3 / 4, rel=0.5)


def test_a_column_that_changed_and_its_pairs_are_not_believed() -> None:
    still, moved = (prior_of().weighed(measured(shift), 4000) for shift in (0, 600))
    assert moved[0].variance > 20 * still[0].variance  # a itself
    assert moved[1].variance == pytest.approx(still[1].variance, rel=0.01)  # b did not change
    assert moved[2].variance > 20 * still[2].variance  # nor is the pair with a believed


def test_the_bought_distance_decides_about_pairs() -> None:
    near, far = (prior_of(distance).weighed(measured(), 4000)[2].variance for distance in (0.0, 0.2))
    assert far > 10 * near
    shares = (BEFORE / BEFORE.sum()) ** 2
    assert far == pytest.approx(4 + (2 * math.sqrt(math.pi / 2) * 0.2 * 4000) ** 2 * shares.sum() / 12, rel=0.01)


def test_a_pair_that_was_measured_again_shows_its_own_change() -> None:
    again = [*measured(), table((B, A), 2 * BEFORE[:, ::-1].T, 10.0)]  # axes in another order, and another table
    assert prior_of().weighed(again, 4000)[2].variance > 20 * prior_of().weighed(measured(), 4000)[2].variance
    same = [*measured(), table((B, A), 2 * BEFORE.T, 10.0)]
    assert prior_of().weighed(same, 4000)[2].variance == pytest.approx(
        prior_of().weighed(measured(), 4000)[2].variance, rel=0.01
    )


def test_the_estimate_knows_what_only_the_prior_measured() -> None:
    """Without the pair, a and b would be independent."""
    schema = schema_of(SIZES, 4000)
    found = refit(measured(), Design(schema, prior=prior_of())).model.project(("a", "b")).table
    alone = refit(measured(), Design(schema)).model.project(("a", "b")).table
    real = BEFORE / BEFORE.sum()
    assert np.abs(found - real).sum() < 0.1 < 0.5 < np.abs(alone - real).sum()


def test_what_the_rows_say_wins_over_a_prior_that_no_longer_holds() -> None:
    """The broken twin: a prior believed as it is drags the column with it."""
    schema, new = schema_of(SIZES, 4000), measured(600, 10.0)
    wrong = 0.5 * np.abs(new[0].values - 2 * BEFORE.sum(axis=1)).sum() / 4000

    def off(prior: Prior) -> float:
        table = refit(new, Design(schema, prior=prior)).model.project(("a",)).table
        return float(0.5 * np.abs(table - new[0].values / 4000).sum())

    assert off(prior_of()) < 0.05 * wrong
    believed = prior_of().weighed(measured(), 4000)  # as if nothing had changed
    tables = [replace(m, noise=Gaussian(1.0)) for m in believed]
    twin = refit([*tables, *new], Design(schema)).model.project(("a",)).table
    assert 0.5 * np.abs(twin - new[0].values / 4000).sum() > 0.5 * wrong


def test_only_tables_that_the_model_has_room_for_are_kept() -> None:
    schema = schema_of(SIZES, 4000)
    assert [len(m.axes) for m in prior_of().fitting(schema, 12).tables] == [1, 1, 2]
    assert [len(m.axes) for m in prior_of().fitting(schema, 11).tables] == [1, 1]


def test_a_prior_comes_back_from_its_parts() -> None:
    schema = schema_of(SIZES, 4000)
    document, arrays = prior_parts(prior_of())
    again = prior_from_parts(document, arrays, schema)
    assert (again.kind, again.hash, again.rows, again.distance) == ("release", "0" * 64, 2000, 0.01)
    assert all(np.array_equal(x.values, y.values) for x, y in zip(again.tables, prior_of().tables))
    for key, odd in [("kind", "guess"), ("rows", 0), ("rows", 1.5), ("distance", -1), ("distance", None), ("hash", 3)]:
        with pytest.raises(ValueError):
            prior_from_parts(document | {key: odd}, arrays, schema)
