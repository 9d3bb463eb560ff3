"""A paper's claim as paired comparisons over repetitions, and what the runs say to it: agree, disagree or undecided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from records import Interval, Point, Records, interval

Word = Literal["agree", "disagree", "undecided", "not measured"]
NEAR = 0.1  # "almost the same" and "near the best": within a tenth


@dataclass(frozen=True)
class Setting:
    """Σ weight·value + constant, in each repetition. The claim says it is below zero, or (`within`) between ± within
    times the value of the first point."""

    name: str
    terms: tuple[tuple[float, Point], ...]
    constant: float = 0.0
    within: float | None = None

    def interval(self, records: Records, level: float) -> Interval | None:
        lines = [records.values.get(point, {}) for _, point in self.terms]
        both = sorted(set.intersection(*(set(line) for line in lines)))
        if not both:
            return None
        return interval(
            [sum(w * line[r] for (w, _), line in zip(self.terms, lines)) + self.constant for r in both], level
        )

    def holds(self, records: Records, level: float = 0.95) -> bool | None:
        """True, False (the opposite holds), or None: the interval does not say, or there is none."""
        found = self.interval(records, level)
        if found is None or found.runs < 2:
            return None
        bound = 0.0
        if self.within is not None:
            first = records.mean(self.terms[0][1])
            assert first is not None
            bound = self.within * abs(first.mean)
            if -bound < found.low and found.high < bound:
                return True
            return False if found.low > bound or found.high < -bound else None
        return True if found.high < bound else False if found.low > bound else None

    def measured(self, records: Records) -> bool:
        return all(point in records.values for _, point in self.terms)


def less(name: str, smaller: Point, larger: Point, factor: float = 1.0) -> Setting:
    """smaller < factor · larger."""
    return Setting(name, ((1.0, smaller), (-factor, larger)))


def alike(name: str, first: Point, second: Point, within: float = NEAR) -> Setting:
    return Setting(name, ((1.0, first), (-1.0, second)), within=within)


def mean_less(name: str, smaller: Sequence[Point], larger: Sequence[Point]) -> Setting:
    """The mean over some points is below the mean over others."""
    first = [(1 / len(smaller), p) for p in smaller]
    return Setting(name, (*first, *((-1 / len(larger), p) for p in larger)))


def shrinks(name: str, late: tuple[Point, Point], early: tuple[Point, Point]) -> Setting:
    """The gap first − second is smaller late than early."""
    return Setting(name, ((1.0, late[0]), (-1.0, late[1]), (-1.0, early[0]), (1.0, early[1])))


@dataclass(frozen=True)
class Claim:
    """In our words; `most` is a claim about most settings, else it is about every one."""

    figure: str
    words: str
    settings: tuple[Setting, ...]
    most: bool = False


@dataclass(frozen=True)
class Verdict:
    word: Word
    holds: int
    undecided: int
    reversed: int
    missing: int
    exceptions: tuple[str, ...]  # the settings that are reversed, by name
    runs: tuple[int, int]


def judge(claim: Claim, records: Records) -> Verdict:
    """By setting: a 95 % paired t interval on one side of zero. Of a claim about every setting: agree where all hold;
    disagree where one is reversed even by a simultaneous interval (level 1 − 0.05/settings). Of most: more than half.
    """
    known = [s for s in claim.settings if s.measured(records)]
    if not known:
        return Verdict("not measured", 0, 0, 0, len(claim.settings), (), (0, 0))
    found = [s.holds(records) for s in known]
    good, bad = found.count(True), found.count(False)
    strict = [s.holds(records, 1 - 0.05 / len(known)) is False for s in known]
    runs = [i.runs for s in known if (i := s.interval(records, 0.95)) is not None]
    word: Word = "undecided"
    if claim.most:
        word = "agree" if 2 * good > len(known) else "disagree" if 2 * bad > len(known) else "undecided"
    elif good == len(known):
        word = "agree"
    elif any(strict):
        word = "disagree"
    exceptions = tuple(s.name for s, value in zip(known, found) if value is False)
    return Verdict(
        word, good, len(known) - good - bad, bad, len(claim.settings) - len(known), exceptions, (min(runs), max(runs))
    )


def near_best(
    name: str, points: Iterable[tuple[float, Point]], inside: tuple[float, float], records: Records
) -> list[Setting]:
    """Every value inside the range is within a tenth of the best of all. Which is best is itself a look at the runs,
    which is in favour of the best and so against the claim."""
    known = [(x, p, found.mean) for x, p in points if (found := records.mean(p)) is not None]
    if len(known) < 3:
        return []
    best = min(known, key=lambda item: item[2])[1]
    return [
        Setting(f"{name} at {x:g}", ((1.0, p), (-1 - NEAR, best)) if p != best else ((-NEAR, p),))
        for x, p, _ in known
        if inside[0] <= x <= inside[1]
    ]
