"""Compiled loops. Import late: numba, which all of them need, is slow to load.

Compiling is paid for at the first use after installation, so a loop is kept cheap to compile: most of the time goes
into numba's own Python code, which grows with what the loop says. Room for results and scratch is allocated by numpy
and passed in (an allocation inside costs a tenth of a second), rows of indices are read one by one and not unpacked,
and there are no array expressions, `min` or `max` on the way of a small publish (`tests/cli/test_cold_start.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from understudy.errors import UnderstudyError

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba
    from numba.core import event
except ImportError as error:  # not there, or not for this Python or numpy
    raise UnderstudyError(
        f"numba cannot be loaded ({error}). Counting, choosing and estimating are compiled by it: install understudy "
        "again, or numba by itself (pip install numba). `understudy doctor` shows what works"
    ) from None


def compiled(function: Function) -> Function:
    """Compile on first use, keep the machine code on disk, release the interpreter lock while running."""
    return compiled_with()(function)


def compiled_with(*, fastmath: bool | set[str] = False) -> Callable[[Function], Function]:
    """Compile as `compiled` does, with sums in any order that is fast: all of numba's `fastmath`, or some of it."""
    options = {"nogil": True, "fastmath": fastmath}

    def decorate(function: Function) -> Function:
        try:
            return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
        except RuntimeError:  # numba may write nowhere: not to NUMBA_CACHE_DIR, nor beside the package, nor at home
            return numba.njit(**options)(function)  # type: ignore[no-any-return]

    return decorate


@contextmanager
def telling(listener: Callable[[], None]) -> Iterator[None]:
    """Call `listener` before each loop that has to be compiled: after installation, and never again if code is kept."""
    with event.install_listener("numba:compile", _Compilations(listener)):
        yield


class _Compilations(event.Listener):  # type: ignore[misc]
    """Passes on that a compilation begins."""

    def __init__(self, listener: Callable[[], None]) -> None:
        self._listener = listener

    def on_start(self, event: Any) -> None:
        self._listener()

    def on_end(self, event: Any) -> None:
        """Say nothing: what comes next says what it is."""


def kept_on_disk() -> bool:
    """Return whether compiled code is kept for the next start, which then compiles nothing."""
    return compiled(_probe).stats.cache_path is not None  # type: ignore[attr-defined]


def _probe() -> None:
    """Do nothing, and be compiled."""
