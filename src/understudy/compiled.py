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
    if not HAVE_NUMBA:
        return function
    return numba.njit(cache=True, nogil=True)(function)  # type: ignore[no-any-return]
