"""The size law, rare codes and the inside of bins: what simulated intervals add to refits."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.inference.inside_bins import mean_deviation, share_deviation, steepness
from understudy.inference.rare_codes import rare_noise
from understudy.inference.size_law import Bought, DiscrepancyLaw, posterior
from understudy.privacy.noise import Laplace
from understudy.query.queries import Query
from understudy.release import Release
from understudy.schema import Attribute, Categories, Intervals, Schema
from understudy.testing import publish_seeded

ROWS = 20_000
COUNT = 100


def bought(mean: float, spread: float, noise: float, seed: int) -> tuple[dict[str, Bought], dict[str, np.ndarray]]:
    """Figures of tables whose sizes follow a known law, in rows."""
    generator = np.random.default_rng(seed)
    known = {"pairs": generator.uniform(200, 900, 40), "triples": generator.uniform(500, 2000, 40)}
    sizes = mean * np.exp(spread * generator.standard_normal(COUNT) - spread**2 / 2)
    apart = np.hypot(generator.choice(known["pairs"], COUNT), sizes)
    three = 1.85 * mean * np.exp(0.8 * spread * generator.standard_normal(COUNT) - 0.32 * spread**2)
    threes = np.hypot(generator.choice(known["triples"], COUNT), three)
    true = {"pairs": apart.mean(), "largest": apart.max(), "triples": threes.mean()}
    return {k: Bought(v + noise * generator.standard_normal(), noise) for k, v in true.items()}, known


@pytest.mark.costly
@pytest.mark.parametrize("mean", [300.0, 1000.0, 4000.0])
def test_the_posterior_finds_the_mean_size(mean):
    found = [posterior(*bought(mean, 1.2, 50.0, seed), COUNT, ROWS).pairs.mean * ROWS for seed in range(8)]
    assert np.median(found) == pytest.approx(mean, rel=0.35)


def test_laplace_noise_far_off_is_believed_as_little_as_it_is_worth():
    """A bought mean was 6 scales of its noise below the truth, and as normal noise outweighed both other figures."""
    truth, scale = 900.0, 400.0
    predicted = np.linspace(0.0, 4000.0, 400)
    exact = -np.abs(predicted - truth) / scale - np.log(2 * scale)
    found = Bought(truth, scale * np.sqrt(2), laplace=True).likelihood(predicted)
    normal = Bought(truth, scale * np.sqrt(2)).likelihood(predicted)
    for away in (1500, 2500):  # against the top, in nats; the misfit adds a little
        i, top = int(np.argmin(np.abs(predicted - truth - away))), int(np.argmin(np.abs(predicted - truth)))
        assert found[i] - found[top] == pytest.approx(exact[i] - exact[top], abs=1.0)
    assert normal[i] - normal[top] < found[i] - found[top] - 0.5  # the twin
    figures, known = bought(1000.0, 1.2, 20.0, 1)
    far = Bought(-2500.0, scale * np.sqrt(2))
    as_normal, as_laplace = (
        posterior(figures | {"pairs": replace(far, laplace=own)}, known, COUNT, ROWS).pairs.mean
        for own in (False, True)
    )
    assert as_laplace > as_normal


def test_figures_that_noise_hides_widen_the_law():
    sharp = posterior(*bought(1000.0, 1.2, 20.0, 1), COUNT, ROWS).pairs
    blurred = posterior(*bought(1000.0, 1.2, 900.0, 1), COUNT, ROWS).pairs
    deviation = [float(np.sqrt(s.weights @ (s.means - s.mean) ** 2)) for s in (sharp, blurred)]
    assert deviation[1] > 2 * deviation[0]


def test_a_larger_largest_figure_is_a_wider_spread():
    figures, known = bought(1000.0, 1.2, 20.0, 1)
    spreads = [
        posterior(figures | {"largest": Bought(largest, 20.0)}, known, COUNT, ROWS).pairs.spread
        for largest in (2_500.0, 6_000.0, 15_000.0)
    ]
    assert spreads == sorted(spreads) and spreads[2] > spreads[0] + 0.2


def test_sizes_are_drawn_from_the_law():
    law = posterior(*bought(1000.0, 1.2, 20.0, 1), COUNT, ROWS)
    drawn = law.pairs.draw(np.random.default_rng(0), 40_000)
    assert drawn.mean() == pytest.approx(law.pairs.mean, rel=0.1)
    assert law.size(4).mean >= law.size(3).mean > law.size(2).mean


SCHEMA = Schema(
    "people",
    (Attribute("a", Categories(("x", "y", "z"))), Attribute("b", Categories(("u", "v"))),
     Attribute("amount", Intervals("number", (0.0, 10.0, 20.0, 30.0, 40.0)))),
    rows=4000,
)  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    import pandas as pd

    generator = np.random.default_rng(1)
    frame = pd.DataFrame({
        "a": np.where(generator.random(4000) < 0.6, "x", "y"),  # nobody has z
        "b": np.where(generator.random(4000) < 0.5, "u", "v"),
        "amount": np.minimum(generator.exponential(3.0, 4000), 39.0),
    })  # fmt: skip
    ledger = tmp_path_factory.mktemp("ledger") / "l.db"
    return publish_seeded(frame, SCHEMA, seed=2, epsilon=0.5, delta=0, ledger=ledger, cap="none").release


def test_a_rare_code_has_noise_and_others_have_none(release):
    table = np.asarray([[0.3, 0.3], [0.2, 0.2], [0.0, 0.0]])
    drawn = rare_noise(table, ("a", "b"), release, np.random.default_rng(0), 500)
    assert drawn is not None
    assert not drawn[:, :2].any() and (drawn[:, 2] >= 0).all() and drawn[:, 2].max() > 0
    assert np.allclose(drawn[:, 2, 0], drawn[:, 2, 1])  # spread as everybody is
    assert rare_noise(np.full((3, 2), 1 / 6), ("a", "b"), release, np.random.default_rng(0), 5) is None


def test_a_code_that_the_model_emptied_has_the_rows_that_its_noisy_count_says(release):
    """Noise about the model's zero alone left them out: PINCP of ma2019, with 231 noisy rows in a tail at 0."""
    own = next(m for m in release.measurements if [axis.attribute for axis in m.axes] == ["a"])
    noisy = round(1.5 * own.noise.scale * np.sqrt(2))
    alone = replace(own, values=np.asarray([2400, 1600 - noisy, noisy]))
    seen = SimpleNamespace(measurements=(alone,), schema=release.schema, rows=4000)
    table = np.asarray([[0.3, 0.3], [0.2, 0.2], [0.0, 0.0]])
    drawn = rare_noise(table, ("a", "b"), seen, np.random.default_rng(0), 4000)
    assert isinstance(own.noise, Laplace) and (drawn[:, 2] >= 0).all()
    mean = 4000 * float(drawn[:, 2].sum(axis=1).mean())
    assert mean == pytest.approx(noisy, rel=0.1)
    assert mean > 3 * noisy / 1.5 / np.sqrt(2 * np.pi)  # the twin, noise about zero cut at zero, has a third of that


