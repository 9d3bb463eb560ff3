"""The table of methods: a new paper is one folder and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.errors import UsageError, did_you_mean
from understudy.methods.jtree import JTree
from understudy.methods.method import Fit, Method, configured
from understudy.methods.plan import Plan
from understudy.methods.privabn import PrivABN
from understudy.methods.privbayes import PrivBayes

METHODS: dict[str, type[Any]] = {"privbayes": PrivBayes, "jtree": JTree, "privabn": PrivABN}


def method_named(name: str, options: Mapping[str, Any]) -> Method:
    """The configured method; `auto` is the best one for public facts, which for now is PrivBayes."""
    if name == "auto":
        name = "privbayes"
    if name not in METHODS:
        raise UsageError(f"there is no method {name!r}. {did_you_mean(name, ['auto', *METHODS])}")
    method: Method = configured(METHODS[name], options)
    return method


__all__ = ["METHODS", "Fit", "Method", "Plan", "method_named"]
