"""What a right program may do by chance, or on a machine that stands still for a while, and is asked to do once more."""

from __future__ import annotations

from collections.abc import Callable


def once_more(trial: Callable[[int], None]) -> None:
    """A trial that a right program fails with probability p fails here with p²; a wrong one fails both times.

    The trial is told its number, 0 or 1, so that it can take another folder, or ten times as much time.
    """
    try:
        trial(0)
    except AssertionError:
        trial(1)
