"""Synthetic tables with foreign keys: drawn together from a release, with fresh keys that fit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.errors import UsageError
from understudy.relations.linked_model import DrawnTable, LinkedModel
from understudy.relations.table_tree import Branch
from understudy.release.drawing import Drawing
from understudy.release.frames import to_frame
from understudy.release.given import Given
from understudy.release.writing import WRITTEN, check_output, decode_rows, fresh_ids, write_table
from understudy.schema import Schema
from understudy.schema.patterns import FreshIds

if TYPE_CHECKING:
    from understudy.release.release import Release


def sampled_tables(
    release: Release, rows: int | None, given: Given | None, generator: np.random.Generator
) -> dict[str, Any]:
    """Draw so many rows of the root with all that belongs to them: a frame for each table."""
    model, tables = _decoded(release, rows, given, generator)
    branches = model.tree.branches
    return {name: to_frame(table, branches[name].schema, release.library) for name, table in tables.items()}


def write_tables(
    release: Release, folder: Path, rows: int | None, given: Given | None, generator: np.random.Generator
) -> None:
    """Draw the same into a folder, which is made where there is none: a file for each table."""
    check_folder(folder, release.schema)
    model, tables = _decoded(release, rows, given, generator)
    folder.mkdir(exist_ok=True)
    files = output_files(release.schema)
    for name, branch in model.tree.branches.items():
        write_table(tables[name], folder / files[name], branch.schema)


def output_files(schema: Schema) -> dict[str, str]:
    """Return the name of each table's file: the one that the schema gives it where that can be written, else .csv."""
    named = {schema.name: schema.file} | {child.name: child.file for child in schema.tables}
    written = {name: file for name, file in named.items() if file and file.lower().endswith(WRITTEN)}
    return {name: written.get(name, f"{name}.csv") for name in named}


def check_folder(folder: Path, schema: Schema) -> None:
    """Refuse, before any work, a folder that the tables cannot be written to."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder.name!r} is a file: tables with foreign keys are written to a folder")
    place = folder if folder.exists() else folder.absolute().parent
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise UsageError(f"the folder {str(folder)!r} cannot be made or written to: choose another")
    if len({file.casefold() for file in output_files(schema).values()}) <= len(schema.tables):
        raise UsageError("two tables would be written to the same file: give them other names with `file`")
    if folder.exists():
        for file in output_files(schema).values():
            check_output(folder / file)


def _decoded(
    release: Release, rows: int | None, given: Given | None, generator: np.random.Generator
) -> tuple[LinkedModel, dict[str, Any]]:
    drawing = Drawing.of(release, rows, given)
    model = drawing.model
    assert isinstance(model, LinkedModel)
    drawn = model.sample_tables(drawing.rows, generator)
    root = fresh_ids(release.schema, generator)  # of the root alone: other tables have no patterns
    found = {}
    for name, branch in model.tree.branches.items():
        order = release.columns if branch.child is None else None
        rows_of, values = _with_keys(branch, drawn[name]), None
        if branch.child is None and drawing.settling is not None:  # a condition inside a bin
            rows_of, values = drawing.settling(rows_of, generator)
        found[name] = decode_rows(rows_of, branch.schema, order, generator, 1, _fresh(branch, model, root), values)
    return model, found


def _with_keys(branch: Branch, drawn: DrawnTable) -> dict[str, Any]:
    """Return the rows with the number of the row that each belongs to, under the name of the key."""
    rows = {name: drawn.columns[name] for name in branch.schema.names}
    if branch.child is not None:
        rows[branch.child.key] = drawn.parent  # type: ignore[assignment]
    return rows


def _fresh(branch: Branch, model: LinkedModel, root: dict[str, FreshIds]) -> dict[str, FreshIds]:
    """Return the ids of a table's columns that have a pattern: of the root its own, of its children those they name."""
    if (child := branch.child) is None:
        return root
    own = child.parent == model.schema.name and child.references in root
    return {child.key: root[child.references]} if own else {}
