"""Without numba: every method publishes, more slowly, in plain Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from understudy.methods import METHODS

LAWS = Path(__file__).parents[1] / "laws"
SCRIPT = """
import sys
sys.modules["numba"] = None
from pathlib import Path
method, folder = sys.argv[1], Path(sys.argv[2])
sys.path[:0] = sys.argv[3:]
from test_matrix import small_table
from understudy import Release, publish
from understudy.compiled import HAVE_NUMBA
assert not HAVE_NUMBA
table, schema = small_table(method, "replace-one")
publish(table, schema, epsilon=2, method=method, ledger=folder / "ledger.db").save(folder / "r.release.zip")
print(len(Release.open(folder / "r.release.zip").sample(20)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_every_method_publishes_without_numba(method: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, method, str(tmp_path), str(LAWS), str(LAWS.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "20", done.stderr
