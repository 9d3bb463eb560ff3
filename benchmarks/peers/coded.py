"""The same coded data for every tool: a CSV of integer codes and the public sizes as JSON, under `.envs/data`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import datasets
from understudy.privacy.custodian import ExactTable

FOLDER = Path(__file__).resolve().parent / ".envs" / "data"


def real(name: str) -> ExactTable:
    return ExactTable.original(str(datasets.path(name)), datasets.schema(name))


def export(name: str, table: ExactTable) -> tuple[Path, Path]:
    """Continuous attributes in the papers' 16 equi-width bins (`benchmarks/datasets.py`)."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    rows, domain = FOLDER / f"{name}.csv", FOLDER / f"{name}.json"
    names = table.schema.names
    codes = np.stack([table.codes(n) for n in names], axis=1)
    np.savetxt(rows, codes, fmt="%d", delimiter=",", header=",".join(names), comments="")
    domain.write_text(json.dumps({n: table.schema[n].size for n in names}))
    return rows, domain


def stand_in(path: Path, like: ExactTable) -> ExactTable:
    """A tool's output, refused where a code is outside the domain."""
    names = like.schema.names
    if path.open().readline().strip().split(",") != list(names):
        raise ValueError("the output has other columns than the input")
    codes = np.loadtxt(path, delimiter=",", skiprows=1, dtype=np.int64)
    columns = {n: np.ascontiguousarray(codes[:, i]) for i, n in enumerate(names)}
    for n, column in columns.items():
        if column.min() < 0 or column.max() >= like.schema[n].size:
            raise ValueError(f"{n}: a code outside the domain")
    return ExactTable(columns, len(codes), like.schema)
