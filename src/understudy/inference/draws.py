"""Draws: several synthetic tables from the posterior of the model, for analyses that nobody foresaw.

Table i has the rows of refit i: another model that the noise (and sampling) might have led to. With `about`, the joint
table of the named columns is changed by a draw of the discrepancy law as well, so that what the model leaves out
between them is in the spread too. Rows are independent draws (multinomial), or systematic: then the joint table of the
named columns is rounded to whole rows, and its rows are chosen among drawn ones. Where more tables are drawn than there
are refits, they take turns, and tables of one refit share the draw of the law. Memory is that of one table, and of the
rows drawn for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError, did_you_mean
from understudy.inference.combining import Combined, RowsBy, combine
from understudy.inference.discrepancy import discrepancies
from understudy.inference.intervals import Inference
from understudy.inference.least_squares import measured_together
from understudy.models.junction_tree import JunctionTree
from understudy.models.model import Rows
from understudy.models.ruled_model import RuledModel

Floats = NDArray[np.float64]
MAX_RATIO = 4.0  # by which the law may raise a cell: rows are drawn and kept by their share of it
MAX_CELLS = 1_000_000  # of the joint table of `about`
MAX_TABLES = 1000


@dataclass(frozen=True, eq=False)
class CodedDraws:
    """Synthetic tables in codes, drawn one at a time, and the rule that combines what is found on them."""

    inference: Inference
    tables: int
    about: tuple[str, ...]
    rows_by: RowsBy
    rows: int
    seed: int

    @staticmethod
    def of(
        inference: Inference, tables: int, about: Sequence[str] = (), rows: int | None = None,
        rows_by: RowsBy = "multinomial", seed: int = 0,
    ) -> CodedDraws:  # fmt: skip
        """Check what is asked for; nothing is drawn yet."""
        release = inference.release
        if not isinstance(tables, int | np.integer) or not 2 <= tables <= MAX_TABLES:
            raise UsageError(f"draw from 2 to {MAX_TABLES} tables; 20 are usual")
        about = (about,) if isinstance(about, str) else about
        for name in about:
            if name not in release.schema.names:
                told = did_you_mean(name, list(release.schema.names))
                raise UsageError(f"{name!r} is no modelled column of this release. {told}".rstrip(), attribute=name)
        if inference.refits is None:
            raise UsageError(
                "this release cannot be drawn from for inference: its model came about in a way that cannot be "
                "repeated with fresh noise. `sample` still draws rows"
            )
        if isinstance(release.model, RuledModel):
            about = release.model.sources(about)
        return CodedDraws(inference, tables, tuple(dict.fromkeys(about)), rows_by, rows or release.rows, seed)

    @property
    def covers(self) -> str:
        """Return what the spread of these tables includes."""
        sampling = " and sampling" if self.inference.population == "sample" else ""
        if self.about:
            named, error = ", ".join(self.about), self.inference.model_error_words
            if measured_together(self.inference.release.measurements, self.about):
                return f"noise{sampling}, for analyses of measured tables, and {named} are one; no model error is left"
            return f"noise{sampling}, and {error}, for analyses of measured tables or of {named}"
        return f"noise{sampling} only: valid for analyses that depend on measured tables; name columns with `about`"

    def __len__(self) -> int:
        return self.tables

    def __iter__(self) -> Iterator[Rows]:
        refits = self.inference.refits
        assert refits is not None
        for i in range(self.tables):
            generator = np.random.default_rng([self.seed, i])
            which = i % len(refits.models)
            model = refits.models[which]
            if not self.about:
                yield model.sample(self.rows, generator, self.rows_by)
                continue
            ratio = self._ratio(model, np.random.default_rng([self.seed, which, 2]))
            about = self._systematic if self.rows_by == "systematic" else self._independent
            yield about(model, ratio, generator)

    def _systematic(self, model: JunctionTree, ratio: Floats, generator: np.random.Generator) -> Rows:
        """Round the changed joint table to whole rows and choose as many of drawn ones in each cell."""
        drawn = model.sample(max(1024, int(1.1 * self.rows * float(ratio.max()))), generator, "systematic")
        cells = np.ravel_multi_index([drawn[name].astype(np.int64) for name in self.about], ratio.shape)
        have = np.bincount(cells, minlength=ratio.size)
        share = np.cumsum((model.project(self.about).table * ratio).ravel() * (have > 0))
        places = (np.arange(self.rows) + generator.random()) / self.rows * share[-1]
        wanted = np.minimum(np.searchsorted(share, places, side="right"), len(share) - 1)
        mixed = generator.permutation(len(cells))
        order = mixed[np.argsort(cells[mixed], kind="stable")]
        turn = np.arange(self.rows) - np.searchsorted(wanted, wanted)  # of a row within its cell
        chosen = order[(np.cumsum(have) - have)[wanted] + turn % have[wanted]]
        chosen = chosen[generator.permutation(len(chosen))]
        return {name: codes[chosen] for name, codes in drawn.items()}

    def _independent(self, model: JunctionTree, ratio: Floats, generator: np.random.Generator) -> Rows:
        """Draw rows of the model and keep each with a chance proportional to how much the law raised its cell."""
        parts: list[Rows] = []
        have, most = 0, float(ratio.max())
        while have < self.rows:
            drawn = model.sample(max(1024, int(1.1 * (self.rows - have) * most)), generator, "multinomial")
            cells = ratio[tuple(drawn[name].astype(np.int64) for name in self.about)]
            kept = np.flatnonzero(generator.random(len(cells)) * most < cells)[: self.rows - have]
            parts.append({name: codes[kept] for name, codes in drawn.items()})
            have += len(kept)
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _ratio(self, model: JunctionTree, generator: np.random.Generator) -> Floats:
        table = model.project(self.about).table
        if table.size > MAX_CELLS or len(self.about) < 2:
            return np.ones(table.shape)
        change = discrepancies(table, self.about, self.inference.release, self.inference.law, generator, 1)[0]
        ratio = np.divide(table + change, table, out=np.zeros_like(table), where=table > 0)
        return np.asarray(np.clip(ratio, 0.0, MAX_RATIO), dtype=np.float64)

    def combine(self, estimates: Sequence[float], variances: Sequence[float]) -> Combined:
        """Combine by the rule that belongs to how these rows were drawn."""
        refits = self.inference.refits
        assert refits is not None
        part = self.rows / self.inference.release.rows
        population = self.inference.population
        return combine(estimates, variances, self.rows_by, part, len(refits.models), population)
