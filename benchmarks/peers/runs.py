"""One run: a tool in a subprocess of its own environment, under a cap, and what the yardstick says of its rows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import coded
import numpy as np
from environments import failure, python
from tools import Tool

import datasets
from understudy.evaluate.classification import classify
from understudy.privacy.custodian import ExactTable
from yardstick import tvd

HERE = Path(__file__).resolve().parent
PATIENCE = 8  # times the cap by the clock: on a busy machine a tool waits longer for its share of it
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Run:
    """Figures of one run, or the reason why there are none."""

    tool: str
    data: str
    epsilon: str
    date: str
    failure: str | None = None
    tvd: tuple[float, float] | None = None  # 2-way and 3-way
    svm: tuple[float, ...] | None = None
    fit: float | None = None  # CPU seconds
    sample: float | None = None
    memory: float | None = None  # MB
    wall: float | None = None
    cap: float | None = None  # that it did not keep within

    def as_json(self) -> dict[str, Any]:
        return {k: v for k, v in asdict(self).items() if v is not None}


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())


def perform(tool: Tool, data: str, epsilon: str, real: ExactTable, cap: float) -> Run:
    date = today()
    if (error := failure(tool.environment)) is not None:
        return Run(tool.key, data, epsilon, date, failure=f"not installed: {error}")
    rows, domain = coded.export(data, real)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.csv"
        command = [python(tool.environment), HERE / "drivers" / f"{tool.driver}.py", rows, domain, out, epsilon]
        spent, error = _finish([*map(str, command), tool.variant], cap)
        wall = time.perf_counter() - start
        if error is not None:
            return Run(tool.key, data, epsilon, date, failure=error, **spent, wall=wall)
        try:
            made = coded.stand_in(out, real)
        except ValueError as refusal:
            return Run(tool.key, data, epsilon, date, failure=f"its output: {refusal}", wall=wall)
    return Run(tool.key, data, epsilon, date, None, *appraise(real, made, data), **spent, wall=wall)


def reference(data: str, real: ExactTable) -> list[Run]:
    """What is to be compared with: real rows drawn again, an SVM trained on real rows, the majority."""
    date = today()
    rows = np.random.default_rng(1).integers(0, real.rows(), real.rows())
    again = ExactTable({n: real.codes(n)[rows] for n in real.schema.names}, real.rows(), real.schema)
    errors = [classify(real, again, target, ("svm",)) for target in datasets.TARGETS.get(data, ())]
    trained, majority = tuple(float(e.real["svm"]) for e in errors), tuple(float(e.majority) for e in errors)
    distances, _ = appraise(real, again, data)
    return [Run("real", data, "-", date, tvd=distances, svm=trained), Run("majority", data, "-", date, svm=majority)]


def appraise(real: ExactTable, made: ExactTable, data: str) -> tuple[tuple[float, float], tuple[float, ...]]:
    """Mean TVD of all 2-way and 300 fixed 3-way tables; the papers' four SVM errors."""
    columns = [{n: t.codes(n).astype("int64") for n in real.schema.names} for t in (real, made)]
    errors = [classify(real, made, target, ("svm",)) for target in datasets.TARGETS.get(data, ())]
    distances = (tvd(*columns, real.schema, 2), tvd(*columns, real.schema, 3))
    return distances, tuple(float(e.synthetic["svm"]) for e in errors)


def _finish(command: list[str], cap: float) -> tuple[dict[str, float], str | None]:
    """What the driver printed last; or, past the cap, the memory it had taken, and the reason."""
    with _started(command) as process:
        begun, timeout = time.perf_counter(), cap
        while True:
            try:
                text, errors = process.communicate(timeout=timeout)
                break
            except subprocess.TimeoutExpired:
                spent, timeout = _cpu(process.pid), 10.0
            if spent >= cap or time.perf_counter() - begun >= PATIENCE * cap:
                return {"memory": _resident(process.pid), "cap": cap}, f"not finished in {spent:.0f} s of CPU"
        if process.returncode:
            last = (errors.strip().splitlines() or ["no message"])[-1]
            return {}, f"failed: {last[:200]}"
        return json.loads(text.strip().splitlines()[-1]), None


@contextmanager
def _started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """In a session of its own, so that the processes a tool starts end with it."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **ONE_THREAD},
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _cpu(session: int) -> float:
    """Seconds that all processes of a session have used, with the children they waited for."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024
