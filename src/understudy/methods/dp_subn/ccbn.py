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
from understudy.methods.dp_subn import binary
from understudy.methods.dp_subn.gathered import shared_information
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan
from understudy.methods.toolkit.estimator import estimated, network_json
from understudy.methods.toolkit.greedy_network import GrowingNetwork, allowed
from understudy.methods.toolkit.parent_candidates import FixedDegree
from understudy.methods.toolkit.row_count import count_cost, row_count
from understudy.methods.toolkit.size_limit import SizeLimit
from understudy.methods.toolkit.terms import Terms
from understudy.methods.toolkit.usefulness import useful_degree
from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import Measurement
from understudy.privacy.scores import Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Schema

CANDIDATE_CELLS = 1_000_000  # of all rounds together, unless a degree is asked for


@dataclass(frozen=True)
class CCBNDecision:
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
    cells: int = option(binary.MODEL_CELLS, whole=True, low=1, high=10**8)

    def decide(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> CCBNDecision:
        variables = binary.binary_variables(schema)
        d = len(variables)
        count = count_cost(schema, whole)
        structure = (whole - count) * exact(self.beta)
        tables = whole - count - structure
        degree = self.degree
        if degree is None:
            degree = useful_degree(schema, d, rows, accounting, tables, binary.THETA)
            while degree and _cells(d, degree) > CANDIDATE_CELLS:
                degree -= 1
        degree = min(degree, d - 1)
        if degree and _cells(d, degree) > 50 * CANDIDATE_CELLS:
            raise TooLarge(
                f"DP-CCBN of degree {degree} would measure {_cells(d, degree):,} cells of candidates, the limit is "
                f"{50 * CANDIDATE_CELLS:,}: ask for a lower degree, or use --method dp-subn"
            )
        if not degree:
            variables, structure, tables = binary.whole_attributes(schema), Fraction(0), structure + tables
        return CCBNDecision(variables, degree, count, structure, tables)

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        terms = Terms.of(schema, budget, rows)
        decision = self.decide(schema, terms.accounting, terms.total_cost, terms.rows)
        d, k = len(decision.variables), decision.degree
        what, many = "tables of all candidates, in d − 1 rounds", binary.candidates(d, k)
        tables, cells = (d - k, 2 ** (k + 1)) if k else (d, max(map(schema.size, decision.variables)))
        phases = [
            *terms.row_count(decision.count_cost),
            *([Phase("candidates", decision.structure_cost, many, 2 ** (k + 1), detail=what)] if k else []),
            *terms.tables("tables", decision.table_cost, tables, cells, "each variable with its parents"),
        ]
        cells = sum(p.tables * p.cells for p in phases)
        seconds, megabytes = binary.effort(terms.rows, sum(p.tables for p in phases), cells)
        return terms.plan(self.name, self._settled(decision), phases, seconds, megabytes, k, self._notes(decision))

    def _settled(self, decision: CCBNDecision) -> dict[str, Any]:
        return {"beta": self.beta if decision.degree else 0, "degree": decision.degree, "cells": self.cells}

    def _notes(self, decision: CCBNDecision) -> tuple[str, ...]:
        if not decision.degree and len(decision.variables) > 1:
            return ("no pair of variables would be useful at this budget: columns are published independently",)
        return ()

    def fit(self, table: PrivateTable) -> Fit:
        rows, count = row_count(table)
        decision = self.decide(table.schema, table.accounting, table.total_cost, rows)
        size = SizeLimit(table.schema, decision.variables, self.cells)
        pairs = self._structure(table, decision, size)
        measured = binary.chosen_tables(table, pairs, decision.table_cost, size.fits)
        found = estimated(table, binary.estimator_of(pairs, size, self.cells), [*count, *measured])
        facts = {"options": self._settled(decision), "network": network_json(pairs)}
        return Fit(found.model, (*count, *measured), found.rows, facts, self._notes(decision))

    def _structure(self, table: PrivateTable, decision: CCBNDecision, size: SizeLimit) -> tuple[Pair, ...]:
        if not decision.degree:
            return tuple(Pair(axis) for axis in decision.variables)
        found = GrowingNetwork(table, decision.variables)
        offer = FixedDegree(decision.degree)
        room = size if size.fits else SizeLimit(table.schema, decision.variables, 1 << 62)
        while found.left:
            table.progress("structure", len(found.pairs), found.rounds + 1)
            room.add(found.pairs[-1].axes)
            options = allowed(offer(found.placed, found.left), found.placed, found.left, room)
            workload = [pair.axes for pair in options]
            measured = table.measure(workload, decision.structure_cost / found.rounds, "candidates")
            found.add(options[int(np.argmax([mutual_information(counts) for counts in measured]))])
        return tuple(found.pairs)


def mutual_information(measured: Measurement) -> float:
    """Return the mutual information of the parents and the child (last), in nats.

    Negative counts are zero (the paper).
    """
    joint = np.maximum(measured.values, 0).reshape(-1, measured.values.shape[-1]).astype(np.float64)
    return shared_information(joint) if joint.any() else 0.0


def _cells(variables: int, degree: int) -> int:
    return binary.candidates(variables, degree) << (degree + 1)
