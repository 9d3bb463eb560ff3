"""How far one person can move what is measured: the transforms of counts and their sensitivities.

A table of counts moves by 2 in L1 and 2 in squared L2 when a row is replaced, by 1 and 1 when a row comes or goes.
A person with up to k rows moves it k times as far, and k² times in squared L2 (all k rows may fall in one cell).
"""

from __future__ import annotations

from understudy.schema import Schema


def table_l1(schema: Schema) -> int:
    """One table of counts, in L1."""
    return (2 if schema.neighbours == "replace-one" else 1) * schema.rows_per_person


def table_l2_squared(schema: Schema) -> int:
    """One table of counts, in L2, squared."""
    return (2 if schema.neighbours == "replace-one" else 1) * schema.rows_per_person**2
