"""A choice among listed pairs, by any score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.errors import UsageError
from understudy.privacy.questions.question import Selection
from understudy.privacy.scores import Pair, Score, check_listed
from understudy.privacy.scores.reference_distance import reference_refusal
from understudy.privacy.scores.scorer import Scorer
from understudy.schema import Integers, Schema

MAX_PENALTY = 2**60  # where one stops growing, so that no score less its penalty is too large: a refusal would tell


@dataclass(frozen=True, eq=False)
class Choice(Selection[Pair]):
    """One of these pairs, by a score less a public penalty; score D has a public reference table for each option."""

    kind: ClassVar[str] = "choice"

    options: Sequence[Pair]
    score: Score
    penalty: Sequence[int] | None = None
    references: Sequence[Integers] | None = None

    @property
    def count(self) -> int:
        return len(self.options)

    def check(self, schema: Schema) -> None:
        if not self.options:
            raise UsageError("there is nothing to choose from")
        check_listed(self.score)
        if self.penalty is not None and len(self.penalty) != len(self.options):
            raise UsageError("a penalty needs one number for each option")
        if (reason := reference_refusal(self.score, self.options, self.references, schema)) is not None:
            raise UsageError(reason)
        for pair in self.options:
            if (reason := self.score.refusal(pair, schema)) is not None:
                raise UsageError(reason)

    def sensitivity(self, schema: Schema) -> int:
        return max(self.score.sensitivity(pair, schema) for pair in self.options)

    def exact(self, scorer: Scorer) -> list[int]:
        if self.references is None:
            found = scorer.scores(self.options, self.score)
        else:
            found = scorer.deviations(self.options, self.references)
        if self.penalty is None:
            return found
        penalties = (min(max(int(p), -MAX_PENALTY), MAX_PENALTY) for p in self.penalty)
        return [score - penalty for score, penalty in zip(found, penalties, strict=True)]

    def result(self, index: int) -> Pair:
        return self.options[index]

    def rescaled(self, factor: Fraction) -> Choice:
        penalty = None if self.penalty is None else [round(int(p) * factor) for p in self.penalty]
        references = self.references and [np.rint(r * float(factor)).astype(np.int64) for r in self.references]
        return replace(self, penalty=penalty, references=references)

    def asked(self) -> list[Any]:
        return [self.kind, [pair.axes for pair in self.options], self.score.name]

    def as_json(self) -> list[Any]:
        references = None if self.references is None else [r.tolist() for r in self.references]
        penalty = None if self.penalty is None else [int(p) for p in self.penalty]
        return [*self.asked(), penalty, references]
