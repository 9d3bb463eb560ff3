"""Coverage: how often 95 % intervals of random queries hold the true answer, and how wide they are.

    python benchmarks/interval_coverage.py publish KEEP --tables adult acs --epsilons 0.5 1 4 --releases 2
    python benchmarks/interval_coverage.py ask KEEP RESULTS.jsonl --queries 150
    python benchmarks/interval_coverage.py page RESULTS.jsonl

A table of one's own takes part by its name where KEEP has NAME.csv and NAME.toml; the schema's neighbours hold.

Releases are drawn from seeds and kept with their refits, so that `ask` is cheap and may be run again after a change of
the intervals. A query names one to three attributes and lets through a random half of the values of each (a random
range of an ordered one); classes are by what was measured together, `cut ranges` have ends inside bins, and `means` are
of a number where another attribute meets a condition. Truth is the exact answer on the same rows. Beside coverage, the
file keeps the actual distance of 1-, 2- and 3-way tables, for the forecast.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parent / "raw"))

from tables import RawTable

import datasets
from understudy.engines.coding import encode_table
from understudy.engines.sources import open_source
from understudy.inference.kept_refits import refits_beside
from understudy.inference.least_squares import measured_together
from understudy.release import Release
from understudy.schema import Intervals, Schema
from understudy.schema.files import read_schema
from understudy.testing import publish_seeded

CODED = {
    "adult": 45_222, "acs": 47_461, "loans": 42_535, "tpce": 40_000, "salary": 135_727, "nltcs": 21_574,
    "fire": 305_119,
}  # fmt: skip
FORMS = {"census": "expert"}  # of raw tables; bins of the others are found by the tree
CLASSES = ("one-way", "measured pairs", "unmeasured pairs", "triples", "cut ranges", "means")
PER_TABLE = 3  # queries of the same attributes
MAX_TABLE_CELLS = 20_000
MIN_ROWS = 30  # behind a mean

Bools = NDArray[np.bool_]
Condition = tuple[str, Bools]


@dataclass(frozen=True)
class Cell:
    """One table under one promise."""

    table: str
    epsilon: float
    delta: float
    neighbours: str
    seed: int

    @property
    def file(self) -> str:
        return f"{self.table}-{self.epsilon:g}-{self.delta:g}-{self.neighbours}-{self.seed}.release.zip"

    @property
    def noise_seed(self) -> int:
        """Return a seed of the cell alone: with one for all, every epsilon has the same noise but for its scale."""
        return zlib.crc32(self.file.encode())

    @staticmethod
    def of_file(name: str) -> Cell:
        text = name.removesuffix(".release.zip")
        if "1e-" in text:
            text = text.replace("1e-", "1e_")
        for neighbours in ("replace-one", "add-remove"):
            if f"-{neighbours}-" in text:
                head, seed = text.split(f"-{neighbours}-")
                table, epsilon, delta = head.split("-")
                return Cell(table, float(epsilon), float(delta.replace("_", "-")), neighbours, int(seed))
        raise ValueError(f"{name!r} is no file of this benchmark")


def source(name: str, neighbours: str, folder: Path) -> tuple[Path, Schema]:
    """Return the file and the public schema of a table; `generated101` is a generated one, others may be in FOLDER."""
    if name.startswith("generated"):
        return _generated(int(name.removeprefix("generated")), neighbours, folder)
    if (folder / f"{name}.toml").exists():
        return folder / f"{name}.csv", read_schema(folder / f"{name}.toml")
    if name in CODED:
        datasets.ROWS[name] = CODED[name]
        return datasets.path(name), datasets.schema(name, neighbours)
    raw = RawTable(name)
    path = folder / f"{name}.csv"
    if not path.exists():
        raw.write_csv(path)
    return path, raw.schema(FORMS.get(name, "plain"), neighbours)  # type: ignore[arg-type]


def _generated(seed: int, neighbours: str, folder: Path) -> tuple[Path, Schema]:
    from forecasts import generated

    codes, schema, _, _ = generated(seed)
    path = folder / f"generated{seed}.csv"
    if not path.exists():
        pd.DataFrame(codes).to_csv(path, index=False)
    rows = len(next(iter(codes.values()))) if neighbours == "replace-one" else None
    return path, replace(schema, rows=rows, neighbours=neighbours, text=None)  # type: ignore[arg-type]


def publish(cell: Cell, keep: Path) -> float:
    """Make the release of a cell and its refits, unless they are kept already; return the seconds of CPU."""
    file, began = keep / cell.file, time.process_time()
    if not file.exists():
        path, schema = source(cell.table, cell.neighbours, keep)
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "l.db"
            made = publish_seeded(
                path, schema, seed=cell.noise_seed, epsilon=cell.epsilon, delta=cell.delta, ledger=ledger, cap="none"
            )
        made.release.save(file)
    Release.open(file).inference("finite", refits_beside(file, "finite")).refits  # noqa: B018
    return time.process_time() - began


# -- questions -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Truth:
    """The rows that a release was made from: codes, and numbers where a column has them."""

    release: Release
    path: Path
    csv: Any

    @cached_property
    def codes(self) -> Any:
        return encode_table(open_source(self.path, self.csv), self.release.schema).columns

    @cached_property
    def _frame(self) -> pd.DataFrame:
        return pd.read_csv(self.path, dtype=str, keep_default_na=False)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Columns of numbers with at least two bins that hold more than one value."""
        found = []
        for name in self.release.schema.names:
            domain = self.release.schema[name].domain
            if not isinstance(domain, Intervals) or domain.kind not in ("number", "integer") or domain.bins < 3:
                continue
            if np.median(np.diff(np.asarray(domain.edges))) > 1:
                found.append(name)
        return tuple(found)

    def values(self, name: str) -> NDArray[np.float64]:
        """Return the numbers of a column as the schema reads them: clamped, missing as NaN."""
        attribute = self.release.schema[name]
        domain = attribute.domain
        assert isinstance(domain, Intervals)
        read = pd.to_numeric(self._frame[name], errors="coerce").to_numpy(dtype=np.float64)
        read = np.clip(read, float(domain.edges[0]), float(domain.edges[-1]))
        return np.where(self.codes[name] == attribute.missing_code, np.nan, read) if attribute.has_missing else read

    def condition(self, name: str, generator: np.random.Generator) -> Condition:
        """Return a random condition on an attribute as text, and which rows meet it."""
        domain = self.release.schema[name].domain
        if isinstance(domain, Intervals) and domain.bins >= 2:
            return self._range(name, domain, generator)
        return self._list(name, generator)

    def _range(self, name: str, domain: Intervals, generator: np.random.Generator) -> Condition:
        edges = domain.edges
        low, high = sorted(generator.choice(len(edges), 2, replace=False).tolist())
        allowed = np.zeros(self.release.schema[name].size, dtype=bool)
        allowed[[c for b, c in enumerate(domain.bin_codes) if low <= b < high]] = True
        is_bin = np.zeros(domain.size, dtype=bool)
        is_bin[domain.bin_codes] = True
        points, last = np.asarray(sorted(domain.points)), high == len(edges) - 1
        within = (points >= edges[low]) & ((points <= edges[high]) if last else (points < edges[high]))
        allowed[np.flatnonzero(~is_bin)[within]] = True
        words = f'"{name}" >= {domain.show(edges[low])} and "{name}" {"<=" if last else "<"} {domain.show(edges[high])}'
        return words, allowed[self.codes[name]]

    def _list(self, name: str, generator: np.random.Generator) -> Condition:
        attribute = self.release.schema[name]
        allowed = generator.random(attribute.size) < 0.5
        if attribute.has_missing:
            allowed[attribute.missing_code] = False
        if not allowed.any():
            allowed[0] = True
        listed = ", ".join("'" + attribute.labels[c].replace("'", "''") + "'" for c in np.flatnonzero(allowed))
        return f'"{name}" in ({listed})', allowed[self.codes[name]]

    def cut(self, name: str, generator: np.random.Generator) -> Condition:
        """Return a range with ends inside bins, as text and as rows."""
        domain = self.release.schema[name].domain
        assert isinstance(domain, Intervals)
        edges = np.asarray([float(e) for e in domain.edges])
        first, last = sorted(generator.choice(domain.bins, 2, replace=False).tolist())
        ends = [generator.uniform(edges[b], edges[b + 1]) for b in (first, last)]
        ends = [float(np.round(e)) if domain.kind == "integer" else float(f"{e:.6g}") for e in ends]
        shown = [f"{e:.0f}" if domain.kind == "integer" else f"{e:.6g}" for e in ends]
        values = self.values(name)
        with np.errstate(invalid="ignore"):
            return f'"{name}" >= {shown[0]} and "{name}" < {shown[1]}', (values >= ends[0]) & (values < ends[1])


