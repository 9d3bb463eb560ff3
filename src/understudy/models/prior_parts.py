"""Noisy tables, and a prior, as plain parts — a JSON document and numeric arrays — and back, each shape checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from understudy.models.prior import Kind, Prior
from understudy.models.serialization import MAX_TOTAL, Arrays, ArraySource, axis_of, checked_noise, noise_json, require
from understudy.privacy.measurement import Measurement
from understudy.schema import Schema


def tables_parts(tables: Sequence[Measurement], name: str) -> tuple[list[dict[str, Any]], Arrays]:
    """Return noisy tables as a list of documents and arrays called `name`-0, `name`-1 …"""
    listed = [{"axes": [a.as_json() for a in m.axes]} | noise_json(m.noise) for m in tables]
    return listed, Arrays({f"{name}-{i}": m.values for i, m in enumerate(tables)})


def tables_from_parts(listed: Any, name: str, arrays: ArraySource, schema: Schema) -> tuple[Measurement, ...]:
    """Return the noisy tables; raise a ValueError, LookupError or TypeError where a part is missing or odd."""
    return tuple(_table(item, f"{name}-{i}", arrays, schema) for i, item in enumerate(_listed(listed)))


def _table(document: dict[str, Any], name: str, arrays: ArraySource, schema: Schema) -> Measurement:
    axes = tuple(axis_of(item, schema) for item in _listed(document["axes"]))
    return Measurement(axes, arrays.take(name, schema.sizes(axes), np.int64), checked_noise(document))


def prior_parts(prior: Prior) -> tuple[dict[str, Any], Arrays]:
    """Return what was known before; the trees of its bins are those of the release."""
    listed, arrays = tables_parts(prior.tables, "prior")
    document = {"kind": prior.kind, "hash": prior.hash, "promise": prior.promise, "rows": prior.rows}
    return document | {"distance": prior.distance, "tables": listed}, arrays


def prior_from_parts(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> Prior:
    """Return what was known before; raise a ValueError, LookupError or TypeError where a part is missing or odd."""
    kind, rows, distance = document["kind"], document["rows"], document["distance"]
    texts = (document["hash"], document["promise"])
    require(kind in get_args(Kind) and all(type(text) is str for text in texts))
    require(type(rows) is int and 1 <= rows <= MAX_TOTAL)
    require(distance is None or (type(distance) in (int, float) and 0 <= distance < math.inf))
    tables = tables_from_parts(document["tables"], "prior", arrays, schema)
    require(all(m.axes and (distance is not None or len(m.axes) == 1) for m in tables))
    return Prior(kind, texts[0], rows, tables, distance, texts[1])


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return value
