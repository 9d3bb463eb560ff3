"""The row count that public decisions may use: declared in the schema, or bought with a small share of the budget."""

from __future__ import annotations

from fractions import Fraction

from understudy.errors import UsageError
from understudy.models.row_total import pooled_rows
from understudy.privacy.measurement import Measurement
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema

MAPPED_ROWS = 10_000_000  # from so many on a file is not read into memory
COUNT_SHARE = Fraction(1, 20)  # of the budget, for a noisy row count under add-remove neighbours


def count_cost(schema: Schema, total_cost: Fraction) -> Fraction:
    """Return what the row count will cost: nothing where it is declared."""
    return total_cost * COUNT_SHARE if schema.rows is None else Fraction(0)


def row_count(table: PrivateTable) -> tuple[int, list[Measurement]]:
    """Return the declared count, or a bought one (at least 1), and the measurement it came from."""
    if table.schema.rows is not None:
        return table.schema.rows, []
    count = table.measure([()], count_cost(table.schema, table.total_cost), "row count")
    return pooled_rows(table.schema, count), count


def planned_rows(schema: Schema, rows: int | None) -> int:
    """Return the row count for a plan, which reads nothing: declared, or said by whoever plans."""
    known = schema.rows if schema.rows is not None else rows
    if known is None:
        raise UsageError(
            "under add-remove neighbours the row count is private: say roughly how many with --rows N "
            "(in Python, rows=N)"
        )
    return known


def table_megabytes(schema: Schema, rows: int) -> float:
    """Return the megabytes that coded rows take while they are read.

    A longer file is kept on disk (`engines.embedded`).
    """
    return rows * len(schema.modelled) * 30 / 1e6 if rows < MAPPED_ROWS else 0.0
