"""A task as every driver sees it: coded rows in, as many coded rows out, CPU seconds and peak memory on the last line.

A driver runs in its peer's environment, so this needs numpy only, and any numpy.

    python drivers/PEER.py ROWS.csv DOMAIN.json OUT.csv EPSILON VARIANT
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Task:
    path: Path  # integer codes, one column an attribute, with a header
    sizes: dict[str, int]  # public: codes of an attribute run from 0 to its size - 1
    out: Path
    epsilon: str
    variant: str

    @property
    def names(self) -> list[str]:
        return list(self.sizes)

    def rows(self) -> np.ndarray:
        return np.loadtxt(self.path, delimiter=",", skiprows=1, dtype=np.int64)


def cpu() -> float:
    """CPU seconds so far, of this process, its threads, and its children that have ended."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


def peak_mb() -> float:
    """The largest resident size of this program (not of the one that started it) or of a child."""
    status = Path("/proc/self/status").read_text()
    own = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024


def perform(fit: Callable[[Task], Any], sample: Callable[[Any, Task], Any]) -> None:
    """Fit, sample, write the codes in the order of the domain, and report."""
    path, domain, out, epsilon, variant = sys.argv[1:]
    task = Task(Path(path), json.loads(Path(domain).read_text()), Path(out), epsilon, variant)
    start = cpu()
    model = fit(task)
    fitted = cpu()
    codes = np.asarray(sample(model, task), dtype=np.int64)
    sampled = cpu()
    np.savetxt(task.out, codes, fmt="%d", delimiter=",", header=",".join(task.names), comments="")
    print(json.dumps({"fit": fitted - start, "sample": sampled - fitted, "memory": peak_mb()}))
