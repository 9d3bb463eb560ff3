"""The whole matrix through the real `publish`: promise × neighbours × score × encoding. Each cell passes or is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from understudy.demo import demo_schema, demo_table
from understudy.errors import UsageError
from understudy.methods import METHODS
from understudy.privacy.accounting import total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.publishing import plan, publish
from understudy.release import Release
from understudy.schema import Attribute, Categories, Schema

ROWS = 800
PROMISES = {"pure": 0, "zcdp": 1e-9}
NEIGHBOURS = ("replace-one", "add-remove")
SCORES = ("R", "F", "I")
ENCODINGS = ("vanilla", "hierarchical", "binary", "gray")
NAMES = ("age", "sex", "marital_status", "owns_home", "children")
REFUSED = {
    "F on attributes with more than two values": lambda n, s, e: s == "F" and e in ("vanilla", "hierarchical"),
    "I without a public bound on the row count": lambda n, s, e: s == "I" and n == "add-remove",
}


def small_demo(neighbours: str) -> tuple[pa.Table, Schema]:
    full = demo_schema(ROWS)
    schema = Schema(
        "people", tuple(full[n] for n in NAMES), rows=ROWS if neighbours == "replace-one" else None, neighbours=neighbours
    )  # type: ignore[arg-type]  # fmt: skip
    return demo_table(ROWS, np.random.default_rng(7)).select(NAMES), schema


def small_table(method: str, neighbours: str) -> tuple[pa.Table, Schema]:
    """The demo table, four of its attributes for a method that takes no more, or a binary one for those of bits."""
    table, schema = small_demo(neighbours)
    for names in (NAMES, NAMES[:4]):
        if not refuses(method, part := schema.project(names)):
            return table.select(names), part
    generator = np.random.default_rng(7)
    columns = {name: generator.integers(0, 2, ROWS).astype(str) for name in "abcde"}
    attributes = tuple(Attribute(name, Categories(("0", "1"))) for name in columns)
    rows = ROWS if neighbours == "replace-one" else None
    return pa.table(columns), Schema("people", attributes, rows=rows, neighbours=neighbours)  # type: ignore[arg-type]


def refuses(method: str, schema: Schema) -> bool:
    """Whether the method says, from public facts and before anything is charged, that this table is not for it."""
    try:
        plan(schema, epsilon=1, method=method, rows=ROWS)
    except UsageError:
        return True
    return False


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize(("neighbours", "score", "encoding"), list(itertools.product(NEIGHBOURS, SCORES, ENCODINGS)))
def test_every_cell_of_the_matrix(promise: str, neighbours: str, score: str, encoding: str, tmp_path: Path) -> None:
    table, schema = small_demo(neighbours)
    ledger = Ledger(tmp_path / "ledger.db")
    delta = PROMISES[promise]

    def run() -> Release:
        return publish(
            table, schema, epsilon=2, delta=delta, ledger=ledger, method="privbayes", score=score, encoding=encoding
        )

    if any(rule(neighbours, score, encoding) for rule in REFUSED.values()):
        with pytest.raises(UsageError, match="score"):
            run()
        assert ledger.entries() == []
        return
    release = run()
    ledger.verify(release.head)
    spent = sum(Fraction(e.body["cost"]) for e in ledger.entries() if e.kind == "charge")
    assert spent == total_cost(Budget(2, delta))
    assert release.card.private is True
    assert release.card.neighbours == neighbours
    frame = release.sample(50)
    assert frame.column_names == table.column_names
    again = _saved(release, tmp_path)
    for name in NAMES:
        assert again.model.project([name]).table == pytest.approx(release.model.project([name]).table)
        assert release.model.project([name]).total == pytest.approx(1)


def _saved(release: Release, tmp_path: Path) -> Release:
    release.save(tmp_path / "r.zip")
    return Release.open(tmp_path / "r.zip")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("neighbours", NEIGHBOURS)
@pytest.mark.parametrize("promise", PROMISES)
def test_what_holds_for_every_method(method: str, neighbours: str, promise: str, tmp_path: Path) -> None:
    """Values outside the schema never appear, the account is charged once, and the same request twice is refused."""
    table, schema = small_table(method, neighbours)
    ledger = Ledger(tmp_path / "ledger.db")
    release = publish(table, schema, epsilon=1, delta=PROMISES[promise], ledger=ledger, method=method)
    codes = release.sample_codes(300, None, release.generator(1))
    for name in schema.names:
        assert codes[name].max() < schema[name].size
        assert len(codes[name]) == 300
    with pytest.raises(Exception, match="short by"):
        publish(table, schema, epsilon=1, delta=PROMISES[promise], ledger=ledger, method=method)
    slack = 0 if neighbours == "replace-one" else 2500  # a count at 1 % of the budget: 25 times its noise
    assert abs(release.rows - ROWS) <= slack
    again = release.sample(20, seed=3)
    assert again.equals(release.sample(20, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_shapes_at_the_edge(method: str, tmp_path: Path) -> None:
    """One row, one column, constant columns, two thousand columns."""
    shapes = {
        "one row": ({"a": 2, "b": 3}, 1),
        "one column": ({"a": 4}, 50),
        "constant": ({"a": 1, "b": 1, "c": 2}, 50),
        "wide": ({f"a{i}": 2 for i in range(2000)}, 40),
    }
    published = []
    for what, (sizes, rows) in shapes.items():
        attributes = tuple(Attribute(n, Categories(tuple(str(v) for v in range(s)))) for n, s in sizes.items())
        schema = Schema(what, attributes, rows=rows)
        table = pa.table({n: [str(i % s) for i in range(rows)] for n, s in sizes.items()})
        if refuses(method, schema):
            continue
        published.append(what)
        release = publish(table, schema, epsilon=1, ledger=tmp_path / "l.db", method=method)
        assert release.sample(5).num_rows == 5
    assert published
