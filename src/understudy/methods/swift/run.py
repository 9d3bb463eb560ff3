"""One run of SWIFT: the columns, the scores of all pairs at once, then tables in a few batches, a fit after each."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.methods.method import Fit
from understudy.methods.swift.candidates import candidates
from understudy.methods.swift.dependence import Columns, bought_dependence, modelled_dependence, typical_noise
from understudy.methods.swift.growth import Growth
from understudy.methods.swift.method import BLIND_NOTE
from understudy.methods.toolkit.adaptive_rounds import AdaptiveRounds
from understudy.methods.toolkit.budget_split import shares_by_size, weight
from understudy.methods.toolkit.distance_rounds import play_wider
from understudy.methods.toolkit.merged_groups import merged_groups, merged_notes
from understudy.methods.toolkit.row_count import row_count
from understudy.models.graph import Graph
from understudy.models.row_total import pooled_rows
from understudy.models.structural_zeros import rule_cliques
from understudy.privacy.measurement import Measurement
from understudy.privacy.table import PrivateTable
from understudy.schema import Axes, Axis, Floats
from understudy.schema.axis import MERGED

if TYPE_CHECKING:
    from understudy.methods.swift.method import Swift
    from understudy.models.junction_tree import JunctionTree

ROUGHLY = 1e-2  # how well a model fits its tables while more are to come
SETTLES = 3  # times that the share of columns and the tables that they leave room for are worked out in turn
MOST_AGAIN = Fraction(19, 20)  # of what tables cost, for columns once more


class SwiftRun:
    """The state of one run: the tables bought so far, and what is known of the dependence of all others."""

    def __init__(self, method: Swift, table: PrivateTable) -> None:
        self.method, self.table = method, table
        self.rows, self.row_counts = row_count(table)
        self.split = method.split(table.schema, table.accounting, table.total_cost, self.rows)
        self.measured: list[Measurement] = []
        self.chosen: list[Axes] = []
        if self.split.sighted:
            table.foresee([*self.split.candidates, *self.split.wider])

    def fit(self) -> Fit:
        """Spend the whole budget; return the model of all that was bought."""
        self._measure_columns()
        if self.split.sighted:
            self._merge()
            self._score()
            if left := self._measure_tables() + self._look_wider():
                self._measure_again(left)
        return self._fitted()

    # -- columns and scores -------------------------------------------------------------------------------------

    def _measure_columns(self) -> None:
        """Measure each attribute alone, but for those that are known already."""
        split = self.split
        known = [m for m in self.table.known if m.axes[0] in split.variables] if split.sighted else []
        asked = [(axis,) for axis in split.variables if axis not in {m.axes[0] for m in known}]
        self.measured += known
        self.left = split.tables + split.columns * len(known) / len(split.variables)
        if asked:
            fresh = split.columns * len(asked) / len(split.variables)
            self.measured += self.table.measure(asked, fresh, "one-way", self._shares(asked))

    def _merge(self) -> None:
        """Put rare values of large attributes into groups that a table of a pair bears."""
        groups = merged_groups(self.table.schema, self.measured, self._pooled, self.split.pair_noise)
        if groups:
            self.table = self.table.viewed(groups)

    def _score(self) -> None:
        """Buy how far each candidate is from the product of its columns."""
        schema, accounting = self.table.schema, self.table.accounting
        weights = candidates(schema, self.split.max_table)
        columns = self._columns()
        self.tables, self.weights = list(weights), np.array(list(weights.values()), dtype=np.float64)
        self.table.progress("structure", 0, 1)
        references = [columns.reference(axes) for axes in self.tables]
        distances = self.table.measure_distances(self.tables, references, self.split.scores, "structure")
        self.seen = bought_dependence(distances, columns, self.tables)
        self.explained = np.zeros(len(self.tables))
        self.prices = [weight(own * schema.cells(axes), accounting) for axes, own in weights.items()]
        self.growth = Growth(
            self.tables, np.array(self.prices) / 1000, self.method.cells, self.method.kappa, accounting.power
        )
        variables = self.split.variables
        merged = [Axis(axis.attribute, MERGED) for axis in variables if schema[axis.attribute].groups]
        sizes = {axis: schema.size(axis) for axis in (*variables, *merged)}
        self.graph = Graph.of(rule_cliques(schema, list(variables)), sizes)

    def _columns(self) -> Columns:
        """Return the shares of every column by the model of the columns alone, and of its groups."""
        schema, tree = self.table.schema, self._model()
        shares: dict[Axis, Floats] = {}
        noise: dict[Axis, float] = {}
        for m in self.measured:
            axis = m.axes[0]
            shares[axis], noise[axis] = tree.project((axis,)).table, m.noise.mean_abs
            if schema[axis.attribute].groups:
                group, size = Axis(axis.attribute, MERGED), schema.size(axis)
                merged = np.bincount(schema.view_map(group), shares[axis], schema.size(group))
                shares[group] = merged.astype(np.float64, copy=False)
                noise[group] = typical_noise(size, schema.size(group), noise[axis])
        return Columns(shares, noise, self._pooled)

    # -- tables -------------------------------------------------------------------------------------------------

    def _measure_tables(self) -> Fraction:
        """Measure what is worth its noise, batch by batch; return what is left."""
        again = self._for_columns()
        left, fits = self.left - again, self.method.fits
        for turn in range(fits):
            self.table.progress("tables", turn, fits)
            gains, noise = self._gains(), self._noise(left)
            planned = self.growth.grown(gains, noise, self.graph)
            batch = planned if turn == fits - 1 else self._batch(turn, gains, noise, len(planned.chosen))
            if not planned.chosen:
                break
            if not batch.chosen:
                continue
            own, all_of_it = (sum(self.prices[i] for i in chosen) for chosen in (batch.chosen, planned.chosen))
            later = max(0, len(planned.chosen) - len(batch.chosen)) * all_of_it // len(planned.chosen)
            cost = left if turn == fits - 1 else left * Fraction(own, own + later)
            self.graph = batch.graph
            self._measure(batch.chosen, cost)
            left -= cost
            if not left:
                break
            self._explain()
        return left + again

    def _look_wider(self) -> Fraction:
        """Choose among tables of three and four attributes, for what no pair shows; return what is left."""
        schema, split = self.table.schema, self.split
        if not split.wider:
            return Fraction(0)
        rounds = AdaptiveRounds(
            self.table, split.variables, self.measured, self.method.cells,
            lambda seen: pooled_rows(schema, [*self.row_counts, *seen]), ROUGHLY,
        )  # fmt: skip
        rounds.chosen = self.chosen
        return play_wider(rounds, split.wider, split.looks, split.wider_price, self.method.kappa)

    def _batch(self, turn: int, gains: Floats, noise: float, planned: int) -> Any:
        """Return the next tables: first those that make no cycle, then an even part of what is planned. The model may
        have a part of its cells so far, so that what comes later finds room."""
        if turn == 0:
            return self.growth.forest(gains, noise, self.graph)
        fits = self.method.fits
        found = self.growth.within((turn + 1) / fits).grown(gains, noise, self.graph)
        return self.growth.first(found, math.ceil(planned / (fits - turn)), self.graph)

    def _for_columns(self) -> Fraction:
        """Return what buys the columns once more, beside the tables that are worth their noise; nothing where epsilons
        add up, since two tables at half the price are worse than one."""
        again, columns = Fraction(0), self.split.column_prices()
        for _ in range(SETTLES if self.table.accounting.power > 1 else 0):
            chosen = self.growth.grown(self._gains(), self._noise(self.left - again), self.graph).chosen
            share = Fraction(columns, columns + sum(self.prices[i] for i in chosen))
            wanted = share * (self.left + self.split.columns) - self.split.columns
            again = min(max(Fraction(0), wanted), self.left * MOST_AGAIN)
        return again

    def _gains(self) -> Floats:
        """Return what each table would teach: what the model does not explain of its dependence."""
        measured = set(self.chosen)
        unmeasured = np.array([axes not in measured for axes in self.tables])
        return np.asarray(self.weights * np.abs(self.seen - self.explained) * unmeasured)

    def _noise(self, cost: Fraction) -> float:
        return self.split.noise(cost) / 2  # a row in the wrong cell is one of two in an L1 distance

    def _measure(self, chosen: tuple[int, ...], cost: Fraction) -> None:
        tables, total = [self.tables[i] for i in chosen], sum(self.prices[i] for i in chosen)
        shares = [Fraction(self.prices[i], total) for i in chosen]
        self.measured += self.table.measure(tables, cost, "tables", shares)
        self.chosen += tables

    def _measure_again(self, cost: Fraction) -> None:
        """Measure each attribute alone once more."""
        one_way: list[Axes] = [(axis,) for axis in self.split.variables]
        self.measured += self.table.measure(one_way, cost, "tables", self._shares(one_way))

    def _explain(self) -> None:
        """Fit all that was measured, and note how dependent each candidate is by that model."""
        from understudy.models.pair_marginals import pair_marginals

        found = pair_marginals(self._model(), self.tables)
        self.explained = modelled_dependence([found[axes] for axes in self.tables], self._pooled)

    # -- the model ----------------------------------------------------------------------------------------------

    def _model(self) -> JunctionTree:
        from understudy.models.estimation import fitted

        limit = 2 * self.method.cells
        return fitted(self.measured, self.table.schema, self._pooled, limit=limit, tolerance=ROUGHLY).tree

    @property
    def _pooled(self) -> int:
        """Return the row count by all that was measured."""
        return pooled_rows(self.table.schema, [*self.row_counts, *self.measured])

    def _shares(self, tables: list[Any]) -> list[Fraction]:
        return shares_by_size(self.table.schema, tables, self.table.accounting)

    def _fitted(self) -> Fit:
        from understudy.models.refit import Design, refit

        schema, bought = self.table.schema, [*self.row_counts, *self.measured]
        self.table.progress("estimation", 0, 1)
        refitted = refit(bought, Design(schema, 2 * self.method.cells))
        names = [[axis.attribute for axis in axes] for axes in self.chosen]
        facts: dict[str, Any] = {"options": self.method.settled(self.split), "tables": names}
        alone = not self.chosen and len(self.split.variables) > 1
        notes = (*([BLIND_NOTE] if alone else []), *merged_notes(schema, self.measured))
        return Fit(refitted.model, tuple(bought), refitted.rows, facts, notes)
