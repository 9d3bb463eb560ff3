"""The attack on domains that are read from rows: is a person in the table, whose value nobody else has?

Whoever lists the values that occur tells. Against a bought list the attacker may do anything with the list and with its
counts; with even odds it is right at most e^ε/(1 + e^ε) + δ of the time.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest

from understudy.audit.observation import Observer, observed_runs
from understudy.audit.whole_runs import Setting, fresh_ledgers, published
from understudy.engines.engine import Groups
from understudy.privacy.accounting import zcdp_delta
from understudy.privacy.budget import Budget
from understudy.privacy.noise import Gaussian
from understudy.privacy.questions import ValueLists, value_lists
from understudy.privacy.questions.value_lists import _drawn
from understudy.privacy.random_source import SystemSource
from understudy.privacy.thresholds import uncounted, value_threshold
from understudy.schema import Schema
from understudy.testing import SeededSource

EPSILON, DELTA = 0.5, Fraction(1, 20)  # a delta so large that what it allows can be seen
TRIALS = 4000


def scale_for(delta: float) -> float:
    """The noise whose two counts (a value's and the rest's) together are (EPSILON, delta)-private."""
    scale = 1.0
    while zcdp_delta(2 / (2 * scale * scale), EPSILON) > delta:
        scale *= 1.02
    return scale


SCALE = scale_for(float(DELTA))
BOUND = math.exp(EPSILON) / (1 + math.exp(EPSILON)) + 2 * float(DELTA)  # for the list and for the conversion
LUCK = 5 * 0.5 / math.sqrt(TRIALS)


def listed(alone: bool, crowd: int, scale: float, threshold: int, source: SeededSource) -> tuple[bool, int]:
    """Whether the secret text is listed, and its count or that of the rest: the person is in the table if `alone`."""
    count = crowd + alone
    texts, counts = (["secret"], [count]) if count > uncounted(scale) else ([], [])
    found = Groups(texts, np.asarray(counts, dtype=np.int64), 50 + count, 0, False)
    values, noisy = _drawn(found, Gaussian(scale), threshold, source)
    return bool(values), noisy[0]


def success(crowd: int, scale: float, threshold: int, seed: int) -> float:
    """How often the better of two attackers is right: one looks at the list, the other at the counts too."""
    source, draw = SeededSource(seed), np.random.default_rng(seed)
    by_list = by_count = 0
    for _ in range(TRIALS):
        truth = bool(draw.integers(2))
        shown, count = listed(truth, crowd, scale, threshold, source)
        by_list += shown == truth
        middle = (crowd if shown else 50 + crowd) + 0.5
        by_count += (count > middle) == truth
    return max(by_list, by_count) / TRIALS


THRESHOLD = value_threshold(SCALE, 1, DELTA)


@pytest.mark.parametrize("crowd", [0, uncounted(SCALE), THRESHOLD - 1, THRESHOLD + 20])
def test_a_bought_list_keeps_the_bound(crowd: int) -> None:
    """A person alone, one who lifts a text over what is counted at all, one at the threshold, and one in a crowd."""
    assert success(crowd, SCALE, THRESHOLD, seed=crowd) < BOUND + LUCK


def test_what_is_read_from_the_rows_is_told() -> None:
    """The published way: every value that occurs is listed."""
    rows_with, rows_without = {"common", "secret"}, {"common"}
    assert ("secret" in rows_with) and ("secret" not in rows_without)  # right every time


def test_broken_twins_are_caught() -> None:
    """Without a threshold above what is counted, and with a tenth of the noise, the attacker does better than that."""
    assert (
        success(uncounted(SCALE), SCALE, 1, seed=1) > BOUND + LUCK
        or success(uncounted(SCALE), SCALE, -1000, seed=1) > BOUND + LUCK
    )
    assert success(THRESHOLD + 20, SCALE / 10, THRESHOLD, seed=2) > BOUND + LUCK


# -- through publish -------------------------------------------------------------------------------------------------

ROWS = 1500
OPEN = f'[table]\nname = "t"\nrows = {ROWS}\n[attributes.a]\nkind = "category"\nvalues = "discover"\n'


def published_lists(crowd: int, runs: int, twin: bool = False) -> float:
    """How often the list of a real release tells whether one person more has the text that `crowd` others have."""
    schema = Schema.from_toml(OPEN)
    usual = ["x", "y"] * (ROWS // 2)
    tables = [{"a": ["secret"] * (crowd + there) + usual[: ROWS - crowd - there]} for there in (0, 1)]
    setting = Setting("", "independent", schema, Budget(1, "0.05"), *tables, types="declared")
    everything = mock.patch.object(ValueLists, "threshold", lambda *_: 1)
    nothing_uncounted = mock.patch.object(value_lists, "uncounted", lambda _: 0)
    right = 0
    with fresh_ledgers() as ledgers, ExitStack() as stack:
        if twin:
            stack.enter_context(everything)
            stack.enter_context(nothing_uncounted)
        for run in range(runs):
            with observed_runs() as seen:
                made = published(setting, tables[run % 2], ledgers, Observer(SystemSource(), seen), seen)
            shown = made.release.schema.attributes[0].modelled and "secret" in made.release.schema["a"].labels
            right += shown == bool(run % 2)
    return right / runs


@pytest.mark.long
@pytest.mark.parametrize("crowd", [0, 20])
def test_the_list_of_a_real_release_keeps_the_bound(crowd: int) -> None:
    """At (1, 0.05) the attacker may be right in e/(1 + e) + 0.05 of all runs, and 0.1 more is luck; it is right in
    about 0.5 and 0.65 of them, which is eight and six standard deviations below."""
    assert published_lists(crowd, 200) < math.e / (1 + math.e) + 0.05 + 0.1


@pytest.mark.long
def test_and_a_list_without_a_threshold_does_not() -> None:
    """Every text that occurs may be shown: one that one person has is, unless its noise is negative."""
    assert published_lists(0, 200, twin=True) > 0.7
