"""The first publish after installation: few loops are compiled for it, and whoever looks is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from understudy.demo import write_demo
from understudy.testing import SeededSource

LOOPS = {
    "_add", "_agree", "_calibrate", "_condition", "_dot", "_eliminate", "_find", "_gather", "_spread",
}  # fmt: skip


@pytest.mark.slow
def test_the_first_publish_compiles_few_loops_and_says_so(tmp_path: Path) -> None:
    """In a process of its own, with nothing kept from before, at a budget at which AIM has rounds."""
    table, schema = write_demo(tmp_path, SeededSource(1).generator(), rows=2_000)
    script = f"""
import sys
from understudy import publish
sys.stderr.isatty = lambda: True
publish({str(table)!r}, {str(schema)!r}, epsilon=10, method="aim", ledger={str(tmp_path / "l.db")!r}, cap="none").sample(9)
"""
    environment = {"NUMBA_CACHE_DIR": str(tmp_path / "kept"), "PATH": "", "HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert said.returncode == 0, said.stderr
    kept = {path.name.split(".")[1].rpartition("-")[0] for path in (tmp_path / "kept").rglob("*.nbi")}
    assert "_calibrate" in kept and kept <= LOOPS
    assert len(list((tmp_path / "kept").rglob("*.nbc"))) <= len(LOOPS) + 1  # rounding has a loop `_spread` of its own
    assert "compiling for this machine" in said.stderr
    again = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert again.returncode == 0 and "compiling" not in again.stderr
