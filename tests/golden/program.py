"""The seeded program that guards behaviour: whole runs of every method, recorded question by question.

    python tests/golden/program.py run FOLDER      writes every recording there, for `scripts/same-as`
    python tests/golden/program.py begin FOLDER    begins a run of every method and breaks it off
    python tests/golden/program.py finish FOLDER   goes on with those runs, by the program of another commit

It speaks to the package through names that outlive a renaming, since `scripts/same-as` runs it on earlier commits too.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import understudy
from understudy.demo import demo_schema, demo_table
from understudy.errors import LedgerError, UsageError
from understudy.methods import METHODS
from understudy.privacy.budget import Budget
from understudy.privacy.reservation import Charge, Reservation
from understudy.publishing import plan
from understudy.schema import Attribute, Categories, Schema
from understudy.testing import SeededSource, publish_seeded

ROWS = 400
SEED = 5
NAMES = ("age", "sex", "marital_status", "owns_home", "children")
DELTAS = {"pure": 0, "zcdp": 1e-9}
NEIGHBOURS = ("replace-one", "add-remove")
ENGINES = ("memory", "duckdb")
DIGESTS = ("understudy.privacy.local_table", "understudy.privacy.owned_table")  # where `digest` is, or was


@dataclass
class Recording:
    """What one run asked, what it paid, what it was told, and what came of it."""

    asked: list[Any] = field(default_factory=list)  # questions as JSON, numbers of them rounded
    charges: list[tuple[str, str, str]] = field(default_factory=list)  # purpose, exact cost, digest of the question
    outcomes: list[str] = field(default_factory=list)  # noisy integers and choices, as hexadecimal bytes
    schema: str = ""
    plan: Any = None
    sample: str = ""  # rows drawn from the model, as CSV
    shares: list[float] = field(default_factory=list)  # the model's one-way tables, one after the other
    members: dict[str, bytes] = field(default_factory=dict)  # of the release
    more: Any = None

    def digests(self) -> dict[str, Any]:
        """Return a short digest of each part, and the shares themselves."""
        costs = [(purpose, rounded(Fraction(cost))) for purpose, cost, _ in self.charges]
        parts = {
            "questions": [self.asked, costs], "noisy": self.outcomes, "schema": self.schema, "plan": rounded(self.plan),
            "codes": self.sample, "more": rounded(self.more),
        }  # fmt: skip
        found: dict[str, Any] = {name: short(value) for name, value in parts.items() if value}
        return found | ({"shares": [round(share, 4) for share in self.shares]} if self.shares else {})


def short(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def rounded(value: Any) -> Any:
    """Return the same document with nine significant digits of each number that is not whole, fractions included."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, str) and "/" in value:
        try:
            return rounded(Fraction(value))
        except ValueError:
            return value
    return f"{float(value):.8e}" if isinstance(value, float | Fraction) else value


@contextmanager
def recording() -> Iterator[Recording]:
    """Record whatever is charged and journalled while this is open."""
    found = Recording()
    charge, journal, note = Reservation.charge, Charge.journal, Charge.note
    place = next(name for name in DIGESTS if importlib.util.find_spec(name))
    digest = importlib.import_module(place).digest

    def charged(self: Reservation, purpose: str, cost: Fraction, ask: str, *more: Any) -> Charge:
        found.charges.append((purpose, str(cost), ask))
        return charge(self, purpose, cost, ask, *more)

    def kept(keep: Callable[[Charge, bytes], None]) -> Callable[[Charge, bytes], None]:
        def wrapped(self: Charge, outcome: bytes) -> None:
            found.outcomes.append(outcome.hex())
            keep(self, outcome)

        return wrapped

    def digested(*asked: Any) -> str:
        found.asked.append(rounded(json.loads(json.dumps(asked))))
        return str(digest(*asked))

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(Reservation, "charge", charged))
        stack.enter_context(mock.patch.object(Charge, "journal", kept(journal)))
        stack.enter_context(mock.patch.object(Charge, "note", kept(note)))
        stack.enter_context(mock.patch(f"{place}.digest", digested))
        yield found


# -- tables --------------------------------------------------------------------------------------------------------


def some_table(method: str, neighbours: str) -> tuple[pa.Table, Schema]:
    """Five attributes of the demo, four for a method that takes no more, or five bits."""
    full, counted = demo_schema(ROWS), ROWS if neighbours == "replace-one" else None
    table = demo_table(ROWS, np.random.default_rng(7))
    for names in (NAMES, NAMES[:4]):
        schema = Schema("people", tuple(full[n] for n in names), rows=counted, neighbours=neighbours)  # type: ignore[arg-type]
        if takes(method, schema):
            return table.select(names), schema
    return bits(neighbours)


