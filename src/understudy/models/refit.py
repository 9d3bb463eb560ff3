"""Refitting: from noisy tables to a model and a row count, every step of it in one deterministic function.

Whatever a method measured, its fit ends here: the row count pooled from all totals, empty tails, agreement between
tables, shrinkage, the model of least weighted squares. None of it reads a row, and none of it depends on what a method
thought on the way. So a release's own tables give its model again, and tables with fresh noise on them give what the
release might have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.models.edition import Edition
from understudy.models.estimation import MODEL_CELLS, TOLERANCE, fitted
from understudy.models.interactions import pair_tables
from understudy.models.junction_tree import JunctionTree
from understudy.models.prior import Prior
from understudy.models.row_total import pooled_rows
from understudy.models.smooth_columns import smoothed
from understudy.privacy.measurement import Measurement
from understudy.schema import Schema


@dataclass(frozen=True)
class Design:
    """What a model is besides its measurements: the schema that they belong to, how large it may become, and what was
    known before.

    The limit only refuses: two designs that differ in it give the same model, or none.
    """

    schema: Schema
    max_cells: int = MODEL_CELLS
    prior: Prior | None = None
    edition: Edition = Edition.NEWEST  # of the rules; that of the release whose tables are fitted again
    shrink: bool = True  # False: no table is drawn towards its columns, for inference; never so in a release

    def tables(self, measured: Sequence[Measurement], rows: float) -> list[Measurement]:
        """Return what the model is fitted to: the tables known before, weighed by the measured ones, and those."""
        own = [m for m in measured if m.axes]
        return own if self.prior is None else [*self.prior.weighed(own, rows), *own]


@dataclass(frozen=True, eq=False)
class Refitted:
    """A model and the number of rows that it stands for."""

    model: JunctionTree
    rows: int


def refit(measurements: Sequence[Measurement], design: Design, tolerance: float = TOLERANCE) -> Refitted:
    """Return the model that fits these noisy tables best, and the pooled row count.

    `measurements` are all that were made, in their order; one over no axes is a row count. Deterministic, and it costs
    nothing: `refit(release.measurements, release.design)` has the model of the release. `tolerance` is the duality gap
    at which estimation stops, as a share of its objective.
    """
    rows = pooled_rows(design.schema, measurements)
    tables = smoothed(design.tables(measurements, rows), design.schema, rows, design.edition)

    def fit(tables: Sequence[Measurement], pairs: JunctionTree | None = None) -> JunctionTree:
        return fitted(
            tables, design.schema, rows, limit=design.max_cells, tolerance=tolerance, edition=design.edition,
            shrink=design.shrink, pairs=pairs,
        ).tree  # fmt: skip

    drawn = design.shrink and design.edition >= Edition.DRAWN_TO_PAIRS
    of_pairs = pair_tables(tables, design.schema, rows) if drawn else []
    return Refitted(fit(tables, fit(of_pairs) if of_pairs else None), rows)
