"""The mapped engine: the same counts and refusals as in memory, in a folder that nobody else can read and nobody finds."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from test_memory import AXES, mixed_columns, mixed_schema, plain

from conftest import columns_of, schema_of
from understudy.engines import coding, embedded, scratch
from understudy.engines.cached import CachedEngine
from understudy.engines.cell_coder import CellCoder
from understudy.engines.coding import encode_table
from understudy.engines.mapped import open_mapped
from understudy.engines.scratch import Scratch, remove_abandoned
from understudy.engines.sources import open_source
from understudy.errors import DataError, UsageError
from understudy.methods.toolkit import row_count
from understudy.publishing import plan, publish
from understudy.schema import Axis, Schema


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own, to see what is in it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def frame(columns: dict[str, np.ndarray], schema: Schema) -> pa.Table:
    return pa.table({n: np.asarray(schema[n].labels, dtype=object)[codes] for n, codes in columns.items()})


def mapped(columns: dict[str, np.ndarray], schema: Schema) -> CachedEngine:
    return open_mapped(open_source(frame(columns, schema)), schema)


# -- counts ------------------------------------------------------------------------------------------------------


@pytest.mark.costly
@settings(max_examples=30, deadline=None)
@given(
    workload=st.lists(st.lists(st.sampled_from(AXES), unique=True, max_size=4), min_size=1, max_size=6),
    rows=st.sampled_from([1, 63, 64, 65, 500]),
    seed=st.integers(0, 10),
)
def test_counts_are_exact(workload: list[list[Axis]], rows: int, seed: int) -> None:
    schema, columns = mixed_schema(rows), mixed_columns(rows, seed)
    engine = mapped(columns, schema)
    for axes, counts in zip(workload, engine.marginals([tuple(a) for a in workload]), strict=True):
        assert (counts == plain(columns, schema, tuple(axes))).all()
    found = engine.pairs((Axis("x"), Axis("y"), Axis("w")))
    assert (found.table(0, 1) == plain(columns, schema, (Axis("x"), Axis("y")))).all()
    engine.close()


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_pieces_of_any_length_make_the_same_columns(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks and batches that end in the middle of a word."""
    rows = 3_001
    schema, columns = mixed_schema(rows), mixed_columns(rows, 2)
    path = tmp_path / f"t{suffix}"
    table = frame(columns, schema)
    if suffix == ".csv":
        monkeypatch.setattr("understudy.engines.delimited.BLOCK", 1 << 10)
        table.to_pandas().to_csv(path, index=False)
    else:
        parquet.write_table(table, path, row_group_size=77)
    engine = open_mapped(open_source(path), schema)
    kept = encode_table(open_source(path), schema).columns
    for name, codes in kept.items():
        assert (engine._store.codes(name, 0, rows) == codes).all()
        assert (engine._store.codes(name, 128, 1000) == codes[128:1000]).all()
    engine.close()


def test_the_files_are_compact(temporary: Path) -> None:
    rows = 10_000
    schema, columns = mixed_schema(rows), mixed_columns(rows, 1)
    engine = mapped(columns, schema)
    sizes = sorted(file.stat().st_size for file in temporary.glob("understudy-*/column-*"))
    bits = -(-rows // 64) * 8
    assert sizes == [bits, bits, rows, 2 * rows]
    assert sum(sizes) <= embedded.coded_bytes(schema, rows) <= sum(sizes) + 64
    engine.close()


# -- the folder --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_nobody_else_can_read_the_folder_and_close_removes_it(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.engines.cached.FEW_ONES", 0)  # bits on disk, as for many rows
    engine = mapped(mixed_columns(100, 1), mixed_schema(100))
    (folder,) = temporary.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}
    list(engine.marginals([(Axis("x", bit=0), Axis("x", bit=1))]))  # a view: one more file each
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.glob("view-*")} == {0o600}
    engine.close()
    engine.close()
    assert not list(temporary.iterdir())


