"""Every public name has a docstring with its parameters and an example, and the examples run."""

from __future__ import annotations

import dataclasses
import doctest
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import understudy
from clinic import CLINIC, people
from understudy.audit.auditing import audit
from understudy.evaluate.evaluation import Evaluation, evaluate
from understudy.methods.method import Method
from understudy.methods.plan import Plan
from understudy.models.model import Model
from understudy.privacy.noise import Noise
from understudy.privacy.scores.score import Score
from understudy.privacy.table import PrivateTable
from understudy.query.queries import Answer
from understudy.release.release import Release
from understudy.report.views import View

NAMES: list[Any] = [
    *(getattr(understudy, name) for name in understudy.__all__ if name not in ("__version__", "audit", "evaluate")),
    audit, evaluate, Evaluation, Method, Plan, Model, Noise, Score, PrivateTable, Answer, View,
    Release.sample, Release.query, Release.report, Release.plot, Release.network, Answer.to_pandas,
]  # fmt: skip
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
    """Of functions and of what a caller builds; a docstring with Args names all of them."""
    doc = inspect.getdoc(public) or ""
    assert doc and doc.splitlines()[0].endswith("."), f"{public.__qualname__}: a first line that is a sentence"
    if "Args:" not in doc:
        return
    parameters = inspect.signature(public).parameters
    hidden = {"self", "text", "path", "grid", "tree", "levels"} if dataclasses.is_dataclass(public) else {"self"}
    missing = [n for n in parameters if n not in hidden and f"{n}:" not in doc and n != "y"]
    assert missing == []


def test_functions_tell_their_parameters() -> None:
    for public in (understudy.publish, understudy.plan, understudy.from_marginals, evaluate, understudy.Synthesizer):
        assert "Args:" in (inspect.getdoc(public) or ""), public
