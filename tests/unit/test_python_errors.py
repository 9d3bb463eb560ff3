"""Mistakes that a Python user makes: every one gets a message of ours, never a TypeError from inside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    ("epsilon None", "epsilon must be a number", lambda r, d: understudy.plan(SCHEMA, epsilon=None)),  # type: ignore[arg-type]
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
    ("seed a text", "", lambda r, d: r.sample(3, seed="x")),
]  # fmt: skip


@pytest.mark.parametrize(("what", "told", "mistake"), MISTAKES, ids=[m[0] for m in MISTAKES])
def test_a_mistake_is_told(
    what: str, told: str, mistake: Callable[[Any, Path], Any], release: understudy.Release, tmp_path: Path
) -> None:
    with pytest.raises(UnderstudyError) as error:
        mistake(release, tmp_path)
    assert told in str(error.value) and len(str(error.value)) > 15
