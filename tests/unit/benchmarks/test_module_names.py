"""The benchmarks import each other by bare name, so no two of their modules may share one."""

from collections import Counter
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"


def test_no_two_modules_share_a_name() -> None:
    names = Counter(file.stem for file in BENCHMARKS.rglob("*.py") if file.stem != "__init__")
    assert [name for name, times in names.items() if times > 1] == []
