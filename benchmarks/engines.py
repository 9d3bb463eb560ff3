"""Tables larger than memory: memory, speed against DuckDB, cost against rows, and rows written by the million.

python benchmarks/engines.py FOLDER            all of it; makes its tables in FOLDER (about 6 GB at 100,000,000 rows)
                                               and removes them; figures to benchmarks/results/engines.csv and .svg
python benchmarks/engines.py FOLDER 10000000   the same up to so many rows
"""

from __future__ import annotations

import csv
import json
import math
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from understudy.engines.cached import CachedEngine
from understudy.engines.embedded import open_embedded
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.schema import Attribute, Axis, Booleans, Categories, Intervals, Schema
from yardstick import calibration, timed

ROWS = (100_000, 1_000_000, 10_000_000, 100_000_000)
RESULTS = Path(__file__).parent / "results"
BLOCK = 1 << 20
TEXTS = (3, 4, 5, 6, 7, 8, 9, 12, 16, 5)  # values of the text columns
BINS = (5, 8, 10, 10, 12, 16)  # of the whole numbers
FLAGS = 4
DEGREE = {"degree": 2, "encoding": "vanilla"}
LINES = (("coding cpu", "seagreen", "coding"), ("counting cpu", "steelblue", "counting"), ("cpu", "black", "all"))
DUCKDB_TABLES = 12  # counted by DuckDB; the rest is scaled


# -- the tables --------------------------------------------------------------------------------------------------


def attributes() -> list[Attribute]:
    """Twenty columns: four flags, ten texts, six whole numbers in bins."""
    flags = [Attribute(f"flag{i}", Booleans()) for i in range(FLAGS)]
    texts = [Attribute(f"text{i}", Categories(tuple(f"value-{v}" for v in range(s)))) for i, s in enumerate(TEXTS)]
    edges = [(*(10.0 * e for e in range(bins)), 10.0 * bins - 1) for bins in BINS]
    numbers = [Attribute(f"number{i}", Intervals("integer", e)) for i, e in enumerate(edges)]
    return flags + texts + numbers


def big_schema(rows: int) -> Schema:
    return Schema("big", tuple(attributes()), rows=rows)


def make(path: Path, rows: int) -> None:
    """Each column follows the one before it in 7 of 10 rows. Text is stored as text, as any tool would write it."""
    generator = np.random.default_rng(rows)
    columns = attributes()
    types = [pa.bool_()] * FLAGS + [pa.string()] * len(TEXTS) + [pa.int32()] * len(BINS)
    schema = pa.schema(list(zip([a.name for a in columns], types)))
    with parquet.ParquetWriter(path, schema, store_schema=False) as writer:
        for start in range(0, rows, BLOCK):
            writer.write_table(_block(min(BLOCK, rows - start), columns, schema, generator))


def _block(rows: int, columns: list[Attribute], schema: pa.Schema, generator: np.random.Generator) -> pa.Table:
    before = generator.integers(0, 16, rows, dtype=np.uint8)
    arrays = []
    for attribute, type in zip(columns, schema.types):
        fresh = generator.integers(0, attribute.size, rows, dtype=np.uint8)
        before = np.where(generator.integers(0, 10, rows, dtype=np.uint8) < 7, before % attribute.size, fresh)
        if pa.types.is_string(type):
            arrays.append(pa.DictionaryArray.from_arrays(pa.array(before), list(attribute.labels)).cast(type))
        elif pa.types.is_boolean(type):
            arrays.append(pa.array(before.astype(bool)))
        else:
            inside = generator.integers(0, 10, rows, dtype=np.uint8)
            arrays.append(pa.array(before.astype(np.int32) * 10 + np.minimum(inside, 9)))
    return pa.table(arrays, schema=schema)


# -- one process each --------------------------------------------------------------------------------------------


