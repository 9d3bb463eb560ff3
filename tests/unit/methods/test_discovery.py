"""Paid discovery end to end: one epsilon, one schema that follows from the journal, three passes, every engine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from conftest import same_noise
from servers import PASSWORD, PostgreSQL, module
from understudy.discovering import discover
from understudy.drafting import Draft, buy_draft, left_open
from understudy.engines.delimited import Delimited
from understudy.errors import DataError, SchemaError, UsageError
from understudy.methods.aim.phases import UNLINKED
from understudy.methods.discovered_attributes import ROOM
from understudy.methods.discovery import Discovery
from understudy.privacy.accounting import total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import plan, publish
from understudy.schema import Schema
from understudy.schema.writing import schema_as_dict
from understudy.testing import SeededSource, publish_seeded

ROWS = 6_000
TEXT = """
[table]
name = "people"
{table}

[attributes.job]
kind = "category"
values = "discover"
missing = ["", "?"]

[attributes.age]
kind = "integer"
range = "discover"

[attributes.seen]
kind = "date"
range = "discover"

[attributes.income]
kind = "discover"

[attributes.name]
kind = "discover"

[attributes.sex]
kind = "category"
values = ["f", "m"]
"""


def schema_of(neighbours: str = "replace-one", rows: int = ROWS) -> Schema:
    known = f"rows = {rows}" if neighbours == "replace-one" else f"rows_max = {rows}"
    return Schema.from_toml(TEXT.format(table=f'{known}\nneighbours = "{neighbours}"'))


def table_of(rows: int = ROWS, seed: int = 0) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "job": draw.choice(["nurse", "Nurse", "cook", "?", "é"], rows, p=[0.4, 0.2, 0.2, 0.1, 0.1]),
            "age": [str(age) for age in draw.integers(20, 90, rows)],
            "seen": [f"20{year:02d}-03-04" for year in draw.integers(10, 25, rows)],
            "income": [f"{value:.2f}" for value in draw.uniform(100, 900, rows)],
            "name": [f"person {i}" for i in range(rows)],
            "sex": draw.choice(["f", "m"], rows),
        }
    )


@pytest.fixture
def people(tmp_path: Path) -> Path:
    csv.write_csv(table_of(), tmp_path / "people.csv")
    return tmp_path / "people.csv"


def bought(release: Any) -> Schema:
    found: Schema = release.schema
    return found


@pytest.mark.costly
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_what_nobody_declared_is_bought_out_of_one_epsilon(people: Path, tmp_path: Path, neighbours: str) -> None:
    schema = schema_of(neighbours)
    made = publish_seeded(people, schema, seed=3, epsilon=1, delta="1e-6", ledger=tmp_path / "l.db", cap="none")
    found, card = made.release.schema, made.release.card.as_json()
    assert found["job"].labels == ("Nurse", "cook", "nurse", "é", "other", "missing")
    assert found["income"].kind == "number" and found["name"].kind == "id"
    assert {a.provenance for a in found.attributes if a.name != "sex"} == {"paid"}
    whole = total_cost(Discovery.of(schema, Budget(1, "1e-6")).budget)
    assert sum(Fraction(c["cost"]) for c in made.charges) == whole
    assert (
        card["delta_split"]["conversion"] + card["delta_split"]["value_lists"] == card["delta_split"]["total"] == 1e-6
    )
    assert card["discovery"] == {
        "declared": ["sex"],
        "public": [],
        "paid": {"job": "values", "age": "range", "seen": "range", "income": "kind", "name": "kind"},
    }
    assert card["declared_schema_hash"] == schema.hash != card["schema_hash"]
    with Ledger(tmp_path / "l.db") as book:
        (reserved,) = [e.body for e in book.entries() if e.kind == "reserve"]
        deltas = sum(Fraction(e.body.get("delta", 0)) for e in book.entries() if e.kind == "charge")
    assert reserved["schema"] == schema.hash and 0 < deltas <= Fraction(1, 2 * 10**6)
    text = made.release.summary()
    assert "paid for: values of job" in text and "for value lists" in text


@pytest.mark.costly
@pytest.mark.parametrize("seed", [2, 4])
def test_a_list_is_the_one_way_table_and_not_bought_again(people: Path, tmp_path: Path, seed: int) -> None:
    """Where pairs are not worth their noise, what is left of the budget buys one-way tables once more, at the end."""
    made = publish_seeded(
        people, schema_of(), seed=seed, epsilon=1, delta="1e-6", ledger=tmp_path / "l.db", cap="none", method="aim"
    )
    ones = [m for m in made.release.measurements if [axis.attribute for axis in m.axes] == ["job"]]
    pairs = any(len(m.axes) > 1 for m in made.release.measurements)
    ended = UNLINKED in made.release.card.notes  # after the first rounds
    assert len(ones) == (2 if ended or not pairs else 1)
    exact = pd.read_csv(people, keep_default_na=False).job.value_counts()
    for label, count in zip(made.release.schema["job"].labels, ones[0].values.tolist()):
        assert abs(count - exact.get({"missing": "?"}.get(label, label), 0)) < 6 * ones[0].noise.scale


@pytest.mark.costly
def test_at_most_three_passes(people: Path, tmp_path: Path) -> None:
    passes = []
    read = Delimited.pieces

    def counted(self: Delimited, names: Any) -> Any:
        passes.append(names)
        return read(self, names)

    with mock.patch.object(Delimited, "pieces", counted):
        publish_seeded(people, schema_of(), seed=3, epsilon=1, delta="1e-6", ledger=tmp_path / "l.db", cap="none")
    assert len(passes) == 3


@pytest.mark.costly
def test_pure_epsilon_buys_all_but_lists(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Three ways out"):
        plan(schema_of(), epsilon=4)
    schema = Schema.from_toml(TEXT.format(table=f"rows = {ROWS}").replace('values = "discover"', 'values = ["nurse"]\nother = "nurse"'))  # fmt: skip
    csv.write_csv(table_of(), tmp_path / "people.csv")
    made = publish_seeded(tmp_path / "people.csv", schema, seed=3, epsilon=8, ledger=tmp_path / "l.db", cap="none")
    found = made.release.schema
    assert found["income"].kind == "number" and found["name"].kind == "drop"
    assert any("pure epsilon" in note for note in made.release.card.notes)


def test_a_plan_says_what_is_seen_and_refuses_what_is_not() -> None:
    said = plan(schema_of(), epsilon=1, delta="1e-6")
    assert {"formats", "ranges", "value lists"} <= {p.name for p in said.phases}
    assert any("smallest groups" in note for note in said.notes)
    with pytest.raises(UsageError, match="quarter"):
        plan(schema_of(rows=300), epsilon="0.1", delta="1e-9")


def test_few_rows_are_refused_before_anything_is_opened(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="quarter"):
        publish("nowhere.csv", schema_of(rows=300), epsilon="0.1", delta="1e-9", ledger=tmp_path / "l.db", cap="none")


KILLED = """
import os, signal, sys
from understudy import publishing
from understudy.privacy.reservation import Charge
from understudy.publishing import publish
done = Charge.journal
count = 0
def journal(self, outcome):
    global count
    done(self, outcome)
    count += 1
    if count == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGKILL)
