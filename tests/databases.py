"""Real databases that tests of relations put their tables into."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from servers import PASSWORD

Tables = dict[str, Any]
Load = Callable[[Tables], str]


@pytest.fixture(params=["duckdb", "postgresql"])
def load(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Put tables into a real database; its address, without a table."""
    if request.param == "postgresql":
        monkeypatch.setenv("PGPASSWORD", PASSWORD)
        server = request.getfixturevalue("postgresql")

        def served(tables: Tables) -> str:
            for name, table in tables.items():
                address = server.load(name, table)
            return str(address).partition("?")[0]

        return served

    def loaded(tables: Tables) -> str:
        import duckdb

        with duckdb.connect(str(tmp_path / "t.db")) as connection:
            for name, table in tables.items():
                connection.register("loaded", table)
                connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM loaded')
        return f"duckdb:///{tmp_path}/t.db"

    return loaded
