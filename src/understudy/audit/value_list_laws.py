"""The exact law of value lists: what is drawn follows the texts that occur, so it is enumerated text by text.

Two losses are added up by hand over all neighbours of a small world, for every list that could come out: that of the
counts which both tables have noise on, and the probability that a text of one person alone is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

from understudy.audit.findings import Finding
from understudy.audit.losses import gaussian_loss
from understudy.privacy.accounting import Accounting
from understudy.privacy.noise import Gaussian
from understudy.privacy.questions import ValueLists
from understudy.privacy.thresholds import gaussian_tail, uncounted
from understudy.schema import Schema

TEXTS = "abc"
OTHERS = ("a", "b", "b")  # rows of other people


def value_list_finding(
    what: str, question: ValueLists, schema: Schema, accounting: Accounting, cost: Fraction
) -> Finding:
    """Return the largest loss of a list, which holds only if lone texts are shown no more often than delta."""
    claim, unit = float(cost), accounting.unit
    if accounting.noise is not Gaussian:
        return Finding("enumeration", what, True, "refused under pure epsilon", claim, None, unit)
    noise = question.noise(schema, accounting, cost)
    lone = _lone(question.threshold(schema, noise) - uncounted(noise.scale), schema.rows_per_person, noise.scale)
    bound = max(_moves(schema.neighbours, schema.rows_per_person)) * gaussian_loss(noise.scale, accounting)
    says = f"{bound:.4f} of {claim:g} {unit}; a text of one person is shown with {float(lone):.3g} at most"
    holds = bound <= claim * (1 + 1e-9) and lone <= question.delta
    return Finding("enumeration", what, holds, says, claim, bound, unit)


def _answer(rows: Sequence[str], listed: Sequence[str]) -> list[int]:
    counts = Counter(rows)
    return [*(counts[text] for text in TEXTS), sum(counts[text] for text in TEXTS if text not in listed)]


def _moves(neighbours: str, k: int) -> Iterator[int]:
    """Yield the squared distance of the counts of all texts and of the rest, for all neighbours and every list."""
    held = [rows for size in range(k + 1) for rows in combinations_with_replacement(TEXTS, size)]
    pairs = product(held, held) if neighbours == "replace-one" else ((rows, ()) for rows in held)
    changes = [(one, two) for one, two in pairs if neighbours == "add-remove" or len(one) == len(two)]
    for listed in (some for size in range(len(TEXTS) + 1) for some in combinations(TEXTS, size)):
        for one, two in changes:
            apart = zip(_answer((*OTHERS, *one), listed), _answer((*OTHERS, *two), listed))
            yield sum((a - b) ** 2 for a, b in apart)


def _lone(threshold: int, k: int, scale: float) -> Fraction:
    """Return the most often that a text of one person passes, over all ways of holding k rows."""
    ways = (held for size in range(1, k + 1) for held in combinations_with_replacement(range(1, k + 1), size))
    return max(sum((gaussian_tail(threshold - c, scale) for c in held), Fraction(0)) for held in ways if sum(held) <= k)
