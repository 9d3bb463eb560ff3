"""The law of engines on a real Spark cluster: one master, two workers, of which one is killed while it counts rows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from test_engines import by_memory, members, scans, unbinned_table  # noqa: F401 - a fixture
from test_matrix import small_table

from servers import SparkCluster
from understudy.engines.spark_rows import FOLDER, SparkRows
from understudy.methods import METHODS
from understudy.publishing import plan
from understudy.schema import Schema

pytestmark = pytest.mark.engines
KILLED_AT = "privabn"
COPIES = 1000  # of the small table, so that counting takes long enough to be interrupted
PARTS = 8  # files, so tasks of a scan
TRIALS = 4  # a worker that is killed may have just ended its task


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
        .config("spark.sql.shuffle.partitions", "2").config("spark.sql.files.openCostInBytes", "128m").getOrCreate()
    )  # fmt: skip
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


class Loss:
    """Watches the stages from beside a scan, and kills a worker when tasks are done, under way and still to come.

    A scan that was over before it was looked at, or that lost no task, is no trial: the next one is watched too.
    """

    def __init__(self, cluster: SparkCluster, application: Any) -> None:
        self._cluster = cluster
        self._tracker = application.sparkContext.statusTracker()
        self._over = threading.Event()
        self.seen: Any = None  # the stage as it was just before
        self.repeated = False  # tasks of that stage were lost, or its finished ones with what they had counted

    def __enter__(self) -> Loss:
        self._over.clear()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()
        if self.seen is not None:
            self._look(self._tracker.getStageInfo(self.seen.stageId))
            if not self.repeated:  # its task was over just before: the next scan is watched, with two workers again
                self.seen = None
                self._cluster.add_worker()

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            for number in self._tracker.getActiveStageIds():
                stage = self._tracker.getStageInfo(number)
                if stage is None:
                    continue
                if self.seen is None:
                    waiting = stage.numTasks - stage.numCompletedTasks - stage.numActiveTasks
                    if stage.numCompletedTasks and stage.numActiveTasks and waiting > 0:
                        self._cluster.kill_worker()
                        self.seen = stage
                elif number == self.seen.stageId:
                    self._look(stage)

    def _look(self, stage: Any) -> None:
        """Note whether tasks of the stage were lost; also once it is over, since it may be over between two looks."""
        if stage is not None:
            self.repeated |= stage.numFailedTasks > 0 or stage.currentAttemptId > self.seen.currentAttemptId


def large_table(method: str) -> tuple[pa.Table, Schema]:
    table, schema = small_table(method, "replace-one")
    table = pa.concat_tables([table] * COPIES)
    return table, replace(schema, rows=table.num_rows)


def test_every_method_on_two_workers_and_then_on_one(
    cluster: SparkCluster,
    application: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scans: list[int],  # noqa: F811
) -> None:
    assert len(cluster.workers() or ()) == 2
    counts = SparkRows.counts
    loss = Loss(cluster, application)

    def counted(rows: SparkRows, sql: str) -> Any:
        """A scan of one method loses a worker with its executor in the middle of a task, and goes on."""
        (private,) = (tmp_path / "shared").iterdir()
        assert private.stat().st_mode & 0o777 == 0o700
        if method != KILLED_AT or loss.seen:
            return counts(rows, sql)
        with loss:
            return counts(rows, sql)

    monkeypatch.setattr(SparkRows, "counts", counted)
    for method in [m for m in METHODS if m != "dp-ccbn"] + ["dp-ccbn"]:
        table, schema = small_table(method, "replace-one")
        expected = by_memory(method, "replace-one")
        if method == KILLED_AT:
            table, schema = large_table(method)
            expected = members(table, schema, method, tmp_path / "memory.db", engine="memory")
        data = tmp_path / method
        data.mkdir()
        parts = PARTS if method == KILLED_AT else 2
        for i in range(parts):
            parquet.write_table(
                table.slice(i * table.num_rows // parts, table.num_rows // parts), data / f"{i}.parquet"
            )
        for trial in range(TRIALS if method == KILLED_AT else 1):
            found = members(str(data), schema, method, tmp_path / f"{method}-{trial}.db", master=cluster.master)
            assert found == expected, method
            if loss.repeated:
                break
        assert scans[-1] <= plan(schema, epsilon=2, method=method).scans
    table, schema = unbinned_table()
    parquet.write_table(table, tmp_path / "unbinned.parquet")
    expected = members(table, schema, "aim", tmp_path / "unbinned-memory.db", engine="memory")
    found = members(tmp_path / "unbinned.parquet", schema, "aim", tmp_path / "unbinned.db", master=cluster.master)
    assert found == expected
    assert loss.seen and loss.seen.numTasks == PARTS and loss.repeated
    assert len(cluster.worker_processes) == 1
    assert not list((tmp_path / "shared").iterdir())
