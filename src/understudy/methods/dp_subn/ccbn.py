"""DP-CCBN (Su et al. 2016, Section V): the noisy tables of all candidates, and the best of them, round by round.

A round measures (d − i)·C(i, k) tables at once, so each of them has 2(d − i)·C(i, k) times the noise of one: sound, and
the reason for DP-SUBN.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from understudy.errors import TooLarge
from understudy.methods.dp_subn.binary import (
    MODEL_CELLS,
    THETA,
    binary_variables,
    candidates,
    chosen_tables,
    effort,
    model_of,
    network_json,
    whole_attributes,
)
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan, tables_phase
from understudy.methods.privbayes.structure import FixedDegree, allowed
from understudy.methods.privbayes.usefulness import useful_degree
from understudy.methods.row_count import count_cost, planned_rows, pooled_rows, row_count
from understudy.methods.size import SizeLimit
from understudy.privacy.accounting import Accounting, accounting_of, total_cost
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import Measurement, table_noise
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema

CANDIDATE_CELLS = 1_000_000  # of all rounds together, unless a degree is asked for


@dataclass(frozen=True)
class Decision:
    """All that follows from public facts."""

    variables: Axes
    degree: int
    count_cost: Fraction
    structure_cost: Fraction
    table_cost: Fraction


@dataclass(frozen=True)
class DPCCBN:
    """The options of DP-CCBN: `beta` is the structure's share of the budget."""

    name: ClassVar[str] = "dp-ccbn"

    beta: float = option(0.3, low=0.01, high=0.99)
    degree: int | None = option(None, whole=True, low=0, high=16)
    cells: int = option(MODEL_CELLS, whole=True, low=1, high=10**8)

    def decide(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Decision:
        variables = binary_variables(schema)
        d = len(variables)
        count = count_cost(schema, whole)
        structure = (whole - count) * exact(self.beta)
        tables = whole - count - structure
        degree = self.degree
        if degree is None:
            degree = useful_degree(schema, d, rows, accounting, tables, THETA)
            while degree and _cells(d, degree) > CANDIDATE_CELLS:
                degree -= 1
        degree = min(degree, d - 1)
        if degree and _cells(d, degree) > 50 * CANDIDATE_CELLS:
            raise TooLarge(
                f"DP-CCBN of degree {degree} would measure {_cells(d, degree):,} cells of candidates, the limit is "
                f"{50 * CANDIDATE_CELLS:,}: ask for a lower degree, or use --method dp-subn"
            )
        if not degree:
            variables, structure, tables = whole_attributes(schema), Fraction(0), structure + tables
        return Decision(variables, degree, count, structure, tables)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n = planned_rows(schema, rows)
        accounting, whole = accounting_of(budget), total_cost(budget)
        decision = self.decide(schema, accounting, whole, n)
        d, k = len(decision.variables), decision.degree
        phases = []
        if decision.count_cost:
            scale = table_noise(schema, accounting, decision.count_cost).scale
            phases.append(Phase("row count", decision.count_cost, 1, 1, scale, detail="how many rows there are"))
        if k:
            what = "tables of all candidates, in d − 1 rounds"
            phases.append(Phase("candidates", decision.structure_cost, candidates(d, k), 2 ** (k + 1), detail=what))
        tables, cells = (d - k, 2 ** (k + 1)) if k else (d, max(map(schema.size, decision.variables)))
        what = "each variable with its parents"
        phases.append(tables_phase("tables", schema, accounting, decision.table_cost, tables, cells, n, what))
        memory, seconds = effort(schema, n, sum(p.tables for p in phases), sum(p.tables * p.cells for p in phases))
        return Plan(
            self.name, budget, accounting, n, self._settled(decision), k, tuple(phases), memory,
            seconds, self._notes(decision),
        )  # fmt: skip

    def _settled(self, decision: Decision) -> dict[str, Any]:
        return {"beta": self.beta if decision.degree else 0, "degree": decision.degree, "cells": self.cells}

    def _notes(self, decision: Decision) -> tuple[str, ...]:
        if not decision.degree and len(decision.variables) > 1:
            return ("no pair of variables would be useful at this budget: columns are published independently",)
        return ()

    def fit(self, table: PrivateTable) -> Fit:
        rows, count = row_count(table)
        decision = self.decide(table.schema, table.accounting, table.total_cost, rows)
        size = SizeLimit(table.schema, decision.variables, self.cells)
        pairs = self._structure(table, decision, size)
        measured = chosen_tables(table, pairs, decision.table_cost, size.fits)
        rows = pooled_rows(table.schema, [*count, *measured])
        model = model_of(table, pairs, measured, rows, size, self.cells)
        facts = {"options": self._settled(decision), "network": network_json(pairs)}
        return Fit(model, (*count, *measured), rows, facts, self._notes(decision))

    def _structure(self, table: PrivateTable, decision: Decision, size: SizeLimit) -> tuple[Pair, ...]:
        if not decision.degree:
            return tuple(Pair(axis) for axis in decision.variables)
        left = list(decision.variables)
        placed = [left.pop(table.public_random_index(len(left), "first attribute"))]
        pairs = [Pair(placed[0])]
        offer = FixedDegree(decision.degree)
        room = size if size.fits else SizeLimit(table.schema, decision.variables, 1 << 62)
        rounds = len(left)
        while left:
            table.progress("structure", len(pairs), rounds + 1)
            room.add(pairs[-1].axes)
            options = allowed(offer(placed, left), placed, left, room)
            asks = [pair.axes for pair in options]
            measured = table.measure(asks, decision.structure_cost / rounds, "candidates")
            pairs.append(options[int(np.argmax([mutual_information(found) for found in measured]))])
            placed.append(pairs[-1].child)
            left.remove(pairs[-1].child)
        return tuple(pairs)


def mutual_information(measured: Measurement) -> float:
    """Of the parents and the child, which is last, in nats: negative counts are zero, as in the paper."""
    joint = np.maximum(measured.values, 0).reshape(-1, measured.values.shape[-1]).astype(np.float64)
    if not joint.any():
        return 0.0
    joint /= joint.sum()
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    share = joint > 0
    return float((joint[share] * np.log(joint[share] / apart[share])).sum())


def _cells(variables: int, degree: int) -> int:
    return candidates(variables, degree) << (degree + 1)
