"""Publishing tables with foreign keys: one charge for all tables, keys that fit, files, figures, and refusals."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy
from orders import LINKS, orders, orders_schema, write_orders
from understudy.audit.losses import gaussian_loss
from understudy.engines.opening import PrivateData
from understudy.errors import DataError, ReleaseError, SchemaError, UsageError
from understudy.evaluate.hops import compare_tables
from understudy.privacy.accounting import GDP, total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import run
from understudy.relations import table_method
from understudy.relations.linked_model import LinkedModel
from understudy.relations.storage import model_of, parts_of
from understudy.relations.table_reading import coded_tables, opened_tables, tables_fit
from understudy.relations.table_tree import TableTree
from understudy.release.linked_tables import check_folder
from understudy.schema.rows_seen import note_rows_seen, with_sight
from understudy.testing import SeededSource

BUDGET = Budget("20", "1e-6")


def published(path: Path, data: Any = None, **more: Any) -> understudy.Release:
    found = run(
        orders(300) if data is None else data, orders_schema(), BUDGET, "auto", {}, ledger=path / "l.db", cap="none",
        source=SeededSource(5), types="declared", quiet=True, **more,
    )  # fmt: skip
    return found.release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> understudy.Release:
    return published(tmp_path_factory.mktemp("orders"))


def assert_keys_fit(tables: Any) -> None:
    """Every key is of a row that is there, ids are fresh and distinct, and no row has more children than declared."""
    for name in ("accounts", "orders"):
        ids = np.asarray(tables[name]["account_id" if name == "accounts" else "order_id"]).tolist()
        assert sorted(map(int, ids)) == list(range(1, len(ids) + 1))
    for name, (key, parent, references, at_most) in LINKS.items():
        keys = Counter(np.asarray(tables[name][key]).tolist())
        assert set(keys) <= set(np.asarray(tables[parent][references]).tolist())
        assert 0 < max(keys.values()) <= at_most


def test_one_reservation_pays_for_all_tables_and_nothing_is_left(tmp_path: Path) -> None:
    made = published(tmp_path)
    with Ledger(tmp_path / "l.db") as book:
        kinds = [entry.kind for entry in book.entries()]
        spent = [Fraction(entry.body["cost"]) for entry in book.entries() if entry.kind == "charge"]
    assert kinds.count("reserve") == 1 and kinds.count("release") == 1
    assert sum(spent) == total_cost(BUDGET)
    purposes = {charge.purpose for charge in made.card.charges}
    assert {"row count", "orders: tables", "items: tables", "cards: tables"} <= purposes


def test_tables_have_the_noise_of_all_that_belongs_to_a_row_of_the_root(release: understudy.Release) -> None:
    model = release.model
    assert isinstance(model, LinkedModel)
    assert [b.derived.rows_per_person for b in model.tree.branches.values()] == [1, 3, 1, 6]
    for name in ("orders", "cards", "items"):
        branch, measured = model.tree.branches[name], model.measured[name]
        alone, pairs = ([m for m in measured if len(m.axes) == many] for many in (1, 2))
        assert [m.axes[0].attribute for m in alone] == list(branch.targets) and pairs
        assert all(m.axes[-1].attribute in branch.targets for m in pairs)
        for purpose, tables in (("one-way", alone), ("tables", pairs)):
            spent = sum(Fraction(c.cost) for c in release.card.charges if c.purpose == f"{name}: {purpose}")
            due = sum(branch.derived.rows_per_person**2 * gaussian_loss(m.noise.scale, GDP) for m in tables)
            assert due == pytest.approx(float(spent), rel=1e-3)


def test_keys_are_fresh_and_fit(release: understudy.Release) -> None:
    for rows in (None, 40):
        tables = release.sample(rows, seed=3)
        assert list(tables) == ["accounts", "orders", "cards", "items"]
        assert_keys_fit(tables)
        assert len(tables["accounts"]) == (release.rows if rows is None else rows)
    assert [len(table) for table in release.sample(0).values()] == [0, 0, 0, 0]


@pytest.mark.costly
def test_children_go_with_their_parents(tmp_path: Path) -> None:
    """By region 20, 50 and 80 % of orders are of the web; dealt out at random it would be half everywhere."""
    tables = published(tmp_path, orders(2000)).sample(4000, seed=1)
    region = dict(zip(np.asarray(tables["accounts"]["account_id"]), np.asarray(tables["accounts"]["region"])))
    web = {name: [0, 0] for name in ("north", "south", "west")}
    for key, channel in zip(np.asarray(tables["orders"]["account_id"]), np.asarray(tables["orders"]["channel"])):
        web[region[key]][channel == "web"] += 1
    assert web["north"][1] / sum(web["north"]) + 0.3 < web["west"][1] / sum(web["west"])


def test_a_condition_is_about_the_root(release: understudy.Release) -> None:
    tables = release.sample(30, given={"region": "west"}, seed=2)
    assert set(np.asarray(tables["accounts"]["region"])) == {"west"}
    assert_keys_fit(tables)
    aged = release.sample(30, given={"region": "west", "age": "30"}, seed=2)
    assert set(map(int, np.asarray(aged["accounts"]["age"]))) == {30}  # inside a bin of ten years
    assert set(np.asarray(aged["accounts"]["region"])) == {"west"}
    assert_keys_fit(aged)
    answer = release.query("count by region")
    assert float(np.sum(answer.to_pandas()["count"])) == pytest.approx(release.rows)


def test_a_release_is_the_same_after_a_file(release: understudy.Release, tmp_path: Path) -> None:
    release.save(tmp_path / "a.zip")
    again = understudy.Release.open(tmp_path / "a.zip")
    assert again.hash == release.hash and again.rows == release.rows
    one, other = (r.sample(50, seed=9) for r in (release, again))
    for name in one:
        for column in ("region", "channel", "price", "gold", "account_id"):
            if column in list(one[name].keys() if hasattr(one[name], "keys") else one[name].column_names):
                assert [str(v) for v in np.asarray(one[name][column])] == [
                    str(v) for v in np.asarray(other[name][column])
                ]
    assert "orders, each row given the rows that it belongs to" in again.summary()
    assert "one row of accounts with all that belongs to it in orders, items, cards" in again.card.text()
    assert "A person behind two rows of accounts" in again.card.text()
    assert again.report() is not None


def test_files_of_a_folder_are_those_of_the_sample(release: understudy.Release, tmp_path: Path) -> None:
    release.write(tmp_path / "out", 60, seed=4)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "accounts.csv", "orders.csv", "items.csv", "payment-cards.csv"
    }  # fmt: skip
    fits = {fit.table: fit for fit in tables_fit(PrivateData(tmp_path / "out"), orders_schema())}
    drawn = release.sample(60, seed=4)
    assert {name: fit.rows for name, fit in fits.items()} == {name: len(table) for name, table in drawn.items()}
    assert all(fit.used == fit.rows and fit.most <= fit.at_most for fit in fits.values() if fit.at_most)


def test_a_folder_and_frames_are_the_same_data(tmp_path: Path) -> None:
    data, _ = write_orders(tmp_path, 60)
    one, other = (opened_tables(PrivateData(d, types="declared"), orders_schema()) for d in (data, orders(60)))
    assert one.engine.fingerprint(b"key") == other.engine.fingerprint(b"key")
    changed = {**orders(60), "items": orders(60)["items"].slice(20)}
    third = opened_tables(PrivateData(changed, types="declared"), orders_schema())
    assert third.engine.fingerprint(b"key") != one.engine.fingerprint(b"key")


def test_ids_are_rows_whatever_the_order_of_a_dictionary() -> None:
    """A column of categories numbers its texts as it likes, and may hold some that no row has."""
    data = orders(40)
    texts = [str(i) for i in data["accounts"]["account_id"].to_pylist()]
    listed = ["unused", *sorted(texts, reverse=True)]
    ids = pa.DictionaryArray.from_arrays(pa.array([listed.index(t) for t in texts]), pa.array(listed))
    place = data["accounts"].schema.get_field_index("account_id")
    other = data | {"accounts": data["accounts"].set_column(place, "account_id", ids)}
    tree = TableTree.of(orders_schema())
    plain, coded = (coded_tables(tables, tree, types="declared")[0] for tables in (data, other))
    assert plain["accounts"].ids == coded["accounts"].ids == tuple(texts)
    for name in ("orders", "cards"):
        assert plain[name].parent is not None and (plain[name].parent == coded[name].parent).all()


def test_tables_whose_files_differ_in_case_alone_are_refused(release: understudy.Release, tmp_path: Path) -> None:
    """On some disks one would replace the other."""
    schema = orders_schema(**{'file = "payment-cards.csv"': 'file = "Orders.csv"'})
    with pytest.raises(UsageError, match="the same file"):
        check_folder(tmp_path / "out", schema)
    check_folder(tmp_path / "out", release.schema)


def test_a_crafted_file_is_refused(release: understudy.Release) -> None:
    document, arrays = parts_of(release.model)
    schema = release.schema
    assert isinstance(model_of(document, arrays, schema), LinkedModel)
    networks = document["networks"]
    for broken in (
        {"rows": 0}, {"rows": True}, {"networks": {}}, {"networks": networks | {"orders": []}}, {"measured": {}},
        {"networks": networks | {"orders": networks["items"]}}, {"kind": "histories"}, {"kind": "junction-tree"},
        {"networks": networks | {"orders": networks["orders"] * 2}},
    ):  # fmt: skip
        with pytest.raises(ReleaseError):
            model_of(document | broken, arrays, schema)
    with pytest.raises(ReleaseError):
        model_of(document, type(arrays)({**arrays, "table-1-conditional-0": -arrays["table-1-conditional-0"]}), schema)
    with pytest.raises(ReleaseError):
        model_of(document, arrays, schema.project(schema.names))


def test_a_plan_says_what_each_table_costs() -> None:
    made = understudy.plan(orders_schema(), epsilon=1, delta="1e-6", rows=20_000)
    assert sum(p.cost for p in made.phases) == total_cost(Budget(1, "1e-6"))
    assert "items: one row of the root counts for up to 6 here" in " ".join(made.notes)
    one, other = (
        understudy.plan(orders_schema(**{"at_most = 3": f"at_most = {k}"}), epsilon=1, delta="1e-6", rows=20_000)
        for k in (1, 3)
    )
    alone = [next(p.scale for p in plan.phases if p.name == "cards: tables") for plan in (one, other)]
    assert alone[1] == pytest.approx(alone[0], rel=1e-6)  # of another branch


def test_hops_of_tables_with_themselves_are_exact_and_of_dealt_out_rows_are_not() -> None:
    tables = orders(300)
    same = compare_tables(tables, tables, orders_schema(), types="declared")
    assert same.median == {1: 0.0, 2: 0.0} and set(same.fan_out.values()) == {0.0}
    keys = tables["orders"]["account_id"].to_pylist()
    accounts = np.random.default_rng(1).permutation(keys).tolist()
    dealt = {**tables, "orders": tables["orders"].set_column(1, "account_id", pa.array(accounts))}
    found = compare_tables(tables, dealt, orders_schema(), types="declared")
    by = {hop.tables: hop for hop in found.hops}
    assert by["accounts", "orders"].median > 0.1 and by["orders", "items"].median == 0.0
    assert found.fan_out["orders"] == 0.0 and by["accounts", "items"].hops == by["orders", "cards"].hops == 2
    assert "CUSTODIAN" in found.text() and found.as_json()["median_relative_error"]["2"] > 0


def test_an_interrupted_run_goes_on_with_what_it_drew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments: dict[str, Any] = {"epsilon": 1, "delta": "1e-6", "ledger": tmp_path / "l.db", "types": "declared"}

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("understudy.relations.table_method.ChildRounds", stopped)
        with pytest.raises(KeyboardInterrupt):
            understudy.publish(orders(50), orders_schema(), cap=1, save=tmp_path / "a.zip", **arguments)
    understudy.publish(orders(50), orders_schema(), save=tmp_path / "a.zip", **arguments)
    with Ledger(tmp_path / "l.db") as book:
        paid = [entry.body for entry in book.entries() if entry.kind == "charge"]
        assert len({body["reservation"] for body in paid}) == 1
        assert sum(Fraction(body["cost"]) for body in paid) == total_cost(Budget(1, "1e-6"))


# -- schemas that are no tree, and rows that do not hang together ----------------------------------------------


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({'parent = "accounts"\nkey = "account_id"\nat_most = 3': 'parent = "items"\nkey = "account_id"\n'
          'references = "order"\nat_most = 3'}, "lead round in a circle"),
        ({'parent = "accounts"\nkey = "account_id"\nat_most = 3': 'parent = "items"\nkey = "account_id"\n'
          'at_most = 3'}, "lead round in a circle"),  # the key is none of that parent either: the circle is said first
        ({'parent = "orders"': 'parent = "order"'}, "'order', and there is no such table. Did you mean 'orders'"),
        ({'key = "order"': 'key = "ordre"'}, "'ordre', which 'items' does not declare. Did you mean 'order'"),
        ({'references = "order_id"': 'references = "channel"'}, 'must be of kind = "id"'),
        ({'references = "order_id"\n': ""}, "'order', which 'orders' does not declare"),
        ({"at_most = 2": "most = 2"}, "no key 'most'"),
        ({"at_most = 2\n": ""}, "needs `at_most`"),
        ({"at_most = 2": "at_most = 0"}, "from 1 to 1,000"),
        ({"at_most = 2": "at_most = true"}, "from 1 to 1,000"),
        ({"at_most = 3": "at_most = 1000", "at_most = 2": "at_most = 1000", "at_most = 1\n": "at_most = 1\n",
          'parent = "accounts"\nkey = "account_id"\nat_most = 1\n': 'parent = "items"\nkey = "account_id"\n'
          'references = "order"\nat_most = 2\n'}, "more than 1,000,000"),
        ({'neighbours = "add-remove"': "rows = 50"}, 'neighbours = "add-remove"'),
        ({'name = "accounts"': 'name = "accounts"\nrows_per_person = 3'}, "leave `rows_per_person` out"),
        ({"[tables.cards]": "[tables.accounts]", "[tables.cards.": "[tables.accounts."}, "two tables"),
        ({'file = "payment-cards.csv"': 'file = "../cards.csv"'}, "cannot be the name"),
        ({"[tables.orders]": '[[uses]]\nanalysis = "age by region"\n[tables.orders]'}, "do not go together"),
        ({"[attributes.region]": "[attributes.'region@x']"}, "rename 'region@x'"),
        ({"[tables.items.attributes.price]": "[tables.items.attributes.price]\nnonsense = 1"}, r"\[tables.items\]"),
    ],
)  # fmt: skip
def test_tables_that_are_no_tree_are_refused(change: dict[str, str], match: str) -> None:
    with pytest.raises(SchemaError, match=match):
        orders_schema(**change)


def test_a_file_without_tables_and_tables_that_are_no_tables_are_refused() -> None:
    plain = {"table": {"name": "a", "neighbours": "add-remove"}, "attributes": {"b": {"kind": "boolean"}}}
    with pytest.raises(SchemaError, match="goes with"):
        understudy.Schema.from_dict(plain | {"table": {**plain["table"], "file": "a.csv"}})
    with pytest.raises(SchemaError, match=r"\[tables\] holds tables"):
        understudy.Schema.from_dict(plain | {"tables": [1]})
    with pytest.raises(SchemaError, match=r"\[tables.x\] must be a table"):
        understudy.Schema.from_dict(plain | {"tables": {"x": 1}})


def test_a_schema_with_tables_is_read_back_as_written_and_one_without_says_nothing_of_them() -> None:
    schema = orders_schema()
    assert understudy.Schema.from_dict(schema.as_json()).hash == schema.hash
    again = understudy.Schema.from_toml(schema.edit(account="a").to_toml())
    assert [c.as_json() for c in again.tables] == [c.as_json() for c in schema.tables] and again.account == "a"
    alone = schema.project(schema.names)
    assert alone.tables == () and "tables" not in alone.as_json() and "file" not in alone.as_json()["table"]
    assert alone.hash != schema.hash
    others = (orders_schema(**{"at_most = 2": "at_most = 1"}), orders_schema(**{"bins = 5": "bins = 4"}))
    assert len({schema.hash, *(other.hash for other in others)}) == 3


def _with(tables: dict[str, Any], table: str, column: str, values: list[Any]) -> dict[str, Any]:
    own = tables[table]
    return {**tables, table: own.set_column(own.column_names.index(column), column, pa.array(values, pa.string()))}


def _swapped(table: str, column: str, value: str | None) -> dict[str, Any]:
    tables = orders(40)
    return _with(tables, table, column, [value, *tables[table][column].to_pylist()[1:]])


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (lambda: _swapped("orders", "account_id", "SECRET"), "'orders'.*'account_id' that no row of 'accounts' has"),
        (lambda: _swapped("items", "order", "SECRET"), "'items'.*'order' that no row of 'orders' has"),
        (lambda: _swapped("accounts", "account_id", "A00007"), "'accounts'.*two rows have the same 'account_id'"),
        (lambda: _swapped("orders", "order_id", "O00003"), "'orders'.*two rows have the same 'order_id'"),
        (lambda: _swapped("items", "order", None), "'items'.*no 'order'"),
        (lambda: _swapped("items", "price", "SECRET"), "'items'.*'price'"),
    ],
    ids=["orphan", "orphan of a child", "two parents", "two parents that are children", "no key", "a cell"],
)
def test_rows_that_do_not_hang_together_are_refused_before_a_charge(data: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=match) as caught:
        understudy.publish(data(), orders_schema(), epsilon=1, ledger=tmp_path / "l.db", types="declared")
    assert not any(private in caught.value.message for private in ("SECRET", "A000", "O000"))
    with Ledger(tmp_path / "l.db") as book:
        assert not book.entries()


def test_more_rows_than_declared_are_cut_and_counted_for_the_custodian_only(tmp_path: Path) -> None:
    fits = {fit.table: fit for fit in tables_fit(PrivateData(orders(150), types="declared"), orders_schema())}
    assert fits["orders"].most == 4 and fits["orders"].used < fits["orders"].rows
    assert fits["items"].most == 3 and fits["cards"].used == fits["cards"].rows
    assert "CUSTODIAN" in str(fits["orders"].as_json())
    assert_keys_fit(published(tmp_path, orders(150)).sample(seed=1))


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (lambda: {k: v for k, v in orders(20).items() if k != "items"}, "'items' is not among the data"),
        (lambda: {**orders(20), "itms": 1}, "no table 'itms' in the schema. Did you mean 'items'"),
        (lambda: orders(20)["accounts"], "a mapping of frames"),
        (lambda: "nowhere", "is not a folder"),
        (lambda: "postgresql://somebody:password@nowhere.invalid/db?table=accounts", "leave `table` out"),
    ],
    ids=["a table is absent", "a table too many", "one frame", "no folder", "one table of a database"],
)
def test_data_that_is_not_these_tables_is_refused(data: Any, match: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=match) as caught:
        understudy.publish(data(), orders_schema(), epsilon=1, ledger=tmp_path / "l.db", types="declared")
    assert "password" not in caught.value.message
    if (tmp_path / "l.db").exists():
        with Ledger(tmp_path / "l.db") as book:
            assert not book.entries()


def test_engines_and_owners_that_do_not_join_tables_refuse(tmp_path: Path) -> None:
    from understudy.engines.opening import open_engine

    data, _ = write_orders(tmp_path, 20)
    for how in ({"engine": "duckdb"}, {"engine": "spark"}, {"master": "local[1]"}, {"engine": "mapped"}):
        with pytest.raises(UsageError, match="joined in memory.*leave --engine and --master out"):
            understudy.publish(data, orders_schema(), epsilon=1, ledger=tmp_path / "l.db", **how)
    with Ledger(tmp_path / "l.db") as book:
        assert not book.entries()
    with pytest.raises(UsageError, match="on one machine"):
        open_engine(PrivateData(orders(20)["accounts"], types="declared"), orders_schema())


def test_what_was_declared_after_seeing_rows_of_a_child_is_said(tmp_path: Path) -> None:
    """Rows of a child are shown by a schema of its own, on the account of all; a change after that is stamped."""
    path = tmp_path / "tables.toml"
    path.write_text(orders_schema().to_toml(), encoding="utf-8")
    schema = understudy.Schema.open(path)
    assert with_sight(schema) == schema
    items = schema.tables[1].schema
    root = {a.name: a for a in schema.attributes}
    assert items.account == "accounts"
    note_rows_seen(understudy.Schema("items", (*items.attributes, *root.values()), None, "add-remove", account="accounts",
                                     path=path))  # fmt: skip
    other = understudy.Schema.from_toml(path.read_text(encoding="utf-8").replace("[0, 100]", "[0, 90]"))
    seen = with_sight(other, tmp_path)
    stamped = {
        c.name: [a.name for a in c.schema.attributes if a.provenance == "after seeing rows"] for c in seen.tables
    }
    assert stamped["items"] == ["price"] and not any(a.provenance == "after seeing rows" for a in seen.attributes)
    assert seen.hash != other.hash
    made = understudy.publish(orders(40), other, epsilon=1, ledger=tmp_path / "l.db", types="declared")
    assert "declared after rows were seen" in made.card.text() and "items.price" in made.card.text()


def test_pairs_of_the_root_are_measured_where_its_tables_hold_them(release: understudy.Release) -> None:
    """The tables are kept with the model: a pair that one of them holds was said not to be measured."""
    model = release.model
    assert isinstance(model, LinkedModel)
    held = [{axis.attribute for axis in m.axes} for m in model.measured["accounts"]]
    assert {"region", "age"} in held
    found = release.trust("region", "age")
    assert found.status == "measured" and found.error is not None and 0 < found.error < 1
    assert [pair.status for pair in release.what_holds] == ["measured"]
    alone = {"accounts": tuple(m for m, names in zip(model.measured["accounts"], held) if names != {"region", "age"})}
    assert replace(release, model=replace(model, measured=alone)).trust("region", "age").status != "measured"


def test_intervals_of_tables_with_keys_say_that_they_are_not_known(release: understudy.Release) -> None:
    found = release.query("count by region", 0.95)
    assert all(figure.interval is None for figure in found.figures) and "not known" in str(found)


DEEP = """
[table]
name = "homes"
neighbours = "add-remove"
[attributes.home]
kind = "id"
[attributes.region]
kind = "category"
values = ["north", "south"]
[tables.people]
parent = "homes"
key = "home"
at_most = 300
[tables.people.attributes.person]
kind = "id"
[tables.people.attributes.home]
kind = "id"
[tables.people.attributes.sex]
kind = "category"
values = ["f", "m"]
[tables.visits]
parent = "people"
key = "person"
at_most = 300
[tables.visits.attributes.person]
kind = "id"
[tables.visits.attributes.ward]
kind = "category"
values = ["a", "b"]
"""


def test_rows_above_are_simulated_within_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty homes whose numbers of people and visits are mostly noise: half of 300 at each level would be a billion."""
    drawn = []
    simulated = table_method.rows_above

    def noted(model: LinkedModel, branch: Any) -> Any:
        above, many = simulated(model, branch)
        drawn.append(len(next(iter(above.values()))))
        return above, many

    monkeypatch.setattr(table_method, "rows_above", noted)
    rows = {
        "homes": pa.table({"home": [str(i) for i in range(60)], "region": ["north", "south"] * 30}),
        "people": pa.table(
            {"person": [str(i) for i in range(300)], "home": [str(i // 5) for i in range(300)], "sex": ["f", "m"] * 150}
        ),
        "visits": pa.table({"person": [str(i // 3) for i in range(900)], "ward": ["a", "b"] * 450}),
    }
    found = run(
        rows, understudy.Schema.from_toml(DEEP), Budget("1"), "auto", {}, ledger=tmp_path / "l.db", cap="none",
        source=SeededSource(5), types="declared", quiet=True,
    )  # fmt: skip
    assert found.release.model.networks.keys() >= {"visits"}  # type: ignore[union-attr]
    assert 0 < max(drawn) <= 4 * table_method.MAX_SIMULATED
