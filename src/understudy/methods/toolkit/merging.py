"""Which tables are measured together: clusters of cliques with the least noise, from their sizes and the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache

from understudy.methods.toolkit.clusters import EXACT, Clusters, Merging, Problem, best_merging
from understudy.models.bayesian_network import base_of
from understudy.models.graph import Graph
from understudy.models.structural_zeros import rule_cliques
from understudy.privacy.accounting import Accounting
from understudy.privacy.measurement import table_noise
from understudy.schema import Axes, Axis, Schema

WIDEST = 1000  # tables up to which merging is tried: a quarter of a minute


def merged(
    cliques: Sequence[frozenset[Axis]],
    schema: Schema,
    accounting: Accounting,
    cost: Fraction,
    solver: str,
    cells: int,
    model: int | None,
) -> Merging:
    """Merge into clusters of at most `cells` cells with a triangulated model of at most `model`, or not at all."""
    sizes = {axis: schema.size(axis) for axis in sorted({axis for clique in cliques for axis in clique})}
    variables: Mapping[Axis, int] = {base_of(axis): schema.size(base_of(axis)) for axis in sizes}

    always = [clique for clique in rule_cliques(schema, list(variables)) if clique]

    @cache
    def variance(tables: int) -> float:
        return table_noise(schema, accounting, cost / tables).variance

    def accepts(clusters: Clusters) -> bool:
        joined = [{base_of(axis) for i in cluster for axis in cliques[i]} for cluster in clusters]
        return model is None or Graph.of([*joined, *always], variables).triangulated_cells(model) <= model

    return best_merging(Problem(cliques, sizes, cells), variance, solver, accepts)


def measured_together(
    workload: Sequence[Axes], schema: Schema, accounting: Accounting, cost: Fraction, cells: int
) -> list[Axes]:
    """Return marginals that hold those asked for, several together where that lowers the noise.

    Only where costs add up: with Gaussian noise one more table is cheap, and they stay as they are. An
    attribute that is in a cluster at two levels is measured at the finer one, which has the coarser inside.
    """
    cliques = [frozenset(axes) for axes in workload]
    if len(workload) > WIDEST or accounting.power > 1:
        return list(workload)
    solver = "exact" if len(workload) <= EXACT else "greedy"
    merging = merged(cliques, schema, accounting, cost, solver, cells, cells)
    found = []
    for cluster in merging.clusters:
        finest: dict[str, Axis] = {}
        for axis in sorted({axis for i in cluster for axis in cliques[i]}, reverse=True):
            finest[axis.attribute] = axis
        found.append(tuple(finest[a.name] for a in schema.modelled if a.name in finest))
    return found
