"""`understudy evaluate` from the outside: figures, stamps, targets, purchases and refusals."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from command import ROWS, SCHEMA, header_and_rows, run, write_people

from understudy.cli.output import fail
from understudy.errors import UsageError

STAMP = "CUSTODIAN ONLY — NOT FOR RELEASE"


@pytest.fixture
def people(tmp_path: Path) -> tuple[Path, Path]:
    return write_people(tmp_path)


def shuffled(data: Path, path: Path, rows: int = 90) -> Path:
    head, lines = header_and_rows(data)
    g = np.random.default_rng(1)
    columns = [g.permutation(column) for column in zip(*(line.split(",") for line in lines))]
    path.write_text("\n".join([head, *(",".join(row) for row in list(zip(*columns))[:rows])]) + "\n")
    return path


def test_equal_tables_give_zero(people):
    data, schema = people
    found = run("evaluate", data, data, "--schema", schema, "--alpha", 2, "--alpha", 3, "--json").json
    assert [found["tvd"][a][k] for a in "23" for k in ("mean", "max")] == [0, 0, 0, 0]
    assert found["stamp"] == STAMP
    assert found["rows"] == {"original": ROWS, "synthetic": ROWS}


def test_figures_equal_brute_force(people, tmp_path):
    data, schema = people
    other = shuffled(data, tmp_path / "other.csv")
    found = run("evaluate", data, other, "--schema", schema, "--alpha", 2, "--measure", "tvd", "--json").json

    def code(cells: list[str]) -> tuple:
        _, age, sex, town, smokes, income = cells
        money = "zero" if float(income) == 0 else min(3, int(float(income) // 250))
        return (min(4, int(age) // 20), sex, town, smokes, money)

    sides = [[code(line.split(",")) for line in header_and_rows(path)[1]] for path in (data, other)]
    distances = []
    for pair in itertools.combinations(range(5), 2):
        shares = [
            {c: k / len(side) for c, k in Counter((r[pair[0]], r[pair[1]]) for r in side).items()} for side in sides
        ]
        cells = shares[0].keys() | shares[1].keys()
        distances.append(sum(abs(shares[0].get(c, 0) - shares[1].get(c, 0)) for c in cells) / 2)
    assert found["tvd"]["2"]["mean"] == pytest.approx(np.mean(distances))
    assert found["tvd"]["2"]["max"] == pytest.approx(max(distances))
    assert found["tvd"]["2"]["worst"][0]["tvd"] == pytest.approx(max(distances))


def test_text_is_stamped_above_and_below(people):
    data, schema = people
    done = run("evaluate", data, data, "--schema", schema, "--classify", "smokes")
    assert done.code == 0 and done.err == ""
    lines = done.out.splitlines()
    assert lines[0] == lines[-1] == STAMP
    assert "Classifier of smokes" in done.out and "Wasserstein" in done.out


def test_classifiers(people):
    data, schema = people
    done = run(
        "evaluate", data, data, "--schema", schema, "--measure", "classify", "--classify", "town=North", "--classify",
        "smokes", "--ignore", "income", "--json",
    )  # fmt: skip
    town, smokes = done.json["classification"]
    assert (town["target"], smokes["target"]) == ("town=North", "smokes")
    assert set(smokes["synthetic"]) == set(smokes["real"]) == {"svm", "logistic", "boosting"}
    assert smokes["synthetic"]["svm"] < smokes["majority"]


def test_a_published_table_with_the_network_of_its_release(people, tmp_path):
    data, schema = people
    out = tmp_path / "out.csv"
    assert (
        run(
            "publish",
            data,
            "--schema",
            schema,
            "--epsilon",
            50,
            "--method",
            "privbayes",
            "-o",
            out,
            "--rows",
            500,
            "--quiet",
            "--accept-large-epsilon",
        ).code
        == 0
    )
    done = run(
        "evaluate", data, out, "--schema", schema, "--release", tmp_path / "out.release.zip", "--seed", 3, "--tables", 4,
        "--json",
    )  # fmt: skip
    found = done.json
    assert found["rows"]["synthetic"] == 500
    assert found["tvd"]["3"]["mean"] < 0.5
    assert (found["tvd"]["3"]["tables"], found["tvd"]["3"]["of"], found["tvd"]["3"]["seed"]) == (4, 10, 3)
    assert found["information"]["original"] > 0


# -- bought ------------------------------------------------------------------------------------------------------


def test_bought_figures_go_through_the_ledger(people, tmp_path):
    data, schema = people
    ledger = tmp_path / "l.db"
    done = run(
        "evaluate", data, data, "--schema", schema, "--epsilon", 2, "--classify", "sex", "--ledger", ledger, "--json"
    )
    found = done.json
    assert found["stamp"].startswith("DIFFERENTIALLY PRIVATE — epsilon 2")
    assert set(found["tvd"]) == {"2", "3"} and set(found["errors"]["sex"]) == {"svm", "logistic"}
    assert sum(f["cost"] for f in found["bought"]) == pytest.approx(2)
    (account,) = run("ledger", "show", ledger, "--json").json["accounts"]
    assert account["epsilon"] == 2
    over = run("evaluate", data, data, "--schema", schema, "--epsilon", 1, "--ledger", ledger, "--json")
    assert over.code == 3 and over.error["kind"] == "budget"


def test_bought_text_shows_cost_and_bars(people, tmp_path):
    data, schema = people
    done = run(
        "evaluate", data, data, "--schema", schema, "--epsilon", 1, "--delta", "1e-9", "--ledger", tmp_path / "l"
    )
    assert done.code == 0
    assert "epsilon 1, delta 1e-09" in done.out and "95% between" in done.out and "mu^2" in done.out
    assert STAMP not in done.out


def test_what_cannot_be_bought(people, tmp_path):
    data, schema = people
    done = run("evaluate", data, data, "--schema", schema, "--epsilon", 1, "--measure", "l2", "--json")
    assert done.code == 2 and "no sensitivity lemma" in done.error["message"]
    assert not (tmp_path / "understudy-ledger.db").exists()
    done = run("evaluate", data, data, "--schema", schema, "--cap", 3, "--json")
    assert done.code == 2 and "--epsilon" in done.error["message"]


# -- bad input ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "attribute"),
    [
        (lambda head, rows: (head.replace("town", "city"), rows), None),
        (lambda head, rows: (head.rpartition(",")[0], [r.rpartition(",")[0] for r in rows]), "income"),
        (lambda head, rows: (head + ",extra", [r + ",1" for r in rows]), None),
        (lambda head, rows: (head, [r.replace("Brae", "Nowhere") for r in rows]), "town"),
        (lambda head, rows: (head, []), "age"),
    ],
)
def test_a_synthetic_table_that_does_not_fit_is_exit_4_with_the_attribute(people, tmp_path, change, attribute):
    data, schema = people
    head, rows = change(*header_and_rows(data))
    bad = tmp_path / "bad.csv"
    bad.write_text("\n".join([head, *rows]) + "\n")
    done = run("evaluate", data, bad, "--schema", schema, "--json")
    assert done.code == 4 and done.error["attribute"] == attribute
    assert "synthetic table" in done.error["message"]
    assert "Nowhere" not in done.text and "city" not in done.text and "extra" not in done.text


def test_an_original_that_does_not_fit_is_exit_4(people, tmp_path):
    data, schema = people
    head, rows = header_and_rows(data)
    (tmp_path / "short.csv").write_text("\n".join([head, *rows[:-1]]) + "\n")
    done = run("evaluate", tmp_path / "short.csv", data, "--schema", schema, "--json")
    assert done.code == 4 and "original table" in done.error["message"]


def test_a_target_that_is_not_an_attribute(people):
    data, schema = people
    done = run("evaluate", data, data, "--schema", schema, "--classify", "smoke", "--json")
    assert (done.code, done.error["attribute"]) == (2, "smoke")
    assert "Did you mean 'smokes'" in done.error["message"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--alpha", "9"], "from 1 to 5"),
        (["--measure", "tdv"], "Did you mean 'tvd'"),
        (["--release", "no.zip"], "no.zip"),
        (["--epsilon", "x"], "epsilon"),
        (["--classify", "smokes="], "names no value"),
        (["--ignore", "age"], "--ignore goes with --classify"),
    ],
)
def test_usage(people, options, words):
    data, schema = people
    done = run("evaluate", data, data, "--schema", schema, *options)
    assert done.code in (1, 2) and words in done.err


def test_no_name_acts_on_the_terminal(tmp_path, capsys):
    """A schema may come from elsewhere: its names neither colour the screen nor turn the writing round."""
    hostile = SCHEMA.replace('name = "people"', 'name = "\\u001b[31mred \\u202eteews"')
    data, schema = write_people(tmp_path, schema=hostile)
    shown = run("evaluate", data, data, "--schema", schema, "--measure", "tvd")
    assert shown.code == 0 and "\ufffd[31mred \ufffdteews" in shown.out
    assert "\x1b" not in shown.text and "\u202e" not in shown.text
    named = run("evaluate", data, data, "--schema", schema, "--measure", "tvd", "--json")
    assert named.json["schema"].startswith("\x1b")
    with pytest.raises(SystemExit):
        fail(UsageError("there is no attribute x. Known: \x1b[2J, age"), as_json=False)
    assert capsys.readouterr().err == "understudy: there is no attribute x. Known: \ufffd[2J, age\n"


def test_only_what_was_asked_for_is_bought(people, tmp_path):
    """The k-marginal score is read off the mean, so its price buys no maximum."""
    data, schema = people
    done = run(
        "evaluate", data, data, "--schema", schema, "--epsilon", 1, "--alpha", 2, "--measure", "k-marginal", "--ledger",
        tmp_path / "l.db",
    )  # fmt: skip
    assert done.code == 0 and "maximum" not in done.out
    (score,) = [line for line in done.out.splitlines() if "k-marginal score of 2-way tables" in line]
    assert "95% between" in score and "from the mean TVD" in score
    charges = run("ledger", "show", tmp_path / "l.db").out.count("charge ")
    assert charges == 1


def test_help_names_the_arguments_as_the_text_does():
    assert re.search(r"\[OPTIONS\] \W?ORIGINAL\W+SYNTHETIC", run("evaluate", "--help").out)
    assert re.search(r"\[OPTIONS\] \W?RELEASE", run("report", "--help").out)


def test_the_advice_about_a_column_can_be_followed(people, tmp_path):
    """The schema is the original's: a column more or less in the stand-in is not settled by declaring it."""
    data, schema = people
    head, rows = header_and_rows(data)
    more, less, without = tmp_path / "more.csv", tmp_path / "less.csv", tmp_path / "without.toml"
    more.write_text("\n".join([head + ",towns", *(row + ",1" for row in rows)]) + "\n")
    less.write_text("\n".join(line.rpartition(",")[0] for line in [head, *rows]) + "\n")
    done = run("evaluate", data, more, "--schema", schema)
    assert done.code == 4 and "Did you mean 'town'?" in done.err and "take it out of the synthetic table" in done.err
    done = run("evaluate", data, less, "--schema", schema)
    assert done.code == 4 and "kind = \"drop\" for 'income'" in done.err
    text = schema.read_text()
    without.write_text(text[: text.index("[attributes.income]")] + '[attributes.income]\nkind = "drop"\n')
    assert run("evaluate", data, less, "--schema", without, "--measure", "tvd").code == 0


def test_a_schema_that_was_bought_is_taken_from_the_release(tmp_path):
    data, schema, synthetic = tmp_path / "t.csv", tmp_path / "t.toml", tmp_path / "s.csv"
    data.write_text("age,score\n" + "".join(f"{20 + i % 50},{i % 7}\n" for i in range(3000)))
    body = 'kind = "integer"\nrange = "discover"\n'
    schema.write_text(f'[table]\nname = "t"\nrows = 3000\n[attributes.age]\n{body}[attributes.score]\n{body}')
    refused = run("evaluate", data, data, "--schema", schema)
    assert refused.code == 2 and "--release" in refused.err and "alpha" not in refused.err
    assert run("publish", data, "--schema", schema, "--epsilon", 10, "-o", synthetic, "--quiet").code == 0
    page = tmp_path / "e.custodian.html"
    release = ("--release", tmp_path / "s.release.zip")
    found = run("evaluate", data, synthetic, "--schema", schema, *release, "--report", page, "--json")
    assert found.code == 0 and set(found.json["numeric"]) == {"age", "score"} and page.exists()
