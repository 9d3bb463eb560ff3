"""Progress: one line that says what is being done, how far it is, what was spent and how long it will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any, Protocol, TextIO

WIDTH = 24  # characters of the bar on a terminal
_STEP = 0.1  # seconds between two drawings
_TRACK = "display:inline-block;width:180px;height:8px;border-radius:4px;background:#8884;vertical-align:middle"


class Progress(Protocol):
    """Told what is going on; never told anything private."""

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None: ...


@dataclass(frozen=True)
class Spend:
    """What a run may spend, so that a bar can say how much of it is gone: `total` is in the unit of its charges."""

    total: Fraction
    words: str  # "epsilon 1, delta 1e-9"
    pure: bool  # the unit is epsilon itself

    def shown(self, spent: Fraction) -> str:
        """Return the part of a progress line on money: "epsilon 0.3 of 1 spent", or a share where there is a delta."""
        if self.pure:
            return f"epsilon {float(spent):.3g} of {float(self.total):.6g} spent"
        return f"{float(spent / self.total):.0%} of {self.words} spent"


class ProgressBar:
    """A bar on a terminal or in a notebook; silent when nobody is looking, and gone when it is closed.

    Use it as a context manager. `wanted` None means: if standard error is a terminal, or this is a notebook.

    >>> with ProgressBar(wanted=False) as bar:
    ...     bar("tables", 1, 4, Fraction(0))
    """

    def __init__(self, wanted: bool | None = None, spend: Spend | None = None, stream: TextIO | None = None) -> None:
        self._spend = spend
        self._stream = stream or sys.stderr
        self._display = None if wanted is False else _notebook()
        terminal = wanted is not False and self._display is None and (bool(wanted) or self._stream.isatty())
        self._draw: Callable[[str, float], None] | None = self._on_terminal if terminal else None
        if self._display is not None:
            self._draw = self._in_notebook
        self._phase, self._since, self._last, self._width = "", 0.0, 0.0, 0
        self._share = 0.0

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None:
        """Draw, unless the last drawing was a moment ago and the phase is the same."""
        if self._draw is None:
            return
        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._since = phase, now
        elif now - self._last < _STEP:
            return
        self._last = now
        self._share = min(1.0, done / of) if of else 0.0
        self._draw(self._words(done, of, spent, now - self._since), self._share)

    def compiling(self) -> None:
        """Say that loops are being compiled, which happens after installation and then not again."""
        if self._draw is not None:
            self._draw("compiling for this machine, the first time only (some 2 s)", self._share)
            self._last = 0.0  # whatever comes next is drawn at once

    def _words(self, done: int, of: int, spent: Fraction, elapsed: float) -> str:
        parts = [self._phase + (f" {done:,}/{of:,}" if of > 1 else "")]
        if self._spend is not None:
            parts.append(self._spend.shown(spent))
        if done and elapsed > 1:
            parts.append(f"about {elapsed / done * (of - done):,.0f} s left")
        return ", ".join(parts)

    def _on_terminal(self, words: str, share: float) -> None:
        full = round(WIDTH * share)
        bar = "#" * full + "-" * (WIDTH - full)
        text = f"[{bar}] {words}"
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = max(self._width, len(text))

    def _in_notebook(self, words: str, share: float) -> None:
        assert self._display is not None
        fill = f"display:block;width:{share:.1%};height:8px;border-radius:4px;background:#2b87a6"
        self._display.update(f'<span style="{_TRACK}"><span style="{fill}"></span></span> {escape(words)}')

    def clear(self) -> None:
        """Take the bar away."""
        if self._display is not None:
            self._display.update("")
        elif self._draw is not None and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()


@dataclass
class _NotebookPlace:
    """A place in a notebook's output that is drawn anew, made at the first drawing."""

    handle: Any = None

    def update(self, html: str) -> None:
        from IPython.display import HTML, display

        if self.handle is not None:
            self.handle.update(HTML(html))
        elif html:
            self.handle = display(HTML(html), display_id=True)


def _notebook() -> _NotebookPlace | None:
    """Return a place to draw in if a notebook's kernel runs this; IPython in a terminal is a terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return _NotebookPlace() if type(shell).__name__ == "ZMQInteractiveShell" else None


class Clock:
    """Seconds by phase, passed on to a progress line."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._phase = ""
        self._since = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None:
        if phase != self._phase:
            self._close(phase)
        if self._progress is not None:
            self._progress(phase, done, of, spent)

    def _close(self, phase: str) -> None:
        now = time.perf_counter()
        if self._phase:
            self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._since
        self._phase, self._since = phase, now

    def stop(self) -> dict[str, float]:
        self._close("")
        return {phase: round(s, 4) for phase, s in self._seconds.items()}
