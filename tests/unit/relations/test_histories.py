"""Publishing people with many rows: one charge for both tables, whole histories, files, and refusals."""

from __future__ import annotations

import io
import itertools
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import understudy
from understudy.engines.opening import PrivateData
from understudy.errors import BudgetError, DataError, ReleaseError, SchemaError, UsageError
from understudy.inference.trust import FIRST_ROW, NEXT_ROW
from understudy.privacy.accounting import accounting_of, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.measurement import Measurement, table_noise
from understudy.publishing import run
from understudy.relations.history_model import HistoryModel
from understudy.relations.reading import people_fit, person_numbers
from understudy.release.history_links import history_sheet, history_trust, own_links
from understudy.release.storage import Format, release_bytes
from understudy.schema import Axis
from understudy.testing import SeededSource
from visits import visits, visits_schema


def published(path: Path, epsilon: str = "2", **more: Any) -> understudy.Release:
    found = run(
        visits(400), visits_schema(), Budget(epsilon, "1e-6"), "auto", {}, ledger=path / "l.db", cap="none",
        source=SeededSource(5), types="declared", quiet=True, **more,
    )  # fmt: skip
    return found.release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> understudy.Release:
    return published(tmp_path_factory.mktemp("visits"))


@pytest.mark.costly
def test_one_reservation_pays_for_both_tables_and_nothing_is_left(tmp_path: Path) -> None:
    release = published(tmp_path)
    with Ledger(tmp_path / "l.db") as book:
        kinds = [entry.kind for entry in book.entries()]
        spent = [Fraction(entry.body["cost"]) for entry in book.entries() if entry.kind == "charge"]
    assert kinds.count("reserve") == 1 and kinds.count("release") == 1
    assert sum(spent) == total_cost(Budget("2", "1e-6"))
    purposes = {charge.purpose for charge in release.card.charges}
    assert {"steps: one-way", "steps: tables", "row count", "one-way"} <= purposes


def test_steps_have_the_noise_of_a_person_with_all_their_steps(release: understudy.Release) -> None:
    model = release.model
    assert isinstance(model, HistoryModel)
    tables = [m for m in model.measured[1] if len(m.axes) > 1 or m.axes[0].attribute in model.panel.changes]
    spent = next(c.cost for c in release.card.charges if c.purpose == "steps: tables")
    cost = Fraction(spent).limit_denominator(10**12) / len(tables)
    due = table_noise(model.panel.steps, accounting_of(Budget("2", "1e-6")), cost).scale
    assert model.panel.steps.rows_per_person == 4
    for measurement in tables:
        assert measurement.noise.scale == pytest.approx(due, rel=1e-3)


def test_rows_come_person_after_person_in_their_order(release: understudy.Release) -> None:
    rows = release.sample(seed=3).to_pandas() if isinstance(release.sample(1), pa.Table) else release.sample(seed=3)
    columns = {name: np.asarray(rows[name]) for name in ("patient", "year", "sex", "born")}
    same = columns["patient"][1:] == columns["patient"][:-1]
    assert (np.diff(columns["patient"]) >= 0).all()
    assert (columns["year"][1:][same] >= columns["year"][:-1][same]).all()
    assert (columns["sex"][1:][same] == columns["sex"][:-1][same]).all()
    assert (columns["born"][1:][same] == columns["born"][:-1][same]).all()  # values, not bins
    assert np.bincount(columns["patient"]).max() <= 5
    assert len(rows) == release.rows


