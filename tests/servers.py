"""Real servers for tests: PostgreSQL in a temporary folder, a Spark cluster on loopback. Started where installed."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

PASSWORD = "s3cr3t-canary"
_TYPES = {
    pa.bool_(): "boolean", pa.int64(): "bigint", pa.int32(): "integer", pa.int16(): "smallint", pa.float64(): "float8",
    pa.float32(): "real", pa.string(): "text", pa.large_string(): "text", pa.date32(): "date",
    pa.timestamp("us"): "timestamp", pa.timestamp("us", "UTC"): "timestamptz", pa.time64("us"): "time",
    pa.time32("s"): "time",
}  # fmt: skip


class Running:
    """The test that is running; None in a process that a test started."""

    test: pytest.Item | None = None


def needs_mark() -> None:
    """Fail a test that uses an engine and is not marked so: `-m engines` runs those where everything is installed."""
    if Running.test is not None and Running.test.get_closest_marker("engines") is None:
        pytest.fail("this test needs a real engine: mark it with pytest.mark.engines")


def unavailable(reason: str) -> None:
    """Skip, except where everything was installed on purpose."""
    if os.environ.get("UNDERSTUDY_REQUIRE_ENGINES") == "1":
        pytest.fail(f"this engine must work here: {reason}")
    pytest.skip(reason)


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        unavailable(f"{name} is not installed")


def need_spark() -> Any:
    needs_mark()
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        unavailable("Spark needs Java")
    return module("pyspark")


def free_port() -> int:
    """Ours until this process ends: bound and never listening, so that the system gives it to nobody else, while a
    server that asks for it by number gets it, now or later."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port = int(holder.getsockname()[1])
    holder.detach()
    return port


class PostgreSQL:
    """A server of its own, over loopback with passwords; superuser `owner` by socket, `reader` may only SELECT."""

    def __init__(self) -> None:
        needs_mark()
        programs = _postgresql_programs()
        if programs is None:
            unavailable("no PostgreSQL server is installed")
        assert programs is not None
        module("psycopg")
        self._programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self.port = free_port()
        self._user = _other_user()
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
        self._run("initdb", "-D", str(self.folder / "data"), "-U", "owner", "-E", "UTF8", "--locale=C",
                  "--auth-local=trust", "--auth-host=scram-sha-256", "--no-sync")  # fmt: skip
        self.start()
        with self.connect() as connection:
            connection.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")

    def start(self) -> None:
        settings = (
            f"-k {self.folder} -p {self.port} -c listen_addresses=127.0.0.1 -c fsync=off -c log_statement=all "
            "-c shared_buffers=32MB -c max_connections=20"
        )
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", settings, "-w", "-t", "300",
            "start",
        )  # fmt: skip

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self) -> Any:
        needs_mark()
        import psycopg

        return psycopg.connect(f"host={self.folder} port={self.port} user=owner dbname=postgres", autocommit=True)

    def load(self, name: str, table: pa.Table) -> str:
        """A table that `reader` may SELECT from, and its address (the password comes from the environment)."""
        columns = ", ".join(f'"{field.name}" {_declared(field.type)}' for field in table.schema)
        with self.connect() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {name} CASCADE")
            connection.execute(f"CREATE TABLE {name} ({columns})")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*(column.to_pylist() for column in table.columns)):
                    copy.write_row(row)
            connection.execute(f"GRANT SELECT ON {name} TO reader")
        return self.address(name)

    def address(self, name: str, user: str = "reader") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres?table={name}"

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        if self._user is not None:
            identity = [f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}", "--clear-groups"]
            command = ["setpriv", *identity, *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)


def _postgresql_programs() -> Path | None:
    """Debian keeps the server out of PATH."""
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    candidates += [Path(found).parent] if found else []
    return next((path for path in candidates if (path / "initdb").exists() and (path / "pg_ctl").exists()), None)


def _other_user() -> Any:
    """PostgreSQL refuses root."""
    import pwd  # POSIX only

    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    unavailable("PostgreSQL does not run as root, and there is no other user")
    return None


def _declared(type: Any) -> str:
    return f"numeric({type.precision}, {type.scale})" if pa.types.is_decimal(type) else _TYPES[type]


class SparkCluster:
    """A standalone master and two workers, each a process of its own."""

    def __init__(self, memory: str = "512m") -> None:
        pyspark = need_spark()
        self.folder = Path(tempfile.mkdtemp(prefix="spark-"))
        self._home = Path(pyspark.__file__).parent
        self._environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(self._home),
                             "PYSPARK_PYTHON": sys.executable, "SPARK_DAEMON_MEMORY": "256m",
                             "SPARK_LOCAL_DIRS": str(self.folder / "local")}  # fmt: skip
        self._memory = memory
        self._port, self._page = free_port(), free_port()
        self.master = f"spark://127.0.0.1:{self._port}"
        where = ["--host", "127.0.0.1", "--port", str(self._port), "--webui-port", str(self._page)]
        self._processes = [self._start("master.Master", *where)]
        self._wait(lambda: self.workers() is not None, 300)
        self.worker_processes = [self._worker(i) for i in range(2)]
        self._wait(lambda: len(self.workers() or ()) == 2, 300)

    def _worker(self, at: int) -> subprocess.Popen[bytes]:
        resources = ["--cores", "1", "--memory", self._memory, "--host", "127.0.0.1", "--webui-port", str(free_port())]
        return self._start("worker.Worker", *resources, "-d", str(self.folder / f"worker-{at}"), self.master)

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{program}", *arguments]
        with (self.folder / f"{program}.log").open("ab") as log:
            return subprocess.Popen(
                command, env=self._environment, stdout=log, stderr=log, start_new_session=True, cwd=self.folder
            )

    def workers(self) -> list[str] | None:
        """The ids of the workers that the master calls alive; None while there is no master."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._page}/json/", timeout=30) as answer:
                state = json.load(answer)
        except (OSError, ValueError):
            return None
        return [worker["id"] for worker in state["workers"] if worker["state"] == "ALIVE"]

    def kill_worker(self) -> None:
        """One worker and its executor, without a word."""
        _kill(self.worker_processes.pop())

    def add_worker(self) -> None:
        """Another one in the place of one that was killed."""
        self.worker_processes.append(self._worker(len(list(self.folder.glob("worker-*")))))
        self._wait(lambda: len(self.workers() or ()) == 2, 300)

    def close(self) -> None:
        for process in [*self.worker_processes, *self._processes]:
            _kill(process)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self, ready: Any, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > end:
                self.close()
                unavailable("the Spark cluster did not start in time")
            time.sleep(0.3)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """The process, its group (spark-class runs java) and the executors that java started."""
    for child in _children(process.pid):
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _children(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError, ValueError):
            if int(status.read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(status.parent.name))
    return found


__all__ = ["PASSWORD", "PostgreSQL", "Running", "SparkCluster", "free_port", "need_spark", "unavailable"]