def test_an_engine_that_is_forgotten_leaves_nothing(temporary: Path) -> None:
    engine = mapped(mixed_columns(100, 1), mixed_schema(100))
    del engine
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_nothing(
    error: type[BaseException], temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While counting, long after the columns were written."""
    table, schema = frame(mixed_columns(500, 1), mixed_schema(500)), mixed_schema(500)
    seen = []

    def stop(self: CachedEngine, workload: object) -> None:
        seen.extend(temporary.glob("understudy-*/column-*"))
        raise error

    monkeypatch.setattr(CachedEngine, "marginals", stop)
    with pytest.raises(error):
        publish(table, schema, epsilon=1, method="privbayes", engine="mapped", ledger=tmp_path / "ledger.db")
    assert seen and not list(temporary.iterdir())


VICTIM = """
import os, signal, sys, tempfile
import pyarrow as pa
from understudy.engines import mapped
from understudy.engines.sources import open_source
from understudy.schema import Schema
tempfile.tempdir = sys.argv[1]
left = [3]
append = mapped.ColumnFile.append
def dying(self, codes):
    append(self, codes)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
mapped.ColumnFile.append = dying
schema = Schema.open(sys.argv[2])
mapped.open_mapped(open_source(sys.argv[3]), schema)
"""


@pytest.mark.costly
@pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")
def test_the_next_start_removes_what_a_killed_process_left(temporary: Path, tmp_path: Path) -> None:
    schema = mixed_schema(5000)
    schema.save(tmp_path / "schema.toml")
    path = tmp_path / "t.parquet"
    parquet.write_table(frame(mixed_columns(5000, 1), schema), path, row_group_size=1000)
    command = [sys.executable, "-c", VICTIM, str(temporary), str(tmp_path / "schema.toml"), str(path)]
    done = subprocess.run(command, capture_output=True, check=False, timeout=600)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    (left,) = temporary.iterdir()
    assert list(left.glob("column-*"))
    engine = open_mapped(open_source(path), schema)
    assert not left.exists()
    engine.close()
    assert not list(temporary.iterdir())


def test_a_folder_in_use_and_strangers_stay(temporary: Path) -> None:
    """Nothing goes but what is surely ours, however old it is."""
    mine = Scratch()
    work = temporary / "work"
    for name in ("understudy-results", "understudy-federation-abcdefgh", "understudy-scratch-notes"):
        (temporary / name).mkdir()
        (temporary / name / "process.lock").touch()
        (temporary / name / "kept.txt").write_text("kept")
    without_lock = temporary / "understudy-scratch-1-abcdefgh"
    without_lock.mkdir()
    (without_lock / "kept.txt").write_text("kept")
    work.mkdir()
    (work / "process.lock").touch()
    (temporary / "understudy-scratch-2-abcdefgh").symlink_to(work)
    (temporary / "understudy-scratch-3-abcdefgh").touch()
    before = sorted(temporary.rglob("*"))
    old = time.time() - 3600
    for path in temporary.iterdir():
        os.utime(path, (old, old))
    remove_abandoned(temporary)
    assert sorted(temporary.rglob("*")) == before
    mine.close()
    assert not mine.path.exists()


def test_an_empty_folder_without_a_lock_goes_when_it_is_old(temporary: Path) -> None:
    empty = temporary / "understudy-scratch-1-abcdefgh"
    empty.mkdir()
    remove_abandoned(temporary)
    assert empty.exists()  # it may be on its way
    os.utime(empty, (time.time() - 3600,) * 2)
    remove_abandoned(temporary)
    assert not empty.exists()


def test_what_a_folder_holds_goes_with_it_but_not_what_a_link_points_to(temporary: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "kept.txt").write_text("kept")
    mine = Scratch()
    (mine.path / "deep" / "deeper").mkdir(parents=True)
    (mine.path / "deep" / "deeper" / "part").write_text("part")
    if os.name == "posix":  # elsewhere a link takes a right that not every user has
        (mine.path / "link").symlink_to(tmp_path / "elsewhere")
    mine.close()
    assert not list(temporary.iterdir())
    assert (tmp_path / "elsewhere" / "kept.txt").exists()


def test_a_folder_that_another_start_has_taken_is_left_to_it(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between making a folder and locking it, another process may have removed it."""
    made, real = [], tempfile.mkdtemp

    def stolen(**named: str) -> str:
        path = real(**named)
        if not made:
            Path(path).rmdir()
        made.append(path)
        return path

    monkeypatch.setattr(tempfile, "mkdtemp", stolen)
    mine = Scratch()
    assert str(mine.path) == made[1] and mine.path.exists()
    mine.close()


def test_a_temporary_folder_without_locks(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch.ProcessLock, "acquire", lambda self: False)
    with pytest.raises(UsageError, match="files cannot be locked there.*TMPDIR"):
        Scratch()
    assert not list(temporary.iterdir())


def test_a_named_folder_that_cannot_be_used_is_not_replaced_by_another(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "typo"))
    with pytest.raises(UsageError, match="TMPDIR names .*typo"):
        Scratch()
    assert not list(temporary.iterdir())


# -- the disk ----------------------------------------------------------------------------------------------------


