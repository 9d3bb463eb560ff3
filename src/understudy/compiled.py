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
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]


def compiled_with(fastmath: bool | set[str]) -> Callable[[Function], Function]:
    """Return `compiled` for sums of floats that may be added up in another order."""
    return numba.njit(cache=True, nogil=True, fastmath=fastmath)  # type: ignore[no-any-return]
