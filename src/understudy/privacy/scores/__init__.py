"""Scores: the closed list of functions by which rows may decide a choice, each an integer with a proved sensitivity.

    R   Independence         distance from independence
    F   MaximumJoint         nearness to a maximum joint distribution, of a binary attribute
    I   MutualInformation    mutual information in bits
    D   ReferenceDistance    distance from a public table of counts

A score looks at one attribute–parent pair (X, Π) through the exact table of counts over X and Π. Every value is exact
for every table of at most 2^40 rows, the most that a schema or an engine takes (`schema.MAX_ROWS`): a score that
overflowed would move without a bound, and a refusal that depended on the scores would tell about them.

A new score is a file beside these and a word in the list below. tests/unit/privacy/test_scores.py checks the lemmas by
brute force, and test_score_limits.py in Python's unbounded integers up to 2^40 rows.
"""

from __future__ import annotations

from collections.abc import Iterable

from understudy.errors import UsageError, did_you_mean
from understudy.privacy.scores.independence import SMALL_DOMAIN, Independence
from understudy.privacy.scores.maximum_joint import MaximumJoint
from understudy.privacy.scores.mutual_information import MutualInformation
from understudy.privacy.scores.reference_distance import ReferenceDistance
from understudy.privacy.scores.score import Pair, PairwiseScore, Penalty, Score

INDEPENDENCE, MAXIMUM_JOINT = Independence(), MaximumJoint()
MUTUAL_INFORMATION, REFERENCE_DISTANCE = MutualInformation(), ReferenceDistance()

SCORES: dict[str, Score] = {  # by the name in options, in files and on the wire
    score.name: score for score in (INDEPENDENCE, MAXIMUM_JOINT, MUTUAL_INFORMATION, REFERENCE_DISTANCE)
}


def check_listed(score: Score) -> None:
    """Refuse any other score: one that is not in the list may compute anything and claim any sensitivity."""
    if not any(score is listed for listed in SCORES.values()):
        raise UsageError(f"there is no score {getattr(score, 'name', score)!r} with a proved sensitivity")


def check_penalties(penalties: Iterable[int], score: Score) -> None:
    """Refuse a penalty that was made for another score: it would count in the wrong unit."""
    for penalty in penalties:
        if isinstance(penalty, Penalty) and penalty.score is not score:
            raise UsageError(f"a penalty for score {penalty.score.name} cannot count against score {score.name}")


def score_named(name: str) -> Score:
    """Return the score with this name."""
    if name not in SCORES:
        raise UsageError(f"there is no score {name!r}. {did_you_mean(name, list(SCORES))}")
    return SCORES[name]


__all__ = [
    "INDEPENDENCE", "MAXIMUM_JOINT", "MUTUAL_INFORMATION", "REFERENCE_DISTANCE", "SCORES", "SMALL_DOMAIN", "Pair",
    "PairwiseScore", "Penalty", "Score", "check_listed", "check_penalties", "score_named",
]  # fmt: skip
