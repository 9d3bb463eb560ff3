"""Rows that cannot be: facts between columns that a table's documentation implies, and cells outside its schema.

`broken` in a table's `[about]` has expressions of pandas that are true of a row in which a fact is broken. Columns of
numbers are numbers, missing cells are null, `education__place` is the place of a text in its list, from 1, and a sign
such as `-` in a name is `_`. Nothing in the schemas says these facts, so a model knows them as far as pairs of columns
show them; who needs them kept declares `[[rules]]`.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
from closeness import Column, columns
from numpy.typing import NDArray

from understudy.schema import Intervals, Schema

_SIGN = re.compile(r"\W")


def broken(frame: pd.DataFrame, schema: Schema, about: dict[str, Any]) -> dict[str, float]:
    """Return the share of rows that break each fact."""
    facts = about.get("broken", ())
    if not facts:
        return {}
    read = _read(columns(frame, schema))
    return {fact: float(np.asarray(read.eval(fact, engine="python"), dtype=bool).mean()) for fact in facts}


def outside(frame: pd.DataFrame, schema: Schema) -> float:
    """Return the share of cells that the schema does not know: other texts, values beyond a range, texts no number."""
    return float(np.mean([_outside(column).mean() for column in columns(frame, schema).values()]))


def _outside(column: Column) -> NDArray[np.bool_]:
    """Return which cells are outside; a publication would clamp a value beyond the range, so that it is looked at."""
    domain = column.attribute.domain
    codes = column.attribute.encode(column.texts.astype(str).tolist())
    if column.values is None or not isinstance(domain, Intervals):
        return np.asarray(codes < 0)
    beyond = (column.values < domain.edges[0]) | (column.values > domain.edges[-1])
    return np.asarray(beyond | (np.isnan(column.values) & ~np.isin(column.texts, list(column.attribute.missing))))


def _read(found: dict[str, Column]) -> pd.DataFrame:
    out: dict[str, Any] = {}
    for name, column in found.items():
        key = _SIGN.sub("_", name)
        if column.values is not None:
            out[key] = column.values
            continue
        texts = pd.Series(column.texts).mask(column.absent)
        domain = column.attribute.domain
        places = {text: i + 1 for i, text in enumerate(domain.labels)}
        out[key], out[f"{key}__place"] = texts, texts.map(places)
    return pd.DataFrame(out)
