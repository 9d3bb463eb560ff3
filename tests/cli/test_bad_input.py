"""Bad input: a clear typed error, nothing lost, no traceback, and not one cell in anything that is printed or kept."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from command import ROWS, SCHEMA, Outcome, run, write_people
from pyarrow import csv as arrow

from understudy.privacy.ledger import Ledger
from understudy.release import Release

CANARY = "Zaphod4711"  # stands in cells; must stand nowhere else
HEAD = "id,age,sex,town,smokes,income\n"
GOOD = "P1,30,Female,Brae,N,12.5\n"

Spoil = Callable[[str], str | bytes]

MALFORMED: dict[str, tuple[Spoil, str]] = {
    "empty file": (lambda text: "", "is empty"),
    "header only": (lambda text: HEAD, "no rows"),
    "blank first line": (lambda text: "\n" + text, "first line"),
    "a short row": (lambda text: text + f"P9,{CANARY}\n", "exactly 6 cells"),
    "a long row": (lambda text: text + f"P9,30,Female,Brae,N,1,{CANARY}\n", "exactly 6 cells"),
    "a blank line": (lambda text: text + "\n" + GOOD, "exactly 6 cells"),
    "a quote never closed": (lambda text: text + f'P9,30,"{CANARY},Brae,N,1\n', "never closed"),
    "text after a quote": (lambda text: text + f'P9,30,"Female"{CANARY},Brae,N,1\n', "quote"),
    "not utf-8": (lambda text: (text + f"P9,30,{CANARY}é,Brae,N,1\n").encode("latin-1"), "not utf-8"),
    "another delimiter": (lambda text: text.replace(",", ";"), "delimiter"),
    "utf-16": (lambda text: text.encode("utf-16"), "people.csv"),
    "an unknown column": (lambda text: text.replace("income", "wage"), "column 6 of the data"),
    "a missing column": (lambda text: text.replace(",income", "", 1).replace(",12.5", ""), "'income'"),
    "a column twice": (lambda text: text.replace("income", "age", 1), "columns 2 and 6 have the same name"),
    "a column without name": (lambda text: text.replace("income", "", 1), "column 6 of the data"),
    "no header": (lambda text: text.split("\n", 1)[1], "`header = false`"),
    "two lines in one": (lambda text: text.replace("\n", f",{CANARY}\n", 1), "column 7 of the data"),
    "too few rows": (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "another number of rows"),
    "too many rows": (lambda text: text + GOOD, "another number of rows"),
    "one row": (lambda text: HEAD + GOOD, "another number of rows"),
    "an undeclared value": (lambda text: text.replace("Female", CANARY, 1), "attribute 'sex'"),
    "a text for a number": (lambda text: text.replace("P7,", f"P7,{CANARY}", 1), "attribute 'age'"),
    "a number with a unit": (lambda text: text.replace("\nP7,", "\nP7,4711Zaphod", 1), "attribute 'age'"),
    "an empty cell": (lambda text: text.replace("Female", "", 1), "attribute 'sex'"),
    "a broken boolean": (lambda text: text.replace(",N,", f",{CANARY},", 1), "attribute 'smokes'"),
    "nul bytes": (lambda text: text.replace("Female", f"{CANARY}\0", 1), "attribute 'sex'"),
}


def publish(folder: Path, *more: object, data: str = "people.csv") -> Outcome:
    command = ("publish", folder / data, "--schema", folder / "schema.toml", "--epsilon", 1, "-o", folder / "out.csv")
    return run(*command, *more)


def assert_silent(folder: Path, *outcomes: Outcome) -> None:
    """The canary is in no output and in no file but the data itself."""
    for outcome in outcomes:
        said = re.sub(r"\b[0-9a-f]{16}…", "", outcome.text)  # the beginning of a hash may hold any four digits
        assert "Zaphod" not in said and "4711" not in said
    for path in folder.iterdir():
        if not path.name.startswith("people"):
            assert b"Zaphod" not in path.read_bytes(), path.name


def spent(folder: Path) -> list[str]:
    if not (folder / "understudy-ledger.db").exists():
        return []
    ledger = Ledger(folder / "understudy-ledger.db")
    kinds = [e.kind for e in ledger.entries()]
    ledger.close()
    return kinds


@pytest.mark.parametrize("what", MALFORMED)
def test_malformed_tables_are_exit_4_and_cost_nothing(tmp_path, what):
    spoil, words = MALFORMED[what]
    data, _ = write_people(tmp_path)
    spoiled = spoil(data.read_text(encoding="utf-8"))
    data.write_bytes(spoiled if isinstance(spoiled, bytes) else spoiled.encode())
    (tmp_path / "out.csv").write_text("an older output")
    said, told = publish(tmp_path), publish(tmp_path, "--json")
    assert (said.code, said.out) == (4, "") and said.err.startswith("understudy: ") and words in said.err
    assert told.code == 4 and told.err == "" and told.error["kind"] == "data" and words in told.error["message"]
    if "attribute '" in words:
        assert told.error["attribute"] == words.split("'")[1]
    assert spent(tmp_path) == [] and (tmp_path / "out.csv").read_text() == "an older output"
    assert not (tmp_path / "out.release.zip").exists()
    checked = run("check", data, "--schema", tmp_path / "schema.toml")
    assert checked.code == 4
    assert_silent(tmp_path, said, told, checked)


@pytest.mark.parametrize("name", ["people.csv.gz", "people.parquet"])
def test_damaged_containers(tmp_path, name):
    data, _ = write_people(tmp_path)
    whole = tmp_path / name
    if name.endswith(".gz"):
        whole.write_bytes(gzip.compress(data.read_bytes()))
    else:
        pq.write_table(arrow.read_csv(data), whole)
    content, quarter = whole.read_bytes(), whole.stat().st_size // 4
    for damage in (
        content[: len(content) // 2],
        content[:quarter] + bytes(quarter) + content[2 * quarter :],
        b"junk" * 10,
        b"",
    ):
        whole.write_bytes(damage)
        done = publish(tmp_path, "--json", data=name)
        assert done.code == 4 and done.error["kind"] == "data"
    assert spent(tmp_path) == []


def test_cells_that_are_covered_by_rules_leave_no_trace(tmp_path):
    """Ids, dropped columns, clamped numbers and cells that go to `other` are in the rows and nowhere else."""
    text = SCHEMA.format(rows=ROWS).replace("[attributes.age]", '[attributes.note]\nkind = "drop"\n\n[attributes.age]')
    text = text.replace('values = ["Female", "Male"]', 'values = ["Female", "Male"]\nother = "Male"')
    data, schema = write_people(tmp_path)
    schema.write_text(text)
    head, *rows = data.read_text().splitlines()
    lines = [head + ",note"]
    for i, row in enumerate(rows):
        cells = row.split(",")
        cells[0] = f"{CANARY}-{i}"
        cells[1] = "98471147" if i % 3 == 0 else cells[1]
        cells[2] = CANARY if i % 4 == 0 else cells[2]
        lines.append(",".join([*cells, f"{CANARY} said so"]))
    data.write_text("\n".join(lines) + "\n")
    done = publish(tmp_path)
    assert done.code == 0 and (tmp_path / "out.csv").exists()
    assert_silent(tmp_path, done, run("ledger", "show", tmp_path / "understudy-ledger.db"))
    for path in ("out.csv", "out.release.zip", "understudy-ledger.db"):
        assert b"98471147" not in (tmp_path / path).read_bytes()
    assert Release.open(tmp_path / "out.release.zip").columns == (*head.split(","), "note")


# -- small and odd tables ----------------------------------------------------------------------------------------


def small(tmp_path: Path, attributes: str, rows: list[list[str]]) -> Outcome:
    """Publish these rows, the first of which is the header."""
    with (tmp_path / "people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    (tmp_path / "schema.toml").write_text(
        f'[table]\nname = "t"\nrows = {len(rows) - 1}\n{attributes}', encoding="utf-8"
    )
    return publish(tmp_path, "--json")


def cells_of(tmp_path: Path) -> list[list[str]]:
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


TWO = '[attributes.a]\nkind = "category"\nvalues = ["x", "y"]\n'


@pytest.mark.parametrize(
    ("attributes", "rows"),
    [
        pytest.param(TWO + '[attributes.b]\nkind = "boolean"\n', [["a", "b"], ["x", "true"]], id="one row"),
        pytest.param(TWO, [["a"], *[["x"]] * 30], id="one column"),
        pytest.param(TWO, [["a"], ["y"]], id="one cell"),
        pytest.param(TWO.replace(', "y"', ""), [["a"], *[["x"]] * 9], id="one value"),
        pytest.param(
            TWO + '[attributes.b]\nkind = "integer"\nrange = [0, 9]\n', [["a", "b"], *[["x", "3"]] * 40], id="constant"
        ),
        pytest.param(TWO + "missing = true\n", [["a"], *[[""]] * 12], id="all missing, one column"),
    ],
)
def test_tables_at_the_edge_are_published(tmp_path, attributes, rows):
    done = small(tmp_path, attributes, rows)
    assert done.code == 0 and done.json["rows"] == len(rows) - 1
    out = cells_of(tmp_path)
    assert out[0] == rows[0] and len(out) == len(rows)
    assert run("check", tmp_path / "out.csv", "--schema", tmp_path / "schema.toml").code == 0


@pytest.mark.costly
def test_odd_texts_come_back_as_they_are(tmp_path):
    values = ['say "hi"', "two\nlines", "comma, and ; too", "naïve 名前 🎭", "tab\there", "'quoted'", " spaced "]
    listed = "[" + ", ".join(repr_toml(v) for v in values) + "]"
    attributes = f'[attributes."odd \\"name"]\nkind = "category"\nvalues = {listed}\n'
    rows = [['odd "name']] + [[v] for v in values] * 10
    assert small(tmp_path, attributes, rows).code == 0
    out = cells_of(tmp_path)
    assert out[0] == ['odd "name'] and len(out) == 71 and {row[0] for row in out[1:]} <= set(values)
    given = tmp_path / "given.csv"
    for value in values:
        flags = ("--rows", 3, "--given", f'odd "name={value}', "-o", given)
        assert run("sample", tmp_path / "out.release.zip", *flags).code in (0, 2)


def repr_toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def test_formulas_are_neutralised_and_numbers_are_not(tmp_path):
    """A cell that a spreadsheet would run gets a leading '; what is a number stays one, and reading undoes it."""
    values = ["=1+2", "+SUM(A1)", "-cmd|' /C calc'!A0", "@x", "-5", "+4.5", "-1e3", "plain", "a=b"]
    attributes = f'[attributes.a]\nkind = "category"\nvalues = [{", ".join(map(repr_toml, values))}]\n'
    rows = [["a"], *[[v] for v in values] * 40]
    assert small(tmp_path, attributes, rows).code == 0
    cells = {row[0] for row in cells_of(tmp_path)[1:]}
    assert cells <= {"'=1+2", "'+SUM(A1)", "'-cmd|' /C calc'!A0", "'@x", "-5", "+4.5", "-1e3", "plain", "a=b"}
    assert any(cell.startswith("'") for cell in cells)
    for cell in cells:
        assert not cell.startswith(("=", "@")) and (not cell.startswith(("+", "-")) or float(cell) is not None)
    assert run("check", tmp_path / "out.csv", "--schema", tmp_path / "schema.toml").code == 0


def test_columns_named_like_a_formula(tmp_path):
    attributes = '[attributes."=1+2"]\nkind = "boolean"\n'
    assert small(tmp_path, attributes, [["=1+2"], *[["true"]] * 9]).code == 0
    assert Release.open(tmp_path / "out.release.zip").columns == ("=1+2",)


@pytest.mark.slow
def test_two_thousand_columns(tmp_path):
    names = [f"c{i}" for i in range(2000)]
    attributes = "".join(f'[attributes.{name}]\nkind = "boolean"\n' for name in names)
    rows = [names, *[["true" if (i + j) % 3 else "false" for i in range(2000)] for j in range(25)]]
    assert small(tmp_path, attributes, rows).code == 0
    assert len(cells_of(tmp_path)[0]) == 2000


def test_a_domain_beyond_all_limits_is_refused_by_name(tmp_path):
    done = small(tmp_path, '[attributes.a]\nkind = "integer"\nrange = [0, 99999999]\nbins = "each"\n', [["a"], ["1"]])
    assert done.code == 2 and done.error["kind"] == "schema" and done.error["attribute"] == "a"
