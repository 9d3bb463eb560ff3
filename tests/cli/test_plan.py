"""`understudy plan`: from the schema alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import SCHEMA, run, write_people

from understudy.demo import demo_schema


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    data, schema = write_people(tmp_path)
    data.unlink()  # a plan reads no row
    return schema


def test_a_page_for_each_epsilon(schema):
    done = run("plan", "--schema", schema, "--epsilon", "0.5", "--epsilon", 2)
    assert (done.code, done.err) == (0, "")
    assert "aim at epsilon 0.5, 120 rows" in done.out and "aim at epsilon 2, 120 rows" in done.out
    for words in ("phase", "tables", "MB", "a 10% share of a group of 500 will look like"):
        assert done.out.count(words) >= 2
    assert "structure" in done.out  # at 0.5 no pair is worth its price, whatever the rows are
    assert not (schema.parent / "understudy-ledger.db").exists()


def test_json_adds_up(tmp_path):
    demo_schema().save(tmp_path / "schema.toml")
    plans = run("plan", "--schema", tmp_path / "schema.toml", "--epsilon", 1, "--epsilon", "0.1", "--json").json[
        "plans"
    ]
    assert [p["epsilon"] for p in plans] == [1, 0.1]
    for plan in plans:
        assert sum(phase["cost"] for phase in plan["phases"]) == pytest.approx(plan["epsilon"])
        assert plan["memory_mb"] > 0 and plan["seconds"] > 0 and plan["rows"] == 50_000
    fine, coarse = (next(p for p in plan["phases"] if p["phase"] == "tables") for plan in plans)
    assert fine["scale"] < coarse["scale"]


def test_it_is_what_publish_spends(schema):
    data, _ = write_people(schema.parent)
    rounds = ("--set", "rounds=2")  # else what AIM hears decides whether there are any
    planned = run("plan", "--schema", schema, "--epsilon", 4, *rounds, "--json").json["plans"][0]
    done = run(
        "publish", data, "--schema", schema, "--epsilon", 4, *rounds, "-o", schema.parent / "o.csv", "--json"
    ).json
    spent: dict[str, float] = {}
    for charge in done["charges"]:
        spent[charge["purpose"]] = spent.get(charge["purpose"], 0.0) + charge["cost"]
    assert list(spent.values()) == pytest.approx([phase["cost"] for phase in planned["phases"] if phase["cost"]])
    assert done["options"] == planned["options"]


def test_a_private_row_count_needs_a_guess(schema):
    schema.write_text(SCHEMA.format(rows=1).replace("rows = 1\n", 'neighbours = "add-remove"\n'))
    done = run("plan", "--schema", schema, "--epsilon", 1, "--json")
    assert done.code == 2 and "--rows" in done.error["message"]
    plan = run("plan", "--schema", schema, "--epsilon", 1, "--rows", 5000, "--json").json["plans"][0]
    assert plan["rows"] == 5000 and plan["phases"][0]["phase"] == "row count"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--set", "encodng=gray"], "Did you mean 'encoding'?"),
        (["--set", "score=F"], "score F needs a binary attribute"),
        (["--method", "x"], "there is no method 'x'"),
        (["--rows", "0"], "--rows"),
    ],
)
def test_wrong_requests(schema, more, words):
    done = run("plan", "--schema", schema, "--epsilon", 1, *more, "--json")
    assert done.code == 2 and words in done.error["message"]