@dataclass(frozen=True)
class Asked:
    """A question and its true answer."""

    text: str
    truth: float
    unit: float = 1.0  # of its error; the standard deviation of the column, for a mean


def questions(truth: Truth, kind: str, count: int, generator: np.random.Generator) -> Iterator[Asked]:
    """Return random questions of a class; fewer, or none, where the release has no such tables."""
    made = 0
    for _ in range(20 * count):
        if made >= count or (chosen := attributes_of(truth, kind, generator)) is None:
            return
        for _ in range(PER_TABLE):
            if (found := _question(truth, kind, chosen, generator)) is not None and len(found.text) <= 4000:
                made += 1
                yield found


def _question(truth: Truth, kind: str, chosen: tuple[str, ...], generator: np.random.Generator) -> Asked | None:
    if kind == "means":
        of, other = chosen
        words, rows = truth.condition(other, generator)
        unit = float(np.nanstd(truth.values(of)))
        values = truth.values(of)[rows]
        values = values[~np.isnan(values)]
        if len(values) < MIN_ROWS or not unit:
            return None
        return Asked(f'mean("{of}") where {words}', float(values.mean()), unit)
    parts = [truth.condition(name, generator) for name in chosen]
    if kind == "cut ranges":
        parts[0] = truth.cut(chosen[0], generator)
    rows = np.logical_and.reduce([own for _, own in parts])
    return Asked("count where " + " and ".join(words for words, _ in parts), float(rows.sum()))


