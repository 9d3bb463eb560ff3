"""`understudy sample`: post-processing of a release; rows, evidence, seeds."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import ROWS, header_and_rows, run, write_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("sample"))


def test_as_many_rows_as_there_were_or_as_many_as_asked(release, tmp_path):
    done = run("sample", release, "-o", tmp_path / "a.csv")
    assert (done.code, done.out) == (0, f"Wrote {ROWS} rows to a.csv.\n")
    assert len(header_and_rows(tmp_path / "a.csv")[1]) == ROWS
    done = run("sample", release, "--rows", 1234, "-o", tmp_path / "b.parquet", "--json")
    assert done.json == {"rows": 1234, "output": str(tmp_path / "b.parquet")}
    assert pq.read_table(tmp_path / "b.parquet").num_rows == 1234


@pytest.mark.costly
def test_a_seed_repeats_and_no_seed_does_not(release, tmp_path):
    def drawn(*more: object) -> bytes:
        assert run("sample", release, "--rows", 300, "-o", tmp_path / "s.csv", *more).code == 0
        return (tmp_path / "s.csv").read_bytes()

    assert drawn("--seed", 7) == drawn("--seed", 7)
    assert drawn("--seed", 7) != drawn("--seed", 8)
    assert drawn() != drawn()


@pytest.mark.parametrize(
    ("given", "column", "allowed"),
    [
        (["sex=Female"], 2, {"Female"}),
        (["town=North"], 3, {"Anders", "Brae"}),  # a taxonomy group
        (["town=missing"], 3, {"?"}),
        (["town=?"], 3, {"?"}),  # the missing code itself
        (["smokes=Y"], 4, {"Y"}),
        (["income=0"], 5, {"0", "0.0"}),  # a point
        (["sex=Male", "town=South"], 3, {"Cormont", "Dunmere"}),
    ],
)
def test_given(release, tmp_path, given, column, allowed):
    flags = [part for pair in given for part in ("--given", pair)]
    assert run("sample", release, "--rows", 200, *flags, "-o", tmp_path / "g.csv").code == 0
    cells = [row.split(",") for row in header_and_rows(tmp_path / "g.csv")[1]]
    assert len(cells) == 200 and {row[column] for row in cells} <= allowed
    if "sex=Male" in given:
        assert {row[2] for row in cells} == {"Male"}


def test_given_a_number_means_that_number(release, tmp_path):
    assert run("sample", release, "--rows", 100, "--given", "age=30", "-o", tmp_path / "g.csv").code == 0
    ages = [int(row.split(",")[1]) for row in header_and_rows(tmp_path / "g.csv")[1]]
    assert set(ages) == {30}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("sex=Femal", "Did you mean 'Female'?"),
        ("sx=Female", "Did you mean 'sex'?"),
        ("id=4", "not part of the model"),
        ("sex", "expected a comparison"),
        ("age=old", "age is compared with a number, and 'old' is none"),
    ],
)
def test_given_something_odd(release, tmp_path, given, words):
    done = run("sample", release, "--rows", 5, "--given", given, "-o", tmp_path / "g.csv", "--json")
    assert done.code == 2 and words in done.error["message"] and not (tmp_path / "g.csv").exists()


def test_given_something_impossible(tmp_path):
    """Evidence the model gives no chance is an error, not an endless loop or a made-up row."""
    schema = tmp_path / "schema.toml"
    schema.write_text(
        '[table]\nname = "t"\nrows = 4000\n[attributes.a]\nkind = "boolean"\n[attributes.b]\nkind = "boolean"\n'
    )
    (tmp_path / "t.csv").write_text("a,b\n" + "true,true\nfalse,false\n" * 2000)
    out = tmp_path / "o.csv"
    done = run(
        "publish",
        tmp_path / "t.csv",
        "--schema",
        schema,
        "--epsilon",
        1000,
        "-o",
        out,
        "--set",
        "estimate=paper",
        "--accept-large-epsilon",
    )
    assert done.code == 0
    flags = ["--given", "a=true", "--given", "b=false"]
    done = run("sample", tmp_path / "o.release.zip", "--rows", 5, *flags, "-o", tmp_path / "g.csv", "--json")
    assert done.code == 2 and done.error["kind"] == "usage"


@pytest.mark.parametrize("more", [["--rows", "-1"], ["--rows", "x"], ["--seed", "-4"], ["--seed", "x"]])
def test_wrong_numbers(release, tmp_path, more):
    assert run("sample", release, "-o", tmp_path / "s.csv", *more, "--json").error["kind"] == "usage"


def test_odd_outputs_and_releases(release, tmp_path):
    assert run("sample", release, "-o", tmp_path / "s.xlsx").code == 2
    assert run("sample", release, "-o", tmp_path / "no" / "s.csv").code == 2
    done = run("sample", tmp_path / "none.zip", "-o", tmp_path / "s.csv", "--json")
    assert (done.code, done.error["kind"]) == (1, "release")


@pytest.mark.costly
@pytest.mark.parametrize("rows_by", ["multinomial", "systematic"])
def test_several_tables_for_one_analysis(release, tmp_path, rows_by):
    asked = ("sample", release, "--tables", 2, "--about", "sex", "--about", "smokes", "-o", tmp_path / "t.csv")
    done = run(*asked, "--rows", 50, "--rows-by", rows_by, "--seed", 1, "--json")
    assert done.json["rows"] == 50 and "noise and sampling" in done.json["covers"]
    assert [len(header_and_rows(Path(file))[1]) for file in done.json["outputs"]] == [50, 50]


def test_rows_are_drawn_in_one_of_two_ways(release, tmp_path):
    refused = run("sample", release, "--tables", 2, "--rows-by", "chance", "-o", tmp_path / "t.csv")
    assert refused.code == 2 and "multinomial or systematic" in refused.err
