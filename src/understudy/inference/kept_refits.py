"""Refits kept in a file beside the release, so that the next question does not wait for them.

The file holds clique tables of public models and says which release they belong to; whatever does not fit is ignored
and refitted. No pickle.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UnderstudyError
from understudy.inference.combining import Population
from understudy.inference.refits import Refits, Released
from understudy.models.factor import Factor
from understudy.models.junction_tree import JunctionTree
from understudy.models.serialization import axis_of

Floats = NDArray[np.float64]
SUFFIX = ".refits.npz"
KNOWN = "known "  # before "pairs" and "triples"


def refits_beside(release_file: Path, population: Population) -> Path:
    """Return where the refits of a release file are kept: a hidden file beside it."""
    return release_file.with_name(f".{release_file.name}.{population}{SUFFIX}")


def write_refits(path: Path, release: Released, made: Refits) -> None:
    """Keep the clique tables of every refit; a folder that cannot be written to is no reason to fail."""
    first = made.models[0]
    if any(model.cliques != first.cliques for model in made.models):
        return
    head = {
        "release": release.hash, "population": made.population, "rows": list(made.rows),
        "shrunk": False, "cliques": [[axis.as_json() for axis in clique] for clique in first.cliques],
    }  # fmt: skip
    beliefs = np.stack([model.beliefs for model in made.models]).astype(np.float64)  # float32 would lose tiny shares
    _write(path, {"head": np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), "beliefs": beliefs})


def add_known(path: Path, known: Mapping[str, Floats]) -> None:
    """Keep what the size law needs of the refits beside them, so that the next question does not work it out again."""
    with suppress(OSError, ValueError, LookupError, BadZipFile):
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            parts = {name: kept[name] for name in ("head", "beliefs")}
        _write(path, parts | {KNOWN + ways: own for ways, own in known.items()})


def _write(path: Path, parts: Mapping[str, Any]) -> None:
    """Write the file whole or not at all: another process may be reading it."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with unfinished.open("wb") as file:
            np.savez(file, **parts)
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def read_refits(path: Path, release: Released, population: Population, count: int) -> Refits | None:
    """Return what was kept for this very release, or None."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            head = json.loads(bytes(kept["head"]))
            if (head["release"], head["population"], len(head["rows"])) != (release.hash, population, count):
                return None
            if head.get("shrunk", True):
                return None  # an earlier version kept refits that were shrunk twice
            if kept["beliefs"].dtype != np.float64:
                return None  # an earlier version kept rounded shares, from which other intervals follow
            models = [_model(release, head["cliques"], own) for own in kept["beliefs"]]
            rows = tuple(int(n) for n in head["rows"])
            known = {name.removeprefix(KNOWN): _distances(kept[name]) for name in kept.files if name.startswith(KNOWN)}
    except (OSError, ValueError, LookupError, TypeError, AssertionError, BadZipFile, UnderstudyError):
        return None
    return Refits(tuple(models), rows, population, release.schema, known) if len(models) == count else None


def _distances(kept: Floats) -> Floats:
    if kept.dtype != np.float64 or kept.ndim != 1 or not np.isfinite(kept).all() or (kept < 0).any():
        raise ValueError("these are no distances")
    return kept


def _model(release: Released, cliques: list[list[Any]], flat: Floats) -> JunctionTree:
    assert release.design is not None
    schema, at, factors = release.design.schema, 0, []
    for items in cliques:
        axes = tuple(axis_of(item, schema) for item in items)
        cells = schema.cells(axes)
        table = flat[at : at + cells].reshape(schema.sizes(axes))
        if not np.isfinite(table).all() or (table < 0).any() or not table.sum() > 0:
            raise ValueError("this is no table of probabilities")
        factors.append(Factor(axes, table / table.sum()))
        at += cells
    if at != len(flat):
        raise ValueError("the clique tables do not fit")
    return JunctionTree.of_beliefs(schema, factors)
