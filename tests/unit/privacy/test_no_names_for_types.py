"""Which accounting, noise or score it is, is a type: nothing outside the files of those types compares their names."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest

from programs import nodes_of, programs
from understudy.privacy.accounting import ACCOUNTINGS
from understudy.privacy.noise import NOISES
from understudy.privacy.scores import SCORES

NAMES = {*(accounting.name for accounting in ACCOUNTINGS.values()), *NOISES, *SCORES}
THEIR_FILES = ("privacy/noise.py", "privacy/accounting.py", "privacy/scores/")


def names_in(program: Sequence[ast.AST]) -> list[str]:
    """The names of types that stand in a program as texts of their own."""
    return [n.value for n in program if isinstance(n, ast.Constant) and n.value in NAMES]


@pytest.mark.costly
def test_no_file_knows_the_names() -> None:
    found = {
        (path, name)
        for path, program in programs().items()
        if not path.startswith(THEIR_FILES)
        for name in names_in(program)
    }
    assert found == set()


@pytest.mark.parametrize(
    "line", ['x = a == "pure"', 'x = {"gaussian": 1.96}[noise]', 'x = SCORES["R"]', 'f(score="F")']
)
def test_a_name_would_be_seen(line: str) -> None:
    assert names_in(nodes_of(line))


def test_names_in_files_stay() -> None:
    """They are in release files, in journals and on the wire: a class may be renamed, its name there may not."""
    assert {name: noise.__name__ for name, noise in NOISES.items()} == {"laplace": "Laplace", "gaussian": "Gaussian"}
    assert {name: type(score).__name__ for name, score in SCORES.items()} == {
        "R": "Independence", "F": "MaximumJoint", "I": "MutualInformation", "D": "ReferenceDistance"
    }  # fmt: skip
    assert [(a.name, a.unit) for a in ACCOUNTINGS.values()] == [("pure", "epsilon"), ("zcdp", "rho"), ("gdp", "mu^2")]
