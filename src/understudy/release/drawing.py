"""A drawing: the synthetic rows that somebody asked a release for, drawn a batch at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.errors import UsageError, kind_of
from understudy.models.model import Model, Rows
from understudy.models.ruled_model import free_model
from understudy.models.within_bins import Shapes, placed_rows
from understudy.progress import Progress
from understudy.relations.history_model import HistoryModel
from understudy.relations.linked_model import LinkedModel
from understudy.release.decoding import Settling
from understudy.release.given import Given, GivenConditions
from understudy.schema.rule_blocks import Block

if TYPE_CHECKING:
    from understudy.release.release import Release

SMALL_BATCH = 1 << 17  # rows; what models draw at a time is a divisor or a multiple
LARGE_BATCH = 1 << 20
BATCH_CELLS = 1 << 26


@dataclass(frozen=True, eq=False)
class Drawing:
    """The model that rows are drawn from, how many, and what settles their values where rules leave them open.

    Each batch follows the model as closely as whole numbers allow (`models.rounding`); batches are independent.
    """

    model: Model
    rows: int
    settling: Settling | None
    shapes: Shapes
    batch: int  # rows

    @staticmethod
    def of(release: Release, rows: int | None, given: Given | None) -> Drawing:
        """Check what was asked for, and condition the release's model on `given`."""
        count, schema = _checked(release, rows, given), release.schema
        model, blocks = release.model, schema.free.blocks
        if given:
            conditions = GivenConditions.of(given, schema, release.shapes)
            blocks = conditions.blocks(schema)
            model = _under(conditions, model, blocks)
        settling = Settling(schema, release.shapes, blocks)
        step = max(BATCH_CELLS // len(schema.modelled) // SMALL_BATCH, 1) * SMALL_BATCH
        batch = min(step, LARGE_BATCH)
        return Drawing(model, count, None if settling.idle else settling, release.shapes, batch)

    def codes(self, generator: np.random.Generator) -> Rows:
        """Draw all rows at once, in codes."""
        return self._settled(free_model(self.model).sample(self.rows, generator), generator)

    def coded(self, generator: np.random.Generator) -> Iterator[Rows]:
        """Draw batches of rows in codes."""
        return (self._settled(batch, generator) for batch in self._batches(generator))

    def placed(self, generator: np.random.Generator, progress: Progress) -> Iterator[Rows]:
        """Draw batches of rows for decoding, in cells of their fine grid where there is one and nothing is settled."""
        done = 0
        progress("sampling", 0, self.rows, Fraction(0))
        for batch in self._batches(generator):
            yield batch if self.settling is not None else placed_rows(batch, self.shapes, generator)
            done += len(next(iter(batch.values())))
            progress("sampling", done, self.rows, Fraction(0))

    def _settled(self, rows: Rows, generator: np.random.Generator) -> Rows:
        return rows if self.settling is None else self.settling.codes(rows, generator)

    def _batches(self, generator: np.random.Generator) -> Iterator[Rows]:
        if isinstance(self.model, HistoryModel):  # whole people, numbered through all batches
            yield from self.model.batches(self.rows, generator)
            return
        for start in range(0, max(self.rows, 1), self.batch):
            yield free_model(self.model).sample(min(self.batch, self.rows - start), generator)


def _under(conditions: GivenConditions, model: Model, blocks: Sequence[Block]) -> Model:
    """Return the model under conditions; those of tables with foreign keys are about the root."""
    if isinstance(model, LinkedModel):
        return replace(model, root=_under(conditions, model.root, blocks))
    return conditions.zeros(conditions.model(model), blocks)


def _checked(release: Release, rows: int | None, given: Given | None) -> int:
    """Return how many rows are drawn; refuse what is no number of rows or no condition, and more rows than ids."""
    if rows is not None and (not isinstance(rows, int | np.integer) or isinstance(rows, bool)):
        raise UsageError(f"the number of rows to sample is a whole number, and this is {kind_of(rows)}")
    if given is not None and not isinstance(given, Mapping | str | list | tuple):
        raise UsageError(
            f'given is a mapping from attributes to values, such as {{"sex": "Female"}}, or a condition such as '
            f'"age >= 60", and this is {kind_of(given)}'
        )
    count = release.default_rows if rows is None else int(rows)
    if count < 0 or count > 2**40:
        raise UsageError("the number of rows to sample must be 0 or more")
    for name, pattern in release.schema.id_patterns.items():
        own = isinstance(release.model, HistoryModel) and name == release.model.panel.person.id
        pattern.check(release.model.people_of(count) if own else count, name)  # type: ignore[attr-defined]
    return count
