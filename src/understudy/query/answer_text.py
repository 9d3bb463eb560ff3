"""An answer as text for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.query.answers import Answer, Comparison

_FORMATS = {
    "count": ",.1f", "share": ".5f", "rate": ".5f", "mean": ",.6g", "sum": ",.6g", "median": ",.6g", "quantile": ",.6g",
}  # fmt: skip
UNKNOWN = "not known; no measured table shows this sum. With a confidence, 0.95 for example, there is an interval"
_MAX_DECIMALS = 6
_ROUNDING = 1e-12  # of an interval's end: a difference below this is that of two equal figures


def answer_text(answer: Answer) -> str:
    """Return the numbers in columns, then what the standard error or the interval covers, then the notes.

    Intervals come from better estimates than the standard error, so a terminal shows one or the other.
    """
    ends = any(figure.interval is not None for figure in answer.figures)
    known = not ends and any(figure.stderr is not None for figure in answer.figures)
    head = [*answer.by, answer.measure, *(["stderr"] if known else []), *(["from", "to"] if ends else [])]
    lines, decimals = [head], interval_decimals(answer)
    for figure in answer.figures:
        numbers = [figure.value, *([figure.stderr] if known else [])]
        if ends:
            numbers += list(figure.interval) if figure.interval is not None else [None, None]
        shown = (shown_number(n, answer.measure, decimals) for n in numbers)
        lines.append([*(figure.by[name] for name in answer.by), *shown])
    text = _columns(lines, len(answer.by))
    text.append("")
    if answer.confidence is not None:
        text.append(f"{100 * answer.confidence:.4g} % {interval_words(answer)}: {answer.interval_covers}")
        text += compared(answer)
    if known or answer.confidence is None:
        text.append(f"stderr: {answer.stderr_covers or UNKNOWN}")
    return "\n".join(text + [f"note: {note}" for note in answer.notes])


def interval_words(answer: Answer) -> str:
    """Return what the intervals of an answer are."""
    return "intervals, which hold all together" if answer.simultaneous else "interval"


def compared(answer: Answer) -> list[str]:
    """Return a line for each group against the first one."""
    return [comparison_text(c, answer.measure, interval_decimals(answer)) for c in answer.comparisons]


def interval_decimals(answer: Answer) -> int | None:
    """Return how many decimals the numbers of an answer with intervals are worth: two digits of half the narrowest one.

    None where they are written as they are: counts, shares, and answers without intervals.
    """
    widths = [high - low for low, high in (f.interval for f in answer.figures if f.interval is not None)]
    widths = [width for width in widths if 0 < width < math.inf]
    if not widths or answer.measure in ("count", "share", "rate"):
        return None
    return min(_MAX_DECIMALS, max(0, 1 - math.floor(math.log10(min(widths) / 2))))


def comparison_text(c: Comparison, measure: str, decimals: int | None = None) -> str:
    """Return the difference of two groups with its interval, in one line."""
    group, first = (", ".join(labels.values()) for labels in (c.by, c.first))
    low, high = shown_number(c.low, measure, decimals), shown_number(c.high, measure, decimals)
    difference = 0.0 if abs(c.difference) <= _ROUNDING * max(abs(c.low), abs(c.high)) else c.difference
    words = f"{group} minus {first}: {shown_number(difference, measure, decimals)} ({low} to {high})"
    return words if c.shown else f"{words}: no difference can be shown"


def shown_number(number: float | None, measure: str, decimals: int | None = None) -> str:
    """Return a number of an answer as its measure is written, or with no more decimals than these; a dash for none."""
    if number is None:
        return "-"
    if decimals is not None:
        number = round(number, decimals) + 0.0
        if measure in ("mean", "sum"):
            return f"{number:,.{decimals}f}"
    shown = format(number, _FORMATS[measure])
    return f"{float(shown.replace(',', '')):,.0f}" if "e+" in shown else shown  # six digits, and no powers of ten


def _columns(lines: list[list[str]], left: int) -> list[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    cells = [[t.ljust(w) if i < left else t.rjust(w) for i, (t, w) in enumerate(zip(line, widths))] for line in lines]
    return ["  ".join(line).rstrip() for line in cells]
