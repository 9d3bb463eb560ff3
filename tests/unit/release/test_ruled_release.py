"""A release under rules: rows, queries and conditions keep them, files hold them, and what cannot be is refused."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from understudy import Release
from understudy.checking import check_rules_leave_rows
from understudy.cli import app
from understudy.errors import TooLarge, UsageError
from understudy.models.junction_tree import JunctionTree
from understudy.models.refit import refit
from understudy.models.ruled_model import RuledModel
from understudy.publishing import plan
from understudy.release.given import GivenConditions
from understudy.release.storage import Format
from understudy.release.stored_parts import format_of
from understudy.report.public import public_report
from understudy.schema import Schema
from understudy.schema.rules import Rule
from understudy.testing import publish_seeded

ROWS = 1500
DEGREES = {"school": 1, "college": 3, "doctor": 5}
SCHEMA = Schema.from_toml(f"""
[table]
name = "people"
rows = {ROWS}
[attributes.start]
kind = "date"
range = [2020-01-01, 2020-12-31]
bins = 6
[attributes.end]
kind = "date"
range = [2020-01-01, 2020-12-31]
bins = 5
[attributes.sex]
kind = "category"
values = ["female", "male"]
[attributes.pregnant]
kind = "category"
values = ["yes", "no"]
missing = ["?"]
[attributes.wage]
kind = "integer"
range = [0, 5000]
[attributes.bonus]
kind = "number"
range = [0, 500]
decimals = 2
bins = 5
[attributes.income]
kind = "number"
range = [0, 6000]
decimals = 2
[attributes.degree]
kind = "category"
values = ["school", "college", "doctor"]
[attributes.years]
kind = "integer"
range = [1, 5]
[[rules]]
rule = "start <= end"
[[rules]]
rule = "pregnant == 'yes' implies sex == 'female'"
[[rules]]
rule = "income == wage + bonus"
[[rules]]
rule = "years = map(degree)"
map = {{ school = 1, college = 3, doctor = 5 }}
[[rules]]
rule = "years <= 3 implies wage < 3333"
""")


def private_rows() -> pa.Table:
    rng = np.random.default_rng(5)
    start = rng.integers(0, 366, ROWS)
    day = np.datetime64("2020-01-01")
    end = np.minimum(start + rng.integers(0, 90, ROWS), 365)
    sex = rng.choice(["female", "male"], ROWS)
    pregnant = np.where(sex == "male", "no", rng.choice(["yes", "no", "?"], ROWS))
    degree = rng.choice(list(DEGREES), ROWS)
    wage = np.where(degree == "doctor", rng.integers(0, 5001, ROWS), rng.integers(0, 3333, ROWS))
    bonus = np.round(rng.random(ROWS) * 500, 2)
    return pa.table({
        "start": (day + start).astype(str), "end": (day + end).astype(str), "sex": sex, "pregnant": pregnant,
        "wage": wage, "bonus": bonus, "income": np.round(wage + bonus, 2), "degree": degree,
        "years": [DEGREES[d] for d in degree],
    })  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    pa.csv.write_csv(private_rows(), folder / "people.csv")
    SCHEMA.save(folder / "schema.toml")
    made = publish_seeded(folder / "people.csv", SCHEMA, epsilon=3, seed=1, ledger=folder / "l.db", cap="none")
    made.release.save(folder / "r.zip")
    return folder


@pytest.fixture(scope="module")
def release(files: Path) -> Release:
    opened = Release.open(files / "r.zip")
    object.__setattr__(opened, "library", "pyarrow")
    return opened


def check(rows: pa.Table) -> None:
    for row in rows.to_pylist():
        assert row["start"] <= row["end"]
        assert row["pregnant"] != "yes" or row["sex"] == "female"
        assert abs(row["income"] - row["wage"] - row["bonus"]) < 0.005
        assert row["years"] == DEGREES[row["degree"]]
        assert row["years"] > 3 or row["wage"] < 3333


def test_every_row_keeps_the_rules(release: Release, files: Path) -> None:
    assert isinstance(release.model, RuledModel) and isinstance(release.model.free, JunctionTree)
    check(release.sample(3000, seed=2))
    release.write(files / "out.csv", 500, seed=2)
    codes = release.sample_codes(500, None, release.generator(3))
    assert list(codes) == [*release.schema.free.names, "income", "years"]
    assert (codes["years"] == np.asarray([0, 2, 4])[codes["degree"]]).all()


def test_the_file_and_what_it_holds(release: Release, files: Path) -> None:
    assert release.schema.rules == SCHEMA.rules and release.columns == tuple(a.name for a in SCHEMA.attributes)
    with zipfile.ZipFile(files / "r.zip") as archive:
        assert json.loads(archive.read("manifest.json"))["format"] == format_of(release) >= Format.RULES
    assert {axis.attribute for m in release.measurements for axis in m.axes}.isdisjoint({"income", "years"})
    assert all(f"{rule.text}" in release.summary() for rule in SCHEMA.rules)
    assert "The rules" in public_report(release) and "income == wage + bonus" in public_report(release)


def test_the_tables_of_a_release_give_its_model_again(release: Release) -> None:
    again = refit(release.measurements, release.design).model
    for i in range(len(release.model.free.cliques)):
        assert np.allclose(again.belief(i).table, release.model.free.belief(i).table)


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("count where start <= end", ROWS),
        ("count where start > end", 0),
        ("count where pregnant = yes and sex = male", 0),
        ("count where years <= 3 and wage >= 3333", 0),
        ("count where years = 2", 0),
        ("count where income = wage + bonus", ROWS),
        ("count where years = 3 or years = 1 or degree = doctor", ROWS),
        ("count where not (degree = school implies years = 1)", 0),
    ],
)
def test_queries_keep_the_rules(release: Release, text: str, exact: float) -> None:
    assert release.query(text).value == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize(
    "text",
    ["wage > 2500", "income > 3000", "end - start <= 30", "start >= 2020-07-01 and income < 900", "years >= 3"],
)
def test_queries_agree_with_rows(release: Release, text: str) -> None:
    rows = release.sample(40_000, seed=4).to_pandas()
    seen = {
        "wage > 2500": rows.wage > 2500,
        "income > 3000": rows.income > 3000,
        "end - start <= 30": (rows.end.astype("M8[ns]") - rows.start.astype("M8[ns]")).dt.days <= 30,
        "start >= 2020-07-01 and income < 900": (rows.start.astype("M8[ns]") >= "2020-07-01") & (rows.income < 900),
        "years >= 3": rows.years >= 3,
    }[text]
    assert release.query(f"share where {text}").value == pytest.approx(float(seen.mean()), abs=0.015)


def test_groups_and_means_of_computed_columns(release: Release) -> None:
    by_years = {f.by["years"]: f.value for f in release.query("count by years").figures}
    by_degree = {f.by["degree"]: f.value for f in release.query("count by degree").figures}
    assert by_years["2"] == by_years["4"] == 0
    assert {name: by_years[str(n)] for name, n in DEGREES.items()} == pytest.approx(by_degree)
    mean = float(np.mean(release.sample(40_000, seed=6)["income"].to_numpy()))
    assert release.query("mean(income)").value == pytest.approx(mean, rel=0.06)  # uniform inside the bins of income


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"wage": 1234}, lambda r: r["wage"] == 1234),
        ("wage = 1234", lambda r: r["wage"] == 1234),
        (["wage >= 3000", "sex=female"], lambda r: r["wage"] >= 3000 and r["sex"] == "female"),
        ("income > 3600", lambda r: r["income"] > 3600),
        ("years = 3", lambda r: r["degree"] == "college"),
        ("start = end", lambda r: r["start"] == r["end"]),
        ("end - start > 200 or sex = male", lambda r: (r["end"] - r["start"]).days > 200 or r["sex"] == "male"),
        ("pregnant is missing", lambda r: r["pregnant"] is None),
    ],
)
def test_given_conditions_hold_in_every_row(release: Release, given, holds) -> None:
    rows = release.sample(400, given=given, seed=8)
    check(rows)
    assert rows.num_rows == 400 and all(holds(row) for row in rows.to_pylist())


def test_what_is_given_in_part_of_a_bin_weighs_that_part(release: Release) -> None:
    rows = release.sample(20_000, given="bonus >= 150", seed=9)["bonus"].to_numpy()
    shares = release.query("count where bonus >= 200").value / release.query("count where bonus >= 150").value
    assert float((rows >= 200).mean()) == pytest.approx(shares, abs=0.02)


@pytest.mark.parametrize("given", ["start > end", {"pregnant": "yes", "sex": "male"}, "years = 2"])
def test_what_the_rules_exclude_cannot_be_given(release: Release, given) -> None:
    with pytest.raises(UsageError, match="no combination of values is left"):
        release.sample(5, given=given)


# -- refusals -------------------------------------------------------------------------------------------------


def ruled(*rules: str) -> Schema:
    plain = replace(SCHEMA, rules=(), text=None)
    return replace(plain, rules=tuple(map(Rule, rules)), text=None)


@pytest.mark.parametrize(
    ("rules", "method", "words"),
    [
        (("wage > 10", "wage < 5"), "aim", "no row could meet rules 'wage > 10', 'wage < 5'"),
        (("start <= end", "bonus > 499.99 and bonus < 100"), "aim", "no row could meet rule 'bonus > 499.99"),
        (("start <= end",), "privelet", "privelet publishes one table by its wavelet coefficients"),
        (
            ("sex = 'male' implies pregnant = 'no'", "sex = 'male'", "not (pregnant = 'no' or pregnant is missing)"),
            "jtree",
            "no row could meet rules \"sex = 'male' implies pregnant = 'no'\", \"sex = 'male'\", \"not",
        ),
    ],
)
def test_rules_that_cannot_be_are_refused_before_anything_is_spent(
    rules: tuple[str, ...], method: str, words: str, tmp_path: Path
) -> None:
    schema = ruled(*rules)
    with pytest.raises((UsageError, TooLarge)) as caught:
        publish_seeded(private_rows(), schema, epsilon=1, seed=1, method=method, ledger=tmp_path / "l.db", cap="none")
    assert words in caught.value.message and not (tmp_path / "l.db").exists()
    with pytest.raises((UsageError, TooLarge)):
        plan(schema, epsilon=1, method=method)
    if method != "privelet":  # a fact about the schema, which `check` says before it reads a row
        with pytest.raises(UsageError, match="no row could meet"):
            check_rules_leave_rows(schema)


def test_a_plan_says_what_rules_cost() -> None:
    notes = "\n".join(plan(SCHEMA, epsilon=1).notes)
    assert "rule 'start <= end': a table of 30 cells over start, end" in notes
    assert "rule 'income == wage + bonus': income is computed from wage, bonus, costs nothing" in notes


def test_check_counts_the_rows_that_break_a_rule(files: Path) -> None:
    run = CliRunner()
    clean = run.invoke(app, ["check", str(files / "people.csv"), "--schema", str(files / "schema.toml"), "--json"])
    assert [found["rows"] for found in json.loads(clean.output)["rules"]] == [0, 0, 0, 0, 0]
    lines = (files / "people.csv").read_text().splitlines()
    head, cells = lines[0], lines[1].split(",")
    cells[0], cells[1], cells[6] = '"2020-12-31"', '"2020-01-01"', "1.0"
    (files / "odd.csv").write_text("\n".join([head, ",".join(cells), *lines[2:]]) + "\n")
    odd = run.invoke(app, ["check", str(files / "odd.csv"), "--schema", str(files / "schema.toml")])
    assert odd.exit_code == 0 and "Rule 'start <= end': 1 rows break it" in odd.output
    assert "Rule 'income == wage + bonus': 1 rows break it" in odd.output and "No row is dropped" in odd.output


def test_a_computed_column_is_never_read(files: Path, tmp_path: Path) -> None:
    """Two tables that differ only in computed columns, and even in ones that do not fit, give the same release."""
    table = private_rows()
    other = table.set_column(6, "income", pa.array(["nonsense"] * ROWS))
    made = [
        publish_seeded(t, SCHEMA, epsilon=1, seed=4, ledger=tmp_path / f"{i}.db", cap="none", types="declared").release
        for i, t in enumerate((table, other))
    ]
    assert made[0].members["model.json"] == made[1].members["model.json"]
    assert all((a.values == b.values).all() for a, b in zip(made[0].measurements, made[1].measurements))


def test_a_network_with_rules_becomes_a_tree(tmp_path: Path) -> None:
    made = publish_seeded(
        private_rows(), SCHEMA, epsilon=2, seed=3, method="privbayes", estimate="paper", ledger=tmp_path / "l.db",
        cap="none", types="declared",
    ).release  # fmt: skip
    object.__setattr__(made, "library", "pyarrow")
    assert isinstance(made.model.free, JunctionTree)
    check(made.sample(1000, seed=1))


@pytest.mark.parametrize("given", ["wage = 1234", {"wage": 1234}])
def test_a_value_where_noise_left_the_shape_inside_its_bin_empty_can_be_given(release: Release, given) -> None:
    shape = release.shapes["wage"]
    cell = int(shape.fine.ordered.encode_numbers(np.array([1234.0]))[0])
    shares = np.where(np.arange(shape.fine.size) == cell, 0.0, shape.shares)
    hollow = {**release.shapes, "wage": replace(shape, shares=shares)}
    found = GivenConditions.of(given, release.schema, hollow).model(release.model)
    code = int(release.schema["wage"].ordered.encode_numbers(np.array([1234.0]))[0])
    assert found.project(["wage"]).table.argmax() == code