Charge.journal = journal
publish(sys.argv[2], sys.argv[3], epsilon=1, delta="1e-6", ledger=sys.argv[4], cap="none", save=sys.argv[5])
"""


@pytest.mark.slow
@pytest.mark.parametrize("after", [1, 2, 3, 4])
def test_a_killed_run_goes_on_with_the_same_outcomes(people: Path, tmp_path: Path, after: int) -> None:
    (tmp_path / "s.toml").write_text(TEXT.format(table=f"rows = {ROWS}"), encoding="utf-8")
    places = [str(tmp_path / name) for name in ("people.csv", "s.toml", "l.db", "out.zip")]
    killed = subprocess.run([sys.executable, "-c", KILLED, str(after), *places], timeout=300)
    assert killed.returncode == -signal.SIGKILL
    with Ledger(tmp_path / "l.db") as book:
        kept = book.connection.execute("SELECT outcome FROM journal ORDER BY step").fetchall()[:after]
        before = [e.body for e in book.entries() if e.kind == "charge"]
    release = publish(places[0], places[1], epsilon=1, delta="1e-6", ledger=places[2], save=places[3])
    with Ledger(tmp_path / "l.db") as book:
        charges = [e.body for e in book.entries() if e.kind == "charge"]
        assert len([e for e in book.entries() if e.kind == "reserve"]) == 1
    assert charges[: len(before)] == before
    if after >= 3:  # formats, ranges, value lists
        values = json.loads(kept[2][0])[0][0]
        assert list(release.schema["job"].labels[: len(values)]) == values


@pytest.mark.costly
def test_another_table_does_not_take_up_a_run(people: Path, tmp_path: Path) -> None:
    from understudy.errors import BudgetError

    class Stop(Exception): ...

    with mock.patch("understudy.methods.discovery.Discovery._lists", side_effect=Stop), pytest.raises(Stop):
        publish_seeded(people, schema_of(), seed=3, epsilon=1, delta="1e-6", ledger=tmp_path / "l.db", cap="none")
    whole = table_of()
    one = [*whole["job"].to_pylist()]
    one[7] = "nurse" if one[7] == "Nurse" else "Nurse"  # as long as before, and in no other class
    unlike = whole["name"].to_pylist()[:-1] + ["person 12345"]  # of a column without a kind
    changed = [whole.set_column(0, "job", pa.array(one)), whole.set_column(4, "name", pa.array(unlike))]
    for other in [table_of(seed=1), *changed]:
        csv.write_csv(other, people)
        with pytest.raises(BudgetError, match="another table"):
            publish_seeded(people, schema_of(), seed=3, epsilon=1, delta="1e-6", ledger=tmp_path / "l.db", cap="none")


# -- engines -----------------------------------------------------------------------------------------------------


def completed(
    data: Any, folder: Path, name: str, schema: Schema | None = None, **more: Any
) -> tuple[dict[str, Any], list[list[int]]]:
    made = publish_seeded(
        data, schema or schema_of(), seed=5, epsilon=1, delta="1e-6", ledger=folder / f"{name}.db", cap="none", method="aim",
        **more,
    )  # fmt: skip
    job = [m.values.tolist() for m in made.release.measurements if m.axes[0].attribute == "job" and len(m.axes) == 1]
    return made.release.schema.as_json(), job


@pytest.mark.costly
def test_embedded_engines_and_duckdb_find_the_same(people: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    expected = completed(people, tmp_path, "memory")
    assert completed(people, tmp_path, "mapped", engine="mapped") == expected
    assert completed(table_of(), tmp_path, "frame", types="declared") == expected
    parquet.write_table(table_of(), tmp_path / "people.parquet")
    assert completed(tmp_path / "people.parquet", tmp_path, "parquet", types="declared") == expected
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as connection:
        made = table_of()
        connection.register("made", made)
        connection.execute("CREATE TABLE people AS SELECT * FROM made")
    assert completed(f"duckdb:///{tmp_path}/rows.duckdb?table=people", tmp_path, "duckdb") == expected


def test_postgresql_finds_the_same(
    people: Path, tmp_path: Path, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    address = postgresql.load("discovered", table_of())
    assert completed(address, tmp_path, "postgresql") == completed(people, tmp_path, "memory")


@pytest.mark.engines
def test_spark_finds_the_same(people: Path, tmp_path: Path) -> None:
    module("pyspark")
    expected = completed(people, tmp_path, "memory")
    parquet.write_table(table_of(), tmp_path / "people.parquet")
    found = completed(str(tmp_path / "people.parquet"), tmp_path, "spark", engine="spark", types="declared")
    assert found == expected


@pytest.mark.parametrize("text", ["1", "apple", "2020-01-01"])
def test_inferred_types_are_refused_whatever_they_hold(tmp_path: Path, text: str) -> None:
    """A frame's reader may have changed how cells are written: for every content alike, and nothing is charged."""
    columns = {name: [text] * ROWS for name in table_of().column_names} | {"sex": ["f"] * ROWS}
    columns |= {"age": ["1"] * ROWS, "seen": ["2020-01-01"] * ROWS}
    with pytest.raises(DataError, match="declared"):
        publish_seeded(
            pd.DataFrame(columns), schema_of(), seed=1, epsilon=1, delta="1e-6", ledger=tmp_path / "l.db", cap="none"
        )
    with Ledger(tmp_path / "l.db") as book:
        assert not book.entries()


