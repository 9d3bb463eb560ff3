"""JTree as a method: a dependency graph by private choices, clusters of its cliques, noisy tables, a junction tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar

from understudy.errors import TooLarge
from understudy.methods.jtree import edges
from understudy.methods.jtree.consistency import ThresholdedCliques
from understudy.methods.method import Fit, option
from understudy.methods.plan import Plan
from understudy.methods.toolkit.estimator import Estimator, MaximumLikelihood, estimated
from understudy.methods.toolkit.merging import merged
from understudy.methods.toolkit.row_count import count_cost, row_count
from understudy.methods.toolkit.terms import Terms
from understudy.methods.toolkit.usefulness import cell_noise, choice_noise, useful_cells
from understudy.models.estimation import MODEL_CELLS
from understudy.models.structural_zeros import rule_cliques
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget, exact
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Schema

SHARP = 0.01  # extra rounds are bought while the noise of a choice, on the scale of R from 0 to 1, stays below this


@dataclass(frozen=True)
class JTreeDecision:
    """All that follows from public facts before the first choice."""

    sizes: Mapping[Axis, int]  # the attributes that vary
    fixed: Axes  # those with a single value: they are in every table for nothing
    useful: edges.Useful = field(compare=False)
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

    def decide(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> JTreeDecision:
        """Split the total cost `whole`. Without a useful pair of attributes everything goes to the tables."""
        sizes = {Axis(a.name): a.size for a in schema.modelled if a.size > 1}
        fixed = tuple(Axis(a.name) for a in schema.modelled if a.size == 1)
        self._check_size(sizes)
        count = count_cost(schema, whole)
        structure = (whole - count) * exact(self.beta)
        tables = whole - count - structure

        @cache
        def useful(number: int) -> int:
            return useful_cells(rows, cell_noise(schema, accounting, tables, number), self.theta)

        tree = edges.tree_rounds(sizes, useful)
        extra = 0
        if tree and edges.room_for_chords(sizes, useful):
            extra = _extra_rounds(schema, accounting, structure, rows, tree)
        rounds = tree + extra if self.rounds is None else min(self.rounds, len(sizes) ** 2 if tree else 0)
        if not rounds:
            structure, tables = Fraction(0), tables + structure
        return JTreeDecision(sizes, fixed, useful, tree, rounds, count, structure, tables)

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
        terms = Terms.of(schema, budget, rows)
        decision = self.decide(schema, terms.accounting, terms.total_cost, terms.rows)
        tree = min(decision.tree, decision.rounds)
        chosen = (
            f"{decision.rounds} choices of an edge by score R: {tree} for a spanning tree, "
            "the rest (as many again, or as many as are not too noisy) for edges that keep every clique useful"
        )
        # at worst the tables of a tree, unmerged: merging only lowers the noise
        tables = max(1, len(decision.sizes) - 1 if decision.rounds else len(decision.sizes))
        largest = max(decision.sizes.values(), default=1)
        cells = max(largest, decision.useful(tables)) if decision.rounds else largest
        clusters = "noisy counts of clusters of cliques, at most so many"
        phases = [
            *terms.row_count(decision.count_cost),
            *terms.choices(decision.structure_cost, decision.rounds, chosen),
            *terms.tables("tables", decision.table_cost, tables, cells, clusters),
        ]
        seconds, megabytes = _effort(decision, terms.rows)
        return terms.plan(self.name, self.settled(decision), phases, seconds, megabytes, notes=_notes(decision))

    def settled(self, decision: JTreeDecision) -> dict[str, Any]:
        """Return the options with every default replaced by what it came to."""
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
        found = estimated(table, self._estimator(table.schema, cliques), [*count, *measurements])
        facts = {
            "options": {**self.settled(decision), "merging": merging.solver},
            "edges": [[str(u), str(v)] for u, v in graph.edges],  # in the order of choice
            "cliques": [[str(axis) for axis in _axes(table.schema, [clique])] for clique in cliques],
            "clusters": [[str(axis) for axis in axes] for axes in clusters],
        }
        return Fit(found.model, (*count, *measurements), found.rows, facts, _notes(decision))

    def _graph(self, table: PrivateTable, decision: JTreeDecision) -> tuple[edges.ChordalGraph, Fraction]:
        graph = edges.ChordalGraph(decision.sizes)
        if not decision.rounds:
            return graph, Fraction(0)
        rules = rule_cliques(table.schema, list(decision.sizes))
        candidates = edges.CandidateEdges(graph, decision.useful, self.cells, rules)
        return graph, edges.choose_edges(table, graph, candidates, decision.rounds, decision.structure_cost)

    def _estimator(self, schema: Schema, cliques: Sequence[edges.Clique]) -> Estimator:
        if self.estimate == "ml":
            return MaximumLikelihood(self.cells)
        return ThresholdedCliques(tuple(_axes(schema, [clique]) for clique in cliques), self.cells)


def _extra_rounds(schema: Schema, accounting: Accounting, cost: Fraction, rows: int, tree: int) -> int:
    """Return how many rounds follow the tree: as many again, or as many as leave every choice sharp.

    The noise of a choice grows with the number of rounds, or with its root under zCDP.
    """
    ratio = SHARP / choice_noise(schema, accounting, cost / tree, rows)
    sharp = tree * min(2.0, ratio**accounting.power)
    return max(0, int(sharp) - tree)


def _with_fixed(cliques: list[edges.Clique], decision: JTreeDecision) -> list[edges.Clique]:
    """Add attributes with one value to the first clique: they add no cell."""
    if not decision.fixed:
        return cliques
    first, *others = cliques or [frozenset()]
    return [first | frozenset(decision.fixed), *others]


def _axes(schema: Schema, cliques: Sequence[edges.Clique]) -> Axes:
    """Return the attributes of some cliques, in the order of the schema."""
    members = frozenset().union(*cliques)
    return tuple(axis for a in schema.modelled if (axis := Axis(a.name)) in members)


def _notes(decision: JTreeDecision) -> tuple[str, ...]:
    if len(decision.sizes) > 1 and not decision.rounds:
        return ("the budget is too small for any pair of attributes to be useful: columns are published independently",)
    lonely = len(decision.sizes) - 1 - decision.tree
    if lonely > 0:
        return (f"{lonely} attributes are too large for a useful table with any other: published independently",)
    return ()


def _effort(decision: JTreeDecision, rows: int) -> tuple[float, float]:
    """Return seconds and megabytes, roughly, from public sizes."""
    d = len(decision.sizes)
    pairs = d * (d - 1) // 2 if decision.rounds else 0
    cells = d * min(decision.useful(max(1, d)), 10**6)
    return pairs * (rows * 3e-9 + 3e-5) + decision.rounds * pairs * 3e-6 + cells * 2e-5, cells * 100 / 1e6
