"""Runs of tables: neighbours in a list that are small enough to be counted together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from understudy.schema.axis import Axes


def table_runs(
    tables: Sequence[Axes], cells: Sequence[int], most_cells: int, most_tables: int | None = None
) -> Iterator[list[Axes]]:
    """Yield runs of neighbours with at most so many cells, and so many tables, together.

    A table that is larger by itself comes alone. `cells` has the size of each.
    """
    run: list[Axes] = []
    held = 0
    for axes, size in zip(tables, cells, strict=True):
        if run and (held + size > most_cells or len(run) == most_tables):
            yield run
            run, held = [], 0
        run.append(axes)
        held += size
    if run:
        yield run
