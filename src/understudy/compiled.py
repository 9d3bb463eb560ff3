"""Compiled loops. Import late: numba, which all of them need, is slow to load."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from understudy.errors import UnderstudyError

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    import numba
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


def kept_on_disk() -> bool:
    """Return whether compiled code is kept for the next start, which then compiles nothing."""
    return compiled(_probe).stats.cache_path is not None  # type: ignore[attr-defined]


def _probe() -> None:
    """Do nothing, and be compiled."""