def attributes_of(truth: Truth, kind: str, generator: np.random.Generator) -> tuple[str, ...] | None:
    """Return random attributes of which a question of this class may be asked."""
    release, names = truth.release, truth.release.schema.names
    number = kind in ("cut ranges", "means")
    if number and not truth.numbers:
        return None
    for _ in range(300):
        ways = {"one-way": 1, "triples": 3}.get(kind, 2)
        chosen = tuple(names[i] for i in sorted(generator.choice(len(names), ways, replace=False).tolist()))
        if number:
            first = truth.numbers[int(generator.integers(len(truth.numbers)))]
            chosen = (first, *(name for name in chosen if name != first))[:2]
        if np.prod([release.schema[n].size for n in chosen]) > MAX_TABLE_CELLS:
            continue
        together = measured_together(release.measurements, chosen)
        if number or kind == "one-way" or together == (kind == "measured pairs"):
            return chosen
    return None


def asked(truth: Truth, kind: str, queries: int, generator: np.random.Generator, inference: Any) -> dict[str, Any]:
    """Return coverage, width and error of one class on one release, and the figures that they come from."""
    began, rows = time.process_time(), []
    for one in questions(truth, kind, queries, generator):
        answer = truth.release.answer(one.text, inference, 0.95)
        if answer.interval is None or answer.value is None:
            continue
        low, high = answer.interval
        half = 0.5 if kind != "means" else 1e-9
        rows.append((one.truth, answer.value, low, high, float(low - half <= one.truth <= high + half), one.unit))
    if not rows:
        return {}
    figures = np.asarray(rows)
    error, width = (figures[:, 1] - figures[:, 0]) / figures[:, 5], (figures[:, 3] - figures[:, 2]) / figures[:, 5]
    return {
        "coverage": float(figures[:, 4].mean()), "width": float(np.median(width)),
        "rmse": float(np.sqrt(np.mean(error**2))), "mae": float(np.median(np.abs(error))), "queries": len(rows),
        "seconds": round(time.process_time() - began, 2),
    }  # fmt: skip


