"""Answers: the numbers of a query, with what is known of their error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.query.grammar import Measure
from understudy.showing import html_of

Ends = tuple[float, float]


@dataclass(frozen=True)
class Figure:
    """One number of an answer; `by` is empty for a question without groups. None: not known."""

    by: Mapping[str, str]
    value: float | None
    stderr: float | None = None
    interval: Ends | None = None

    def as_json(self) -> dict[str, Any]:
        return {"value": self.value, "stderr": self.stderr}


@dataclass(frozen=True)
class Comparison:
    """A group against the first one: the difference and the ratio of their figures, with intervals."""

    by: Mapping[str, str]
    first: Mapping[str, str]
    difference: float
    low: float
    high: float
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None

    @property
    def shown(self) -> bool:
        """Return whether a difference can be shown: the interval does not hold zero."""
        return self.low > 0 or self.high < 0

    def as_json(self) -> dict[str, Any]:
        ratio = None if self.ratio is None else {"value": self.ratio, "low": self.ratio_low, "high": self.ratio_high}
        return {
            "by": dict(self.by), "against": dict(self.first), "difference": self.difference, "low": self.low,
            "high": self.high, "ratio": ratio, "difference_can_be_shown": self.shown,
        }  # fmt: skip


@dataclass(frozen=True, repr=False)
class Answer:
    """The numbers that answer a query, what their standard error covers, and what a reader should know.

    Made by `Release.query`. `value` and `stderr` are of a question without groups.

    Args:
        measure: count, share, rate, mean, sum, median or quantile; shares and rates are from 0 to 1.
        by: the attributes of the groups.
        figures: a number for each group, in rows or in the attribute's unit; a `stderr` of None is not known.
        stderr_covers: in words, which errors the standard error covers.
        notes: what a reader should know.
        confidence: of the intervals, from 0 to 1; None where none were asked for.
        interval_covers: in words, which errors they include.
        comparisons: each group against the first.
        simultaneous: whether all intervals, of figures and comparisons, hold together at this confidence.
        question: as it was asked.

    >>> answer = release.query("share where smoker = yes")
    >>> 0 <= answer.value <= 1
    True
    """

    measure: Measure
    by: tuple[str, ...]
    figures: tuple[Figure, ...]
    stderr_covers: str | None = None
    notes: tuple[str, ...] = ()
    confidence: float | None = None
    interval_covers: str | None = None
    comparisons: tuple[Comparison, ...] = ()
    simultaneous: bool = False
    question: str = field(default="", compare=False)  # as it was asked

    @property
    def value(self) -> float | None:
        """Return the number of a question without groups."""
        return self._only.value

    @property
    def stderr(self) -> float | None:
        """Return the standard error of that number; None where it is not known."""
        return self._only.stderr

    @property
    def interval(self) -> Ends | None:
        """Return the interval of a question without groups; None where none was asked for or none is known."""
        return self._only.interval

    @property
    def _only(self) -> Figure:
        if self.by:
            raise AttributeError("this answer has groups: look at `figures`")
        return self.figures[0]

    def with_intervals(
        self,
        intervals: Sequence[Ends | None],
        confidence: float,
        covers: str,
        comparisons: tuple[Comparison, ...],
        notes: tuple[str, ...] = (),
        simultaneous: bool = False,
    ) -> Answer:
        """Return the same answer with an interval for each figure, in their order."""
        figures = tuple(replace(f, interval=ends) for f, ends in zip(self.figures, intervals, strict=True))
        return replace(
            self, figures=figures, confidence=confidence, interval_covers=covers, comparisons=comparisons,
            notes=self.notes + notes, simultaneous=simultaneous,
        )  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Return what `query --json` prints."""
        tail: dict[str, Any] = {"stderr_covers": self.stderr_covers, "notes": list(self.notes)}
        if self.confidence is not None:
            tail |= {"confidence": self.confidence, "interval_covers": self.interval_covers}
            tail |= {"simultaneous": True} if self.simultaneous else {}
            tail |= {"comparisons": [comparison.as_json() for comparison in self.comparisons]} if self.by else {}
        lines = [figure.as_json() | self._ends(figure) for figure in self.figures]
        if not self.by:
            return lines[0] | tail
        return {"groups": [{"by": dict(f.by)} | line for f, line in zip(self.figures, lines)]} | tail

    def _ends(self, figure: Figure) -> dict[str, Any]:
        if self.confidence is None:
            return {}
        low, high = figure.interval or (None, None)
        return {"low": low, "high": high}

    def to_pandas(self) -> Any:
        """Return a pandas frame: the attributes of `by`, the measure, `stderr` and, with intervals, `low` and `high`.

        >>> release.query("count by smoker").to_pandas().columns.tolist()
        ['smoker', 'count', 'stderr']
        """
        from understudy.errors import import_extra

        pandas = import_extra("pandas", "frames", "Answer.to_pandas needs pandas")
        columns: dict[str, list[Any]] = {name: [f.by[name] for f in self.figures] for name in self.by}
        columns |= {self.measure: [f.value for f in self.figures], "stderr": [f.stderr for f in self.figures]}
        if self.confidence is not None:
            columns["low"] = [f.interval[0] if f.interval else None for f in self.figures]
            columns["high"] = [f.interval[1] if f.interval else None for f in self.figures]
        return pandas.DataFrame(columns)

    def __repr__(self) -> str:
        if not self.by:
            return f"<Answer: {self.measure} {self.figures[0].value}, stderr {self.figures[0].stderr}>"
        return (
            f"<Answer: {self.measure} by {', '.join(self.by)}, {len(self.figures):,} groups; print it, or .to_pandas()>"
        )

    def __str__(self) -> str:
        from understudy.query.answer_text import answer_text

        return answer_text(self)

    _repr_html_ = html_of
