"""Links of histories: which pairs of columns were measured in a first row, and which from a row to the next;
and what was measured of the root of tables with foreign keys."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from understudy.errors import UsageError
from understudy.inference.trust import FIRST_ROW, NEXT_ROW, Link, Trust
from understudy.privacy.measurement import Measurement
from understudy.relations.history_model import HistoryModel
from understudy.relations.linked_model import LinkedModel
from understudy.relations.panel import previous

if TYPE_CHECKING:
    from understudy.release.release import Release


def history_trust(model: HistoryModel, one: str, other: str) -> Trust:
    """Return which links of a pair of columns were measured; the table of all rows follows from them."""
    for name in (one, other):
        if name not in model.schema.names:
            raise UsageError(f"{name!r} is no modelled column of this release", attribute=name)
    if one == other:
        raise UsageError("a pair needs two different columns")
    return Trust(one, other, "inferred", None, tuple(_links(model, one, other)))


def history_sheet(model: HistoryModel, limit: int) -> tuple[Trust, ...]:
    """Return every pair of the first `limit` columns."""
    return tuple(history_trust(model, a, b) for a, b in combinations(model.schema.names[:limit], 2))


def own_links(model: HistoryModel) -> tuple[str, ...]:
    """Return the columns whose change was measured together with their own value in the row before."""
    found = set()
    for measured in model.measured[1]:
        names = {axis.attribute for axis in measured.axes}
        found |= {model.panel.about(t) for t in model.panel.changes if {t, previous(model.panel.about(t))} <= names}
    return tuple(name for name in model.schema.names if name in found)


def _links(model: HistoryModel, one: str, other: str) -> Iterable[Link]:
    people, steps = model.measured
    if any({one, other} <= {axis.attribute for axis in m.axes if not axis.merged} for m in people):
        yield FIRST_ROW
    if any({one, other} <= _columns(model, m) for m in steps):
        yield NEXT_ROW


def _columns(model: HistoryModel, measured: Measurement) -> set[str]:
    """Return the columns that a table of STEPS is about."""
    panel, names = model.panel, {axis.attribute for axis in measured.axes}
    varying = {name for name in panel.schema.names if previous(name) in names}
    return varying | {panel.about(name) if name in panel.changes else name for name in names}


def with_root_tables(release: Release) -> Release:
    """Return a release of tables with foreign keys with what was measured of the root, and any other as it is.

    Pairs are of the root's columns; the tables that hold them are kept with the model.
    """
    model = release.model
    if not isinstance(model, LinkedModel):
        return release
    return replace(release, measurements=model.measured[next(iter(model.tree.branches))])
