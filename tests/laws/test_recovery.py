"""The recovery law: whatever the hash seed, the thread counts and the point at which a run is killed, it asks the same.

Every method × hash seeds × thread counts gives the same sequence of questions, to the last digit; a run that is killed
anywhere and taken up by a process with another hash seed and other thread counts ends as if nothing had happened.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from recovery import CASES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kill -9 is a POSIX signal")]

HERE = Path(__file__).parent
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PLACES = (("0", 1), ("1", 4))  # hash seed and threads: of the process that is killed, and of the one that goes on
MORE_PLACES = (("0", 1), ("1", 2), ("2", 4), ("3", 8), ("random", 3))
NAMES = list(CASES)
FEW = NAMES[::3]  # each method with some of the promises and neighbours


def process(place: tuple[str, int], folder: Path, **job: Any) -> dict[str, Any]:
    seed, threads = place
    environment = {**os.environ, "PYTHONHASHSEED": seed, **dict.fromkeys(POOLS, str(threads))}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    request = json.dumps({"folder": str(folder), "threads": threads, **job})
    done = subprocess.run(
        [sys.executable, str(HERE / "recovery.py")], input=request, env=environment, capture_output=True, text=True,
        timeout=7200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def same(runs: dict[str, Any], others: dict[str, Any]) -> None:
    for name, own in runs.items():
        assert others[name]["asked"] == own["asked"], name
        assert others[name]["tables"] == own["tables"], name


def steps(asked: list[list[str]]) -> list[int]:
    """The numbers of the questions that cost something; a free pick draws no noise."""
    return [i for i, (_, cost, _, _) in enumerate(asked) if cost != "0"]


def middle(name: str, asked: list[list[str]]) -> list[tuple[str, int, str, str]]:
    """One kill in the middle of each run, now before a draw and now after its outcome is written."""
    number, dear = NAMES.index(name), steps(asked)
    return [(name, dear[len(dear) // 2], ("charged", "drawn")[number % 2], f"{number}.db")] if dear else []


def everywhere(name: str, asked: list[list[str]]) -> list[tuple[str, int, str, str]]:
    """Two kills at every question that costs something; of a run of more than a hundred, at every eighth."""
    number, dear = NAMES.index(name), steps(asked)
    points = itertools.product(dear[:: 8 if len(dear) > 100 else 1], ("charged", "drawn"))
    return [(name, step, when, f"{number}-{step}-{when}.db") for step, when in points]


def recovered(kills: list[Any], runs: dict[str, Any], found: dict[str, Any]) -> None:
    for name, step, when, file in kills:
        again = found["resumed"][file]
        assert again["resumed"] is True, (name, step, when)
        assert [asked[:3] for asked in again["asked"]] == [asked[:3] for asked in runs[name]["asked"]], name
        assert again["tables"] == runs[name]["tables"], (name, step, when)


def test_there_is_a_case_for_every_method() -> None:
    from rivals.private_rivals import RIVALS
    from understudy.methods import METHODS

    assert {case.method for case in CASES.values()} == {*METHODS, *RIVALS}
    assert {CASES[name].method for name in FEW} == {*METHODS, *RIVALS}


def test_runs_ask_the_same_and_are_taken_up_elsewhere(tmp_path: Path) -> None:
    first = process(PLACES[0], tmp_path, cases=FEW)
    kills = [kill for name in FEW for kill in middle(name, first["runs"][name]["asked"])]
    dead = process(PLACES[0], tmp_path, cases=[], kill=kills)
    assert sorted(dead["killed"]) == sorted(file for *_, file in kills)
    second = process(PLACES[1], tmp_path, cases=FEW, resume=kills)
    same(first["runs"], second["runs"])
    recovered(kills, first["runs"], second)


def test_a_machine_that_rounds_otherwise_takes_up_a_run(tmp_path: Path) -> None:
    """What is offered to a choice may depend on a fitted model, whose last digits are the processor's own.

    The figures that a resumed run works out are off by a ten-thousandth here, and the outcomes are used all the same.
    """
    names = [n for n in NAMES if n.startswith(("aim general", "dp-subn variant=adaptive", "mwem")) and "replace" in n]
    first = process(PLACES[0], tmp_path, cases=names)
    kills = [(n, steps(a)[-1], "drawn", f"{i}.db") for i, n in enumerate(names) for a in [first["runs"][n]["asked"]]]
    assert len(process(PLACES[0], tmp_path, cases=[], kill=kills)["killed"]) == len(names) == 6
    found = process(PLACES[0], tmp_path, cases=[], resume=kills, rounding=1e-4)
    recovered(kills, first["runs"], found)
    changed = [n for n, _, _, file in kills if found["resumed"][file]["asked"] != first["runs"][n]["asked"]]
    assert {CASES[name].method for name in changed} == {"aim", "dp-subn"}  # the twin: the figures were others


@pytest.mark.long
def test_every_run_asks_the_same_everywhere(tmp_path: Path) -> None:
    first = process(MORE_PLACES[0], tmp_path, cases=NAMES)
    for place in MORE_PLACES[1:]:
        same(first["runs"], process(place, tmp_path, cases=NAMES)["runs"])


@pytest.mark.long
@pytest.mark.parametrize(("killed", "resumed"), [(0, 1), (1, 2), (2, 3), (3, 4)])
def test_every_run_killed_anywhere_is_taken_up_elsewhere(killed: int, resumed: int, tmp_path: Path) -> None:
    first = process(MORE_PLACES[killed], tmp_path, cases=NAMES)
    kills = [kill for name in NAMES for kill in everywhere(name, first["runs"][name]["asked"])]
    kills = kills[killed :: len(MORE_PLACES) - 1]
    dead = process(MORE_PLACES[killed], tmp_path, cases=[], kill=kills)
    assert sorted(dead["killed"]) == sorted(file for *_, file in kills)
    recovered(kills, first["runs"], process(MORE_PLACES[resumed], tmp_path, cases=[], resume=kills))
    print(f"{len(NAMES)} cases, {len(kills)} kills")
