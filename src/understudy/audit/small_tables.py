"""Small tables: every multiset of a few rows over the cells of a small schema, and which of them are neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Schema

Row = Mapping[str, int]  # the code of each column


@dataclass(frozen=True, eq=False)
class SmallTables:
    """Tables as counts of cells, one line for each; `alike` rows of the first cell are in every one of them."""

    schema: Schema
    cells: tuple[Row, ...]
    counts: NDArray[np.int64]

    @staticmethod
    def of(schema: Schema, cells: Sequence[Row], rows: int, alike: int = 0) -> SmallTables:
        """Return all tables of `rows` free rows; under add-remove neighbours also those of fewer."""
        sizes = range(rows + 1) if schema.neighbours == "add-remove" else (rows,)
        picks = [pick for size in sizes for pick in combinations_with_replacement(range(len(cells)), size)]
        counts = np.zeros((len(picks), len(cells)), dtype=np.int64)
        for line, pick in zip(counts, picks):
            np.add.at(line, list(pick), 1)
        counts[:, 0] += alike
        return SmallTables(schema, tuple(cells), counts)

    def __len__(self) -> int:
        return len(self.counts)

    def columns(self, number: int) -> dict[str, NDArray[np.uint8]]:
        """Return the coded columns of one table."""
        return {
            name: np.repeat([row[name] for row in self.cells], self.counts[number]).astype(np.uint8)
            for name in self.cells[0]
        }

    def neighbours(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return all ordered pairs of tables that differ by one person, who has up to `rows_per_person` rows."""
        most = self.schema.rows_per_person
        first, second = [], []
        for number, own in enumerate(self.counts):
            moved = self.counts - own
            more, fewer = np.maximum(moved, 0).sum(axis=1), np.maximum(-moved, 0).sum(axis=1)
            if self.schema.neighbours == "add-remove":
                near = (np.minimum(more, fewer) == 0) & (more + fewer <= most)
            else:
                near = (more <= most) & (fewer <= most)
            near[number] = False
            second.append(np.flatnonzero(near))
            first.append(np.full(len(second[-1]), number))
        return np.concatenate(first), np.concatenate(second)


def all_cells(schema: Schema) -> list[Row]:
    """Return every row that the modelled attributes allow."""
    names = [attribute.name for attribute in schema.modelled]
    return [dict(zip(names, codes)) for codes in product(*(range(schema[name].size) for name in names))]
