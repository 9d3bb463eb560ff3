"""The law of engines on a real Spark cluster: one master, two workers, of which one is killed while rows are counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from test_engines import by_memory, members, scans  # noqa: F401 - a fixture
from test_matrix import small_table

from servers import SparkCluster
from understudy.engines.spark_rows import FOLDER, SparkRows
from understudy.methods import METHODS
from understudy.publishing import plan

KILLED_AT = "privabn"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    found = SparkCluster()
    yield found
    found.close()


@pytest.fixture
def application(cluster: SparkCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """One application for all methods, on both workers: starting it is what takes time."""
    (tmp_path / "shared").mkdir()
    from pyspark.sql import SparkSession

    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master(cluster.master)
        .config("spark.executor.memory", "512m").config("spark.executor.cores", "1").config("spark.cores.max", "2")
        .config(FOLDER, (tmp_path / "shared").as_uri()).config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2").getOrCreate()
    )  # fmt: skip
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def test_every_method_on_two_workers_and_then_on_one(
    cluster: SparkCluster,
    application: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scans: list[int],  # noqa: F811
) -> None:
    assert len(cluster.workers() or ()) == 2
    counts = SparkRows.counts
    killed: list[str] = []

    def counted(rows: SparkRows, sql: str) -> Any:
        """The first scan of one method loses a worker with its executor, and the job goes on without it."""
        (private,) = (tmp_path / "shared").iterdir()
        assert private.stat().st_mode & 0o777 == 0o700
        if method == KILLED_AT and not killed:
            killed.append(method)
            cluster.kill_worker()
        return counts(rows, sql)

    monkeypatch.setattr(SparkRows, "counts", counted)
    for method in [m for m in METHODS if m != "dp-ccbn"] + ["dp-ccbn"]:
        table, schema = small_table(method, "replace-one")
        parquet.write_table(table, tmp_path / f"{method}.parquet", row_group_size=300)
        found = members(
            str(tmp_path / f"{method}.parquet"), schema, method, tmp_path / f"{method}.db", master=cluster.master
        )
        assert found == by_memory(method, "replace-one"), method
        assert scans[-1] <= plan(schema, epsilon=2, method=method).scans
    assert killed == [KILLED_AT]
    assert len(cluster.worker_processes) == 1
    assert not list((tmp_path / "shared").iterdir())
