"""The protected unit: whom the promise of a card is about, in words, and what is not promised to them."""

from __future__ import annotations

from understudy.schema import Schema

NOT_PROMISED = (
    "Facts about groups are meant to come through: what holds for people like you can be learned with or without you.",
    "The schema, the method and the epsilon are public; what the custodian saw while checking the data (exit 4) is "
    "outside the promise.",
    "A person with more rows than `rows_per_person`, or in several tables on different accounts, is protected less.",
    "Synthetic rows are draws from a noisy model: a single row is about nobody, and rare values may be wrong.",
)


def unit_of(schema: Schema, several_owners: bool = False) -> str:
    """Return whom the promise is about, in words."""
    k = schema.rows_per_person
    if schema.person is not None:
        return "one person with all of their rows"
    if schema.tables:
        return f"one row of {schema.name} with all that belongs to it in {', '.join(c.name for c in schema.tables)}"
    if several_owners:
        return "one row of one owner" if k == 1 else f"one person with up to {k} rows at one owner"
    return "one row of the table" if k == 1 else f"one person with up to {k} rows"


def neighbours_in_words(schema: Schema, unit: str) -> str:
    """Return what may differ between two tables that nobody can tell apart."""
    if schema.neighbours == "replace-one":
        rows = f"that there are {schema.rows:,} rows is public"
        return f"replace-one: the values of {unit} may be anything; {rows}"
    if schema.tables:
        return f"add-remove: {unit} may be there or not; even the numbers of rows are protected"
    return f"add-remove: {unit} may be in the table or not; even the number of rows is protected"


def not_promised(schema: Schema) -> tuple[str, ...]:
    """Return what a card says that it does not promise."""
    if schema.tables:
        whom = f"behind two rows of {schema.name}"
    elif schema.person is not None:
        whom = "with two ids"
    else:
        return NOT_PROMISED
    less = f"A person {whom}, or in several tables on different accounts, is protected less."
    return tuple(less if "rows_per_person" in line else line for line in NOT_PROMISED)
