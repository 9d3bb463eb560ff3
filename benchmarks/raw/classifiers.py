"""Classifiers trained on a table and tried on real rows: their error above that of one trained on real rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from closeness import Column, columns
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from understudy.schema import Schema

SEED = 16
TESTED = 0.3  # of the real rows
MAX_TRAINED, MAX_TESTED = 10_000, 5_000  # rows
MAX_LEVELS = 60  # a longer list of texts is left out of the linear classifier

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Task:
    """Predict whether `name` has one of `positive`, from all other columns but `ignore`."""

    name: str
    positive: tuple[str, ...]
    ignore: tuple[str, ...]


def tasks(about: dict[str, Any]) -> list[Task]:
    ignored = about.get("ignore", {})
    return [Task(n, tuple(v), tuple(ignored.get(n, ()))) for n, v in about["targets"].items()]


def split(rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which real rows train the reference and which are for testing."""
    order = np.random.default_rng(SEED).permutation(rows)
    tested = int(rows * TESTED)
    return order[tested:][:MAX_TRAINED], order[:tested][:MAX_TESTED]


def errors(train: pd.DataFrame, test: pd.DataFrame, schema: Schema, task: Task) -> dict[str, float]:
    """Return the error of each classifier on the test rows; of the majority where training rows have one class."""
    known, unknown = columns(train, schema), columns(test, schema)
    wanted, truth = (np.isin(side[task.name].texts.astype(str), task.positive) for side in (known, unknown))
    if wanted.all() or not wanted.any():
        wrong = float((truth != wanted[0]).mean())
        return {"boosting": wrong, "linear": wrong}
    features = [n for n in known if n != task.name and n not in task.ignore]
    levels = {n: np.unique(unknown[n].texts.astype(str)) for n in features}  # public lists would do as well
    out = {}
    for kind, model, one_hot in (("boosting", _boosting(), False), ("linear", _linear(), True)):
        left, right = (_matrix(side, features, levels, one_hot) for side in (known, unknown))
        model.fit(left, wanted)
        out[kind] = float((model.predict(right) != truth).mean())
    return out


def _boosting() -> Any:
    return HistGradientBoostingClassifier(max_iter=50, random_state=SEED)


def _linear() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))


def _matrix(side: dict[str, Column], names: list[str], levels: dict[str, NDArray[np.str_]], one_hot: bool) -> Floats:
    parts: list[Floats] = []
    for name in names:
        values = side[name].values
        if values is None:
            parts += _texts(side[name].texts.astype(str), levels[name], one_hot)
        elif one_hot:
            absent = np.isnan(values)
            parts += [np.where(absent, 0.0, values), absent.astype(float)]
        else:
            parts.append(values)
    return np.stack(parts, axis=1)


def _texts(texts: NDArray[np.str_], levels: NDArray[np.str_], one_hot: bool) -> list[Floats]:
    place = np.searchsorted(levels, texts).clip(0, len(levels) - 1)
    known = levels[place] == texts
    if not one_hot:
        return [np.where(known, place, np.nan)]
    if len(levels) > MAX_LEVELS:
        return []
    return [(known & (place == level)).astype(float) for level in range(len(levels))]
