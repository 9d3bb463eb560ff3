"""The paper's own end (Chen et al. 2015, sections 4.3 and 4.4): tables agree, are thresholded, and form a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from understudy.methods.toolkit.estimator import Estimate
from understudy.models.consistency import Agreement
from understudy.models.factor import Factor, conditional
from understudy.models.graph import clique_tree
from understudy.models.junction_tree import JunctionTree
from understudy.models.row_total import pooled_rows
from understudy.models.structural_zeros import logarithm
from understudy.privacy.measurement import Measurement
from understudy.schema import Axes, Axis, Floats, Schema


@dataclass(frozen=True)
class ThresholdedCliques:
    """The rule of JTree: consistent tables, small counts cut off, the product of cliques over separators."""

    cliques: tuple[Axes, ...]
    cells: int  # the most that the model may have

    def __call__(self, measurements: Sequence[Measurement], schema: Schema) -> Estimate:
        rows, counts = pooled_rows(schema, measurements), [m for m in measurements if m.axes]
        tables = [Factor(t.axes, thresholded(t.table, rows)) for t in consistent(counts, schema)]
        return Estimate(clique_model(tables, self.cliques, schema, self.cells), rows)


def consistent(measurements: Sequence[Measurement], schema: Schema) -> list[Factor]:
    """Make tables agree by inverse-variance weighting over their intersections, smaller ones first."""
    agreement = Agreement.of([m.axes for m in measurements], [max(m.variance, 1e-9) for m in measurements], schema)
    flat = agreement.project(np.concatenate([m.values.ravel().astype(np.float64) for m in measurements]))
    ends = np.cumsum([m.values.size for m in measurements])
    parts = np.split(flat, ends[:-1])
    return [Factor(m.axes, part.reshape(m.values.shape)) for m, part in zip(measurements, parts)]


def thresholded(counts: Floats, total: float) -> Floats:
    """Keep the counts above the positive integer threshold for which they add up nearest to the total, and scale them.

    Of thresholds that do equally well the smallest; a table without a count above 1 keeps its largest.
    """
    flat = np.sort(counts.ravel())
    levels = np.unique(np.ceil(flat[flat > 1.0]) - 1)  # what is kept changes at these only
    if not len(levels):
        top = counts == counts.max()
        return np.where(top, total / top.sum(), 0.0)
    sums = np.append(np.cumsum(flat[::-1])[::-1], 0.0)  # of each count and all above it
    kept = sums[np.searchsorted(flat, levels, side="right")]
    above = np.where(counts > levels[int(np.abs(kept - total).argmin())], counts, 0.0)
    return np.asarray(above * (total / above.sum()))


def clique_model(clusters: Sequence[Factor], cliques: Sequence[Axes], schema: Schema, limit: int) -> JunctionTree:
    """Return the product of cliques over separators (Equation 1), cliques taken from the smallest cluster."""
    sizes = {Axis(a.name): a.size for a in schema.modelled}
    tree = clique_tree(cliques, sizes)
    potentials = []
    for i, clique in enumerate(tree.cliques):
        home = min((c for c in clusters if set(clique) <= set(c.axes)), key=lambda c: c.table.size)
        above = tree.separator(i)
        axes = (*above, *(axis for axis in clique if axis not in above))
        share = conditional(home.project(axes).normalised().table, len(above))
        potentials.append(Factor(axes, logarithm(share)))
    return JunctionTree.of(schema, potentials, limit)
