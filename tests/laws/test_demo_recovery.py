"""The non-private limit: with a huge epsilon the demo table's true network comes back, raw means and medians included."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from conftest import same_noise
from demo_truth import true_mean, true_median
from understudy.demo import demo_rows, demo_schema, demo_table, true_marginal
from understudy.publishing import publish
from understudy.release import Release

pytestmark = pytest.mark.slow

ROWS = 50_000
NAMES = demo_schema().names
PAIRS = list(itertools.combinations(NAMES, 2))
ORDERED = ["age", "hours_per_week", "income", "children", "last_doctor_visit", "commute_km"]

Tables = dict[tuple[str, ...], np.ndarray]


def publish_demo(epsilon: float, folder: Path, **options: object) -> Release:
    table = demo_table(ROWS, np.random.default_rng(21))
    with same_noise():
        return publish(
            table, demo_schema(), epsilon=epsilon, ledger=folder / "ledger.db", accept_large_epsilon=True, **options
        )


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The true network has up to three parents; theta keeps the tables at sizes that are quick to measure."""
    return publish_demo(5000, tmp_path_factory.mktemp("huge"), degree=3, theta=300)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return publish_demo(1, tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def fresh() -> dict[tuple[str, ...], float]:
    """How far the tables of another sample of the same size are from the truth."""
    codes = demo_rows(ROWS, np.random.default_rng(22))
    return {names: distance(counted(codes, names), names) for names in [*((n,) for n in NAMES), *PAIRS]}


def counted(codes: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    table = np.zeros([demo_schema()[n].size for n in names])
    np.add.at(table, tuple(codes[n] for n in names), 1 / ROWS)
    return table


def distance(table: np.ndarray, names: tuple[str, ...]) -> float:
    return float(abs(table - true_marginal(names)).sum() / 2)


def distances(release: Release, kind: list[tuple[str, ...]]) -> np.ndarray:
    return np.asarray([distance(release.model.project(names).table, names) for names in kind])


def test_a_huge_epsilon_recovers_single_columns(huge, fresh):
    alone = [(name,) for name in NAMES]
    errors = distances(huge, alone)
    bounds = [
        0.5 * np.sqrt(true_marginal(names).size / ROWS) + 0.003 for names in alone
    ]  # a fresh sample's, generously
    assert (errors < bounds).all(), dict(zip(NAMES, errors))
    assert errors.mean() < 2.5 * np.mean([fresh[names] for names in alone])


def test_a_huge_epsilon_recovers_pairs(huge, fresh):
    errors, sampled = distances(huge, PAIRS), np.asarray([fresh[names] for names in PAIRS])
    assert np.median(errors) < 1.6 * np.median(sampled) and errors.mean() < 2 * sampled.mean()
    near = errors < 2.5 * sampled + 0.005
    assert near.mean() > 0.85, [pair for pair, ok in zip(PAIRS, near) if not ok]


def test_the_rows_follow_the_model(huge):
    """Sampling adds no more than sampling error."""
    codes = huge.sample_codes(ROWS, None, huge.generator(3))
    for names in PAIRS[::7]:
        model = huge.model.project(names).table
        seen = counted(codes, names)
        assert abs(seen - model).sum() / 2 < 0.5 * np.sqrt((model > 0).sum() / ROWS) + 0.003
        assert not seen[model == 0].any()


@pytest.mark.parametrize("name", ORDERED)
def test_a_huge_epsilon_recovers_means_and_medians(huge, name):
    check_raw(huge, name, slack=1.0)


@pytest.mark.parametrize("name", ORDERED)
def test_epsilon_one_keeps_means_and_medians_sensible(usual, name):
    check_raw(usual, name, slack=6.0)


def check_raw(release: Release, name: str, slack: float) -> None:
    """Within the sampling error of the private table and of the synthetic one, five sigma, times the slack."""
    column = release.sample(ROWS, seed=4)[name].drop_null()
    values = np.asarray(column.cast(pa.int32()) if name == "last_doctor_visit" else column, dtype=float)
    margin = slack * 5 * values.std() * np.sqrt(2 / len(values))
    assert abs(values.mean() - true_mean(name)) < margin
    assert abs(np.median(values) - true_median(name)) <= max(1.0, 1.5 * margin)


def test_epsilon_one_is_still_sensible(usual):
    alone, pairs = distances(usual, [(n,) for n in NAMES]), distances(usual, PAIRS)
    independent = [
        distance(np.multiply.outer(true_marginal([a]), true_marginal([b])), (a, b)) for a, b in PAIRS
    ]  # what exact single columns without any dependence would give
    assert alone.mean() < 0.03 and alone.max() < 0.08
    assert pairs.mean() < 0.09 and pairs.mean() < 0.65 * np.mean(independent)
