"""The command line under test: in this process, or as a process of its own; and a small table to run it on."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from conftest import same_noise
from understudy.cli import main

ROWS = 120
SCHEMA = """\
[table]
name = "people"
rows = {rows}

[attributes.id]
kind = "id"

[attributes.age]
kind = "integer"
range = [0, 99]
bins = 5

[attributes.sex]
kind = "category"
values = ["Female", "Male"]

[attributes.town]
kind = "category"
values = ["Anders", "Brae", "Cormont", "Dunmere"]
taxonomy = {{ North = ["Anders", "Brae"], South = ["Cormont", "Dunmere"] }}
missing = ["?"]

[attributes.smokes]
kind = "boolean"
true = "Y"
false = "N"

[attributes.income]
kind = "number"
range = [0, 1000]
bins = 4
points = [0]
"""


@dataclass(frozen=True)
class Outcome:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be exactly one JSON object on one line."""
        assert self.out.endswith("\n") and self.out.count("\n") == 1, self.out
        document = json.loads(self.out)
        assert isinstance(document, dict)
        return document

    @property
    def error(self) -> dict[str, Any]:
        """The error object; its shape is part of the interface."""
        document = self.json
        assert list(document) == ["error"] and set(document["error"]) == {"kind", "attribute", "message"}
        return document["error"]

    @property
    def text(self) -> str:
        return self.out + self.err


def run(*arguments: object) -> Outcome:
    """In this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main([str(a) for a in arguments])
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    assert "Traceback" not in err.getvalue()
    return Outcome(code, out.getvalue(), err.getvalue())


def process(*arguments: object, env: dict[str, str] | None = None, cwd: Path | None = None) -> Outcome:
    """In a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "understudy", *map(str, arguments)], capture_output=True, text=True, encoding="utf-8",
        env={**os.environ, **(env or {})}, cwd=cwd, timeout=900,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


def write_people(folder: Path, rows: int = ROWS, schema: str = SCHEMA) -> tuple[Path, Path]:
    """people.csv and schema.toml."""
    g = np.random.default_rng(5)
    age, sex = g.integers(0, 100, rows), g.integers(0, 2, rows)
    town = np.where(g.random(rows) < 0.8, sex, g.integers(0, 5, rows))
    income = np.where(g.random(rows) < 0.4, 0, np.round(g.random(rows) * 1000, 2))
    lines = ["id,age,sex,town,smokes,income"]
    for i in range(rows):
        cells = (f"P{i}", age[i], ["Female", "Male"][sex[i]], ["Anders", "Brae", "Cormont", "Dunmere", "?"][town[i]])
        lines.append(",".join(map(str, (*cells, "YN"[int(age[i] > 40)], income[i]))))
    data, path = folder / "people.csv", folder / "schema.toml"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.write_text(schema.format(rows=rows), encoding="utf-8")
    return data, path


def write_release(folder: Path) -> Path:
    """Publish people.csv and leave nothing but the release and its table: it needs no data, schema file or ledger."""
    data, schema = write_people(folder)
    ledger = folder / "ledger.db"
    options = "--epsilon", 50, "-o", folder / "out.csv", "--ledger", ledger, "--quiet", "--accept-large-epsilon"
    with same_noise():
        done = run("publish", data, "--schema", schema, *options)
    assert done.code == 0
    for file in (data, schema, ledger):
        file.unlink()
    return folder / "out.release.zip"


def header_and_rows(path: Path) -> tuple[str, list[str]]:
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    return head, rows
