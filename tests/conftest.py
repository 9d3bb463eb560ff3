"""Small tables that many tests use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from connections import closed_connections
from databases import load as load
from servers import PostgreSQL, Running
from understudy.engines.memory import MemoryEngine
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.random_source import SystemSource
from understudy.privacy.table import PrivateTable
from understudy.schema import Attribute, Categories, Schema
from understudy.testing import SeededSource

# What a person has set for their own use of the program, their terminal or their database is not part of a test.
for name in ("UNDERSTUDY_LEDGER", "UNDERSTUDY_DEBUG", "COLUMNS", "LINES", "FORCE_COLOR", "SPARK_CONF_DIR"):
    os.environ.pop(name, None)
for name in [name for name in os.environ if name.startswith("PG")]:
    del os.environ[name]

# No test remembers its ledgers for the next one: tests of that memory have a folder of their own.
os.environ["XDG_STATE_HOME"] = os.environ["LOCALAPPDATA"] = str(Path(os.devnull) / "nowhere")

# The same examples every time, however slow the machine is: a failure is a change of the program.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


def schema_of(sizes: dict[str, int], rows: int | None, neighbours: str = "replace-one", **more: Any) -> Schema:
    """Categories named a, b, … with values "0", "1", …"""
    attributes = tuple(Attribute(n, Categories(tuple(str(v) for v in range(s)))) for n, s in sizes.items())
    return Schema("people", attributes, rows=rows, neighbours=neighbours, **more)  # type: ignore[arg-type]


def chained(sizes: dict[str, int], rows: int, seed: int = 0) -> dict[str, Any]:
    """Attributes in a chain, each mostly a function of the one before."""
    draw = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    before = np.zeros(rows, dtype=np.int64)
    for name, size in sizes.items():
        fresh = draw.integers(size, size=rows)
        before = np.where(draw.random(rows) < 0.8, (before * 2 + 1) % size, fresh) if columns else fresh
        columns[name] = before.astype(np.uint8)
    return columns


def columns_of(sizes: dict[str, int], rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Codes in which each column follows the one before it."""
    generator = np.random.default_rng(seed)
    columns: dict[str, np.ndarray] = {}
    before = generator.integers(0, 2, rows)
    for name, size in sizes.items():
        noise = generator.integers(0, size, rows)
        before = np.where(generator.random(rows) < 0.8, before % size, noise)
        columns[name] = before.astype(np.uint8 if size <= 256 else np.uint16)
    return columns


class Seeds:
    """The next one of this test: every table has other noise, and the same noise tomorrow."""

    last = 0
    real_noise = False  # the law of the noise is what the test is about

    @classmethod
    def next(cls) -> int:
        cls.last += 1
        return cls.last


def another_source() -> SeededSource:
    return SeededSource(Seeds.next())


@pytest.fixture(autouse=True)
def connections() -> Iterator[None]:
    with closed_connections():
        yield


class StandIn(SeededSource):
    """The same noise tomorrow, stamped as the system's own: for tests of what `publish` makes of a table."""

    private = True


@pytest.fixture(scope="session", autouse=True)
def noise_from_seeds() -> Iterator[None]:
    """Let what a user calls draw from seeds in this process: no test fails by luck, and none is repeated to see why."""

    def source() -> Any:
        return SystemSource() if Seeds.real_noise else StandIn(Seeds.next())

    with ExitStack() as stack:
        for module in ("publishing", "discovering", "evaluate.buying", "release.release"):
            stack.enter_context(mock.patch(f"understudy.{module}.SystemSource", source))
        yield


def seeded_environment(**more: str) -> dict[str, str]:
    """Return the environment of a process that draws noise from a seed: that of its command line."""
    folders = [str(Path(__file__).parent / "seeded_processes"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), **more}


@contextmanager
def same_noise(seed: int = 1) -> Iterator[None]:
    """Every `publish` in this process draws as it did the last time."""
    with mock.patch("understudy.publishing.SystemSource", lambda: StandIn(seed)):
        yield


