"""The examples of docs/guide/inference.md run as they stand, where what they need is installed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from understudy.demo import demo_schema, demo_table
from understudy.testing import publish_seeded

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "inference.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.slow
def test_examples_run(tmp_path):
    table = demo_table(2000, np.random.default_rng(1)).to_pandas()
    made = publish_seeded(
        table, demo_schema(rows=2000), seed=1, epsilon=8, delta=1e-6, ledger=tmp_path / "l.db", cap="none"
    )
    space = {"release": made.release}
    exec(EXAMPLES[0], space)
    found = space["found"]
    assert found.stderr > 0 and 0 <= found.p_value() <= 1
    pytest.importorskip("statsmodels")
    exec(EXAMPLES[1], space)
    assert space["slope"].stderr > 0 and space["effect"].stderr > 0
