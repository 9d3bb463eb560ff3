"""Every public name has a docstring with its parameters and an example, and the examples run."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import understudy
from clinic import CLINIC, people
from understudy.adapters import sdmetrics_metadata
from understudy.audit.auditing import audit
from understudy.evaluate.buying import buy
from understudy.evaluate.evaluation import Evaluation, evaluate
from understudy.evaluate.hops import compare_tables
from understudy.methods.method import Method
from understudy.methods.plan import Plan
from understudy.models.model import Model
from understudy.privacy.noise import Noise
from understudy.privacy.scores.score import Score
from understudy.privacy.table import PrivateTable
from understudy.query.queries import Answer
from understudy.release.card import Card
from understudy.release.release import Release
from understudy.report.views import View
from understudy.schema.scales.scale import Scale

NAMES: list[Any] = [
    *(getattr(understudy, name) for name in understudy.__all__ if name not in ("__version__", "audit", "evaluate")),
    audit, evaluate, buy, compare_tables, sdmetrics_metadata, Evaluation, Method, Plan, Model, Noise, Score, Scale,
    PrivateTable, Answer, Card, View, Release.sample, Release.query, Release.report, Release.plot, Release.network,
    Answer.to_pandas,
]  # fmt: skip
ABSTRACT = (Method, Model, Score, Scale, PrivateTable)  # nobody builds one: their members say what they take
HIDDEN = {  # what is filled in by us, and what a caller of the card reads under the words of its file
    "Schema": {"text", "path", "constraints"}, "Attribute": {"grid", "tree", "levels", "fine", "fine_cells"},
    "Card": set(inspect.signature(Card).parameters),
}  # fmt: skip
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text("utf-8")
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the examples find: a schema, its private frame, a release of it and the ledger people.db."""
    here = Path.cwd()
    os.chdir(tmp_path_factory.mktemp("examples"))
    schema, frame = understudy.Schema.from_toml(CLINIC), people()
    release = understudy.publish(frame, schema, epsilon=1, ledger="people.db", cap=3)
    yield {"understudy": understudy, "schema": schema, "frame": frame, "release": release}
    os.chdir(here)


@pytest.mark.parametrize("public", NAMES, ids=lambda public: public.__qualname__)
def test_the_examples_run(public: Any, names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_STATE", str(Path.cwd()))
    home = inspect.getmodule(public)
    found = [
        t for t in doctest.DocTestFinder(recurse=False).find(public, public.__qualname__, home, names) if t.examples
    ]
    assert found, f"{public.__qualname__} has no example"
    told: list[str] = []
    for test in found:
        test.globs |= vars(home) | names
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=told.append)
    assert told == []


@pytest.mark.parametrize("public", NAMES, ids=lambda public: public.__qualname__)
def test_every_parameter_is_told(public: Any) -> None:
    """A docstring names every parameter: under Args with what it is and its unit, or in a sentence between backticks."""
    doc = inspect.getdoc(public) or ""
    assert doc and doc.splitlines()[0].endswith("."), f"{public.__qualname__}: a first line that is a sentence"
    if inspect.isclass(public) and (public in ABSTRACT or not told_as_parameters(public)):
        return
    assert untold(public, doc) == []


def told_as_parameters(public: Any) -> bool:
    """Whether somebody outside builds it, or reads the fields it was built of."""
    return dataclasses.is_dataclass(public) or "__init__" in vars(public)


def untold(public: Any, doc: str) -> list[str]:
    hidden = {"self", "cls", "y"} | HIDDEN.get(public.__qualname__, set())
    names = [name for name in inspect.signature(public).parameters if name not in hidden]
    return [name for name in names if not re.search(rf"`{name}`|^\s*{name}: ", doc, re.MULTILINE)]


def members() -> list[tuple[str, Any]]:
    """Return what the page of the API shows of classes: their methods and properties."""
    found = []
    for name, listed in re.findall(r"autoclass:: (\S+)\n   :members: (.*)", PAGE):
        home, _, own = name.rpartition(".")
        kind = getattr(importlib.import_module(home), own)
        found += [
            (f"{own}.{member.strip()}", inspect.getattr_static(kind, member.strip())) for member in listed.split(",")
        ]
    return found


@pytest.mark.parametrize("name,member", members(), ids=lambda part: part if isinstance(part, str) else "")
def test_every_member_on_the_page_is_told(name: str, member: Any) -> None:
    function = getattr(member, "__func__", None) or getattr(member, "fget", None) or getattr(member, "func", member)
    doc = inspect.getdoc(function) or ""
    assert doc, f"{name} has no docstring"
    assert untold(function, doc) == [], name


def test_the_page_has_every_public_name() -> None:
    shown = set(re.findall(r"auto(?:class|function):: \S*?(\w+)$", PAGE, re.MULTILINE))
    assert {public.__qualname__ for public in NAMES if "." not in public.__qualname__} <= shown
    assert {name for name in understudy.__all__ if name != "__version__"} <= shown
