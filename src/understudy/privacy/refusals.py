"""Refusals: what the ledger's account says no to before any row is read."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from understudy.errors import BudgetError
from understudy.privacy.accounting import gdp_epsilon
from understudy.privacy.budget import Budget, show
from understudy.privacy.entries import Account, Entry, unfinished
from understudy.privacy.gaussian_accounts import GaussianTotal, run_price
from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.privacy.ledger import Ledger


def refuse_early(book: Ledger, schema: Schema, budget: Budget) -> int:
    """Refuse, before the data is opened, what the cap cannot cover or what a damaged ledger cannot tell.

    An unfinished run on the account might be this one, to be continued: then `reserve` decides. Returns how many
    unfinished runs were closed because a draw of theirs was lost.
    """
    book.verify()
    with book.transaction():  # no run is being taken up at this moment
        book.sweep_locks()
    closed = book.close_lost_draws(schema.account)
    state = book.account(schema.account)
    if state is not None:
        refuse_other_unit(state, schema)
        if state.gaussian is not None:
            run_price(budget)  # refuses what is kept in rho, whatever is unfinished
        if not unfinished(book.entries(schema.account)):
            refuse_over_cap(state, budget)
    return closed


def refuse_other_unit(state: Account, schema: Schema) -> None:
    """Refuse a run whose promise is for another unit than the account's, as their epsilons do not add up."""
    if state.neighbours != schema.neighbours:
        raise BudgetError(
            f"account {state.name!r} is kept under {state.neighbours} neighbours and this schema asks for "
            f"{schema.neighbours}: one account has one definition"
        )
    if state.rows_per_person not in (None, schema.rows_per_person):
        raise BudgetError(
            f"account {state.name!r} is kept for persons with up to {state.rows_per_person} rows and this schema says "
            f"rows_per_person = {schema.rows_per_person}: what was spent on one unit does not add up with another. "
            f"Say rows_per_person = {state.rows_per_person}, or give this table an account of its own"
        )


def refuse_other_table(entry: Entry, known: str | None, found: str | None, resume: bool, ledger: str) -> None:
    """Refuse to go on with an interrupted run, by its `entry`, on a table that is not known to be the one it read."""
    give_up = f"understudy ledger close {ledger} {entry.account}"
    if known is None and not resume:
        raise BudgetError(
            f"the run of {entry.at} on account {entry.account!r} was interrupted and does not say which table it "
            f"read. If it is this one, run the same command with --resume; to give that run up: {give_up}"
        )
    if known is not None and known != found:
        raise BudgetError(
            f"the run of {entry.at} on account {entry.account!r} was interrupted, and this is another table than "
            "the one it read: nothing of it is used for this one. Run the same command on the first table to "
            f"finish that run; to give it up (its budget stays spent): {give_up}"
        )


def refuse_over_cap(state: Account, budget: Budget) -> None:
    """Refuse a budget that the account's cap does not cover."""
    if state.gaussian is not None:
        _refuse_over_gaussian_cap(state, state.gaussian, budget)
        return
    for what, asked, spent, cap in (
        ("epsilon", budget.epsilon, state.spent_epsilon, state.cap_epsilon),
        ("delta", budget.delta, state.spent_delta, state.cap_delta),
    ):
        if cap is not None and spent + asked > cap:
            left = max(Fraction(0), cap - spent)
            raise BudgetError(
                f"account {state.name!r}: requested {what} {show(asked)}, left {show(left)}, "
                f"short by {show(asked - left)}. Nothing was read. A larger cap is a person's decision: "
                f"understudy ledger cap FILE {state.name} E --reason TEXT"
            )


def _refuse_over_gaussian_cap(state: Account, total: GaussianTotal, budget: Budget) -> None:
    price, cap = run_price(budget), state.cap_epsilon
    if total.lists + budget.aside > total.lists_cap:
        raise BudgetError(
            f"account {state.name!r}: this run sets delta {show(budget.aside)} aside for lists of values, and of the "
            f"{show(total.lists_cap)} that the account was opened with for lists {show(total.lists_cap - total.lists)} "
            "is left. Nothing was read. Write the lists into the schema, or take them from an earlier release of it"
        )
    if cap is not None and price > total.room(cap):
        with_it = gdp_epsilon(total.mu_squared + price, total.delta)
        fits = total.fits(cap, budget.delta - budget.aside if budget.delta else total.delta)
        left = f"At most epsilon {show(fits)} at delta {show(budget.delta or total.delta)} still fits"
        raise BudgetError(
            f"account {state.name!r} is kept in Gaussian DP: with {budget} more it would come to epsilon "
            f"{show(with_it)} at delta {show(total.delta)}, and the cap is {show(cap)}. "
            f"{left if fits else 'Nothing more fits'}. Nothing was read. A larger cap is a person's "
            f"decision: understudy ledger cap FILE {state.name} E --reason TEXT"
        )
