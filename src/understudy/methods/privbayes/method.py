"""PrivBayes as a method: public decisions first, then structure, then tables, then a network."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from understudy.errors import UsageError
from understudy.methods.method import Fit, option
from understudy.methods.plan import Phase, Plan
from understudy.methods.privbayes.conditionals import measured_pairs, noisy_tables, paper_conditionals
from understudy.methods.privbayes.structure import Candidates, FixedDegree, MaximalSets, any_parents, greedy_bayes
from understudy.methods.privbayes.usefulness import cell_noise, useful_cells, useful_degree
from understudy.models.bayesian_network import BayesianNetwork, without_unused_codes
from understudy.privacy.accountant import Accounting, accounting_of, purse
from understudy.privacy.budget import Budget, exact
from understudy.privacy.measurement import expected_noise
from understudy.privacy.mechanisms import noise_of
from understudy.privacy.scores import Pair, refusal
from understudy.privacy.table import PrivateTable, table_scale
from understudy.schema import Axes, Axis, Schema

COUNT_SHARE = Fraction(1, 100)  # of the budget, for a noisy row count under add-remove neighbours
# F beats R while n·ε1/(d−1) is below this (docs/decisions/0004-score-rule.md)
F_BELOW = 100.0


@dataclass(frozen=True)
class Decision:
    """All that follows from public facts: the variables, the size rule, the score and the split of the budget."""

    variables: Axes
    fixed: bool  # binary variables, one degree for all (Algorithms 1 and 2); else maximal parent sets (3 to 6)
    generalised: bool
    degree: int | None
    cells: int  # the most cells of a useful table
    score: str
    count_cost: Fraction
    structure_cost: Fraction
    table_cost: Fraction

    @property
    def tables(self) -> int:
        d = len(self.variables)
        return d - (self.degree or 0) if self.fixed else d

    def candidates(self, schema: Schema) -> Candidates:
        if self.fixed:
            assert self.degree is not None
            return FixedDegree(self.degree)
        return MaximalSets(schema, self.cells, self.generalised, self.degree)


@dataclass(frozen=True)
class PrivBayes:
    """The options of PrivBayes; the defaults are the paper's."""

    name: ClassVar[str] = "privbayes"

    score: str = option("auto", choices=("auto", "I", "F", "R"))
    encoding: str = option("auto", choices=("auto", "binary", "gray", "vanilla", "hierarchical"))
    theta: float = option(4.0, low=0.01, high=1e6)
    beta: float = option(0.3, low=0.01, high=0.99)
    degree: int | None = option(None, whole=True, low=0, high=64)
    estimate: str = option("paper", choices=("paper",))

    # -- decisions from public facts -------------------------------------------------------------------------

    def decide(self, schema: Schema, accounting: Accounting, whole: Fraction, rows: int) -> Decision:
        """The purse is `whole`; the split, the degree and the score follow from it and from the schema."""
        encoding = self._encoding(schema)
        variables = _variables(schema, encoding)
        count_cost = whole * COUNT_SHARE if schema.neighbours == "add-remove" else Fraction(0)
        structure = (whole - count_cost) * exact(self.beta)
        tables = whole - count_cost - structure
        d = len(variables)
        fixed = all(schema.size(axis) <= 2 for axis in variables)
        decision = Decision(variables, fixed, encoding == "hierarchical", None, 0, "R", count_cost, structure, tables)
        if fixed:
            free = useful_degree(schema, d, rows, accounting, tables, self.theta)
            degree = min(d - 1, free if self.degree is None else self.degree)
            decision = replace(decision, degree=degree, cells=2 ** (degree + 1))
            alone = degree == 0
        else:
            cells = useful_cells(rows, cell_noise(schema, accounting, tables, d), self.theta)
            decision = replace(decision, degree=self.degree, cells=cells)
            alone = self.degree == 0 or not any_parents(schema, cells, decision.generalised)
        if alone or d == 1:  # nothing to choose: the whole budget goes to the tables (beta resets to 0)
            decision = replace(decision, degree=0, structure_cost=Fraction(0), table_cost=tables + structure)
        score = self._score(schema, decision, accounting, rows)
        return replace(decision, score=score)

    def _encoding(self, schema: Schema) -> str:
        if self.encoding != "auto":
            return self.encoding
        return "vanilla" if schema.binary else "hierarchical"

    def _score(self, schema: Schema, decision: Decision, accounting: Accounting, rows: int) -> str:
        rounds = max(1, len(decision.variables) - 1)
        if self.score == "auto":
            if not decision.fixed or not decision.structure_cost:
                return "R"
            each = float(decision.structure_cost) / rounds
            epsilon = each if accounting == "pure" else math.sqrt(8 * each)
            return "F" if rows * epsilon < F_BELOW else "R"
        for axis in decision.variables:
            if (reason := refusal(self.score, Pair(axis), schema)) is not None:
                raise UsageError(reason)
        return self.score

    # -- plan ------------------------------------------------------------------------------------------------

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        n = schema.rows if schema.rows is not None else rows
        if n is None:
            raise UsageError("under add-remove neighbours the row count is private: say roughly how many with --rows N")
        accounting, whole = accounting_of(budget), purse(budget)
        decision = self.decide(schema, accounting, whole, n)
        noise = noise_of(accounting)
        phases = []
        if decision.count_cost:
            scale = table_scale(schema, accounting, decision.count_cost)
            phases.append(Phase("row count", decision.count_cost, 1, 1, scale, detail="how many rows there are"))
        d = len(decision.variables)
        if decision.structure_cost:
            detail = f"{d - 1} choices by score {decision.score}"
            phases.append(Phase("structure", decision.structure_cost, d - 1, detail=detail))
        cells = self._largest(schema, decision)
        scale = table_scale(schema, accounting, decision.table_cost / decision.tables)
        error = min(1.0, cells * expected_noise(noise, scale) / (2 * n))
        phases.append(Phase("tables", decision.table_cost, decision.tables, cells, scale, error, "noisy counts"))
        seconds, memory = _effort(schema, decision, n)
        return Plan(
            self.name, budget, accounting, n, self.settled(schema, decision), decision.degree, tuple(phases), noise,
            memory, seconds, _warnings(schema, decision, cells),
        )  # fmt: skip

    def _largest(self, schema: Schema, decision: Decision) -> int:
        sizes = sorted((schema.size(axis) for axis in decision.variables), reverse=True)
        if decision.fixed:
            return 2 ** ((decision.degree or 0) + 1)
        if decision.degree == 0:
            return sizes[0]
        cap: int = math.prod(sizes if decision.degree is None else sizes[: decision.degree + 1])
        return int(max(sizes[0], min(decision.cells, cap)))

    def settled(self, schema: Schema, decision: Decision) -> dict[str, Any]:
        """The options with every `auto` replaced by what it came to."""
        return {
            "score": decision.score,
            "encoding": self._encoding(schema),
            "theta": self.theta,
            "beta": self.beta if decision.structure_cost else 0,
            "degree": decision.degree,
            "estimate": self.estimate,
        }

    # -- fit -------------------------------------------------------------------------------------------------

    def fit(self, table: PrivateTable) -> Fit:
        schema = table.schema
        rows, count = self._rows(table)
        decision = self.decide(schema, table.accounting, table.purse, rows)
        pairs = self._structure(table, decision)
        table.progress("tables", 0, 1)
        measured = measured_pairs(pairs, decision.degree or 0) if decision.fixed else pairs
        measurements = noisy_tables(table, measured, decision.table_cost)
        network = without_unused_codes(BayesianNetwork(schema, paper_conditionals(pairs, measurements)))
        facts = {"options": self.settled(schema, decision), "network": [_pair_json(pair) for pair in pairs]}
        notes = _warnings(schema, decision, self._largest(schema, decision))
        return Fit(network, (*count, *measurements), rows, facts, notes)

    def _rows(self, table: PrivateTable) -> tuple[int, list[Any]]:
        """The row count: declared, or bought."""
        if table.schema.rows is not None:
            return table.schema.rows, []
        count = table.measure([()], table.purse * COUNT_SHARE, "row count")
        return max(1, int(count[0].values)), count

    def _structure(self, table: PrivateTable, decision: Decision) -> tuple[Pair, ...]:
        if not decision.structure_cost:
            return tuple(Pair(axis) for axis in decision.variables)
        candidates = decision.candidates(table.schema)
        return greedy_bayes(table, decision.variables, candidates, decision.score, decision.structure_cost)


