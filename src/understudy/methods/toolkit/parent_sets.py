"""Maximal parent sets (Zhang et al. 2017, Algorithms 5 and 6): the largest sets under a size limit."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.schema import Axes, Axis, Schema

ParentSets = tuple[Axes, ...]


def maximal_parent_sets(
    placed: Sequence[str], limit: int, schema: Schema, generalised: bool, most: int | None = None
) -> ParentSets:
    """Return all maximal sets over `placed` with at most `limit` cells: Algorithm 6 with taxonomies, else 5.

    `most` caps the number of parents. Sizes are whole numbers, so a limit may be rounded down at every step, which
    makes the recursion's subproblems coincide; each is solved once.
    """
    views = [[Axis(name, level) for level in range(schema[name].levels if generalised else 1)] for name in placed]
    known: dict[tuple[int, int, int], ParentSets] = {}

    def solve(i: int, tau: int, room: int) -> ParentSets:
        if tau < 1:
            return ()
        if i == len(views) or room == 0:
            return ((),)
        key = (i, tau, room)
        if key not in known:
            known[key] = _merge(i, tau, room)
        return known[key]

    def _merge(i: int, tau: int, room: int) -> ParentSets:
        found: list[Axes] = []
        used: set[Axes] = set()
        for axis in views[i]:
            for rest in solve(i + 1, tau // schema.size(axis), room - 1):
                if rest not in used:
                    used.add(rest)
                    found.append((axis, *rest))
        found += [rest for rest in solve(i + 1, tau, room) if rest not in used]
        return tuple(found)

    return solve(0, limit, len(views) if most is None else most)
