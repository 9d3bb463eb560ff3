"""The tables that a schema's uses name: those that are measured without a choice, and those that a target's rounds
choose from. All of it follows from the schema, the budget and the number of rows, so nothing here reads a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from understudy.methods.toolkit.uses import check_uses
from understudy.models.graph import Graph
from understudy.models.structural_zeros import rule_cliques
from understudy.schema import Axes, Axis, Schema

NAMED_PRICE = 3  # times the price of a round, for a table that an analysis names
NAMED_SHARE = Fraction(1, 2)  # of what rounds cost, at most, for all of those
OFFERED_SHARE = Fraction(1, 5)  # of what rounds cost, at most, for rounds of their own
ALONE_SHARE = Fraction(1, 2)  # of what there is for tables, at most, for them where there are no other rounds
MAX_NAMED_ERROR = 0.04  # expected total variation distance from noise of a table that is measured without a choice
MAX_OFFERED_ERROR = 0.2  # and of one that is offered; the expected noise counts against it then


@dataclass(frozen=True)
class NamedTables:
    """What uses ask for."""

    measured: tuple[Axes, ...] = ()  # without a choice
    offered: tuple[Axes, ...] = ()  # in rounds of their own

    @property
    def rounds(self) -> int:
        """Return how many rounds the offered tables ask for: one for each pair that is in any of them."""
        return len({frozenset(pair) for axes in self.offered for pair in combinations(axes, 2)})


def named_tables(schema: Schema, limit: int, error: Callable[[int, int], float]) -> NamedTables:
    """Return the tables of the uses that keep the model below `limit` cells.

    `error` is the expected total variation distance of a table of so many cells at so many times the price of a round.
    """
    place = {a.name: i for i, a in enumerate(schema.modelled)}
    check_uses(schema)

    def axes_of(names: Iterable[str]) -> Axes:
        return tuple(Axis(name) for name in sorted((n for n in names if n in place), key=place.__getitem__))

    def may_be_offered(axes: Axes) -> bool:
        return schema.cells(axes) <= limit // 4 and error(schema.cells(axes), 1) <= MAX_OFFERED_ERROR

    wanted: list[Axes] = []
    offered: list[Axes] = []
    for use in schema.uses:
        if use.target in place:
            others = axes_of(set(use.names or place) - {use.target})
            offered += [pair for other in others if may_be_offered(pair := (other, Axis(use.target)))]
        elif not use.target and len(axes := axes_of(use.names)) > 1:
            if schema.cells(axes) <= limit // 4 and error(schema.cells(axes), NAMED_PRICE) <= MAX_NAMED_ERROR:
                wanted.append(axes)
            else:
                parts = (part for width in range(len(axes), 1, -1) for part in combinations(axes, width))
                offered += filter(may_be_offered, parts)
    return NamedTables(_fitting(schema, _widest(wanted), limit), tuple(dict.fromkeys(offered)))


def _widest(tables: Sequence[Axes]) -> list[Axes]:
    """Return the tables that are in no other one."""
    sets = [frozenset(axes) for axes in tables]
    return list(dict.fromkeys(axes for axes, own in zip(tables, sets) if not any(own < other for other in sets)))


def _fitting(schema: Schema, tables: Sequence[Axes], limit: int) -> tuple[Axes, ...]:
    """Return the tables that the model has room for, smaller ones first."""
    variables = [Axis(a.name) for a in schema.modelled]
    graph = Graph.of(rule_cliques(schema, variables), {axis: schema.size(axis) for axis in variables})
    kept = []
    for axes in sorted(tables, key=schema.cells):
        larger = graph.add(axes)
        if larger.triangulated_cells(limit) <= limit:
            graph = larger
            kept.append(axes)
    return tuple(kept)


def uses_note(named: NamedTables) -> str:
    """Say what the uses of the schema come to."""
    if not named.measured and not named.offered:
        return "the tables that uses name would be mostly noise at this budget: nothing is bought for them"
    parts = []
    if named.measured:
        parts.append(", ".join(" × ".join(axis.attribute for axis in axes) for axes in named.measured[:5]))
        parts[-1] += f" and {len(named.measured) - 5} more" if len(named.measured) > 5 else ""
    if named.offered:
        names = dict.fromkeys(axis.attribute for axes in named.offered for axis in reversed(axes))
        shown = ", ".join(list(names)[:5]) + (" …" if len(names) > 5 else "")
        parts.append(f"{named.rounds} rounds of their own, at most, for tables of {shown}")
    return f"bought first, for the uses of the schema: {'; '.join(parts)}"
