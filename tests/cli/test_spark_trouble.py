"""`publish` by Spark when the disk is full, or when a person has had enough."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from pyarrow import parquet

from servers import need_spark
from understudy.demo import demo_schema, demo_table
from understudy.engines.spark_rows import FOLDER
from understudy.privacy.ledger import Ledger

pytestmark = pytest.mark.engines
ROWS = 20_000
KILOBYTES = 100  # of a file system of its own; the coded copy takes more, a private folder takes less
# In a mount namespace of its own, so that nothing stays mounted: a cluster, the command, and what is left on the disk.
SCRIPT = """
import json, os, subprocess, sys
from pathlib import Path
sys.path.append(sys.argv[3])
from servers import SparkCluster

folder, kilobytes = Path(sys.argv[1]), sys.argv[2]
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", folder / "tiny"], check=True)
cluster = SparkCluster()
try:
    command = [
        sys.executable, "-m", "understudy", "publish", folder / "people.parquet", "--schema", folder / "people.toml", "--engine",
        "spark", "--master", cluster.master, "--epsilon", "1", "--method", "privbayes", "--ledger", folder / "ledger.db", "-o",
        folder / "out.csv", "--json",
    ]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(folder / "conf")}
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True)
finally:
    cluster.close()
left = [str(path) for path in (folder / "tiny").rglob("*")]
free = os.statvfs(folder / "tiny").f_bavail * os.statvfs(folder / "tiny").f_frsize
print(json.dumps({"code": done.returncode, "out": done.stdout, "err": done.stderr, "left": left, "free": free}))
"""


def can_mount() -> bool:
    """A user namespace gives the right to mount without being root; some machines do not allow one."""
    if shutil.which("unshare") is None:
        return False
    tried = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=4k", "none", "/mnt"]
    return subprocess.run(tried, capture_output=True).returncode == 0


@pytest.fixture
def people(tmp_path: Path) -> Path:
    need_spark()
    parquet.write_table(demo_table(ROWS, np.random.default_rng(1)), tmp_path / "people.parquet")
    demo_schema(ROWS).save(tmp_path / "people.toml")
    return tmp_path


@pytest.mark.slow
def test_ctrl_c_leaves_nothing(people: Path) -> None:
    """In the middle of the run: the coded copy is there. A run that is over before that is seen is no trial."""
    for number in range(3):
        code, said = interrupted(people, people / f"scratch{number}", people / f"ledger{number}.db")
        if code != 0:
            break
        for path in people.glob("out*"):
            path.unlink()
    assert code == 1 and "understudy: stopped" in said
    assert "Traceback" not in said, said
    assert not list(people.glob("scratch*/understudy-*")) and not list(people.glob("out*"))


def interrupted(people: Path, scratch: Path, ledger: Path) -> tuple[int, str]:
    """How the run ended, and what it said."""
    scratch.mkdir()
    command = [
        "publish", people / "people.parquet", "--schema", people / "people.toml", "--engine", "spark", "--master", "local[1]",
        "--epsilon", 1, "--method", "privbayes", "--ledger", ledger, "-o", people / "out.csv",
    ]  # fmt: skip
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "TMPDIR": str(scratch)}
    started = subprocess.Popen(
        [sys.executable, "-m", "understudy", *map(str, command)], env=environment, text=True, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )  # fmt: skip
    try:
        deadline = time.monotonic() + 600
        while not list(scratch.glob("*/coded/_SUCCESS")) and started.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGINT)
        _, said = started.communicate(timeout=600)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
    return started.returncode, said


@pytest.mark.slow
def test_a_full_disk_is_said_and_leaves_nothing(people: Path) -> None:
    if not can_mount():
        pytest.skip("no small file system can be mounted here")
    (people / "tiny").mkdir()
    (people / "conf").mkdir()
    settings = {FOLDER: (people / "tiny").as_uri(), "spark.executor.memory": "512m", "spark.task.maxFailures": "1"}
    lines = [f"{key} {value}" for key, value in settings.items()]
    (people / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = [str(people), str(KILOBYTES), str(Path(__file__).parents[1])]
    ran = subprocess.run(
        ["unshare", "-rm", sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, timeout=1800
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["code"] == 2, found
    error = json.loads(found["out"])["error"]
    assert error["kind"] == "usage" and error["message"] == (
        "the coded copy of the table has no room in its folder: the disk is full. Nothing was charged. "
        f"Make room, or name a folder on a larger disk: {FOLDER} in Spark's configuration, else TMPDIR"
    )
    assert "Traceback" not in found["err"] and "No space left" not in found["err"]
    assert found["left"] == [] and found["free"] == KILOBYTES * 1024
    assert not list(people.glob("out*"))
    book = Ledger(people / "ledger.db")
    assert not book.entries()
    book.close()