def bits(neighbours: str) -> tuple[pa.Table, Schema]:
    draw = np.random.default_rng(7)
    before = draw.integers(0, 2, ROWS)
    columns = {}
    for name in "abcde":
        before = np.where(draw.random(ROWS) < 0.8, before, draw.integers(0, 2, ROWS))
        columns[name] = before.astype(str)
    attributes = tuple(Attribute(name, Categories(("0", "1"))) for name in columns)
    rows = ROWS if neighbours == "replace-one" else None
    return pa.table(columns), Schema("people", attributes, rows=rows, neighbours=neighbours)  # type: ignore[arg-type]


def takes(method: str, schema: Schema) -> bool:
    try:
        plan(schema, epsilon=1, method=method, rows=ROWS)
    except UsageError:
        return False
    return True


# -- runs ----------------------------------------------------------------------------------------------------------


def published(
    table: pa.Table, schema: Schema, method: str, accounting: str, engine: str = "memory", **options: Any
) -> Recording:
    """A whole publication: its charges, its plan, its release, and rows drawn from it."""
    delta = DELTAS[accounting]
    with tempfile.TemporaryDirectory() as name, recording() as found:
        folder = Path(name)
        data: Any = table
        if engine == "duckdb":
            data = folder / "people.parquet"
            parquet.write_table(table, data)
        done = publish_seeded(
            data, schema, seed=SEED, epsilon=2, delta=delta, method=method, ledger=folder / "ledger.db", cap="none",
            engine=engine, **options,
        )  # fmt: skip
        done.release.write(folder / "sample.csv", 100, seed=7)
        found.sample = (folder / "sample.csv").read_text(encoding="utf-8")
        found.members = dict(done.release.members)
        found.shares = shares(done.release.model)
    found.schema = schema.hash
    found.plan = plan(schema, epsilon=2, delta=delta, method=method, rows=ROWS, **options).as_json()
    return found


def shares(model: Any) -> list[float]:
    """Return the one-way tables of a model that has them."""
    if not hasattr(model, "project"):
        return []
    return [float(share) for a in model.schema.modelled for share in np.ravel(model.project([a.name]).table)]


def grid(method: str, accounting: str, neighbours: str, engine: str) -> Recording:
    return published(*some_table(method, neighbours), method, accounting, engine)


def privbayes(accounting: str, neighbours: str, score: str, encoding: str) -> Recording:
    """A score of PrivBayes; I needs a bound on the rows under add-remove neighbours, F attributes of two values."""
    table, schema = some_table("privbayes", neighbours) if encoding != "vanilla" or score != "F" else bits(neighbours)
    return published(table, schema, "privbayes", accounting, score=score, encoding=encoding)


def fine(accounting: str) -> Recording:
    """The whole demo table: dates, numbers, missing values, taxonomies, the shape inside bins."""
    return published(demo_table(ROWS, np.random.default_rng(3)), demo_schema(ROWS), "privbayes", accounting)


def rival(name: str, accounting: str) -> Recording:
    """A baseline of the papers on bits, behind a private table like any method. Not all of them can be saved."""
    table, schema = bits("replace-one")
    with (
        mock.patch.dict(METHODS, rivals()),
        tempfile.TemporaryDirectory() as folder,
        recording() as found,
        suppress(TypeError),
    ):
        publish_seeded(
            table, schema, seed=SEED, epsilon=2, delta=DELTAS[accounting], method=name, cap="none",
            ledger=Path(folder) / "ledger.db", **({"rounds": 4} if name == "mwem" else {}),
        )  # fmt: skip
    return found


def rivals() -> dict[str, Any]:
    """Those of the commit whose package runs: beside it among the benchmarks, or inside it as they once were."""
    beside = Path(understudy.__file__).parents[2] / "benchmarks"
    module = (
        "understudy.methods.rivals"
        if importlib.util.find_spec("understudy.methods.rivals")
        else "rivals.private_rivals"
    )
    if str(beside) not in sys.path:
        sys.path.append(str(beside))
    return dict(importlib.import_module(module).RIVALS)


def bought(accounting: str, neighbours: str) -> Recording:
    """Bought figures: each statistic that has a sensitivity."""
    from understudy.evaluate.buying import buy

    table, schema = bits(neighbours)
    other = pa.table({name: np.roll(np.asarray(table[name]), 3) for name in table.column_names})
    with tempfile.TemporaryDirectory() as folder, recording() as found:
        figures = buy(
            table, other, schema, epsilon=2, delta=DELTAS[accounting], ledger=Path(folder) / "ledger.db", alpha=[2],
            measures=["tvd"], source=SeededSource(SEED),
        )  # fmt: skip
        found.more = figures.as_json()
    return found