def test_a_sample_has_the_rows_that_were_asked_for_whatever_the_batch(
    release: understudy.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.relations.history_model.BATCH", 7)
    rows = release.sample(101, seed=1)
    assert len(rows) == 101 and len(release.sample(0)) == 0
    assert len(set(np.asarray(rows["patient"]).tolist())) > 14  # of several batches, none of which begins again


@pytest.mark.costly
def test_a_release_is_the_same_after_a_file(release: understudy.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "a.zip")
    again = understudy.Release.open(tmp_path / "a.zip")
    assert again.hash == release.hash and again.rows == release.rows
    same = [np.asarray(r.sample(50, seed=9)["weight"], dtype=object) for r in (release, again)]
    assert [str(v) for v in same[0]] == [str(v) for v in same[1]]
    assert "people; each further row" in again.summary() and "@" not in again.summary()
    assert "state, change ← (state, previous row" in again.summary()
    assert again.report() is not None


def test_a_release_of_the_time_before_the_horizon_opens_and_draws(release: understudy.Release, tmp_path: Path) -> None:
    members = dict(release.members)
    stored = json.loads(members["model.json"])
    document = stored if "ahead" in stored else stored["model"]
    assert document.pop("ahead") is True
    members["model.json"] = json.dumps(stored).encode()
    ledger = {"seq": release.head.seq, "hash": release.head.hash}
    (tmp_path / "old.zip").write_bytes(release_bytes(members, ledger, Format.HISTORIES))
    old = understudy.Release.open(tmp_path / "old.zip")
    assert isinstance(old.model, HistoryModel) and old.model.horizon is None
    rows = old.sample(200, seed=1)
    who, year = (np.asarray(rows[name]) for name in ("patient", "year"))
    assert len(rows) == 200 and (np.diff(year)[np.diff(who) == 0] >= 0).all()
    old.save(tmp_path / "again.zip")
    assert understudy.Release.open(tmp_path / "again.zip").model.horizon is None  # type: ignore[attr-defined]


def test_what_holds_tells_which_links_were_measured(release: understudy.Release) -> None:
    model = release.model
    assert isinstance(model, HistoryModel)
    people = {frozenset(a.attribute for a in m.axes) for m in model.measured[0]}
    pairs = release.what_holds
    assert {(p.one, p.other) for p in pairs} == set(itertools.combinations(release.schema.names, 2))
    for pair in pairs:
        assert pair.links is not None and (pair.status, pair.error) == ("inferred", None)
        assert (FIRST_ROW in pair.links) == any({pair.one, pair.other} <= names for names in people)
    assert release.trust("sex", "state") == next(p for p in pairs if (p.one, p.other) == ("sex", "state"))
    with pytest.raises(UsageError, match="no modelled column"):
        release.trust("sex", "patient")
    assert own_links(model) == tuple(n for n in release.schema.names if n not in ("sex", "born"))


def test_a_link_from_row_to_row_is_told(release: understudy.Release) -> None:
    model = release.model
    assert isinstance(model, HistoryModel)
    axes = (Axis("weight@previous"), Axis("@gap"), Axis("sex"), Axis("state@change"))
    table = Measurement(axes, np.zeros((1, 1, 1, 1), dtype=np.int64), model.measured[1][0].noise)
    linked = replace(model, measured=((), (table,)))
    told = {(p.one, p.other) for p in history_sheet(linked, 64) if p.links == (NEXT_ROW,)}
    assert told == set(itertools.combinations([n for n in release.schema.names if n != "born"], 2))
    assert own_links(linked) == ()
    assert "neither" in str(history_trust(linked, "born", "sex")) and NEXT_ROW in str(
        history_trust(linked, "sex", "state")
    )


@pytest.mark.costly
def test_pages_name_columns_and_links_in_words(release: understudy.Release, tmp_path: Path) -> None:
    release.report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "People have several rows here" in page and f"measured {FIRST_ROW}".replace("'", "&#x27;") in page
    plan = understudy.plan(visits_schema(), epsilon=1, delta="1e-6", rows=20_000)
    for text in (page, release.card.text(), release.summary(), plan.text(), str(plan.as_json())):
        assert not re.search(r"@(previous|now|change|rows|gap|\d)", text)


@pytest.mark.costly
def test_queries_are_about_rows(release: understudy.Release) -> None:
    answer = release.query("count by state where year >= 2003")
    assert 0 < float(np.sum(answer.to_pandas()["count"])) <= release.rows


def test_conditions_on_rows_are_refused(release: understudy.Release) -> None:
    with pytest.raises(UsageError, match="whole histories"):
        release.sample(10, given={"sex": "f"})


@pytest.mark.costly
def test_ids_by_a_pattern_are_one_for_a_person(tmp_path: Path) -> None:
    schema = visits_schema(**{'kind = "id"': 'kind = "id"\npattern = "P{3 digits}"'})
    made = understudy.publish(
        visits(80), schema, epsilon=4, delta="1e-6", ledger=tmp_path / "l.db", cap="none", types="declared"
    )
    rows = made.sample(200)
    ids = np.asarray(rows["patient"]).tolist()
    people = [ids[0], *(b for a, b in itertools.pairwise(ids) if a != b)]
    assert len(set(people)) == len(people) < 200 and all(len(one) == 4 for one in people)
    with pytest.raises(UsageError, match="distinct"):
        made.sample(100_000)
    assert len(made.sample()) == made.default_rows > 0


def test_a_crafted_file_is_refused(release: understudy.Release) -> None:
    from understudy.relations.storage import model_of, parts_of

    document, arrays = parts_of(release.model)
    schema = release.schema
    assert isinstance(model_of(document, arrays, schema), HistoryModel)
    for broken in (
        {"persons": 0}, {"persons": True}, {"steps": document["steps"][1:]}, {"weighted": [1]}, {"measured": [[]]},
        {"kind": "junction-tree"}, {"steps": document["steps"][::-1] + document["steps"]},
    ):  # fmt: skip
        with pytest.raises(ReleaseError):
            model_of(document | broken, arrays, schema)
    for name in ("steps-conditional-0", next(n for n in arrays if n.startswith("steps-weights"))):
        with pytest.raises(ReleaseError):
            model_of(document, type(arrays)({**arrays, name: -arrays[name]}), schema)


def test_nobody_with_two_rows_is_no_error(tmp_path: Path) -> None:
    single = visits(60, most=1)
    made = understudy.publish(
        single, visits_schema(), epsilon=1, delta="1e-6", ledger=tmp_path / "l.db", cap="none", types="declared"
    )
    assert made.rows >= 1 and len(made.sample(20)) == 20


# -- rows that are no panel, and schemas that are none --------------------------------------------------------


def _with(table: Any, name: str, values: list[Any]) -> Any:
    return table.set_column(table.column_names.index(name), name, pa.array(values, pa.string()))


def test_an_id_with_two_values_of_a_constant_is_refused_before_a_charge(tmp_path: Path) -> None:
    table = visits(30)
    sexes = table["sex"].to_pylist()
    patients = table["patient"].to_pylist()
    at = next(i for i, p in enumerate(patients) if patients.count(p) > 1)
    sexes[at] = "m" if sexes[at] == "f" else "f"
    with pytest.raises(DataError, match="'sex' is declared constant") as caught:
        understudy.publish(
            _with(table, "sex", sexes), visits_schema(), epsilon=1, ledger=tmp_path / "l.db", types="declared"
        )
    assert patients[at] not in caught.value.message.replace("'sex'", "")
    with Ledger(tmp_path / "l.db") as book:
        assert not book.entries()


@pytest.mark.parametrize("gap", ["", None, "  "])
def test_a_row_without_an_id_is_refused(gap: str | None, tmp_path: Path) -> None:
    table = visits(30)
    with pytest.raises(DataError, match="have no 'patient'"):
        understudy.publish(
            _with(table, "patient", [gap, *table["patient"].to_pylist()[1:]]), visits_schema(), epsilon=1,
            ledger=tmp_path / "l.db", types="declared",
        )  # fmt: skip


def test_ids_are_the_same_whole_number_however_written(tmp_path: Path) -> None:
    table = visits(40)
    plain = people_fit(PrivateData(table, types="declared"), visits_schema())
    ways = (lambda p: f"0{p}", lambda p: f"{p}.0", lambda p: f" {p}")
    mixed = [ways[i % 3](p) for i, p in enumerate(table["patient"].to_pylist())]
    assert people_fit(PrivateData(_with(table, "patient", mixed), types="declared"), visits_schema()) == plain
    assert plain.persons == 40 and plain.used < plain.rows
    csv = tmp_path / "visits.csv"
    table.to_pandas().to_csv(csv, index=False)
    assert people_fit(PrivateData(csv), visits_schema()) == plain


def test_ids_that_a_reader_made_floats_are_refused() -> None:
    table = visits(20)
    floats = pa.array([float(p) for p in table["patient"].to_pylist()])
    whole = floats.cast(pa.int64())
    at = table.column_names.index("patient")
    with pytest.raises(DataError, match="floating-point"):
        people_fit(PrivateData(table.set_column(at, "patient", floats), types="declared"), visits_schema())
    assert (
        people_fit(PrivateData(table.set_column(at, "patient", whole), types="declared"), visits_schema()).persons == 20
    )


def test_ids_that_a_reader_may_have_merged_are_refused() -> None:
    """Of `true` and `TRUE`, or of two ways to write a time, readers make one value unless another cell is a text."""
    table = visits(20)
    at = table.column_names.index("patient")
    for values in (pa.array([True] * len(table)), pa.array([0] * len(table), pa.timestamp("s"))):
        for ids in (values, values.dictionary_encode()):
            with pytest.raises(DataError, match="booleans or times"):
                people_fit(PrivateData(table.set_column(at, "patient", ids), types="declared"), visits_schema())


def test_another_persons_text_moves_nobodys_ids() -> None:
    """Arrow makes whole numbers of these ids where all are some, and leaves texts where one is not."""
    written = ["0x10", "16", "07", "7", "-0", "0", " 12", "12", "9" * 6000]
    texts = _Ids([*written, "anybody"])
    assert person_numbers(texts, "id", 10).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]
    read = csv.read_csv(io.BytesIO("\n".join(["id", *written[:-1]]).encode()))["id"].combine_chunks()
    assert pa.types.is_integer(read.type)
    assert person_numbers(_Ids(read), "id", 8).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ids_of_another_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The rows are read, then whose they are: a file that is replaced in between is noticed, whatever its length."""
    table, path = visits(20), tmp_path / f"visits.{kind}"
    write = csv.write_csv if kind == "csv" else parquet.write_table
    write(table, path)

    def replacing(*given: Any) -> Any:
        write(_with(table, "patient", table["patient"].to_pylist()[::-1]), tmp_path / "other")
        (tmp_path / "other").replace(path)
        return person_numbers(*given)

    schema = visits_schema(**{'missing = [""]': "missing = true"})
    assert people_fit(PrivateData(path, types="declared"), schema).persons == 20
    monkeypatch.setattr("understudy.relations.reading.person_numbers", replacing)
    with pytest.raises(DataError, match="changed while it was being read"):
        people_fit(PrivateData(path, types="declared"), schema)


class _Ids:
    """A source of one column."""

    def __init__(self, ids: Any) -> None:
        self._ids = ids if isinstance(ids, pa.Array) else pa.array(ids, pa.string())

    def pieces(self, _: Any) -> Any:
        yield "id", self._ids


@pytest.mark.costly
@pytest.mark.parametrize("where", ["fit_steps", "fitted_moves"], ids=["after PEOPLE", "after STEPS"])
def test_an_interrupted_run_goes_on_with_what_it_drew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    arguments: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "ledger": tmp_path / "l.db", "types": "declared"}

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"understudy.relations.method.{where}", stopped)
        with pytest.raises(KeyboardInterrupt):
            understudy.publish(visits(50), visits_schema(), cap=1, save=tmp_path / "a.zip", **arguments)
    with Ledger(tmp_path / "l.db") as book:
        before = [entry.body for entry in book.entries() if entry.kind == "charge"]
    understudy.publish(visits(50), visits_schema(), save=tmp_path / "a.zip", **arguments)
    with Ledger(tmp_path / "l.db") as book:
        paid = [entry.body for entry in book.entries() if entry.kind == "charge"]
        assert before and paid[: len(before)] == before and len({body["reservation"] for body in paid}) == 1
        assert (len(paid) == len(before)) == (where == "fitted_moves")
        assert sum(Fraction(body["cost"]) for body in paid) == total_cost(Budget(1, "1e-6"))
        assert sum(entry.kind == "reserve" for entry in book.entries()) == 1


@pytest.mark.costly
def test_the_cap_holds_for_both_tables(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"ledger": tmp_path / "l.db", "types": "declared"}
    understudy.publish(visits(50), visits_schema(), epsilon=1, cap=1, **arguments)
    with pytest.raises(BudgetError):
        understudy.publish(visits(50), visits_schema(), epsilon=1, **arguments)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({'neighbours = "add-remove"': "rows = 50"}, "add-remove"),
        ({"at_most = 5": "at_most = 1"}, "leave \\[person\\] out"),
        ({"at_most = 5": "most = 5"}, "no key 'most'"),
        ({'id = "patient"': 'id = "sex"'}, 'kind = "id"'),
        ({'id = "patient"': 'id = "nobody"'}, "not declared"),
        ({'order = "year"': 'order = "state"'}, "a number, a date or a time"),
        ({'order = "year"': 'order = "weight"'}, "cannot be missing"),
        ({'constant = ["sex", "born"]': 'constant = ["year"]'}, "cannot name 'year'"),
        ({'name = "visits"': 'name = "visits"\nrows_per_person = 3'}, "rows_per_person"),
        ({"[attributes.sex]": '[[uses]]\nanalysis = "state by sex"\n[attributes.sex]'}, "leave them out"),
        (
            {"[attributes.sex]": "[[rules]]\nrule = \"sex == 'f' implies state == 'well'\"\n[attributes.sex]"},
            "leave them out",
        ),
    ],
)
def test_a_person_that_does_not_fit_the_schema_is_refused(change: dict[str, str], match: str) -> None:
    with pytest.raises(SchemaError, match=match):
        visits_schema(**change)


def test_a_schema_with_a_person_is_read_back_as_written() -> None:
    schema = visits_schema()
    assert understudy.Schema.from_dict(schema.as_json()) == schema and schema.rows_per_person == 5
    assert understudy.Schema.from_toml(schema.edit(account="a").to_toml()).person == schema.person


def test_engines_that_do_not_derive_the_tables_refuse(tmp_path: Path) -> None:
    from understudy.engines.opening import open_engine

    parquet.write_table(visits(20), tmp_path / "v.parquet")
    for how in ({"engine": "mapped"}, {"engine": "spark"}, {"master": "local[1]"}):
        with pytest.raises(UsageError, match="in memory, by DuckDB or by PostgreSQL.*take --engine duckdb"):
            understudy.publish(tmp_path / "v.parquet", visits_schema(), epsilon=1, ledger=tmp_path / "l", **how)
    with pytest.raises(UsageError, match="never|\\[person\\]"):
        open_engine(PrivateData(visits(20), types="declared"), visits_schema())


def test_a_plan_says_what_at_most_costs() -> None:
    made = understudy.plan(visits_schema(at_most=9), epsilon=1, delta="1e-6", rows=20_000)
    said = " ".join(made.notes)
    assert "at_most = 9 costs noise" in said and "with at_most = 3" in said
    one, other = (understudy.plan(visits_schema(k), epsilon=0.1, delta="1e-6", rows=20_000) for k in (3, 9))
    noise = [next(p.scale for p in plan.phases if p.name == "steps: one-way") for plan in (one, other)]
    assert noise[1] == pytest.approx(4 * noise[0], rel=1e-6)
    assert sum(p.cost for p in made.phases) == total_cost(Budget(1, "1e-6"))
    tables = next(p for p in made.phases if p.name == "steps: tables")
    assert tables.error is None and "no error is foretold" in tables.detail
