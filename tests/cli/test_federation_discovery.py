"""Owners that buy a schema together, over real sockets: undisturbed, killed and continued, and by the program."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("cryptography")

from command import run
from federation_session import Town, actors, check, play

from understudy.errors import FederationError
from understudy.federation.party import Participation
from understudy.release import Release
from understudy.schema import Schema

OWNERS, ROWS = ("o0", "o1", "o2"), 4_000
TEXT = """
[table]
name = "people"
neighbours = "add-remove"

[attributes.job]
kind = "category"
values = "discover"

[attributes.age]
kind = "integer"
range = "discover"

[attributes.ward]
kind = "discover"

[attributes.sex]
kind = "category"
values = ["f", "m"]
"""


def table_of(seed: int, rows: int = ROWS) -> pa.Table:
    draw = np.random.default_rng(seed)
    jobs = ["nurse", "clerk", "cook"] + (["pilot"] if seed == 0 else [])
    return pa.table(
        {
            "job": draw.choice(jobs, rows),
            "age": draw.integers(18, 90, rows).astype(str),
            "ward": draw.choice(["N", "E", "S"], rows),
            "sex": draw.choice(["f", "m"], rows),
        }
    )


def town_of(folder: Path) -> Town:
    tables = {name: table_of(number) for number, name in enumerate(OWNERS)}
    return Town.of_schema(folder, Schema.from_toml(TEXT), tables, "1e-6")


def released(town: Town) -> Schema:
    return Release.open(town.folder / "out.release.zip").schema


@pytest.mark.slow
def test_undisturbed(tmp_path):
    town = town_of(tmp_path)
    played = play(town, *actors(town.names))
    check(played)
    assert played.released, played.curator.outcome
    schema = released(town)
    assert {"nurse", "clerk", "cook", "pilot"} <= set(schema["job"].labels)
    assert {"N", "E", "S"} <= set(schema["ward"].labels) and schema["age"].kind == "integer"
    stages = {stage for _, _, stage in played.witness.answers}
    assert {"lists", "masked", "decide"} <= stages
    card = played.curator.outcome.release.card
    assert card.delta == 1e-6 and any("union" in note for note in card.as_json()["notes"])
    assert card.as_json()["declared_schema_hash"] == Schema.from_toml(TEXT).hash
    for name in town.names:
        assert sum(town.charges(name)) == played.witness.paid[name]
        assert isinstance(played.owners[name].outcome, Participation)


@pytest.mark.slow
@pytest.mark.parametrize(
    "crash",
    [("journal after", 3), ("reply before", 11), ("reply after", 11), ("accept after", 11), ("charge after", 3),
     ("drawing before", 3), ("journal after", 4), ("accept after", 14)],
)  # fmt: skip
def test_an_owner_dies_and_comes_back(tmp_path, crash):
    """In the lists, or in the first sum by the completed schema: the same words, one charge, the same schema."""
    town = town_of(tmp_path)
    curator, owners = actors(town.names)
    owners["o1"].crashes = [crash]
    played = play(town, curator, owners)
    check(played)
    assert owners["o1"].lives == 2 and played.released, curator.outcome
    assert sum(town.charges("o1")) == played.witness.paid["o1"]
    assert {"nurse", "clerk", "cook", "pilot"} <= set(released(town)["job"].labels)


@pytest.mark.slow
@pytest.mark.parametrize("close", [3, 10, 11, 12, 16])
def test_the_curator_dies_and_comes_back(tmp_path, close):
    """It buys again from its journal, comes to the same schema, and asks the same questions by it."""
    town = town_of(tmp_path)
    curator, owners = actors(town.names)
    curator.crashes = [("close after", close)]
    played = play(town, curator, owners)
    check(played)
    assert curator.lives == 2 and played.released and played.curator.outcome.resumed, curator.outcome
    for name in town.names:
        assert isinstance(owners[name].outcome, Participation)
        assert sum(town.charges(name)) == played.witness.paid[name]


@pytest.mark.slow
def test_lists_that_were_drawn_and_lost_end_the_session(tmp_path):
    town = town_of(tmp_path)
    curator, owners = actors(town.names)
    owners["o1"].crashes = [("journal before", 3)]
    played = play(town, curator, owners)
    check(played)
    assert not played.released and isinstance(curator.outcome, FederationError)


@pytest.mark.slow
def test_an_owner_sends_lists_that_cannot_be(tmp_path):
    town = town_of(tmp_path)
    curator, owners = actors(town.names)
    owners["o1"].corrupt = lambda reply, stage: (
        reply.replace(b'"nurse"', b'"nurs\\ud800"') if stage == "lists" else reply
    )
    played = play(town, curator, owners)
    check(played)
    assert not played.released and "value lists: 1 owners" in str(curator.outcome)


def setting(folder: Path) -> Path:
    (folder / "schema.toml").write_text(TEXT, encoding="utf-8")
    assert run("federation", "certs", folder / "certs", "--owners", ",".join(OWNERS)).code == 0
    return folder


def test_a_roster_says_what_is_seen_and_what_is_lost(tmp_path):
    folder = setting(tmp_path)
    given = [
        "federation", "roster", "--schema", folder / "schema.toml", "--epsilon", "2", "--owners", ",".join(OWNERS),
        "--certs", folder / "certs", "-o", folder / "roster.toml",
    ]  # fmt: skip
    made = run(*given, "--delta", "1e-6")
    assert made.code == 0, made.err
    assert "value lists from about" in made.out and "the list is the union" in made.out
    pure = run(*given)
    assert pure.code == 2 and "cannot be bought under pure epsilon" in pure.err


def test_a_roster_under_which_lists_would_see_nothing_is_refused(tmp_path):
    folder = setting(tmp_path)
    text = TEXT.replace('neighbours = "add-remove"', "rows = 9000")
    (folder / "schema.toml").write_text(text, encoding="utf-8")
    owners = ",".join(f"{name}=100" for name in OWNERS)
    made = run("federation", "roster", "--schema", folder / "schema.toml", "--epsilon", "1", "--delta", "1e-6",
               "--owners", owners, "--certs", folder / "certs", "-o", folder / "roster.toml")  # fmt: skip
    assert made.code == 2 and "nothing would be found" in made.err


@pytest.mark.slow
def test_simulate(tmp_path):
    (tmp_path / "schema.toml").write_text(TEXT, encoding="utf-8")
    table = pa.concat_tables([table_of(number) for number in range(3)])
    lines = [",".join(table.column_names), *(",".join(row.values()) for row in table.to_pylist())]
    (tmp_path / "all.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run("federation", "simulate", tmp_path / "all.csv", "--schema", tmp_path / "schema.toml", "--epsilon", "3",
               "--delta", "1e-6", "-o", tmp_path / "out.csv", "--json")  # fmt: skip
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert {"formats", "ranges", "value lists"} <= {charge["purpose"] for charge in document["charges"]}
    head, *rows = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()
    assert head == "job,age,ward,sex" and len(rows) > 10_000
    jobs = {row.split(",")[0] for row in rows}
    assert {"nurse", "clerk", "cook"} <= jobs <= {"nurse", "clerk", "cook", "pilot", "other", ""}
