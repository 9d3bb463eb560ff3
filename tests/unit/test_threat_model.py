"""The threat model's claims have tests: each test that it names is there. And two claims that are tested here."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path

import pyarrow as pa
import pytest

from conftest import columns_of, schema_of
from understudy.testing import publish_seeded

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", PAGE)


def test_it_names_tests() -> None:
    assert len(NAMED) >= 30


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_every_named_test_is_there(file: str, name: str) -> None:
    assert re.search(rf"^\s*def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_every_claim_of_the_table_names_one() -> None:
    claims = PAGE.split("## What holds")[1].split("\n## ")[0]
    rows = [line for line in claims.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 20 and all("::test_" in row for row in rows)


def test_no_time_is_in_a_release(tmp_path: Path) -> None:
    """Two runs with the same draws are the same bytes, and no member has a date of its own or tells how long it took."""
    sizes = {"a": 2, "b": 3}
    table = pa.table({name: [str(v) for v in column] for name, column in columns_of(sizes, 50).items()})
    made = [
        publish_seeded(
            table, schema_of(sizes, 50), seed=3, epsilon=1, ledger=tmp_path / f"{i}.db", cap="none", method="privbayes"
        ).release
        for i in range(2)
    ]
    assert made[0].members == made[1].members
    with zipfile.ZipFile(io.BytesIO(made[0].to_bytes())) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        texts = [archive.read(name).decode() for name in archive.namelist() if name.endswith(".json")]
    keys = {key for text in texts for key in _keys(json.loads(text))}
    assert not keys & {"seconds", "time", "at", "host", "user", "path", "date"}


def _keys(document: object) -> set[str]:
    if isinstance(document, dict):
        return set(document) | {key for value in document.values() for key in _keys(value)}
    if isinstance(document, list):
        return {key for value in document for key in _keys(value)}
    return set()