def _variables(schema: Schema, encoding: str) -> Axes:
    """The attributes themselves, or their bits."""
    if encoding in ("vanilla", "hierarchical"):
        return tuple(Axis(a.name) for a in schema.modelled)
    gray = encoding == "gray"
    return tuple(Axis(a.name, bit=i, gray=gray) for a in schema.modelled for i in range(a.bits))


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {"attribute": str(pair.child), "parents": [str(p) for p in pair.parents]}


def _warnings(schema: Schema, decision: Decision, cells: int) -> tuple[str, ...]:
    notes = []
    if decision.degree == 0 and len(decision.variables) > 1:
        notes.append(
            "the budget is too small for any pair of attributes to be useful: columns are published independently"
        )
    if not decision.fixed and cells > max(1, decision.cells):
        largest = max(schema.modelled, key=lambda a: a.size)
        notes.append(
            f"{largest.name} alone has {largest.size:,} values, more than this budget can measure well: "
            "use fewer bins, a coarser list of values, or a larger epsilon"
        )
    return tuple(notes)


def _effort(schema: Schema, decision: Decision, rows: int) -> tuple[float, float]:
    """Seconds and megabytes, roughly, from public sizes: reading and coding, counting candidates, drawing noise."""
    d = len(decision.variables)
    k = decision.degree if decision.degree is not None else 2
    tables = math.comb(d, min(d, k + 1)) if decision.structure_cost else d
    cells = decision.tables * min(decision.cells or 1, 10**7)
    read = rows * len(schema.modelled) * 4e-8
    seconds = 0.5 + read + tables * (rows * 3e-9 * (k + 1) + 3e-5) + cells * 1.2e-5
    memory = 150 + rows * len(schema.modelled) * 30 / 1e6 + min(tables * 2 ** (k + 1) * 8 / 1e6, 256)
    return seconds, memory
