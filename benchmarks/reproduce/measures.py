"""The papers' measures of one trial: distances of α-way tables, and errors of SVMs trained on synthetic rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from rivals.mwem import all_tables
from understudy.evaluate.classification import Examples
from understudy.evaluate.classification import fit as trained
from understudy.evaluate.tables import TableSet, table_set
from understudy.evaluate.targets import Target
from understudy.privacy.custodian import ExactTable

MOST = 10_000  # tables: ACS has 8,855 4-way ones; more are sampled with the seed of `understudy.evaluate`
TABLES = re.compile(r"(tvd|l2)(\d+)(?:x(\d+))?$")  # tvd3: all 3-way tables; l2 of 200 random 6-way tables: l26x200


def tables_of(measure: str, real: ExactTable) -> tuple[str, TableSet]:
    """The distance and the tables that a measure's name asks for."""
    kind, alpha, most = TABLES.match(measure).groups()  # type: ignore[union-attr]
    return kind, table_set(real.schema, int(alpha), int(most or MOST))


def table_errors(real: ExactTable, made: Iterable[Any], tables: TableSet, kinds: Sequence[str]) -> dict[str, float]:
    """Means over the tables; `made` has the probabilities of each, in order."""
    n, found = real.rows(), dict.fromkeys(kinds, 0.0)
    for counts, guess in zip(real.marginals(tables.workload), made):
        gap = counts / n - guess
        if "tvd" in found:
            found["tvd"] += 0.5 * float(np.abs(gap).sum()) / len(tables.workload)
        if "l2" in found:
            found["l2"] += float(np.sqrt(np.square(gap).sum())) / len(tables.workload)
    return found


def of_rows(rows: ExactTable, tables: TableSet) -> Iterator[Any]:
    return (counts / rows.rows() for counts in rows.marginals(tables.workload))


def of_model(model: Any, tables: TableSet) -> Iterator[Any]:
    """Tables from a model that has no rows to draw."""
    return (model.project([axis.attribute for axis in axes]).table for axes in tables.workload)


def of_views(model: Any, tables: TableSet, rounds: int = 40) -> Iterator[Any]:
    """PriView's maximum-entropy tables, by the same proportional fitting as the rival's own but on flat arrays and with
    fewer rounds: views that were clipped do not agree, and from there on it only goes round in circles."""
    for axes in tables.workload:
        cells = np.indices((2,) * len(axes)).reshape(len(axes), -1)
        known = []
        for factor in model._known(frozenset(axes)):
            place = np.zeros(cells.shape[1], dtype=np.int64)
            for axis in factor.axes:
                place = place * 2 + cells[axes.index(axis)]
            known.append((place, factor.table.ravel()))
        table = np.full(cells.shape[1], 1 / cells.shape[1])
        for _ in range(rounds if len(known) > 1 else 1):
            for place, wanted in known:
                own = np.bincount(place, weights=table, minlength=len(wanted))
                table *= np.divide(wanted, own, out=np.zeros_like(own), where=own > 0)[place]
        yield table.reshape((2,) * len(axes)) / table.sum()


def of_joint(joint: Any, tables: TableSet) -> Iterator[Any]:
    """All tables of the whole domain at once; `tables` must be all of them."""
    assert tables.seed is None
    return all_tables(joint, tables.alpha)


def of_nothing(real: ExactTable, tables: TableSet) -> Iterator[Any]:
    """Uniform."""
    return (1 / real.schema.cells(axes) for axes in tables.workload)


def svm_error(learn: ExactTable, check: ExactTable, target: Target) -> float:
    """Trained on some rows, tested on real ones (C = 1, hinge loss, one-hot)."""
    test = Examples.of(check, target)
    return float((trained("svm", Examples.of(learn, target)).predict(test.one_hot) != test.label).mean())


def majority_error(check: ExactTable, target: Target, winner: int) -> float:
    return float((target.label(check.schema)[check.codes(target.attribute)] != winner).mean())
