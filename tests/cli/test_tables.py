"""Tables with foreign keys on the command line: a folder in, a folder out, figures, and refusals with their codes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Outcome, run
from pyarrow import csv

from orders import FILES, LINKS, write_orders
from understudy.privacy.ledger import Ledger


@pytest.fixture(autouse=True)
def no_ledger_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNDERSTUDY_LEDGER", raising=False)


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    return write_orders(tmp_path, 80)


def publish(tables: tuple[Path, Path], *more: object, data: object = None, out: str = "out") -> Outcome:
    folder, schema = tables
    given = folder if data is None else data
    return run("publish", given, "--schema", schema, "--epsilon", 4, "-o", schema.parent / out, *more)


def charged(folder: Path) -> bool:
    path = folder / "understudy-ledger.db"
    if not path.exists():
        return False
    with Ledger(path) as book:
        return bool(book.entries())


def assert_keys_fit(folder: Path) -> None:
    read = {name: csv.read_csv(folder / file) for name, file in FILES.items()}
    for name, (key, parent, references, at_most) in LINKS.items():
        keys, known = read[name][key].to_pylist(), read[parent][references].to_pylist()
        assert set(keys) <= set(known) and len(set(known)) == len(known)
        assert max(map(keys.count, keys), default=0) <= at_most


@pytest.mark.costly
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_a_folder_becomes_a_folder_whose_keys_fit(tables: tuple[Path, Path], delta: str) -> None:
    folder = tables[1].parent
    done = publish(tables, "--delta", delta, "--json")
    assert done.code == 0, done.text
    assert {path.name for path in (folder / "out").iterdir()} == set(FILES.values())
    assert_keys_fit(folder / "out")
    assert charged(folder)
    said = run("sample", folder / "out.release.zip", "-o", folder / "more", "--rows", 30, "--seed", 2)
    assert said.code == 0 and "30 rows of accounts and all that belongs to them" in said.out
    again = run("sample", folder / "out.release.zip", "-o", folder / "again", "--rows", 30, "--seed", 2, "--json")
    assert again.json["rows"] == 30 and len(again.json["outputs"]) == 4
    assert_keys_fit(folder / "more")
    for file in FILES.values():
        assert (folder / "more" / file).read_bytes() == (folder / "again" / file).read_bytes()


@pytest.mark.costly
def test_the_other_verbs_know_tables(tables: tuple[Path, Path]) -> None:
    data, schema = tables
    assert publish(tables).code == 0
    out, release = schema.parent / "out", schema.parent / "out.release.zip"
    checked = run("check", data, "--schema", schema)
    assert checked.code == 0 and "CUSTODIAN ONLY" in checked.out and "at_most = 2: " in checked.out
    assert {fit["table"] for fit in run("check", data, "--schema", schema, "--json").json["tables"]} == set(FILES)
    planned = run("plan", "--schema", schema, "--epsilon", 1, "--rows", 1000)
    assert planned.code == 0 and "one row of the root counts for up to 6 here" in planned.out
    card = run("card", release)
    assert card.code == 0 and "with all that belongs to it in orders, items, cards" in card.out
    assert run("report", release, "-o", schema.parent / "page.html").code == 0
    assert run("query", release, "count by region").code == 0
    figures = run("evaluate", data, out, "--schema", schema)
    assert figures.code == 0 and "2   accounts and items" in figures.out
    assert run("evaluate", data, out, "--schema", schema, "--json").json["fan_out"]["cards"] >= 0
    for option in (("--epsilon", 1), ("--classify", "region"), ("--release", release)):
        refused = run("evaluate", data, out, "--schema", schema, *option)
        assert refused.code == 2 and "is for one table" in refused.err
    refused = run("sample", release, "-o", schema.parent / "x", "--tables", 2)
    assert refused.code == 2 and "sample several folders" in refused.err


def test_cells_are_not_shown_of_several_tables_at_once(tables: tuple[Path, Path]) -> None:
    refused = run("check", tables[0], "--schema", tables[1], "--show", 3)
    assert refused.code == 2 and "account = 'accounts'" in refused.err
    assert not (tables[1].parent / "understudy-rows-seen.json").exists()


def _replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "match"),
    [
        ("orders.csv", '"A00001"', '"SECRET"', "'account_id' that no row of 'accounts' has: take them out"),
        ("accounts.csv", '"A00000"', '"A00001"', "two rows have the same 'account_id'"),
        ("items.csv", '"O00001"', '""', "no 'order'"),
        ("orders.csv", '"channel"', '"chanel"', "channel"),
        ("payment-cards.csv", '"yes"', '"SECRET"', "gold"),
    ],
    ids=["orphan", "two parents", "no key", "no column", "a cell"],
)
def test_rows_that_do_not_fit_end_with_4_and_cost_nothing(
    tables: tuple[Path, Path], file: str, old: str, new: str, match: str
) -> None:
    _replaced(tables[0] / file, old, new)
    refused = publish(tables)
    assert (
        refused.code == 4
        and match in refused.err
        and f"table {Path(file).stem.removeprefix('payment-')!r}" in refused.err
    )
    checked = run("check", tables[0], "--schema", tables[1])
    assert checked.code == 4 and match in checked.text
    for said in (refused.text, checked.text):
        assert not any(private in said for private in ("SECRET", "A000", "O000"))
    assert not charged(tables[1].parent) and not (tables[1].parent / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ('key = "order"', 'key = "ordre"', "'ordre', which 'items' does not declare. Did you mean 'order'?"),
        ('parent = "orders"', 'parent = "order"', "there is no such table. Did you mean 'orders'?"),
        ('neighbours = "add-remove"', 'neighbours = "replace-one"\nrows = 80', 'write neighbours = "add-remove"'),
    ],
    ids=["key", "parent", "replace-one"],
)
def test_schemas_that_are_no_tree_end_with_2(tables: tuple[Path, Path], old: str, new: str, match: str) -> None:
    _replaced(tables[1], old, new)
    for refused in (publish(tables), run("check", tables[0], "--schema", tables[1])):
        assert refused.code == 2 and match in refused.err
    assert not charged(tables[1].parent)


@pytest.mark.costly
def test_data_that_is_no_folder_of_these_tables_ends_with_2(tables: tuple[Path, Path]) -> None:
    data, schema = tables
    address = "postgresql://somebody:password@nowhere.invalid/db?table=accounts"
    for given, match in (
        (data / "accounts.csv", "is not a folder"), (schema.parent / "nowhere", "is not a folder"),
        (address, "leave `table` out of the postgresql:// address"),
    ):  # fmt: skip
        for refused in (publish(tables, data=given), run("check", given, "--schema", schema)):
            assert refused.code == 2 and match.split()[-1] in refused.err and "password" not in refused.text
    (data / "orders.tsv").write_text("x", encoding="utf-8")
    assert "more than one file for the table 'orders'" in publish(tables).err
    (data / "orders.tsv").unlink()
    (data / "orders.csv").rename(data / "orders.txt.bak")
    assert "no file for the table 'orders': call one orders.csv" in publish(tables).err
    (data / "orders.txt.bak").rename(data / "orders.csv")
    (data / "payment-cards.csv").unlink()
    refused = publish(tables)
    assert refused.code == 2 and "no file 'payment-cards.csv' in the folder" in refused.err
    assert not charged(schema.parent)


def test_an_output_that_is_no_folder_is_refused_before_anything_is_read(tables: tuple[Path, Path]) -> None:
    (tables[1].parent / "taken").write_text("", encoding="utf-8")
    refused = publish(tables, out="taken")
    assert refused.code == 2 and "are written to a folder" in refused.err
    assert publish(tables, out="no/where").code == 2 and not charged(tables[1].parent)


@pytest.mark.costly
def test_tables_of_a_duckdb_file_are_checked_and_published_where_they_are(tables: tuple[Path, Path]) -> None:
    import duckdb

    data, schema = tables
    folder = schema.parent
    with duckdb.connect(str(folder / "bank.db")) as connection:
        for name, file in FILES.items():
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{data / file}', all_varchar = true)")
    address = f"duckdb:///{folder}/bank.db"
    fit, real = (run("check", place, "--schema", schema, "--json") for place in (address, data))
    assert fit.code == 0 and fit.json["tables"] == real.json["tables"]
    refused = publish(tables, data=f"{address}?table=accounts", out="other")
    assert refused.code == 2 and "leave `table` out" in refused.text and not charged(folder)
    done = publish(tables, "--delta", "1e-6", "--cap", 8, data=address)
    assert done.code == 0, done.text
    assert_keys_fit(folder / "out")
    with duckdb.connect(str(folder / "bank.db")) as connection:
        connection.execute("UPDATE orders SET account_id = 'SECRET' WHERE order_id = 'O00001'")
    wrong = publish(tables, "--delta", "1e-6", data=address, out="other")
    assert wrong.code == 4 and "SECRET" not in wrong.text and not (folder / "other").exists()