@pytest.fixture(name="same_noise")
def _same_noise() -> Iterator[None]:
    with same_noise():
        yield


def private_table(
    schema: Schema, columns: dict[str, np.ndarray], budget: Budget, ledger: Path | Ledger, source: Any = None
) -> PrivateTable:
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    rows = len(next(iter(columns.values())))
    counted = schema.counted if set(schema.counted.names) <= set(columns) else schema
    reservation = book.reserve(schema, budget, {"method": "test"}, unlimited=True, fingerprint="of this table")
    table = LocalPrivateTable(schema, MemoryEngine(columns, rows, counted), reservation, source or another_source())
    table.reservation = reservation  # type: ignore[attr-defined]
    return table


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """A real server, started by the first test that needs one."""
    server = PostgreSQL()
    yield server
    server.close()


@pytest.fixture
def ledger_path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


SLOW_PLACES = (
    "audit/", "statistics/", "laws/", "unit/rivals/", "unit/evaluate/test_buying.py",
    "unit/methods/test_jtree_clusters.py", "unit/methods/test_privabn.py", "unit/privacy/test_edges.py",
    "unit/privacy/test_hadamard.py", "unit/privacy/test_wavelets.py", "unit/schema/test_draft.py",
    "unit/schema/test_files.py", "cli/test_evaluate.py", "cli/test_evaluate_in_place.py",
    "cli/test_report_verb.py",
)  # fmt: skip


OVERLONG = 1.0  # CPU seconds of a test without a mark, from which on --fast names it


def path_in_tests(path: Path) -> str:
    return path.relative_to(Path(__file__).parent).as_posix()


def in_slow_place(path: Path) -> bool:
    return path_in_tests(path).startswith(SLOW_PLACES)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave files unread all of whose tests would be left out."""
    leaves_out = "not slow" in config.option.markexpr and collection_path.is_file() and in_slow_place(collection_path)
    return True if leaves_out else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Brute force, distributions and whole runs are for the full suite; `--fast` is for while one is typing."""
    for item in items:
        if in_slow_place(item.path):
            item.add_marker(pytest.mark.slow)
        if "postgresql" in getattr(item, "fixturenames", ()) or {"postgresql", "spark"} & text_parameters(item):
            item.add_marker(pytest.mark.engines)
        if "duckdb" in text_parameters(item):
            item.add_marker(pytest.mark.costly)


def text_parameters(item: pytest.Item) -> set[str]:
    """Return the parameters of a test that are texts: among them the engines that it is about."""
    return {
        value for value in getattr(getattr(item, "callspec", None), "params", {}).values() if isinstance(value, str)
    }


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note how many CPU seconds a test takes, its processes among them."""
    before = sum(os.times()[:4])
    try:
        return (yield)
    finally:
        item.user_properties.append(("cpu", sum(os.times()[:4]) - before))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Name the tests that --fast should leave out and does not."""
    if "not costly" not in config.option.markexpr:
        return
    for report in terminalreporter.stats.get("passed", []):
        if (seconds := dict(report.user_properties).get("cpu", 0.0)) > OVERLONG:
            terminalreporter.line(f"{seconds:.1f} s of CPU, make it cheaper or mark it costly: {report.nodeid}")


LAWS_OF_NOISE = ("audit/", "statistics/")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin the seeds again before any fixture draws, so that the tests before this one change nothing."""
    Running.test = item
    Seeds.last, Seeds.real_noise = 0, path_in_tests(item.path).startswith(LAWS_OF_NOISE)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
    """Let what several tests share be drawn from the same seeds whichever of them comes first, and theirs be as well."""
    before = Seeds.last
    try:
        Seeds.last = 0 if fixturedef.scope != "function" else before
        return (yield)
    finally:
        if fixturedef.scope != "function":
            Seeds.last = before