def federated(method: str, accounting: str) -> Recording:
    """Three owners in one process, with keys from a seed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from understudy.engines.memory import MemoryEngine
    from understudy.federation.local import local_federation
    from understudy.methods import method_named

    table, whole = bits("replace-one")
    codes = {name: np.asarray(table[name]).astype(np.uint8) for name in table.column_names}
    own = Schema("people", whole.attributes, rows=ROWS // 4)
    engines = {
        name: MemoryEngine({n: c[i::4] for n, c in codes.items()}, ROWS // 4, own) for i, name in enumerate("xyzw")
    }
    keys = iter(Ed25519PrivateKey.from_private_bytes(bytes([i]) * 32) for i in range(1, 5))
    with (
        tempfile.TemporaryDirectory() as folder,
        recording() as found,
        mock.patch.object(Ed25519PrivateKey, "generate", lambda: next(keys)),
        local_federation(
            engines, whole, Budget(2, DELTAS[accounting]), Path(folder), source=SeededSource(SEED)
        ) as all_owners,
    ):
        fit = method_named(method, {}, whole, owners=4).fit(all_owners.table)
        found.more = [fit.rows, fit.facts, [(list(map(str, m.axes)), m.values.tolist()) for m in fit.measurements]]
    return found


def cases() -> dict[str, Callable[[], Recording]]:
    """Return every run by name; the name says what differs."""
    found: dict[str, Callable[[], Recording]] = {}

    def add(run: Callable[..., Recording], *terms: str) -> None:
        found[" ".join([run.__name__, *terms])] = lambda: run(*terms)

    for method in METHODS:
        for accounting in DELTAS:
            for neighbours in NEIGHBOURS:
                for engine in ENGINES:
                    add(grid, method, accounting, neighbours, engine)
    for accounting in DELTAS:
        add(privbayes, accounting, "replace-one", "I", "vanilla")
        add(privbayes, accounting, "replace-one", "F", "vanilla")
        add(privbayes, accounting, "add-remove", "F", "gray")
        add(privbayes, accounting, "replace-one", "R", "hierarchical")
        add(fine, accounting)
        for neighbours in NEIGHBOURS:
            add(bought, accounting, neighbours)
        for name in rivals():
            add(rival, name, accounting)
        for method in ("dp-subn", "dp-ccbn", "privbayes"):
            add(federated, method, accounting)
    return found


def run_all(folder: Path) -> None:
    for name, run in cases().items():
        out = folder / name.replace(" ", "_")
        out.mkdir(parents=True)
        found = run()
        for part in ("asked", "charges", "outcomes", "schema", "plan", "sample", "more"):
            (out / f"{part}.json").write_text(json.dumps(getattr(found, part), indent=0), encoding="utf-8")
        for member, data in found.members.items():
            (out / member.replace("/", "_")).write_bytes(data)


# -- a run that another program goes on with -------------------------------------------------------------------------


class BrokenOff(Exception):
    """The power went."""


def begun(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for method in METHODS:
        for accounting, delta in DELTAS.items():
            table, schema = some_table(method, "add-remove")
            given = {"data": table, "schema": schema, "epsilon": 2, "delta": delta, "method": method, "cap": "none"}
            yield folder / f"{method}-{accounting}.db", given


def begin(folder: Path) -> None:
    """Break each run off once its second outcome, or its only one, is in the journal."""
    journal, kept = Charge.journal, []

    def failing(self: Charge, outcome: bytes) -> None:
        journal(self, outcome)
        kept.append(outcome)
        if len(kept) == most:
            raise BrokenOff

    for ledger, given in begun(folder):
        most = 1 if given["method"] == "privelet" else 2
        kept.clear()
        with mock.patch.object(Charge, "journal", failing), suppress(BrokenOff):
            publish_seeded(**given, seed=2, ledger=ledger)
            raise AssertionError(f"{ledger.stem} was not broken off")


def finish(folder: Path) -> list[str]:
    """Go on with runs that were begun; return the ledgers of those that are closed because a rule is another now."""
    closed = []
    for ledger, given in begun(folder):
        if not ledger.exists():
            continue
        try:
            assert publish_seeded(**given, seed=3, ledger=ledger).resumed, f"{ledger.stem} began anew"
        except LedgerError as error:
            assert "is closed" in error.message
            closed.append(ledger.stem)
    return closed


if __name__ == "__main__":
    {"run": run_all, "begin": begin, "finish": finish}[sys.argv[1]](Path(sys.argv[2]))