def test_room_is_asked_for_before_anything_is_written(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda path: _Usage(10, 10, 1000))
    with pytest.raises(UsageError, match="needs about 0.002 MB .*which has 0.001 MB free.*TMPDIR"):
        Scratch(1_234)
    assert not list(temporary.iterdir())
    Scratch(1_000).close()
    with pytest.raises(UsageError, match="needs about 7.0 GB"):
        Scratch(6_543_210_987)


class _Usage:
    def __init__(self, total: int, used: int, free: int) -> None:
        self.total, self.used, self.free = total, used, free


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_disk_that_fills_up(temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device whose every write says `No space left on device`."""

    def full(self: Scratch, name: str) -> object:
        (self.path / name).symlink_to("/dev/full")
        self._files.append((self.path / name).open("r+b", buffering=0))
        return self._files[-1]

    monkeypatch.setattr(Scratch, "create", full)
    table, schema = frame(mixed_columns(500, 1), mixed_schema(500)), mixed_schema(500)
    with pytest.raises(UsageError, match="no space left on device.*TMPDIR") as caught:
        publish(table, schema, epsilon=1, engine="mapped", ledger=tmp_path / "ledger.db")
    assert os.strerror(errno.ENOSPC).lower() in caught.value.message.lower()
    assert not list(temporary.iterdir())


LIMITED = """
import resource, sys
from understudy.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))
main(sys.argv[1:])
"""


@pytest.mark.costly
@pytest.mark.skipif(os.name != "posix", reason="limits are POSIX")
def test_the_command_line_says_so_and_leaves_nothing(temporary: Path, tmp_path: Path) -> None:
    """A real limit on the size of a file, in a process of its own."""
    schema = mixed_schema(200_000)
    schema.save(tmp_path / "schema.toml")
    parquet.write_table(frame(mixed_columns(200_000, 1), schema), tmp_path / "t.parquet")
    words = ["publish", "t.parquet", "--schema", "schema.toml", "--epsilon", "1", "-o", "out.csv", "--engine", "mapped"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *words, "--json"], capture_output=True, check=False, timeout=600, cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
    )  # fmt: skip
    error = json.loads(done.stdout)["error"]
    assert done.returncode == 2 and "file too large" in error["message"] and "TMPDIR" in error["message"]
    assert not list(temporary.iterdir())
    assert not (tmp_path / "out.csv").exists()


# -- the source --------------------------------------------------------------------------------------------------


def small(tmp_path: Path, suffix: str, rows: int = 4000) -> tuple[Path, Schema]:
    sizes = {"a": 3, "b": 2}
    schema, path = schema_of(sizes, rows), tmp_path / f"t{suffix}"
    table = frame(columns_of(sizes, rows), schema)
    if suffix == ".csv":
        table.to_pandas().to_csv(path, index=False)
    else:
        parquet.write_table(table, path, row_group_size=500)
    return path, schema


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("engine", ["memory", "mapped"])
@pytest.mark.parametrize("change", ["longer", "cut", "replaced", "gone"])
def test_a_file_that_changes_while_it_is_read(
    suffix: str, engine: str, change: str, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schema = small(tmp_path, suffix)
    monkeypatch.setattr("understudy.engines.delimited.BLOCK", 1 << 10)
    before = path.read_bytes()
    done = []

    def interfere() -> None:
        if done:
            return
        done.append(True)
        if change == "longer":
            path.write_bytes(before + before[-20:])
        elif change == "cut":
            os.truncate(path, len(before) // 2)
        elif change == "gone":
            path.unlink()
        else:
            (tmp_path / "new").write_bytes(before)
            (tmp_path / "new").replace(path)

    def interfered(self: object, piece: object) -> object:
        interfere()
        return real(self, piece)

    real = CellCoder.code
    monkeypatch.setattr(CellCoder, "code", interfered)
    monkeypatch.setattr(coding, "stream", lambda work, items, ahead: map(work, items))  # no piece is read ahead
    ledger = tmp_path / "ledger.db"
    with pytest.raises(DataError, match="changed while it was being read"):
        publish(path, schema, epsilon=1, engine=engine, ledger=ledger)
    assert not list(temporary.iterdir())


@pytest.mark.costly
def test_a_million_values_declared_as_few(tmp_path: Path, temporary: Path) -> None:
    rows = 1_000_000
    schema = schema_of({"a": 3, "b": 4}, rows)
    texts = pa.array(np.arange(rows)).cast(pa.string())
    parquet.write_table(pa.table({"a": ["1"] * rows, "b": texts}), tmp_path / "t.parquet")
    with pytest.raises(DataError) as caught:
        publish(tmp_path / "t.parquet", schema, epsilon=1, engine="mapped", ledger=tmp_path / "ledger.db")
    assert caught.value.attribute == "b" and caught.value.exit_code == 4
    assert not any(character.isdigit() for character in caught.value.message)
    assert not list(temporary.iterdir())


def test_both_refuse_alike(tmp_path: Path, temporary: Path) -> None:
    """Every kind of misfit: the same error, word for word."""
    schema = schema_of({"a": 3, "b": 2}, 3)
    tables = {
        "cells": {"a": ["0", "1", "7"], "b": ["0", "1", "5"]},
        "rows": {"a": ["0", "1"], "b": ["0", "1"]},
        "no rows": {"a": pa.array([], pa.string()), "b": pa.array([], pa.string())},
        "absent": {"a": ["0", "1", "1"]},
        "undeclared": {"a": ["0"] * 3, "b": ["0"] * 3, "c": ["0"] * 3},
        "type": {"a": [[1], [2], [3]], "b": ["0", "1", "9"]},
    }
    for columns in tables.values():
        said = set()
        for engine in ("memory", "mapped"):
            with pytest.raises(DataError) as caught:
                publish(pa.table(columns), schema, epsilon=1, engine=engine, ledger=tmp_path / "ledger.db")
            said.add((caught.value.message, caught.value.attribute))
        assert len(said) == 1
    assert not list(temporary.iterdir())


READER = """
import sys
from pathlib import Path
from understudy.engines.sources import ParquetFile
def anonymous():
    return next(int(l.split()[1]) for l in Path("/proc/self/status").read_text().splitlines() if l.startswith("RssAnon"))
