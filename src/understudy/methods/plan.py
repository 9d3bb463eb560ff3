"""A plan: what a method would spend, on what, and what error to expect. It reads no row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from understudy.privacy.accounting import Accounting
from understudy.privacy.budget import Budget, show
from understudy.privacy.measurement import table_noise
from understudy.schema import Schema
from understudy.schema.attribute import PUBLIC_BINS
from understudy.showing import html_of

if TYPE_CHECKING:
    from understudy.methods.expected_error import ExpectedError


def short_list(names: Sequence[str], shown: int = 8) -> str:
    """Return the first of these names, and how many more there are."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class Phase:
    """One phase of a method: its share of the budget, and what it buys."""

    name: str
    cost: Fraction
    tables: int = 0  # how many tables are measured, or choices made
    cells: int = 0  # of the largest of them
    scale: float = 0.0  # of the noise in one cell, in rows; 0 for a choice
    error: float | None = None  # expected total variation distance of the largest table, from noise alone
    detail: str = ""
    by_size: bool = False  # whether larger tables have a larger share of the cost; `scale` is then the largest one's
    groups: int = 0  # into how many groups values of large attributes are merged in these tables; 0 if they are not
    needed: float | None = None  # mean dependence of pairs from which on tables are bought; None if they are for sure


def tables_phase(
    name: str, schema: Schema, accounting: Accounting, cost: Fraction, tables: int, cells: int, rows: int, detail: str
) -> Phase:
    """Return the phase that measures so many tables of at most so many cells, with equal shares of the cost."""
    noise = table_noise(schema, accounting, cost / tables)
    error = min(1.0, cells * noise.mean_abs / (2 * rows)) if cells > 1 else None
    return Phase(name, cost, tables, cells, noise.scale, error, detail)


@dataclass(frozen=True, repr=False)
class Plan:
    """What a method would spend, on what, and what error to expect: everything that is decided before a row is read.

    Made by `understudy.plan`. `print(plan)` shows it as a page.

    Args:
        method: the name of the method.
        budget: the epsilon and delta of everything.
        accounting: in which unit phases cost: epsilon, mu squared or rho where there is a delta.
        rows: how many there are, or about how many where that is private.
        options: of the method, all of them.
        degree: how many parents an attribute has at most; None for methods without one.
        phases: what is bought in turn: its cost in that unit, how many tables of how many cells, `scale`, the noise in
            one cell in rows, and `error`, a total variation distance from 0 to 1.
        memory_mb: about how much memory it takes, in MB.
        seconds: about how much processor time it takes.
        notes: what a reader should know.
        foreseen: whether every table is known before a row is read.
        expected: the errors to expect of tables over one, two and three attributes.
        bins: how many a range whose bins are to be found is taken to have.

    >>> plan = understudy.plan(schema, epsilon=1)
    >>> plan.method, plan.rows
    ('aim', 2000)
    >>> print(plan.words(group=500, share=0.1))
    a 10% share of a group of 500 will look like ...
    """

    method: str
    budget: Budget
    accounting: Accounting
    rows: int
    options: dict[str, Any]
    degree: int | None
    phases: tuple[Phase, ...]
    memory_mb: float
    seconds: float
    notes: tuple[str, ...] = field(default=())
    foreseen: bool = False  # whether all tables that are chosen from are known beforehand, so that one pass counts them
    expected: ExpectedError | None = None  # errors of tables and shares, where they were worked out
    bins: int = PUBLIC_BINS  # of ranges whose bins are to be found, that this plan reckons with

    @property
    def cell_scale(self) -> float:
        """Return the noise scale of the tables, or the range counts, that the published rows come from."""
        return max((p.scale for p in self.phases if p.name.split(": ")[-1] in ("tables", "coefficients")), default=0.0)

    @property
    def scans(self) -> int:
        """Return how often rows are read at most, on an engine that counts by SQL: one to code and check them, one for
        each choice, one for the tables that are measured."""
        return 2 + sum(p.tables for p in self.phases if not p.scale)

    @property
    def usual_scans(self) -> int | None:
        """Return how often rows are read where one statement has room for all tables; None where choices decide it."""
        return 2 + any(p.name == "bins" for p in self.phases) if self.foreseen else None

    def words(self, group: int = 500, share: float = 0.1) -> str:
        """Return in words what a `share` (0 to 1) of a `group` of so many people will look like, 19 times in 20."""
        half = self.cell_scale * self.accounting.noise.middle_95 / group
        points = 100 * (half if self.expected is None else self.expected.share(group, share))
        low, high = max(0.0, 100 * share - points), min(100.0, 100 * share + points)
        text = f"a {share:.0%} share of a group of {group} will look like {low:.1f} % to {high:.1f} % (19 times in 20)"
        if self.expected is not None:
            typical = 100 * self.expected.typical_share_error(group, share)
            text += f", and half of such shares are off by less than {typical:.1f} points"
        return text + (", so it is lost in the noise" if points >= 100 * share else "")

    def as_json(self) -> dict[str, Any]:
        """Return the object that `plan --json` prints."""
        unit = self.accounting.unit
        return {
            "method": self.method,
            "epsilon": float(self.budget.epsilon),
            "delta": float(self.budget.delta),
            "rows": self.rows,
            "unit": unit,
            "options": self.options,
            "degree": self.degree,
            "phases": [
                {
                    "phase": p.name,
                    "cost": float(p.cost),
                    "tables": p.tables,
                    "cells": p.cells,
                    "scale": p.scale,
                    "expected_tvd": p.error,
                    "detail": p.detail,
                }
                for p in self.phases
            ],
            "scans": self.scans,
            "memory_mb": round(self.memory_mb, 1),
            "seconds": round(self.seconds, 1),
            "words": self.words(),
            "notes": list(self.notes),
            **({} if self.expected is None else {"expected": self.expected.as_json()}),
        }

    def text(self) -> str:
        """Return the plan as a page for a terminal."""
        unit = self.accounting.unit
        lines = [f"{self.method} at {self.budget}, {self.rows:,} rows", ""]
        width = max([12, *(len(p.name) + 1 for p in self.phases)])
        lines.append(f"  {'phase':<{width}}{unit:>10}{'tables':>9}{'cells up to':>13}{'noise':>10}{'expected TVD':>14}")
        for p in self.phases:
            scale = f"{p.scale:,.1f}" if p.scale else "–"
            error = f"{p.error:.3f}" if p.error is not None else "–"
            figures = f"{show(p.cost):>10}{p.tables:>9,}{p.cells or '–':>13}{scale:>10}{error:>14}"
            lines.append(f"  {p.name:<{width}}{figures}  {p.detail}")
        lines.append("")
        if "degree" in self.options:
            degree = "as many parents as stay useful" if self.degree is None else str(self.degree)
            lines.append(f"  degree: {degree}")
        lines += [f"  about {self.memory_mb:,.0f} MB and {self.seconds:,.1f} s"]
        lines += [] if self.expected is None else [f"  {self.expected.text()}"]
        lines += [f"  In words: {self.words()}."]
        return "\n".join(lines + [f"  Note: {note}" for note in self.notes])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Plan: {self.method} at {self.budget} for {self.rows:,} rows; print it>"

    def _repr_html_(self) -> str:
        return html_of(self)
