"""Every method on every engine: the same test seed gives the same release, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from test_matrix import small_table

from understudy.demo import demo_schema, demo_table
from understudy.methods import METHODS
from understudy.schema import Schema
from understudy.testing import publish_seeded

Opener = Callable[[pa.Table, Path], tuple[Any, dict[str, Any]]]  # a table and a folder -> DATA and options of `publish`


def as_parquet(table: pa.Table, folder: Path) -> Path:
    path = folder / "people.parquet"
    parquet.write_table(table, path, row_group_size=300)
    return path


def mapped(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    return as_parquet(table, folder), {"engine": "mapped"}


ENGINES: dict[str, Opener] = {"mapped": mapped}


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_release_does_not_depend_on_the_engine(engine: str, method: str, neighbours: str, tmp_path: Path) -> None:
    table, schema = small_table(method, neighbours)
    data, options = ENGINES[engine](table, tmp_path)
    expected = members(table, schema, method, tmp_path / "memory.db", engine="memory")
    assert members(data, schema, method, tmp_path / "engine.db", **options) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_every_kind_of_column_and_the_shape_inside_bins(engine: str, tmp_path: Path) -> None:
    """The whole demo table: dates, numbers, missing values, taxonomies, an attribute that is counted on two grids."""
    schema, table = demo_schema(600), demo_table(600, np.random.default_rng(3))
    assert len(schema.counted.modelled) > len(schema.modelled)
    data, options = ENGINES[engine](table, tmp_path)
    expected = members(table, schema, "privbayes", tmp_path / "memory.db", engine="memory")
    assert members(data, schema, "privbayes", tmp_path / "engine.db", **options) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_another_seed_gives_another_release(engine: str, tmp_path: Path) -> None:
    """The broken twin of the law: the comparison sees a difference where there is one."""
    table, schema = small_table("privbayes", "replace-one")
    data, options = ENGINES[engine](table, tmp_path)
    first = members(data, schema, "privbayes", tmp_path / "1.db", **options)
    assert members(data, schema, "privbayes", tmp_path / "2.db", seed=6, **options) != first


def members(data: Any, schema: Schema, method: str, ledger: Path, seed: int = 5, **options: Any) -> dict[str, bytes]:
    done = publish_seeded(data, schema, seed=seed, epsilon=2, method=method, ledger=ledger, cap="none", **options)
    return done.release.members
