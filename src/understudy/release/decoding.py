"""Decoding under rules: values for coded rows that meet what bins could not decide, and columns that are computed.

A row keeps its codes. Where its values break a constraint they are drawn again inside the same cells, which gives the
distribution inside them given the rules; where that does not help soon, the cell's witness is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.models.model import Rows
from understudy.models.ruled_model import computed_codes, computed_values
from understudy.models.within_bins import Shapes, placed_rows
from understudy.release.writing import Values
from understudy.schema import Schema
from understudy.schema.predicates import Cells
from understudy.schema.rule_blocks import Block, repaired

TRIES = 24  # times that values are drawn again
Drawn = dict[str, NDArray[np.float64]]  # values of ordered columns


@dataclass(frozen=True, eq=False)
class Settling:
    """Turns codes of free columns into values that meet all constraints.

    Parameters
    ----------
    schema
        With the computed columns, and with bins.
    blocks
        The constraints of its free columns, and of given conditions.
    """

    schema: Schema
    shapes: Shapes
    blocks: tuple[Block, ...]

    @cached_property
    def _open(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.open.any())

    @cached_property
    def _needed(self) -> tuple[str, ...]:
        """Return the ordered columns whose values are looked at here, and not where rows are written."""
        known = self.schema.rule_book.determined.values()
        names = [n for block in self._open for n in block.names] + [n for d in known for n in d.sources]
        return tuple(n for n in dict.fromkeys(names) if self.schema[n].intervals is not None)

    @property
    def idle(self) -> bool:
        """Return whether there is nothing to settle and nothing to compute."""
        return not self._open and not self.schema.rule_book.determined

    def __call__(self, rows: Rows, generator: np.random.Generator) -> tuple[Rows, Values]:
        """Return codes for decoding, and the values that are settled here."""
        drawn = {name: self._draw(name, rows[name], generator) for name in self._needed}
        for block in self._open:
            self._settle(block, rows, drawn, generator)
        columns = {name: self._cells(name, rows[name], drawn.get(name)) for name in rows}
        placed = {name: shape for name, shape in self.shapes.items() if name not in drawn}
        found = placed_rows(rows, placed, generator)
        values: Values = {name: (self._whole(name, drawn[name]), columns[name].absent) for name in drawn}
        for name, known in self.schema.rule_book.determined.items():
            if known.term is None:
                found[name] = computed_codes(self.schema, known, columns)
            else:
                numbers, absent = computed_values(known, columns)
                values[name] = self._whole(name, np.where(absent, 0.0, numbers)), absent
        return found, values

    def codes(self, rows: Rows, generator: np.random.Generator) -> Rows:
        """Return the codes of all columns, computed ones among them, for rows of free codes."""
        found, values = self(rows, generator)
        more = {}
        for name, known in self.schema.rule_book.determined.items():
            if known.term is None:
                more[name] = found[name]
                continue
            numbers, absent = values[name]
            attribute = self.schema[name]
            encoded = attribute.ordered.encode_numbers(np.asarray(numbers, dtype=np.float64))
            more[name] = np.where(absent, attribute.missing_code, encoded).astype(np.uint16)
        return rows | more

    def _draw(self, name: str, codes: NDArray[Any], generator: np.random.Generator) -> NDArray[np.float64]:
        attribute = self.schema[name]
        if name in self.shapes:
            codes, attribute = self.shapes[name].cells(codes, generator), self.shapes[name].fine
        return np.asarray(attribute.decode(codes, generator)[0], dtype=np.float64)

    def _cells(self, name: str, codes: NDArray[Any], values: NDArray[np.float64] | None) -> Cells:
        return Cells.of_values(codes, values, codes == self.schema[name].missing_code)

    def _settle(self, block: Block, rows: Rows, drawn: Drawn, generator: np.random.Generator) -> None:
        """Draw the values of a block again until all rows meet it; `drawn` is changed."""
        cells = block.cells(rows)
        left = np.flatnonzero(block.open.ravel()[cells])
        left = left[~self._held(block, rows, drawn, left)]
        for _ in range(TRIES):
            if not len(left):
                return
            for name in block.wide:
                drawn[name][left] = self._draw(name, rows[name][left], generator)
            left = left[~self._held(block, rows, drawn, left)]
        left = self._repair(block, rows, drawn, left)
        witness = block.witnesses(cells[left])
        for i, name in enumerate(block.wide):
            drawn[name][left] = witness[:, i]

    def _repair(self, block: Block, rows: Rows, drawn: Drawn, left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Move one value of a row to where a comparison becomes an equation; return the rows that it does not help."""
        if not len(left):
            return left
        own = self._columns(block, rows, drawn, left)
        moved, held = repaired({a.name: a for a in self.schema.attributes}, block, own)
        for name in block.wide:
            drawn[name][left[held]] = moved[name].values[held]
        return left[~held]

    def _held(self, block: Block, rows: Rows, drawn: Drawn, left: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.broadcast_to(block.held(self._columns(block, rows, drawn, left)), left.shape)

    def _columns(self, block: Block, rows: Rows, drawn: Drawn, left: NDArray[np.int64]) -> dict[str, Cells]:
        """Return some rows of the block's columns, with values where they were drawn."""
        values = {name: drawn[name][left] if name in drawn else None for name in block.names}
        return {name: self._cells(name, rows[name][left], values[name]) for name in block.names}

    def _whole(self, name: str, values: NDArray[np.float64]) -> NDArray[Any]:
        return np.rint(values).astype(np.int64) if self.schema[name].ordered.integral else values
