"""Where a prior comes from: an earlier release, or a table that is said to be public."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import DataError, UsageError, check_path
from understudy.methods.toolkit.public_tables import public_prior
from understudy.models.prior import Prior
from understudy.release.release import Release
from understudy.schema import Attribute, Schema

PriorSource = Release | str | Path


def open_prior(source: PriorSource, schema: Schema) -> Prior:
    """Return what a release, a release file or a public table says about a table of this schema.

    Refused where its columns or bins are others: a table known before is only known on the same cells.
    """
    if schema.person is not None or schema.tables:
        raise UsageError("a prior is for one table of one row a person: leave it out for [person] and [tables]")
    if schema.undiscovered:
        raise UsageError(
            "a prior needs a schema without open points: declare what is left to be discovered, or buy it first with "
            "`understudy init --discover`"
        )
    if not isinstance(source, Release):
        check_path(source, "a prior")
        if not str(source).endswith(".zip"):
            return _public(Path(source), schema.free)
        source = Release.open(source)
    return _released(source, schema)


def refuse_private(source: PriorSource, data: Any) -> None:
    """Refuse the private file itself as a table that is said to be public: exact tables of it would be released."""
    if isinstance(source, Release) or not isinstance(data, str | os.PathLike):
        return
    with suppress(OSError, ValueError):  # an address, or a file that is not there: said elsewhere
        if Path(source).samefile(data):
            raise UsageError(
                "the prior is the private table itself, and a release has exact tables of a public prior: give an "
                "earlier release, or a table that is public"
            )


def _released(release: Release, schema: Schema) -> Prior:
    if release.schema.person is not None or release.schema.tables:
        raise UsageError("a release of people with many rows or of several tables cannot be a prior yet")
    tables = tuple(m for m in release.measurements if m.axes and not any(axis.merged for axis in m.axes))
    if not tables:
        raise UsageError(
            f"the release {release.hash[:16]}… has no noisy tables that a prior could be made of: it was made by "
            f"{release.card.method}. Publish without a prior"
        )
    trees = {tree.attribute.name: tree for tree in release.trees}
    free, known = schema.free, release.schema.free
    _check_columns(known, free)
    for attribute in free.modelled:
        other = known[attribute.name]
        if attribute.grid is not None and attribute.name in trees:
            _check_cells(attribute, trees[attribute.name].attribute)
        else:
            _check_cells(attribute, other)
        if any(axis.attribute == attribute.name and axis.level for m in tables for axis in m.axes):
            _check_groups(attribute, other)
    if free.unbinned and schema.rules != release.schema.rules:
        raise UsageError("the prior's bins were made for other rules: declare `bins`, or publish without the prior")
    warned = "".join(f" ({warning})" for warning in release.card.warnings)
    bins = tuple(trees[a.name] for a in free.unbinned)
    return Prior("release", release.hash, release.rows, tables, promise=release.card.promise + warned, trees=bins)


def _public(path: Path, schema: Schema) -> Prior:
    if schema.unbinned:
        names = ", ".join(a.name for a in schema.unbinned)
        raise UsageError(
            f"{names} would get bins from this run, and a public table can be counted on declared ones only: give "
            "`bins` or `edges` in the schema, or take an earlier release as the prior"
        )
    plain = replace(schema, rows=None, rows_max=None, neighbours="add-remove", rows_per_person=1, text=None)
    try:
        opened = open_engine(PrivateData(str(path)), plain)
    except DataError as error:
        raise UsageError(f"the prior {path.name!r} does not fit the schema: {error}") from None
    try:
        if not (rows := opened.engine.rows()):
            raise UsageError(f"the prior {path.name!r} has no rows: publish without it")
        return public_prior(plain, opened.engine.marginals, rows, _file_hash(path))
    finally:
        opened.engine.close()


def _file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_columns(known: Schema, schema: Schema) -> None:
    ours, theirs = {a.name for a in schema.modelled}, {a.name for a in known.modelled}
    if ours == theirs:
        return
    parts = []
    if new := sorted(ours - theirs):
        parts.append(f"{', '.join(new)} only in the schema")
    if gone := sorted(theirs - ours):
        parts.append(f"{', '.join(gone)} only in the prior")
    raise UsageError(f"the prior has other columns: {'; '.join(parts)}. Publish without it, or the same columns")


def _check_cells(attribute: Attribute, other: Attribute) -> None:
    """Refuse a prior that counted this attribute on other cells."""
    same = attribute.labels == other.labels and attribute.kind == other.kind
    if same and (attribute.grid is None) == (other.grid is None):
        return
    raise UsageError(
        f"the prior has other values or bins of {attribute.name!r} ({_shown(other)}) than the schema "
        f"({_shown(attribute)}): declare the prior's, or publish without it",
        attribute=attribute.name,
    )


def _check_groups(attribute: Attribute, other: Attribute) -> None:
    if attribute.taxonomy != other.taxonomy:
        raise UsageError(
            f"the prior has another taxonomy of {attribute.name!r} and tables by its groups: declare the same one",
            attribute=attribute.name,
        )


def _shown(attribute: Attribute) -> str:
    first = ", ".join(attribute.labels[:3])
    return f"{attribute.size:,}: {first}{' …' if attribute.size > 3 else ''}"
