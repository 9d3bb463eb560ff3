"""What structure is worth: how much there is to learn about pairs, against what the columns lose by its price.

Where public facts leave the matter open, the mean distance of all pairs from independence is bought with a small share
of the budget. Some of it is chance: so many rows in so many cells are never quite independent. What is left is the most
that a perfect model of pairs gains over columns alone. On the other side stands the error of the columns with a part of
the budget and with all of it. Both sides are public or noisy numbers, so whether there are rounds is a public decision.
The constants and where they come from: docs/decisions/0025-what-structure-is-worth.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from understudy.methods.plan import Phase
from understudy.methods.toolkit.chance import chance_deviation
from understudy.privacy.accounting import Accounting
from understudy.privacy.noise import Gaussian, Laplace, Noise
from understudy.privacy.questions import TotalDependence
from understudy.privacy.scores import INDEPENDENCE
from understudy.schema import Axes, Axis, Floats, Schema

DEPENDENCE = "dependence"
WORTH_SHARE = 0.03  # of the budget, for the mean dependence of all pairs
SURELY = 0.03  # mean dependence that nearly every table has: where less is needed, there are rounds without asking
NEVER = 0.4  # and that none has: where more is needed, there are none
LEARNED = 0.6  # of the dependence, where pairs have no noise
# times the error of a column: what two of them cost a pair, less what measured pairs tell about columns
LOST: dict[type[Noise], float] = {Laplace: 1.0, Gaussian: 1.4}
MAX_SIZE = 256  # of an attribute that is asked about: larger ones would be counted in millions of cells
MAX_PAIRS = 300  # of which the part of chance is worked out


def asked_axes(schema: Schema) -> Axes:
    """Return the attributes whose pairs are asked about."""
    return tuple(Axis(a.name) for a in schema.modelled if a.size <= MAX_SIZE)


def even_shares(schema: Schema) -> list[Floats]:
    """Return the shares of each attribute's values where nothing is known: all the same."""
    return [np.full(a.size, 1 / a.size) for a in schema.modelled]


def column_error(shares: Sequence[Floats], rows: float, noises: Sequence[float]) -> float:
    """Return the expected total variation distance of an average column; `noises` are mean absolute, in a cell of each.

    A cell of c rows is off by the noise, but hardly by more than c: an estimate is not negative and adds up.
    """
    off = [(s * rows * b / np.maximum(s * rows + b, 1e-300)).sum() for s, b in zip(shares, noises, strict=True)]
    return float(np.mean(off)) / (2 * rows)


def needed_dependence(lost: float, pair_error: float, rounds: float, attributes: int, noise: type[Noise]) -> float:
    """Return the mean dependence of pairs from which on rounds are worth what the columns lose by them.

    `lost` is the error of an average column with rounds less that without, `pair_error` the expected total variation
    distance of the middle pair from the noise in one round. Fewer rounds than attributes leave some out altogether.
    """
    learned = LEARNED / (1 + pair_error) * min(1.0, rounds / attributes)
    return LOST[noise] * max(0.0, lost) / learned


def chance_dependence(shares: Sequence[Floats], rows: float) -> float:
    """Return the expected distance of an average pair from independence if all columns were independent."""
    pairs = list(combinations([s for s in shares if len(s) <= MAX_SIZE], 2))
    some = pairs[:: math.ceil(len(pairs) / MAX_PAIRS)]
    return float(np.mean([chance_deviation(np.outer(a, b) * rows).sum() for a, b in some])) / (2 * rows)


def learnable(dependence: float, chance: float) -> float:
    """Return how much of a distance is more than chance: what has nothing to do with each other adds as squares.

    >>> round(learnable(0.05, 0.03), 6)
    0.04
    """
    return math.sqrt(max(0.0, dependence * abs(dependence) - chance**2))


def worth_phase(schema: Schema, accounting: Accounting, cost: Fraction, needed: float | None) -> Phase:
    """Return the phase of a plan that buys the mean dependence; `needed` is how much of it makes rounds worth their
    price, None where there are rounds in any case."""
    axes = asked_axes(schema)
    noise = accounting.noise_for(TotalDependence(axes).sensitivity(schema), cost)
    scale = noise.scale / (INDEPENDENCE.unit(schema) * math.comb(len(axes), 2))
    detail = "how far pairs are from independence, on average"
    return Phase(DEPENDENCE, cost, 1, 1, scale, detail=detail, needed=needed)