@contextmanager
def memory() -> Iterator[dict[str, float]]:
    """Peak anonymous and peak resident memory of this process, in MB, looked at a hundred times a second."""
    peak = {"anonymous mb": 0.0, "resident mb": 0.0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            lines = Path("/proc/self/status").read_text().splitlines()
            said = {k: float(v.split()[0]) / 1024 for k, _, v in (line.partition(":") for line in lines) if " kB" in v}
            peak["anonymous mb"] = max(peak["anonymous mb"], said["RssAnon"])
            peak["resident mb"] = max(peak["resident mb"], said["VmHWM"])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


class Watch:
    """Which tables a run asked its engine for; wall and CPU seconds of coding, and of counting and adding up."""

    def __init__(self) -> None:
        self.seconds = {"coding": 0.0, "coding cpu": 0.0, "counting": 0.0, "counting cpu": 0.0}
        self._start = time.perf_counter(), time.process_time()
        self.keys: dict[tuple[str, ...], None] = {}
        original = CachedEngine._count_all

        def watched(engine: CachedEngine, keys: list[Any]) -> None:
            self.coded()
            self.begin()
            original(engine, keys)
            self.end("counting")
            self.keys |= {tuple(axis.attribute for axis in key): None for key in keys}

        CachedEngine._count_all = watched  # type: ignore[method-assign]

    def begin(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def end(self, what: str) -> None:
        self.seconds[what] += time.perf_counter() - self._start[0]
        self.seconds[f"{what} cpu"] += time.process_time() - self._start[1]

    def progress(self, phase: str, done: int, of: int, spent: Any) -> None:
        """Told by the run: reading and coding come first."""
        if phase == "read":
            self.begin()
        else:
            self.coded()

    def coded(self) -> None:
        if not self.seconds["coding"]:
            self.end("coding")


def publish(folder: Path, rows: int, engine: str) -> dict[str, Any]:
    schema, watch = big_schema(rows), Watch()
    with memory() as peak, timed() as clock:
        done = run(
            folder / f"{rows}.parquet", schema, Budget(1), "privbayes", DEGREE, ledger=folder / f"{rows}-{engine}.db",
            cap="none", engine=engine, progress=watch.progress,
        )  # fmt: skip
    done.release.save(folder / f"{rows}.release.zip")
    (folder / f"{rows}.keys.json").write_text(json.dumps(list(watch.keys)))
    return {
        "work": "publish", "engine": engine, "rows": rows, "wall": clock.wall, "cpu": clock.cpu,
        **watch.seconds, "tables": len(watch.keys), **peak,
    }  # fmt: skip


def count(folder: Path, rows: int, engine: str) -> dict[str, Any]:
    """The tables of that publication, counted again after coding, in batches as the search asks for them."""
    keys = [tuple(map(Axis, key)) for key in json.loads((folder / f"{rows}.keys.json").read_text())]
    opened, _ = open_embedded(folder / f"{rows}.parquet", big_schema(rows), engine)
    list(opened.marginals([(Axis("text0"), Axis("text1"))]))  # compile first
    with timed() as clock:
        for begin in range(0, len(keys), 100):
            list(opened.marginals(keys[begin : begin + 100]))
    opened.close()
    return {"work": "count", "engine": engine, "rows": rows, "wall": clock.wall, "cpu": clock.cpu, "tables": len(keys)}


def group_by(folder: Path, rows: int, engine: str) -> dict[str, Any]:
    """The same tables by DuckDB's GROUP BY, two threads: some of them, scaled to all.

    `duckdb` reads the Parquet file each time; `duckdb-coded` counts a table of one-byte codes in DuckDB's own format.
    """
    import duckdb

    keys = json.loads((folder / f"{rows}.keys.json").read_text())
    wide = [key for key in keys if len(key) == 3]  # the others are sums of these
    some = [wide[i] for i in np.random.default_rng(0).choice(len(wide), DUCKDB_TABLES, replace=False)]
    source, database = f"'{folder / f'{rows}.parquet'}'", folder / "coded.duckdb"
    connection = duckdb.connect(str(database) if engine == "duckdb-coded" else ":memory:")
    connection.execute("SET threads = 2")
    loading = 0.0
    if engine == "duckdb-coded":
        start = time.perf_counter()
        connection.execute(f"CREATE TABLE coded AS SELECT {', '.join(map(_code, attributes()))} FROM {source}")
        loading, source = time.perf_counter() - start, "coded"
    names = {
        a.name: a.name if engine == "duckdb-coded" or a.name[0] != "n" else f"{a.name} // 10" for a in attributes()
    }
    with timed() as clock:
        for key in some:
            columns = ", ".join(names[name] for name in key)
            found = connection.execute(f"SELECT {columns}, count(*) FROM {source} GROUP BY ALL").fetchall()
            assert sum(line[-1] for line in found) == rows
    connection.close()
    database.unlink(missing_ok=True)
    scale = len(wide) / len(some)
    return {
        "work": "count", "engine": engine, "rows": rows, "wall": clock.wall * scale, "cpu": clock.cpu * scale,
        "coding": loading, "tables": len(some),
    }  # fmt: skip


def _code(attribute: Attribute) -> str:
    if attribute.name.startswith("number"):
        return f"CAST({attribute.name} // 10 AS UTINYINT) AS {attribute.name}"
    if attribute.name.startswith("text"):
        return f"CAST(substr({attribute.name}, 7) AS UTINYINT) AS {attribute.name}"
    return attribute.name


def sample(folder: Path, rows: int, engine: str) -> dict[str, Any]:
    from understudy.cli import main

    output = folder / f"sampled.{engine}"
    words = ["sample", str(folder / f"{rows}.release.zip"), "--rows", str(rows), "-o", str(output)]
    with memory() as peak, timed() as clock:
        try:
            main(words)
        except SystemExit as end:
            assert not end.code, end.code
    found = {"size mb": output.stat().st_size / 1e6}
    output.unlink()
    return {"work": "sample", "engine": engine, "rows": rows, "wall": clock.wall, "cpu": clock.cpu, **found, **peak}


# -- all of it ---------------------------------------------------------------------------------------------------


def apart(work: str, folder: Path, rows: int, engine: str, run: int = 1) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own; what an interrupted battery has measured is kept."""
    kept = folder / f"{work}-{rows}-{engine}-{run}.json"
    if not kept.exists():
        command = [sys.executable, __file__, "apart", work, str(folder), str(rows), engine]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(done.stderr)
        kept.write_text(done.stdout.splitlines()[-1])
    found: dict[str, Any] = json.loads(kept.read_text())
    print({k: round(v, 2) if isinstance(v, float) else v for k, v in found.items()}, flush=True)
    return found


def plot(lines: list[dict[str, Any]], file: Path) -> None:
    """CPU seconds against rows on logarithmic axes: coding, counting, the whole; dashed: linear."""
    seconds = [max(line[what], 0.001) for line in lines for what in ("coding cpu", "counting cpu", "cpu")]
    low, high = math.floor(math.log10(min(seconds))), math.ceil(math.log10(max(seconds)))
    first, last = lines[0]["rows"], lines[-1]["rows"]

    def at(x: float, y: float) -> tuple[float, float]:
        across = math.log(x / first) / math.log(last / first)
        return 70 + 330 * across, 270 - 220 * (math.log10(max(y, 10.0**low)) - low) / (high - low)

    def points(pairs: list[tuple[float, float]]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*pair) for pair in pairs))

    parts = []
    for power in range(low, high + 1):
        y = at(first, 10.0**power)[1]
        parts.append(f'<path d="M70 {y:.1f}H400" stroke="#ddd"/><text x="64" y="{y + 4:.1f}" text-anchor="end">')
        parts.append(f"{10.0**power:g} s</text>")
    for line in lines:
        x = at(line["rows"], 1)[0]
        parts.append(f'<text x="{x:.1f}" y="286" text-anchor="middle">{line["rows"]:,}</text>')
    top = lines[-1]
    for what, colour, name in LINES:
        guide = [(x, top[what] * x / last) for x in (last / 100, last)]
        parts.append(
            f'<polyline points="{points(guide)}" fill="none" stroke="{colour}" stroke-dasharray="3" opacity=".5"/>'
        )
        path = points([(line["rows"], line[what]) for line in lines])
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        x, y = at(last, top[what])
        parts.append(f'<text x="{x + 6:.1f}" y="{y + 4:.1f}" fill="{colour}">{name} {top[what]:.0f} s</text>')
    file.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" width="500" height="320" font-family="sans-serif" font-size="11">'
        '<rect width="500" height="320" fill="white"/><text x="70" y="24">PrivBayes degree 2, 20 columns, mapped '
        f"engine, CPU seconds against rows</text>{''.join(parts)}"
        '<text x="70" y="308" fill="grey">logarithmic axes; dashed: linear, through the last point</text></svg>\n'
    )


def main(folder: Path, most: int) -> None:
    RESULTS.mkdir(exist_ok=True)
    folder = folder / "engines-benchmark"
    folder.mkdir(exist_ok=True)  # a new one, or that of a battery that was interrupted
    tempfile.tempdir = str(folder)
    sizes = [rows for rows in ROWS if rows <= most]
    needed = sizes[-1] * 60  # the table, its coded copy, DuckDB's, and the sample, one after another
    if shutil.disk_usage(folder).free < needed:
        raise SystemExit(f"{folder} needs {needed / 1e9:.0f} GB")
    lines: list[dict[str, Any]] = [{"work": "calibration", "cpu": calibration()}]
    print(f"calibration: {lines[0]['cpu']:.2f} s of CPU for 50 bincounts of 1,000,000 codes", flush=True)
    for rows in sizes:
        path = folder / f"{rows}.parquet"
        if not path.exists():
            make(path, rows)
        print(f"{rows:,} rows: {path.stat().st_size / 1e6:.0f} MB of Parquet", flush=True)
        lines.append(apart("publish", folder, rows, "mapped"))
        if rows == 10_000_000:
            lines += [apart("count", folder, rows, engine, run) for run in (1, 2, 3) for engine in ("memory", "mapped")]
        if rows == sizes[-1]:
            lines.append(apart("count", folder, rows, "mapped"))
            lines += [apart("group_by", folder, rows, engine) for engine in ("duckdb", "duckdb-coded")]
            lines.append(apart("sample", folder, rows, "parquet"))
    names = list(dict.fromkeys(key for line in lines for key in line))
    with (RESULTS / "engines.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows({k: round(v, 3) if isinstance(v, float) else v for k, v in line.items()} for line in lines)
    plot([line for line in lines if line["work"] == "publish"], RESULTS / "engines.svg")
    shutil.rmtree(folder)


WORK = {"publish": publish, "count": count, "group_by": group_by, "sample": sample}

if __name__ == "__main__":
    if sys.argv[1] == "apart":
        _, _, what, where, rows, engine = sys.argv
        tempfile.tempdir = where
        print(json.dumps(WORK[what](Path(where), int(rows), engine)))
    else:
        main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else ROWS[-1])
