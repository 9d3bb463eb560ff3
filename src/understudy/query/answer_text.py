"""An answer as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.query.queries import Answer

_FORMATS = {"count": ",.1f", "share": ".5f", "mean": ",.6g"}


def answer_text(answer: Answer) -> str:
    """The numbers in columns, then what the standard error covers, then the notes."""
    known = any(figure.stderr is not None for figure in answer.figures)
    head = [*answer.by, answer.measure, *(["stderr"] if known else [])]
    lines = [head]
    for figure in answer.figures:
        numbers = [_shown(figure.value, answer.measure), *([_shown(figure.stderr, answer.measure)] if known else [])]
        lines.append([*(figure.by[name] for name in answer.by), *numbers])
    text = _columns(lines, len(answer.by))
    text.append("")
    text.append(f"stderr: {answer.stderr_covers or 'not known; no measured table shows this sum'}")
    return "\n".join(text + [f"note: {note}" for note in answer.notes])


def _shown(number: float | None, measure: str) -> str:
    return "-" if number is None else format(number, _FORMATS[measure])


def _columns(lines: list[list[str]], left: int) -> list[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    cells = [[t.ljust(w) if i < left else t.rjust(w) for i, (t, w) in enumerate(zip(line, widths))] for line in lines]
    return ["  ".join(line).rstrip() for line in cells]
