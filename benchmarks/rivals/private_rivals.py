"""The papers' rivals: what evaluation and benchmarks hold a method against. None of them is ever chosen by `auto`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rivals.contingency import Contingency
from rivals.fourier import Fourier
from rivals.laplace_tables import LaplaceTables
from rivals.majority import Majority
from rivals.mwem import MWEM
from rivals.priview import PriView
from rivals.uniform import Uniform
from understudy.errors import UsageError, did_you_mean
from understudy.methods.method import Method, configured

RIVALS: dict[str, type[Any]] = {
    "uniform": Uniform,
    "laplace": LaplaceTables,
    "fourier": Fourier,
    "contingency": Contingency,
    "mwem": MWEM,
    "priview-paper": PriView,
    "majority": Majority,
}


def rival_named(name: str, options: Mapping[str, Any]) -> Method:
    """The configured rival."""
    if name not in RIVALS:
        raise UsageError(f"there is no rival {name!r}. {did_you_mean(name, list(RIVALS))}")
    rival: Method = configured(RIVALS[name], options)
    return rival


__all__ = ["RIVALS", "rival_named"]
