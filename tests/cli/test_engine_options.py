"""`--engine` and `--master` on the command line; `plan` says how many passes, `doctor` which engines work."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv
import pytest
from command import run, write_people
from pyarrow import parquet


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data, _ = write_people(tmp_path)
    options = pyarrow.csv.ConvertOptions(column_types={"smokes": pyarrow.string()})
    parquet.write_table(pyarrow.csv.read_csv(data, convert_options=options), tmp_path / "people.parquet")
    return tmp_path


@pytest.mark.costly
def test_publish_by_duckdb(folder: Path) -> None:
    arguments = ("--schema", folder / "schema.toml", "--epsilon", 1, "-o", folder / "out.csv", "--engine", "duckdb")
    assert run("publish", folder / "people.parquet", *arguments).code == 0
    refused = run("publish", folder / "people.csv", *arguments, "--json")
    assert refused.code in (2, 3)  # the account is spent; an engine is not even looked for
    fits = run("check", folder / "people.parquet", "--schema", folder / "schema.toml", "--engine", "duckdb", "--json")
    assert fits.code == 0 and fits.json["fits"]


@pytest.mark.parametrize(
    "wrong", [("--engine", "sqlite"), ("--engine", "duckdb", "--master", "local"), ("--engine", "postgresql")]
)
def test_engines_that_cannot_be(folder: Path, wrong: tuple[str, ...]) -> None:
    found = run("check", folder / "people.parquet", "--schema", folder / "schema.toml", "--json", *wrong)
    assert found.code == 2 and found.error["kind"] == "usage"


def test_plan_says_how_many_passes(folder: Path) -> None:
    arguments = ("plan", "--schema", folder / "schema.toml", "--epsilon", 1, "--method", "privbayes")
    said = run(*arguments, "--engine", "spark")
    assert said.code == 0 and "engine spark: at most 6 passes over the rows" in said.out  # 2 + a choice for all but one
    assert "one pass" in run(*arguments, "--engine", "mapped").out and "pass" not in run(*arguments).out
    assert run(*arguments, "--json").json["plans"][0]["scans"] == 6
    assert run(*arguments, "--engine", "oracle").code == 2
    adaptive = run("plan", "--schema", folder / "schema.toml", "--epsilon", 1, "--method", "aim", "--engine", "spark")
    assert "engine spark: 2, and at most " in adaptive.out  # all candidates of its rounds are counted in one pass


def test_doctor_names_the_engines() -> None:
    found = {f["what"]: f for f in run("doctor", "--json").json["findings"]}
    assert {"engine duckdb", "engine postgresql", "engine spark"} <= set(found)
    assert found["engine duckdb"]["ok"] and not found["engine spark"]["needed"]


def test_doctor_has_a_line_for_the_studio() -> None:
    said = {f["what"]: f for f in run("doctor", "--json").json["findings"]}["studio"]
    assert not said["needed"] and (said["absent"] or "uvicorn" in said["detail"])