def test_a_steep_density_is_less_sure_of_its_bins():
    attribute = SCHEMA["amount"]
    query = Query.of_text("mean(amount) where amount >= 5", SCHEMA, 4000, {})
    selection = query.selections["amount"]
    even, steep = np.full(4, 0.25), np.asarray([0.9, 0.08, 0.015, 0.005])
    domain = attribute.domain
    assert isinstance(domain, Intervals)
    assert np.allclose(steepness(domain, even), 0) and (steepness(domain, steep) > 1).all()
    assert (mean_deviation(attribute, selection, steep) > mean_deviation(attribute, selection, even)).all()
    assert share_deviation(attribute, selection, steep)[0] > share_deviation(attribute, selection, even)[0] > 0


def test_no_size_is_far_beyond_the_largest_that_was_bought():
    figures, known = bought(1000.0, 1.2, 20.0, 1)
    law = posterior(figures, known, COUNT, ROWS)
    most = 1.5 * (figures["largest"].rows + 2 * figures["largest"].deviation) / ROWS
    drawn = law.pairs.draw(np.random.default_rng(0), 200_000)
    assert drawn.max() == pytest.approx(min(most, 1.5)) and (drawn < drawn.max()).mean() > 0.99
    usual = DiscrepancyLaw.usual()
    assert usual.pairs.draw(np.random.default_rng(0), 20_000).max() == pytest.approx(0.6)
    assert usual.triples.mean > usual.pairs.mean
