"""The table of methods: a new paper is one folder and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.errors import UsageError, did_you_mean
from understudy.methods import aim, swift
from understudy.methods.aim import Aim
from understudy.methods.binned import Binned
from understudy.methods.detailed import Detailed
from understudy.methods.dp_subn import DPCCBN, DPSUBN, Independent
from understudy.methods.jtree import JTree
from understudy.methods.method import Fit, Method, TakesPrior, configured, options_of
from understudy.methods.model_error import ModelChecked
from understudy.methods.plan import Plan
from understudy.methods.privabn import PrivABN
from understudy.methods.privbayes import PrivBayes
from understudy.methods.privelet import Privelet
from understudy.methods.priview import PriView, covers
from understudy.methods.swift import Swift
from understudy.models.prior import Prior
from understudy.privacy.budget import Budget
from understudy.schema import Schema

METHODS: dict[str, type[Any]] = {
    "privbayes": PrivBayes,
    "aim": Aim,
    "swift": Swift,
    "priview": PriView,
    "jtree": JTree,
    "privelet": Privelet,
    "privabn": PrivABN,
    "dp-subn": DPSUBN,
    "dp-ccbn": DPCCBN,
    "independent": Independent,
}


def method_named(
    name: str,
    options: Mapping[str, Any],
    schema: Schema | None = None,
    owners: int = 1,
    *,
    model_error: bool = False,
    prior: Prior | None = None,
    budget: Budget | None = None,
) -> Method:
    """Return the configured method; `auto` is the best one for this schema, budget and so many owners, from public
    facts alone.

    With `model_error`, it buys the size of what its model leaves out too, for one owner. With a `prior` it starts from
    what that knows; `auto` is then AIM.
    """
    name = name.casefold() if isinstance(name, str) else name
    if schema is not None and schema.rules:
        raise UsageError(
            "[[rules]] are for a table of one owner: take them out of the schema that several owners share"
        )
    if name == "auto":
        name = best_for(schema, options, owners, budget) if prior is None else "aim"
    if name not in METHODS:
        raise UsageError(f"there is no method {name!r}. {did_you_mean(name, ['auto', *METHODS])}")
    if owners > 1 and name == "swift":
        raise UsageError(swift.SEVERAL_OWNERS)
    method: Method = configured(METHODS[name], options)
    if prior is not None:
        if not isinstance(method, TakesPrior):
            raise UsageError(f"method {name} cannot start from a prior: use --method aim, or leave the prior out")
        method = method.with_prior(prior)
    if schema is not None and any(a.fine for a in schema.modelled):
        method = Detailed(method)
    if model_error and owners == 1 and name != "privelet":  # which measures one table of all it has
        method = ModelChecked(method)
    if schema is not None and schema.unbinned and name != "privelet":  # which measures ranges value by value
        method = Binned(method, prior.trees if prior is not None else ())
    return method


def best_for(schema: Schema | None, options: Mapping[str, Any], owners: int = 1, budget: Budget | None = None) -> str:
    """Return PriView for small binary tables; else AIM, SWIFT for wide and for binary ones, or PrivBayes for even wider
    ones; DP-SUBN for several owners.

    Each only where it knows the options. docs/decisions: 0007-views.md, 0010-adaptive-tables.md,
    0045-one-shot-selection.md.
    """

    def takes(name: str) -> bool:
        return options_of(METHODS[name]).keys() >= set(options)

    if schema is not None and covers(schema) and takes("priview"):
        return "priview"
    if owners > 1:
        return "dp-subn" if takes("dp-subn") else "privbayes"
    public = None if schema is None else schema.with_public_bins()  # a range has as many cells as bins, not as units
    if public is not None and aim.suits(public) and takes("aim"):
        return "aim"
    gaussian = budget is not None and budget.delta > 0
    return "swift" if public is not None and swift.suits(public, gaussian) and takes("swift") else "privbayes"


__all__ = ["METHODS", "Fit", "Method", "Plan", "best_for", "method_named"]
