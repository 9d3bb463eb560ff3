"""Fuzzed release files: whatever a stranger sends is opened, shown, drawn from and asked, or refused with our own error.

Every case is drawn from its number, so that a failure can be made again: `mutant(data, random.Random("NAME-NUMBER"))`.
"""

from __future__ import annotations

import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from release_mutations import mutant

from understudy.errors import ReleaseError, UnderstudyError
from understudy.release import Release
from understudy.report import public_report

RELEASES = Path(__file__).parents[2] / "fixtures" / "v0.1" / "releases"
NAMES = sorted(path.name.removesuffix(".release.zip") for path in RELEASES.glob("*.zip"))
MAX_SECONDS = 60.0  # of CPU, for all that is done with one file
MAX_MEGABYTES = 1500


class Hang(BaseException):
    """A file took too long."""


@contextmanager
def in_time() -> Iterator[None]:
    """Interrupt what takes more CPU than it may, where the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    started = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    if time.process_time() - started > MAX_SECONDS:
        raise Hang


def megabytes() -> float:
    """The most memory that this process has had."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / 1e6 if sys.platform == "darwin" else most / 1e3


def used(release: Release, rng: random.Random, folder: Path) -> Iterator[str]:
    """All that one does with a release; a step may be refused, and then the next one is taken."""
    attributes = release.schema.modelled
    some, other = rng.choice(attributes), rng.choice(attributes)
    label = rng.choice(some.labels)
    library = rng.choice(("pandas", "polars", "pyarrow"))
    object.__setattr__(release, "library", library)
    numeric = [a.name for a in attributes if a.kind in ("integer", "number")]
    steps = {
        "summary": lambda: (release.summary(), release._repr_html_(), repr(release)),
        "sample": lambda: release.sample(rng.choice((0, 1, 30)), seed=1),
        "given": lambda: release.sample(5, given={some.name: label}, seed=2),
        "csv": lambda: release.write(folder / "t.csv", 20, seed=3),
        "parquet": lambda: release.write(folder / "t.parquet", 20, seed=3),
        "count": lambda: str(release.query("count")),
        "by": lambda: release.query(f'count by "{some.name}"').as_json(),
        "where": lambda: str(release.query(f'share by "{other.name}" where "{some.name}" = "{label}"')),
        "mean": lambda: release.query(f'mean("{rng.choice(numeric)}") by "{some.name}"') if numeric else None,
        "report": lambda: public_report(release).encode(),
        "saved": lambda: (release.save(folder / "again.zip"), Release.open(folder / "again.zip")),
    }
    for name, step in steps.items():
        try:
            step()
            yield f"{name} done"
        except UnderstudyError as refusal:
            assert "Traceback" not in refusal.message
            yield f"{name} refused"


def fuzz(name: str, numbers: range, folder: Path) -> Counter[str]:
    """What became of the mutants of one release."""
    data = (RELEASES / f"{name}.release.zip").read_bytes()
    told: Counter[str] = Counter()
    before = megabytes()
    for number in numbers:
        rng = random.Random(f"{name}-{number}")
        path = folder / "mutant.release.zip"
        path.write_bytes(mutant(data, rng))
        try:
            with in_time(), warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    release = Release.open(path)
                except ReleaseError:
                    told["refused"] += 1
                    continue
                told["opened"] += 1
                told.update(used(release, rng, folder))
        except (Exception, Hang) as error:
            raise AssertionError(f"{name}-{number}: {type(error).__name__}") from error
    assert megabytes() - before < MAX_MEGABYTES
    return told


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_mutants_are_refused_or_work(name: str, tmp_path: Path) -> None:
    told = fuzz(name, range(15), tmp_path)  # 105 in all
    assert told["refused"] + told["opened"] == 15 and told["refused"] > 0


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_ten_thousand_mutants(name: str, tmp_path: Path) -> None:
    told = fuzz(name, range(1500), tmp_path)  # 10,500 in all
    assert told["opened"] > 150 and told["refused"] > 600  # deep enough, and damaging enough
    steps = ("summary", "sample", "given", "csv", "parquet", "count", "by", "where", "report", "saved")
    assert all(told[f"{step} done"] > 100 for step in steps), told


@pytest.mark.costly
def test_an_untouched_release_is_used_to_the_end(tmp_path: Path) -> None:
    """The steps do what they say: else the mutants would be refused for nothing."""
    for name in NAMES:
        release = Release.open(RELEASES / f"{name}.release.zip")
        told = Counter(used(release, random.Random(1), tmp_path))
        assert not [step for step in told if step.endswith("refused")], (name, told)
