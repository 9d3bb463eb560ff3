"""A visitor of the studio under test: comes in by the door, and makes requests as the page does, or as an attacker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from understudy.studio.app import make_app
from understudy.studio.folder import Folder
from understudy.studio.sessions import HEADER
from understudy.studio.studio import Studio

PORT = 8123
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
SCHEMA = """\
[table]
name = "people"
rows = 60

[attributes.age]
kind = "integer"
range = [0, 99]
bins = 5

[attributes.sex]
kind = "category"
values = ["Female", "Male"]

[attributes.town]
kind = "category"
values = ["Anders", "Brae", "Cormont"]
"""


def write_table(folder: Path, rows: int = 60) -> None:
    """Write people.csv and schema.toml, which fits it."""
    lines = [
        f"{7 * i % 100},{'Female' if i % 3 else 'Male'},{('Anders', 'Brae', 'Cormont')[i % 3]}" for i in range(rows)
    ]
    (folder / "people.csv").write_text("age,sex,town\n" + "\n".join(lines) + "\n")
    (folder / "schema.toml").write_text(SCHEMA)


class Visitor:
    """A browser with a session; `get` and `post` are what a page of the studio would send."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.studio = Studio(Folder.of(folder), **options)
        self.client = TestClient(make_app(self.studio, PORT), base_url=ORIGIN, follow_redirects=False)
        self.base = self.studio.sessions.base
        entered = self.client.post(
            "/enter", data={"token": self.studio.sessions.new_entry()}, headers={"origin": "null"}
        )
        assert entered.status_code == 200
        self.entered = entered
        self.session = self.studio.sessions._open[-1]

    @property
    def headers(self) -> dict[str, str]:
        return {"origin": ORIGIN, "sec-fetch-site": "same-origin", HEADER: self.session.token, "hx-request": "true"}

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(self.base + path, params=query, headers={"sec-fetch-site": "same-origin"})

    def post(self, path: str, **fields: Any) -> Any:
        return self.client.post(self.base + path, data=fields, headers=self.headers)