def ask(cell: Cell, keep: Path, queries: int, classes: tuple[str, ...]) -> dict[str, Any]:
    """Ask random questions of every class of one kept release."""
    from forecasts import distances

    file = keep / cell.file
    path, schema = source(cell.table, cell.neighbours, keep)
    release = Release.open(file)
    truth = Truth(release, path, schema.csv)
    inference = release.inference("finite", refits_beside(file, "finite"))
    generator = np.random.default_rng([cell.seed, 3])
    found = {kind: asked(truth, kind, queries, generator, inference) for kind in classes}
    law = inference.law
    return {
        "table": cell.table, "epsilon": cell.epsilon, "delta": cell.delta, "neighbours": cell.neighbours,
        "seed": cell.seed, "rows": release.rows, "method": release.card.method, "classes": found,
        "bought": {k: v for k, v in (release.model_error or {}).items() if k != "compared"},
        "law": None if law is None else [law.pairs.mean, law.pairs.spread, law.triples.mean, law.triples.spread],
        "distances": distances(release, truth.codes),
    }  # fmt: skip


# -- commands ------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    making, asking, page = verbs.add_parser("publish"), verbs.add_parser("ask"), verbs.add_parser("page")
    making.add_argument("keep", type=Path, help="Folder in which releases are kept.")
    making.add_argument("--tables", nargs="+", default=["adult", "acs", "census", "loans", "ma2019"])
    making.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1, 4])
    making.add_argument("--deltas", nargs="+", type=float, default=[0.0, 1e-9])
    making.add_argument("--neighbours", default="replace-one")
    making.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    asking.add_argument("keep", type=Path)
    asking.add_argument("results", type=Path)
    asking.add_argument("--queries", type=int, default=150)
    asking.add_argument("--classes", nargs="+", default=list(CLASSES))
    asking.add_argument("--only", default="", help="Releases whose file begins with this.")
    page.add_argument("results", type=Path)
    given = parser.parse_args()
    verb: dict[str, Callable[[Any], None]] = {"publish": _publish, "ask": _ask, "page": _page}
    verb[given.verb](given)


def _publish(given: Any) -> None:
    given.keep.mkdir(exist_ok=True, parents=True)
    for seed in given.seeds:
        for name in given.tables:
            for epsilon in given.epsilons:
                for delta in given.deltas:
                    cell = Cell(name, epsilon, delta, given.neighbours, seed)
                    print(cell.file, f"{publish(cell, given.keep):.1f} s", flush=True)


def _ask(given: Any) -> None:
    for file in sorted(given.keep.glob(f"{given.only}*.release.zip")):
        found = ask(Cell.of_file(file.name), given.keep, given.queries, tuple(given.classes))
        with given.results.open("a") as out:
            out.write(json.dumps(found) + "\n")
        said = {
            k: (round(v["coverage"], 2), round(v["width"] / v["rmse"], 1)) for k, v in found["classes"].items() if v
        }
        print(file.name, said, flush=True)


def _page(given: Any) -> None:
    print(summary([json.loads(line) for line in given.results.read_text().splitlines()]))


def summary(lines: list[dict[str, Any]]) -> str:
    """Return coverage by table and promise, and over all questions with its standard error, as a table in Markdown."""
    out = ["| table | epsilon | delta | releases | " + " | ".join(CLASSES) + " |", "|---" * (4 + len(CLASSES)) + "|"]
    for name, epsilon, delta in sorted({(f["table"], f["epsilon"], f["delta"]) for f in lines}):
        own = [f for f in lines if (f["table"], f["epsilon"], f["delta"]) == (name, epsilon, delta)]
        out.append(_row(f"{name} | {epsilon:g} | {delta:g}", own, 0))
    for name in sorted({f["table"] for f in lines}):
        out.append(_row(f"{name} | |", [f for f in lines if f["table"] == name], 1))
    return "\n".join([*out, _row("all | |", lines, 1)])


def _row(head: str, found: list[dict[str, Any]], digits: int) -> str:
    shown = [_coverage([f["classes"][kind] for f in found if f["classes"].get(kind)], digits) for kind in CLASSES]
    return f"| {head} | {len(found)} | " + " | ".join(shown) + " |"


def _coverage(found: list[dict[str, float]], digits: int) -> str:
    """Return coverage over all questions, with its standard error over releases where it has digits, and the width."""
    if not found:
        return "–"
    own = np.asarray([f["coverage"] for f in found])
    shown = f"{100 * np.average(own, weights=[f['queries'] for f in found]):.{digits}f}"
    if digits and len(found) > 1:
        shown += f" ± {100 * own.std(ddof=1) / np.sqrt(len(found)):.1f}"
    return f"{shown} ({np.median([f['width'] / max(f['rmse'], 1e-9) for f in found]):.1f})"


if __name__ == "__main__":
    main()
