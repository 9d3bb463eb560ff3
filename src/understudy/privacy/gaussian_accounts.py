"""Accounts kept in Gaussian DP: over all runs squares of mu add up, and are converted to epsilon once.

The delta of the conversion is fixed when the account is opened. Ten runs then come to about √10 times the epsilon of
one, where sums have ten times. Proof: PROOF.md, "Across runs in Gaussian DP".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from understudy.errors import BudgetError, UsageError
from understudy.privacy.accounting import GDP, gdp_epsilon, gdp_mu_squared, pure_mu_squared
from understudy.privacy.budget import MAX_EPSILON, MIN_DELTA, MIN_EPSILON, Amount, Budget, exact, exact_cap, show

KEPT, LISTS = "kept", "lists_delta"  # what the ledger calls the unit of an account, and its delta for value lists


@dataclass(frozen=True)
class GaussianTotal:
    """What the runs of an account come to."""

    mu_squared: Fraction
    delta: Fraction  # of the conversion
    lists: Fraction  # of delta, set aside by runs for value lists
    lists_cap: Fraction
    summed: Fraction  # what their epsilons add up to, for comparison
    last: Fraction | None  # mu squared of the last run

    @staticmethod
    def of(opened: Mapping[str, Any], runs: Iterable[Mapping[str, Any]]) -> GaussianTotal | None:
        """Return the total of these runs, as the ledger has them; None where the account is kept in sums."""
        if opened.get(KEPT) != GDP.unit:
            return None
        runs = list(runs)
        prices = [Fraction(run[GDP.unit]) for run in runs]
        return GaussianTotal(
            sum(prices, Fraction(0)),
            Fraction(opened["delta"]),
            sum((Fraction(run[LISTS]) for run in runs), Fraction(0)),
            Fraction(opened[LISTS]),
            sum((Fraction(run["epsilon"]) for run in runs), Fraction(0)),
            prices[-1] if prices else None,
        )

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """Return the epsilon and the delta that the runs come to."""
        if not self.mu_squared:
            return Fraction(0), Fraction(0)
        return gdp_epsilon(self.mu_squared, self.delta), self.delta + self.lists

    def room(self, cap: Fraction) -> Fraction:
        """Return how much mu squared is left under a cap on epsilon."""
        return max(Fraction(0), (gdp_mu_squared(cap, self.delta) if cap else Fraction(0)) - self.mu_squared)

    def more_like_the_last(self, cap: Fraction) -> int | None:
        """Return how many runs of the last one's size still fit; None before the first."""
        return None if self.last is None else int(self.room(cap) / self.last)

    def equal_runs(self, cap: Fraction, runs: int) -> Fraction:
        """Return the epsilon that each of so many equal runs may have, at the delta of the conversion."""
        return gdp_epsilon(self.room(cap) / runs, self.delta)

    def fits(self, cap: Fraction, delta: Fraction) -> Fraction:
        """Return an epsilon that one more run with this delta may have; 0 where none fits."""
        most = gdp_epsilon(self.room(cap), delta) * (1 - Fraction(1, 10**5))  # so that six digits of it fit
        return most if most >= MIN_EPSILON else Fraction(0)

    def as_json(self, cap: Fraction | None) -> dict[str, Any]:
        return {
            "kept_in": GDP.unit,
            "mu_squared": float(self.mu_squared),
            "delta_of_conversion": float(self.delta),
            "delta_for_lists": float(self.lists),
            "sum_of_epsilons": float(self.summed),
            "more_like_the_last": None if cap is None else self.more_like_the_last(cap),
        }


def opening(neighbours: str, epsilon: Amount, delta: Amount, lists_delta: Amount) -> dict[str, Any]:
    """Return what the ledger says where an account is opened in Gaussian DP: its cap, and what is fixed for good."""
    fixed, lists = exact(delta, "delta"), exact(lists_delta, "the delta for lists")
    if not MIN_DELTA <= fixed < 1:
        raise UsageError(
            "an account in Gaussian DP needs a delta of at least 1e-15 and less than 1, at which its runs are "
            "converted: 1e-6 for example"
        )
    if lists < 0:
        raise UsageError("the delta for lists is 0 or more")
    if fixed + lists >= 1:
        raise UsageError(
            f"delta {show(fixed)} and delta {show(lists)} for lists are {show(fixed + lists)} together, which promises "
            "nothing: they must add up to less than 1"
        )
    cap = str(gaussian_cap(epsilon))
    return {"neighbours": neighbours, "epsilon": cap, "delta": str(fixed), KEPT: GDP.unit, LISTS: str(lists)}


def gaussian_cap(epsilon: Amount) -> Fraction:
    """Return the rational of a cap on such an account: at most what the largest run may have."""
    cap = exact_cap(epsilon)
    if cap > MAX_EPSILON:
        raise UsageError(
            f"a cap above {MAX_EPSILON:,} is no privacy at all: understudy ledger cap FILE ACCOUNT none --reason TEXT "
            "says so of an account that is open"
        )
    return cap


def run_price(budget: Budget) -> Fraction:
    """Return what a run costs in mu squared: with a delta what it may spend, else what a pure epsilon comes to.

    Refused for sums of owners' shares, whose proof is in rho.
    """
    if budget.concentrated and budget.delta:
        raise BudgetError(
            "this account is kept in Gaussian DP, and sums of several owners' noise are kept in rho of zCDP, which do "
            'not add up with it: choose an account of sums for federations (`account = "NAME"` in [table] of the '
            "schema); what is spent on both adds up for the same people. Nothing was read"
        )
    return GDP.whole(budget) if budget.delta else pure_mu_squared(budget.epsilon)


def run_parts(budget: Budget) -> dict[str, str]:
    """Return what the ledger says of a run on such an account, beside its epsilon and delta."""
    return {GDP.unit: str(run_price(budget)), LISTS: str(budget.aside)}
