"""Peers on the raw tables: each in an environment of its own, told what the schema says, under a cap of CPU time."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.schema import Attribute, Intervals, Schema

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / "peers" / ".envs"
CAP = 240  # seconds of CPU for one run
PATIENCE = 8  # times the cap by the clock: on a busy machine a tool waits for its share of it


@dataclass(frozen=True)
class Peer:
    """A tool, the environment that it is installed in (`benchmarks/peers/environments.py`), and what it promises."""

    environment: str
    driver: str
    private: bool = True

    @property
    def python(self) -> Path:
        """Return its interpreter; dpsynth's is told by DPSYNTH_PYTHON, since it is on no package registry."""
        told = os.environ.get(f"{self.environment.upper()}_PYTHON")
        return Path(told) if told else ENVIRONMENTS / self.environment / "bin" / "python"


PEERS = {
    "dpmm": Peer("dpmm", "dpmm_privbayes"),
    "dpsynth": Peer("dpsynth", "dpsynth_mst"),
    "sdv": Peer("sdv", "sdv_copula", private=False),
}


def column_facts(schema: Schema) -> list[dict[str, Any]]:
    """Return what the schema says of each modelled column, for a driver."""
    return [_facts(attribute) for attribute in schema.modelled]


def _facts(attribute: Attribute) -> dict[str, Any]:
    body: dict[str, Any] = {"name": attribute.name, "kind": attribute.kind, "missing": list(attribute.missing)}
    domain = attribute.domain
    if isinstance(domain, Intervals):
        low, high = domain.edges[0], domain.edges[-1]
        return body | {"low": low + 0.5 * (low % 1 == 0.5), "high": high - 0.5 * (high % 1 == 0.5)}
    return body | {"values": list(domain.texts or domain.labels)}


def synthesize(name: str, table: Path, schema: Schema, out: Path, epsilon: str, delta: str) -> str | None:
    """Run one peer; return why it failed, or None."""
    peer = PEERS[name]
    if not peer.python.exists():
        return "not installed"
    facts = out.with_suffix(".json")
    facts.write_text(json.dumps(column_facts(schema)))
    command = [peer.python, HERE / "drivers" / f"{peer.driver}.py", table, facts, out, epsilon, delta]
    try:
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, timeout=PATIENCE * CAP, preexec_fn=_capped,
            env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not finished in {PATIENCE * CAP} s by the clock"
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return f"not finished in {CAP} s of CPU"
    return (done.stderr.strip().splitlines() or ["no message"])[-1][:200]


def _capped() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CAP, CAP))


if __name__ == "__main__":
    sys.exit("run benchmarks/raw/run.py --forms dpmm sdv dpsynth")
