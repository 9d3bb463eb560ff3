"""JTree as a method: a dependency graph by private choices, clusters of its cliques, noisy tables, a junction tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

from understudy.errors import TooLarge
from understudy.methods.jtree.consistency import clique_model, consistent, thresholded
from understudy.methods.jtree.edges import (
    CandidateEdges,
    ChordalGraph,
    Clique,
    Useful,
    choose_edges,
    room_for_chords,
    tree_rounds,
)
from understudy.methods.jtree.merging import merged
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan
from understudy.methods.privbayes.usefulness import cell_noise, useful_cells
from understudy.methods.row_count import count_cost, planned_rows, pooled_rows, row_count, table_megabytes
from understudy.models.estimation import MODEL_CELLS, estimate
from understudy.models.factor import Factor
from understudy.models.model import Model
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

SHARP = 0.01  # extra rounds are bought while the noise of a choice, on the scale of R from 0 to 1, stays below this


@dataclass(frozen=True)
class Decision:
    """All that follows from public facts before the first choice."""

    sizes: Mapping[Axis, int]  # the attributes that vary
    fixed: Axes  # those with a single value: they are in every table for nothing
    useful: Useful = field(compare=False)
    tree: int  # rounds for a spanning tree
    rounds: int  # T: the tree's and the extra ones
    count_cost: Fraction
    structure_cost: Fraction
    table_cost: Fraction


@dataclass(frozen=True)
class JTree:
    """The options of JTree."""

    name: ClassVar[str] = "jtree"

    theta: float = option(4.0, low=0.01, high=1e6)
    beta: float = option(0.3, low=0.01, high=0.99)
    rounds: int | None = option(None, whole=True, low=0, high=100_000)
    merging: str = option("auto", choices=("auto", "relaxation", "greedy", "exact"))
    estimate: str = option("ml", choices=("ml", "paper"))
    cells: int = option(MODEL_CELLS, whole=True, low=1, high=10**8)

    # -- decisions from public facts -------------------------------------------------------------------------

    def decide(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Decision:
        """The total cost is `whole`. Without a useful pair of attributes everything goes to the tables."""
        sizes = {Axis(a.name): a.size for a in schema.modelled if a.size > 1}
        fixed = tuple(Axis(a.name) for a in schema.modelled if a.size == 1)
        self._check_size(sizes)
        count = count_cost(schema, whole)
        structure = (whole - count) * exact(self.beta)
        tables = whole - count - structure

        @cache
        def useful(number: int) -> int:
            return useful_cells(rows, cell_noise(schema, accounting, tables, number), self.theta)

        tree = tree_rounds(sizes, useful)
        extra = 0
        if tree and room_for_chords(sizes, useful):
            extra = _extra_rounds(schema, accounting, structure, rows, tree)
        rounds = tree + extra if self.rounds is None else min(self.rounds, len(sizes) ** 2 if tree else 0)
        if not rounds:
            structure, tables = Fraction(0), tables + structure
        return Decision(sizes, fixed, useful, tree, rounds, count, structure, tables)

    def _check_size(self, sizes: Mapping[Axis, int]) -> None:
        for axis, size in sizes.items():
            if size > self.cells:
                raise TooLarge(
                    f"the table of {axis} alone has {size:,} cells, the limit is {self.cells:,}. "
                    'Give it fewer bins or a coarser list of values, leave it out (kind = "drop"), or raise cells.',
                    attribute=axis.attribute,
                )
        if sum(sizes.values()) > self.cells:
            raise TooLarge(
                f"the tables of all {len(sizes):,} attributes have {sum(sizes.values()):,} cells together, "
                f"the limit is {self.cells:,}. Give the largest fewer values, leave some out, or raise cells."
            )

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n = planned_rows(schema, rows)
        accounting, whole = accounting_of(budget), total_cost(budget)
        decision = self.decide(schema, accounting, whole, n)
        phases = []
        if decision.count_cost:
            scale = table_noise(schema, accounting, decision.count_cost).scale
            phases.append(Phase("row count", decision.count_cost, 1, 1, scale, detail="how many rows there are"))
        if decision.rounds:
            tree = min(decision.tree, decision.rounds)
            detail = (
                f"{decision.rounds} choices of an edge by score R: {tree} for a spanning tree, "
                "the rest (as many again, or as many as are not too noisy) for edges that keep every clique useful"
            )
            phases.append(Phase("structure", decision.structure_cost, decision.rounds, detail=detail))
        phases.append(self._tables_phase(schema, accounting, decision, n))
        seconds, memory = _effort(schema, decision, n)
        return Plan(
            self.name, budget, accounting, n, self.settled(decision), None, tuple(phases), memory, seconds,
            _notes(decision),
        )  # fmt: skip

    def _tables_phase(self, schema: Schema, accounting: Accounting, decision: Decision, rows: int) -> Phase:
        """At worst: the tables of a tree, unmerged. Merging only lowers the noise."""
        tables = max(1, len(decision.sizes) - 1 if decision.rounds else len(decision.sizes))
        noise = table_noise(schema, accounting, decision.table_cost / tables)
        largest = max(decision.sizes.values(), default=1)
        cells = max(largest, decision.useful(tables)) if decision.rounds else largest
        error = min(1.0, cells * noise.mean_abs / (2 * rows))
        detail = "noisy counts of clusters of cliques, at most so many"
        return Phase("tables", decision.table_cost, tables, cells, noise.scale, error, detail)

    def settled(self, decision: Decision) -> dict[str, Any]:
        """The options with every default replaced by what it came to."""
        return {
            "theta": self.theta,
            "beta": self.beta if decision.rounds else 0,
            "rounds": decision.rounds,
            "merging": self.merging,
            "estimate": self.estimate,
            "cells": self.cells,
        }

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        rows, count = row_count(table)
        decision = self.decide(table.schema, table.accounting, table.total_cost, rows)
        graph, left = self._graph(table, decision)
        cliques = _with_fixed(list(graph.cliques), decision)
        cost = decision.table_cost + left
        limit = self.cells if self.estimate == "ml" else None
        merging = merged(cliques, table.schema, table.accounting, cost, self.merging, self.cells, limit)
        clusters = [_axes(table.schema, [cliques[i] for i in cluster]) for cluster in merging.clusters]
        table.progress("tables", 0, 1)
        measurements = table.measure(clusters, cost, "tables")
        rows = pooled_rows(table.schema, [*count, *measurements])
        table.progress("estimation", 0, 1)
        model = self._model(measurements, cliques, table.schema, rows)
        facts = {
            "options": {**self.settled(decision), "merging": merging.solver},
            "edges": [[str(u), str(v)] for u, v in graph.edges],  # in the order of choice
            "cliques": [[str(axis) for axis in _axes(table.schema, [clique])] for clique in cliques],
            "clusters": [[str(axis) for axis in axes] for axes in clusters],
        }
        return Fit(model, (*count, *measurements), rows, facts, _notes(decision))

    def _graph(self, table: PrivateTable, decision: Decision) -> tuple[ChordalGraph, Fraction]:
        graph = ChordalGraph(decision.sizes)
        if not decision.rounds:
            return graph, Fraction(0)
        candidates = CandidateEdges(graph, decision.useful, self.cells)
        return graph, choose_edges(table, graph, candidates, decision.rounds, decision.structure_cost)

    def _model(
        self, measurements: Sequence[Measurement], cliques: Sequence[Clique], schema: Schema, rows: int
    ) -> Model:
        if self.estimate == "ml":
            return estimate(measurements, schema, rows, limit=self.cells)
        tables = [Factor(t.axes, thresholded(t.table, rows)) for t in consistent(measurements, schema)]
        return clique_model(tables, [_axes(schema, [clique]) for clique in cliques], schema, self.cells)


def _extra_rounds(schema: Schema, accounting: Accounting, cost: Fraction, rows: int, tree: int) -> int:
    """As many rounds again as the tree has, or as many as leave every choice sharp.

    The noise of a choice grows with the number of rounds, or with its root under zCDP.
    """
    ratio = SHARP / choice_noise(schema, accounting, cost / tree, rows)
    sharp = tree * min(2.0, ratio**accounting.power)
    return max(0, int(sharp) - tree)


def choice_noise(schema: Schema, accounting: Accounting, cost: Fraction, rows: int) -> float:
    """The scale of the noise in one choice, in units of R, which goes from 0 to 1."""
    widest = sorted((a for a in schema.modelled), key=lambda a: -a.size)[:2]
    pair = Pair(Axis(widest[0].name), tuple(Axis(a.name) for a in widest[1:]))
    sensitivity = schema.rows_per_person * INDEPENDENCE.sensitivity(pair, schema)
    return accounting.selection_scale(sensitivity, cost) / (INDEPENDENCE.unit(schema) * rows)


def _with_fixed(cliques: list[Clique], decision: Decision) -> list[Clique]:
    """Attributes with one value join the first clique: they add no cell."""
    if not decision.fixed:
        return cliques
    first, *others = cliques or [frozenset()]
    return [first | frozenset(decision.fixed), *others]


def _axes(schema: Schema, cliques: Sequence[Clique]) -> Axes:
    """The attributes of some cliques, in the order of the schema."""
    members = frozenset().union(*cliques)
    return tuple(axis for a in schema.modelled if (axis := Axis(a.name)) in members)


def _notes(decision: Decision) -> tuple[str, ...]:
    if len(decision.sizes) > 1 and not decision.rounds:
        return ("the budget is too small for any pair of attributes to be useful: columns are published independently",)
    lonely = len(decision.sizes) - 1 - decision.tree
    if lonely > 0:
        return (f"{lonely} attributes are too large for a useful table with any other: published independently",)
    return ()


def _effort(schema: Schema, decision: Decision, rows: int) -> tuple[float, float]:
    """Seconds and megabytes, roughly, from public sizes."""
    d = len(decision.sizes)
    pairs = d * (d - 1) // 2 if decision.rounds else 0
    cells = d * min(decision.useful(max(1, d)), 10**6)
    read = rows * len(schema.modelled) * 4e-8
    seconds = 1.0 + read + pairs * (rows * 3e-9 + 3e-5) + decision.rounds * pairs * 3e-6 + cells * 2e-5
    return seconds, 150 + table_megabytes(schema, rows) + cells * 100 / 1e6
