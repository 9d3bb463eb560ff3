"""Per-table synthesis with relinking: every table by itself, then its rows dealt out to synthetic parents at random.

The rival of tables with foreign keys. Each table is published with `rows_per_person` as many rows as one row of the
root can have in it, so that both protect the same unit; the budget is split by the numbers of columns. Keys fit, and
nothing is known of who belongs to whom: a row's parent is drawn with equal chances.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.relations.linking import CodedRows
from understudy.relations.table_tree import TableTree
from understudy.schema import Schema


def relinked(data: dict[str, Any], schema: Schema, budget: Budget, folder: Path) -> dict[str, CodedRows]:
    """Return the rival's tables in codes of the tree's schemas."""
    tree, generator = TableTree.of(schema), np.random.default_rng()
    columns = {name: len(branch.schema.names) for name, branch in tree.branches.items()}
    found: dict[str, CodedRows] = {}
    for name, branch in tree.branches.items():
        alone = replace(
            branch.schema, tables=(), file=None, rows_per_person=branch.derived.rows_per_person, account=name, text=None
        )
        share = budget.shared(Fraction(columns[name], sum(columns.values())))
        made = run(data[name], alone, share, "auto", {}, ledger=folder / f"{name}.db", cap="none", register=False,
                   types="declared", quiet=True)  # fmt: skip
        codes = made.release.sample_codes(None, None, generator)
        rows = len(next(iter(codes.values())))
        above = None if branch.child is None else found[branch.child.parent].rows
        parent = None if above is None else generator.integers(above, size=rows)
        found[name] = CodedRows(codes, rows, parent)
    return found