def test_more_texts_than_are_held_are_grouped_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from understudy.engines import grouping
    from understudy.engines.engine import Grouping
    from understudy.engines.opening import PrivateData, open_groups

    rows = 30_000
    texts = [f"id {i}" for i in range(rows)] + ["é" * 150] * 300 + ["shared"] * 200 + ["x" * 300] * 400 + [""] * 100
    csv.write_csv(pa.table({"t": np.random.default_rng(0).permutation(texts)}), tmp_path / "t.csv")
    schema = Schema.from_toml('[table]\nname="t"\nneighbours="add-remove"\n[attributes.t]\nkind="drop"\n[attributes.u]\nkind="category"\nvalues=["a"]')  # fmt: skip
    asked = (Grouping("t", ("",), (), True),)
    (whole,) = open_groups(PrivateData(tmp_path / "t.csv"), schema).groups(asked, 1)
    monkeypatch.setattr(grouping, "HELD_TEXTS", 1000)
    (spilled,) = open_groups(PrivateData(tmp_path / "t.csv"), schema).groups(asked, 1)
    assert sorted(zip(spilled.texts, spilled.counts.tolist())) == [("shared", 200), ("é" * 150, 300)]
    assert sorted(zip(whole.texts, whole.counts.tolist())) == sorted(zip(spilled.texts, spilled.counts.tolist()))
    assert (spilled.rows, spilled.missing) == (rows + 1000, 100) == (whole.rows, whole.missing)


