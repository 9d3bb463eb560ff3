"""PrivBayes of degree 2 on twenty columns where the rows are: in DuckDB, PostgreSQL and a Spark cluster of two workers.

python benchmarks/warehouses.py FOLDER duckdb 1000000      one engine and one number of rows a time; the servers are
python benchmarks/warehouses.py FOLDER postgresql 1000000  started for it and stopped, the table is made in FOLDER;
python benchmarks/warehouses.py FOLDER spark 10000000      a line is added to benchmarks/results/warehouses.csv
"""

from __future__ import annotations

import csv
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from pyarrow import parquet

from engines import DEGREE, big_schema, make
from servers import PASSWORD, PostgreSQL, SparkCluster
from understudy.engines.sql import SqlEngine
from understudy.privacy.budget import Budget
from understudy.publishing import plan, run
from understudy.schema import Schema
from yardstick import calibration

RESULTS = Path(__file__).parent / "results" / "warehouses.csv"
CLUSTER = "--conf spark.executor.memory=1500m --conf spark.driver.memory=1500m pyspark-shell"


@contextmanager
def placed(engine: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The table where the engine finds it: what `publish` is given."""
    if engine == "postgresql":
        server = PostgreSQL()
        os.environ["PGPASSWORD"] = PASSWORD
        try:
            yield load(server, path), {}
        finally:
            server.close()
    elif engine == "spark":
        cluster = SparkCluster("1500m")
        os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_SUBMIT_ARGS": CLUSTER}
        try:
            yield str(path), {"master": cluster.master}
        finally:
            cluster.close()
    else:
        yield str(path), {"engine": engine}


def load(server: PostgreSQL, path: Path) -> str:
    """Block by block, through the server's own COPY."""
    import pyarrow.csv

    with parquet.ParquetFile(path) as file, server.connect() as connection:
        address = server.load("big", file.schema_arrow.empty_table())
        for batch in file.iter_batches(1 << 17):
            sink = pyarrow.BufferOutputStream()
            pyarrow.csv.write_csv(batch, sink, pyarrow.csv.WriteOptions(include_header=False))
            with connection.cursor().copy("COPY big FROM STDIN (FORMAT csv)") as copy:
                copy.write(sink.getvalue().to_pybytes())
        connection.execute("ANALYZE big")
    return address


def measured(engine: str, path: Path, schema: Schema) -> dict[str, Any]:
    scans = []
    close = SqlEngine.close

    def counted(found: SqlEngine) -> None:
        scans.append(found.scans)
        close(found)

    SqlEngine.close = counted  # type: ignore[method-assign]
    with placed(engine, path) as (data, options):
        start = time.perf_counter()
        done = run(data, schema, Budget(1), "privbayes", DEGREE, ledger=path.with_suffix(".db"), cap="none", **options)
        wall = time.perf_counter() - start
    planned = plan(schema, epsilon=1, method="privbayes", **DEGREE).scans
    counting = sum(done.seconds.get(phase, 0.0) for phase in ("one-way", "structure", "tables"))
    return {
        "engine": engine, "rows": schema.rows, "seconds": round(wall, 1), "coding": round(done.seconds["read"], 1),
        "counting": round(counting, 1), "scans": scans[0] if scans else 1, "planned": planned,
        "load": round(os.getloadavg()[0], 1), "calibration": round(calibration(), 3),
    }  # fmt: skip


def main() -> None:
    folder, engine, rows = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    path = folder / f"big-{rows}.parquet"
    if not path.exists():
        make(path, rows)
    line = measured(engine, path, big_schema(rows))
    path.with_suffix(".db").unlink()
    fresh = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, list(line), lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(line)
    print(line)


if __name__ == "__main__":
    main()
