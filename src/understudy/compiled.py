"""Compiled loops: numba where it is installed, plain Python where it is not. Import late: numba is slow to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba

    HAVE_NUMBA = True
except ImportError:  # pragma: no cover - exercised by the tests in a process of its own
    HAVE_NUMBA = False


def compiled(function: Function) -> Function:
    """Compile on first use, keep the machine code on disk, release the interpreter lock while running."""
    return compiled_with()(function)


def compiled_with(*, fastmath: bool | set[str] = False) -> Callable[[Function], Function]:
    """Compile as `compiled` does, with sums in any order that is fast: all of numba's `fastmath`, or some of it."""

    def decorate(function: Function) -> Function:
        if not HAVE_NUMBA:
            return function
        options = {"nogil": True, "fastmath": fastmath}
        try:
            return numba.njit(cache=True, **options)(function)  # type: ignore[no-any-return]
        except (
            RuntimeError
        ):  # numba found no folder to write to: not NUMBA_CACHE_DIR, not the package's, not the home's
            return numba.njit(**options)(function)  # type: ignore[no-any-return]

    return decorate


def kept_on_disk() -> bool:
    """Return whether compiled code is kept for the next start, which then compiles nothing."""
    return HAVE_NUMBA and compiled(_probe).stats.cache_path is not None  # type: ignore[attr-defined]


def _probe() -> None:
    """Do nothing, and be compiled."""
