"""Tables with foreign keys where the rows are: the CPU of a publication in memory, DuckDB and PostgreSQL.

    python benchmarks/linked_engines.py {memory duckdb postgresql} [--shops 20000] [--runs 2]

The generated three levels of `relations.py`, (2, 1e-6). PostgreSQL is started for it and stopped; its CPU is that of
the server with all of its processes, and its tables have no index.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from relations import generated
from servers import PASSWORD, PostgreSQL
from understudy.privacy.budget import Budget
from understudy.publishing import run

Placed = tuple[Any, Callable[[], float]]  # what `publish` is given, and the CPU of the server so far


def _processor_seconds(pid: int) -> tuple[int, float, float]:
    """Return a process's parent, its own seconds and those of the children it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    times = [int(ticks) / os.sysconf("SC_CLK_TCK") for ticks in fields[11:15]]
    return int(fields[1]), times[0] + times[1], times[2] + times[3]


def _server_seconds(server: PostgreSQL) -> float:
    leader = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    _, own, ended = _processor_seconds(leader)
    total = own + ended
    for other in Path("/proc").glob("[0-9]*"):
        try:
            parent, seconds, _ = _processor_seconds(int(other.name))
        except OSError:  # it has ended
            continue
        total += seconds if parent == leader else 0.0
    return total


@contextmanager
def placed(engine: str, frames: dict[str, Any], folder: Path) -> Iterator[Placed]:
    """Put the tables where the engine finds them."""
    if engine == "memory":
        yield frames, lambda: 0.0
    elif engine == "duckdb":
        import duckdb

        with duckdb.connect(str(folder / "t.db")) as connection:
            for name, frame in frames.items():
                connection.register("loaded", frame)
                connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM loaded')
        yield f"duckdb:///{folder}/t.db", lambda: 0.0
    else:
        os.environ["PGPASSWORD"] = PASSWORD
        server = PostgreSQL()
        try:
            addresses = [server.load(name, frame) for name, frame in frames.items()]
            with server.connect() as connection:
                connection.execute("ANALYZE")
            yield str(addresses[0]).partition("?")[0], lambda: _server_seconds(server)
        finally:
            server.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=["memory", "duckdb", "postgresql"])
    parser.add_argument("--shops", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=2)
    asked = parser.parse_args()
    schema, frames = generated(asked.shops)
    with tempfile.TemporaryDirectory() as name, placed(asked.engine, frames, Path(name)) as (data, served):
        for at in range(asked.runs):
            own, theirs = time.process_time(), served()
            run(data, schema, Budget(2.0, "1e-6"), "auto", {}, ledger=Path(name) / f"{at}.db", cap="none",
                register=False, types="declared", quiet=True)  # fmt: skip
            rows = " ".join(f"{name} {frame.num_rows:,}" for name, frame in frames.items())
            own, theirs = time.process_time() - own, served() - theirs
            print(f"{asked.engine} {rows}: own cpu {own:.1f}, server's {theirs:.1f}", flush=True)


if __name__ == "__main__":
    main()
