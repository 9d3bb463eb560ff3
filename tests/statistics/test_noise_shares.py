"""Chi-squared of summed noise shares for every (K, t, u) of a grid and every number of survivors, both noises.

The honest survivors' shares alone (what a coalition cannot take off) and all survivors' shares (what a reader meets),
each against its exact law; shares calibrated to too many owners must fail.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from federating import polya_law
from understudy.errors import UsageError
from understudy.federation.roster import Owner, Roster
from understudy.privacy.accounting import PURE, ZCDP, Accounting
from understudy.privacy.budget import Budget
from understudy.privacy.distributed_noise import gaussian_share_scale
from understudy.testing import SeededSource

CELLS = 30_000
UNLIKELY = 1e-6
SCALE = 3.0


def rosters() -> list[tuple[int, int, int]]:
    """Every (K, t, u) up to six owners that a federation accepts."""
    found = []
    for owners in range(2, 7):
        for colluding in range(1, owners):
            for dropping in range(owners):
                names = tuple(Owner(f"o{i}") for i in range(owners))
                try:
                    Roster(names, "", Budget(1), colluding=colluding, dropping=dropping)
                except UsageError:
                    continue
                found.append((owners, colluding, dropping))
    return found


def p_value(drawn: np.ndarray, law: np.ndarray) -> float:
    """`law` is that of 0, 1, …; the tails are pooled."""
    reach = int((law * len(drawn) >= 20).sum()) - 1
    inside = np.arange(-reach, reach + 1)
    wanted = len(drawn) * law[np.abs(inside)]
    seen = np.array([(drawn == k).sum() for k in inside])
    seen, wanted = np.append(seen, len(drawn) - seen.sum()), np.append(wanted, len(drawn) - wanted.sum())
    keep = wanted > 5
    return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted)[keep].sum(), keep.sum() - 1))


@cache
def law_of(accounting: Accounting, shares: int, honest: int) -> np.ndarray:
    """Of the sum of so many shares that are calibrated to `honest`, computed without the sampler."""
    if accounting == PURE:
        return polya_law(shares / honest, np.exp(-1 / SCALE))
    variance = gaussian_share_scale(SCALE, honest) ** 2
    one = np.exp(-(np.arange(-60, 61.0) ** 2) / (2 * variance))
    one /= one.sum()
    total = one
    for _ in range(shares - 1):
        total = np.convolve(total, one)
    return total[len(total) // 2 :]


@pytest.mark.parametrize("accounting", [PURE, ZCDP])
@pytest.mark.parametrize(("owners", "colluding", "dropping"), rosters())
def test_summed_shares_have_their_law(owners: int, colluding: int, dropping: int, accounting: Accounting) -> None:
    source = SeededSource(owners * 100 + colluding * 10 + dropping)
    honest = owners - colluding - dropping
    drawn = [accounting.noise(SCALE).share(CELLS, honest, source) for _ in range(owners)]
    for dropped in range(dropping + 1):
        kept = sum(drawn[colluding : owners - dropped])
        assert p_value(kept, law_of(accounting, owners - colluding - dropped, honest)) > UNLIKELY
        everyone = sum(drawn[: owners - dropped])
        assert p_value(everyone, law_of(accounting, owners - dropped, honest)) > UNLIKELY
    if accounting == PURE:  # h shares are the discrete Laplace of the single owner, exactly
        decay = np.exp(-1 / SCALE)
        laplace = (1 - decay) / (1 + decay) * decay ** np.arange(200)
        assert p_value(sum(drawn[colluding : colluding + honest]), laplace) > UNLIKELY


@pytest.mark.parametrize("accounting", [PURE, ZCDP])
@pytest.mark.parametrize(("owners", "colluding", "dropping"), [(3, 1, 0), (5, 1, 1), (6, 2, 1)])
def test_shares_for_all_owners_are_noticed(owners: int, colluding: int, dropping: int, accounting: Accounting) -> None:
    """The broken twin: h = K, as if nobody colluded and nobody dropped out."""
    source, honest = SeededSource(7), owners - colluding - dropping
    if accounting == ZCDP:  # at this scale the least variance of a share would hide it
        drawn = [source.gaussian(np.zeros(CELLS, dtype=np.int64), SCALE / owners**0.5) for _ in range(honest)]
    else:
        drawn = [PURE.noise(SCALE).share(CELLS, owners, source) for _ in range(honest)]
    assert p_value(sum(drawn), law_of(accounting, honest, honest)) < UNLIKELY


@pytest.mark.parametrize(("scale", "honest"), [(0.4, 3), (20.0, 2), (200.0, 4)])
def test_the_sampler_at_other_scales(scale: float, honest: int) -> None:
    source = SeededSource(3)
    drawn = PURE.noise(scale).share(CELLS, honest, source)
    assert p_value(drawn, polya_law(1 / honest, np.exp(-1 / scale))) > UNLIKELY
    assert p_value(drawn, polya_law(1.3 / honest, np.exp(-1 / scale))) < UNLIKELY