peak = start = 0
for i, _ in enumerate(ParquetFile(Path(sys.argv[1])).pieces(["a"])):
    peak = max(peak, anonymous())
    start = start or peak
print(peak - start)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="Linux tells anonymous memory apart")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """A file of 160 MB that does not compress, in twenty row groups."""
    generator = np.random.default_rng(0)
    schema = pa.schema({"a": pa.int64()})
    with parquet.ParquetWriter(tmp_path / "t.parquet", schema, compression=None, use_dictionary=False) as writer:
        for _ in range(20):
            writer.write_table(pa.table({"a": generator.integers(0, 2**62, 1_000_000)}))
    command = [sys.executable, "-c", READER, str(tmp_path / "t.parquet")]
    done = subprocess.run(command, capture_output=True, check=True, timeout=600, text=True)
    assert int(done.stdout) < 60_000  # kB


# -- the default -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("public", [True, False])
def test_a_large_file_is_mapped_without_being_asked(
    suffix: str, public: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, schema = small(tmp_path, suffix)
    if not public:
        schema = schema_of({"a": 3, "b": 2}, None, "add-remove")

    def chosen() -> str:
        engine, columns = embedded.open_embedded(path, schema)
        engine.close()
        assert columns == ("a", "b")
        return engine.name

    assert chosen() == "memory"
    monkeypatch.setattr(embedded, "MAPPED_ROWS", 1000)
    assert chosen() == "mapped"
    monkeypatch.setattr(embedded, "MAPPED_ROWS", 10**9)
    monkeypatch.setattr(embedded, "_free_memory", lambda: 8_000)
    assert chosen() == "mapped"
    monkeypatch.setattr(embedded, "_free_memory", lambda: None)
    assert chosen() == "memory"


def test_a_plan_knows_when_a_file_is_not_read_into_memory() -> None:
    assert row_count.MAPPED_ROWS == embedded.MAPPED_ROWS
    few, many = (plan(schema_of({"a": 3, "b": 2}, n), epsilon=1, method="privbayes") for n in (9_999_999, 100_000_000))
    assert many.memory_mb < few.memory_mb


def test_a_frame_stays_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "MAPPED_ROWS", 1)
    engine, _ = embedded.open_embedded(frame(mixed_columns(100, 1), mixed_schema(100)), mixed_schema(100))
    assert engine.name == "memory"


def test_the_public_bound_caps_the_guess(tmp_path: Path) -> None:
    path, _ = small(tmp_path, ".csv")
    sizes = {"a": 3, "b": 2}
    free = schema_of(sizes, None, "add-remove")
    bound = schema_of(sizes, None, "add-remove", rows_max=10)
    assert embedded.expected_rows(open_source(path), free) == path.stat().st_size // 8
    assert embedded.expected_rows(open_source(path), bound) == 10
