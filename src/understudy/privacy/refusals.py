"""Refusals: what the ledger's account says no to before any row is read."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from understudy.errors import BudgetError
from understudy.privacy.budget import Budget, show
from understudy.privacy.entries import Account, unfinished
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


def refuse_over_cap(state: Account, budget: Budget) -> None:
    """Refuse a budget that the account's cap does not cover."""
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
