"""Mistakes that a Python user makes: every one gets a message of ours, never a TypeError from inside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy
from clinic import CLINIC, people
from understudy.errors import UnderstudyError

SCHEMA = understudy.Schema.from_toml(CLINIC)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> understudy.Release:
    ledger = tmp_path_factory.mktemp("errors") / "e.db"
    return understudy.publish(people(), SCHEMA, epsilon=1, ledger=ledger, method="privbayes")


MISTAKES: list[tuple[str, str, Callable[[Any, Path], Any]]] = [
    ("no schema", "a schema is a Schema or the path", lambda r, d: understudy.publish(people(), None, epsilon=1)),  # type: ignore[arg-type]
    ("a dictionary", "this is a dict", lambda r, d: understudy.plan({"a": 1}, epsilon=1)),  # type: ignore[arg-type]
    ("epsilon None", "for which epsilon", lambda r, d: understudy.plan(SCHEMA, epsilon=None)),
    ("epsilon a word", "epsilon must be a number", lambda r, d: understudy.plan(SCHEMA, epsilon="one")),
    ("no data", "", lambda r, d: understudy.publish(None, SCHEMA, epsilon=1, ledger=d / "a.db")),
    ("data 42", "", lambda r, d: understudy.publish(42, SCHEMA, epsilon=1, ledger=d / "b.db")),
    ("data a dict", "", lambda r, d: understudy.publish({"age": [1]}, SCHEMA, epsilon=1, ledger=d / "c.db")),
    ("a list of rows", "", lambda r, d: understudy.publish([[1, 2]], SCHEMA, epsilon=1, ledger=d / "d.db")),
    ("given a number", "given is a mapping", lambda r, d: r.sample(given=60)),
    ("given half a condition", "expected a comparison", lambda r, d: r.sample(given=["smoker"])),
    ("rows a text", "whole number", lambda r, d: r.sample("10")),
    ("rows a float", "whole number", lambda r, d: r.sample(10.5)),
    ("query a number", "a query is a text", lambda r, d: r.query(3)),
    ("plot a number", "no attribute 3", lambda r, d: r.plot(3)),
    ("open None", "", lambda r, d: understudy.Release.open(None)),  # type: ignore[arg-type]
    ("schema open 3", "", lambda r, d: understudy.Schema.open(3)),  # type: ignore[arg-type]
    ("ledger a number", "", lambda r, d: understudy.publish(people(), SCHEMA, epsilon=1, ledger=3)),  # type: ignore[arg-type]
    ("method None", "there is no method", lambda r, d: understudy.plan(SCHEMA, epsilon=1, method=None)),  # type: ignore[arg-type]
    ("an option twice removed", "no option 'degre'", lambda r, d: understudy.plan(SCHEMA, epsilon=1, method="privbayes", degre=2)),
    ("evaluate None", "", lambda r, d: understudy.evaluate(people(), None, SCHEMA)),
    ("evaluate with an epsilon", "buying.buy", lambda r, d: understudy.evaluate(people(), people(), SCHEMA, epsilon=1)),
    ("evaluate misspelt", "Did you mean 'measures'", lambda r, d: understudy.evaluate(people(), people(), SCHEMA, mesures="tvd")),
    ("seed a text", "", lambda r, d: r.sample(3, seed="x")),
    ("no schema and no epsilon", "a schema is a Schema", lambda r, d: understudy.publish(people(), None)),
    ("nothing at all", "a schema is a Schema", lambda r, d: understudy.publish(None, None)),
    ("no epsilon", "say how much privacy loss", lambda r, d: understudy.publish(people(), SCHEMA)),
    ("a plan without epsilon", "for which epsilon", lambda r, d: understudy.plan(SCHEMA)),
    ("epsilon True", "epsilon must be a number", lambda r, d: understudy.plan(SCHEMA, epsilon=True)),
    ("delta None", "such as 1e-9", lambda r, d: understudy.plan(SCHEMA, epsilon=1, delta=None)),  # type: ignore[arg-type]
    ("plan for no rows", "1 or more", lambda r, d: understudy.plan(SCHEMA, epsilon=1, rows=-1)),
    ("a seed for the noise", "could take it off", lambda r, d: understudy.plan(SCHEMA, epsilon=1, random_state=1)),
    ("save to 3", "saved to its path", lambda r, d: understudy.publish(people(), SCHEMA, epsilon=1, save=3)),  # type: ignore[arg-type]
    ("save to no folder", "no folder 'no'", lambda r, d: understudy.publish(people(), SCHEMA, epsilon=1, save=d / "no" / "r.zip")),
    ("a ledger that is a folder", "is a folder", lambda r, d: understudy.Ledger(d)),
    ("a cap below 0", "0 or more", lambda r, d: understudy.publish(people(), SCHEMA, epsilon=1, ledger=d / "f.db", cap=-1)),
    ("confidence a text", "0.95", lambda r, d: r.query("count", confidence="95%")),
    ("plot a list", "no attribute ['age']", lambda r, d: r.plot(["age"])),
    ("report to 3", "saved to its path", lambda r, d: r.report(3)),
    ("saved to None", "saved to its path", lambda r, d: r.save(None)),
    ("draws a text", "draw from 2", lambda r, d: r.draws("2")),
    ("draws about a word", "Did you mean 'age'", lambda r, d: r.draws(2, about="agee")),
    ("the text 3", "text of a schema.toml", lambda r, d: understudy.Schema.from_toml(3)),  # type: ignore[arg-type]
    ("a schema to None", "saved to its path", lambda r, d: SCHEMA.save(None)),  # type: ignore[arg-type]
    ("options a list", "options are a mapping", lambda r, d: understudy.Synthesizer(SCHEMA, options=[1]).fit(people())),  # type: ignore[arg-type]
    ("no marginals", "a table is a NoisyMarginal", lambda r, d: understudy.from_marginals(None, SCHEMA, epsilon=1)),  # type: ignore[arg-type]
    ("attributes 3", "no attribute 3", lambda r, d: understudy.from_marginals([(3, [1, 2], 1.0)], SCHEMA, epsilon=1)),
]  # fmt: skip


@pytest.mark.parametrize(("what", "told", "mistake"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_told(
    what: str, told: str, mistake: Callable[[Any, Path], Any], release: understudy.Release, tmp_path: Path
) -> None:
    with pytest.raises(UnderstudyError) as error:
        mistake(release, tmp_path)
    assert told in str(error.value) and len(str(error.value)) > 15


def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    """It was called damaged before."""
    ledger = understudy.Ledger(tmp_path / "closed.db")
    ledger.close()
    assert repr(ledger) == "<Ledger 'closed.db': closed>"
    with pytest.raises(UnderstudyError, match="was closed: open it again"):
        understudy.publish(people(), SCHEMA, epsilon=1, ledger=ledger)


def test_numbers_of_numpy_are_numbers() -> None:
    assert understudy.Budget(np.float64(0.1)) == understudy.Budget(0.1)
    assert understudy.Budget(np.int64(2)).epsilon == 2


def test_one_thing_where_several_may_be_named() -> None:
    found = understudy.evaluate(people(), people(), SCHEMA, measures="tvd", alpha=2)
    assert list(found.tables) == [2] and found.tables[2].mean == 0
    assert len(repr(found)) < 240 and "CUSTODIAN ONLY" in repr(found) and str(found) == found.text()