# -- schemas and drafts ------------------------------------------------------------------------------------------


def test_the_declared_schema_keeps_its_words() -> None:
    schema = schema_of()
    body = schema.as_json()["attributes"]
    assert body["job"] == {"kind": "category", "missing": ["", "?"], "values": "discover"}
    assert Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.parametrize(
    "body",
    [
        'kind = "integer"\nvalues = "discover"',
        'kind = "category"\nrange = "discover"',
        'kind = "category"\nvalues = "discover"\ntaxonomy = "prefix:1"',
        'kind = "integer"\nrange = "discover"\nbins = 10',
        'kind = "integer"\nrange = "discover"\npoints = [0]',
        'kind = "discover"\nrange = [0, 1]',
    ],
)
def test_what_cannot_stand_beside_discover(body: str) -> None:
    with pytest.raises(SchemaError):
        Schema.from_toml(f'[table]\nname = "t"\nneighbours = "add-remove"\n[attributes.x]\n{body}')


CODED = """
[table]
name = "t"
rows = 5000
[attributes.grade]
kind = "discover"
missing = ["9"]
[attributes.age]
kind = "integer"
range = "discover"
missing = ["99"]
[attributes.size]
kind = "discover"
missing = ["-9"]
[attributes.born]
kind = "date"
range = "discover"
missing = ["1900-01-01"]
"""


@pytest.mark.costly
def test_missing_codes_among_the_values_cut_the_range_and_not_the_column(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    table = pa.table(
        {
            "grade": [str(value) for value in draw.choice([1, 2, 3, 4, 9], 5000)],
            "age": [str(value) for value in draw.choice([*range(18, 90), 99], 5000)],
            "size": [f"{value:.1f}" if value > -9 else "-9" for value in draw.choice([1.5, 7.5, 70.5, -9, -6], 5000)],
            "born": draw.choice(["1900-01-01", "1905-02-03", "1921-04-05"], 5000),
        }
    )
    csv.write_csv(table, tmp_path / "t.csv")
    found = discover(
        tmp_path / "t.csv", Schema.from_toml(CODED), epsilon=2, delta="1e-6", ledger=tmp_path / "l.db",
        source=SeededSource(1),
    )  # fmt: skip
    shown = {name: body["range"] for name, body in schema_as_dict(found.schema)["attributes"].items()}
    assert shown["grade"] == [1, 4]
    assert shown["age"][1] == 98 and shown["size"][0] == -8.9 and shown["born"][0] == "1900-01-02"
    assert {note.split(":")[0] for note in found.notes if ROOM in note} == {"age", "size", "born"}
    assert all(found.schema[name].has_missing for name in shown)


def test_several_owners_are_refused() -> None:
    with pytest.raises(UsageError, match="federation cannot buy"):
        schema_of().for_owners()


DRAFT = """
[table]
name = "people"
rows = 1
confirm = ["rows"]
[attributes.job]
kind = "category"
values = ["?"]
confirm = ["kind", "values"]
[attributes.age]
kind = "integer"
range = [0, 100]
confirm = ["range"]
[attributes.seen]
kind = "date"
range = ["2000-01-01", "2030-01-01"]
confirm = ["range"]
[attributes.income]
kind = "number"
range = [0, 1000]
[attributes.name]
kind = "category"
values = ["?"]
confirm = ["values"]
[attributes.sex]
kind = "category"
values = ["f", "m"]
"""


@pytest.mark.costly
def test_a_draft_is_bought(people: Path, tmp_path: Path) -> None:
    assert {a.name for a in left_open(DRAFT).undiscovered} == {"job", "age", "seen", "name"}
    kept = []
    found = buy_draft(
        people, Draft(DRAFT, ""), epsilon=1, delta="1e-6", rows=ROWS, ledger=tmp_path / "l.db", cap="none",
        keep=kept.append, source=SeededSource(2),
    )  # fmt: skip
    assert kept == [found] and not found.schema.undiscovered
    assert found.schema["job"].labels == ("Nurse", "cook", "nurse", "é", "missing")
    with Ledger(tmp_path / "l.db") as book:
        state = book.account("people")
        assert state is not None and state.spent_epsilon == 1
    again = Schema.from_toml(found.schema.to_toml())
    assert again["age"].provenance == "paid"
    with same_noise():
        card = publish(people, again, epsilon=1, ledger=tmp_path / "l.db").card.as_json()
    assert card["discovery"]["paid"]["job"] == "an earlier run"


def test_a_draft_with_a_question_about_the_table_is_not_bought() -> None:
    with pytest.raises(UsageError, match="header"):
        left_open(DRAFT.replace('["rows"]', '["rows", "header"]'))
