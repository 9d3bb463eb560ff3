"""Refits: what the release might have been. Tables counted from its model, fresh noise on them, and its estimate again.

For a finite population the tables are the model's own; for a sample of a population, rows are drawn from the model
first and all tables are counted from the same rows. The spread of the refitted models is the error that noise (and
sampling) left in this one. Post-processing of a release: it costs nothing, and a seed is allowed.

A release's tables are drawn towards the product of their columns (`models.shrinkage`), each cell by itself. That makes
tables closer and weak trends across many cells smaller, by more than half. Refits of a shrunk model would lose as much
again and spread by less than was lost, so both the model that tables are counted from and the refits are without it:
draws are then about what the noisy tables say, and intervals hold what shrinkage took.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.inference.combining import Population
from understudy.models.edition import Edition
from understudy.models.junction_tree import JunctionTree
from understudy.models.model import Model, Rows
from understudy.models.refit import Design, refit
from understudy.models.ruled_model import free_model, with_rules
from understudy.models.within_bins import Shapes
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import Laplace
from understudy.schema import Axes, Schema

Floats = NDArray[np.float64]
REFITS = 20
TOLERANCE = 5e-3  # of a refit: it is then some 4 % of its own spread from the optimum, and takes a fifth less
_SEED = 19


class Released(Protocol):
    """What inference needs of a release."""

    @property
    def schema(self) -> Schema: ...
    @property
    def model(self) -> Model: ...
    @property
    def measurements(self) -> tuple[Measurement, ...]: ...
    @property
    def rows(self) -> int: ...
    @property
    def model_error(self) -> dict[str, Any] | None: ...
    @property
    def shapes(self) -> Shapes: ...
    @property
    def design(self) -> Design | None: ...
    @property
    def hash(self) -> str: ...


@dataclass(frozen=True, eq=False)
class Refits:
    """Models of the same design, each fitted to tables with fresh noise, and the rows that each stands for.

    Under rules, `models` are of the free columns, and `schema` has the computed ones too.
    """

    models: tuple[JunctionTree, ...]
    rows: tuple[int, ...]
    population: Population
    schema: Schema
    known: Mapping[str, Floats] = field(default_factory=dict)  # `size_law.known_distances`, where they are kept too

    @staticmethod
    def of(
        release: Released, population: Population = "finite", count: int = REFITS, cache: Path | None = None
    ) -> Refits | None:
        """Refit `count` times, or read what was refitted before from `cache`.

        None where the model came about in another way than by `refit` (a paper's own rule, wavelets, several owners).
        """
        design = release.design
        if design is None or not isinstance(free_model(release.model), JunctionTree):
            return None
        from understudy.inference.kept_refits import read_refits, write_refits

        if cache is not None and (known := read_refits(cache, release, population, count)) is not None:
            return known
        generator = np.random.default_rng([_SEED, count, population == "sample"])
        truth, found = unshrunk(release), []
        for _ in range(count):
            measured = renoised(truth, release, population, generator)
            own = _with_renoised_prior(truth, release, design, generator)
            found.append(refit(measured, replace(own, shrink=False), TOLERANCE))
        models, rows = tuple(f.model for f in found), tuple(f.rows for f in found)
        made = Refits(models, rows, population, release.schema)
        if cache is not None:
            write_refits(cache, release, made)
        return made

    def project(self, names: Sequence[str]) -> list[Floats]:
        """Return each refit's probability table over these attributes, computed ones among them."""
        return [with_rules(model, self.schema).project(names).table for model in self.models]


def unshrunk(release: Released) -> JunctionTree:
    """Return the model that tables are counted from: the release's, or where it was shrunk the same without that."""
    model, design = free_model(release.model), release.design
    assert isinstance(model, JunctionTree) and design is not None
    if design.edition < Edition.SHRUNK:
        return model
    return refit(release.measurements, replace(design, shrink=False), TOLERANCE).model


def renoised(
    truth: JunctionTree, release: Released, population: Population, generator: np.random.Generator
) -> list[Measurement]:
    """Return the release's measurements as they might have been if this model were the truth."""
    rows = truth.sample(release.rows, generator, "multinomial") if population == "sample" else None
    return [replace(m, values=_noisy(m, _expected(m, truth, release, rows), generator)) for m in release.measurements]


def _with_renoised_prior(
    truth: JunctionTree, release: Released, design: Design, generator: np.random.Generator
) -> Design:
    """Return the design with a prior as it might have been: its noise, and the change since, drawn afresh."""
    prior = design.prior
    if prior is None:
        return design
    scale = prior.rows / release.rows
    weighed = prior.weighed([m for m in release.measurements if m.axes], release.rows)
    drawn = [replace(m, values=_noisy(m, _expected(m, truth, release, None), generator)) for m in weighed]
    tables = (replace(own, values=np.rint(scale * m.values).astype(np.int64)) for own, m in zip(prior.tables, drawn))
    return replace(design, prior=replace(prior, tables=tuple(tables)))


def _expected(m: Measurement, truth: JunctionTree, release: Released, rows: Rows | None) -> Floats:
    if not m.axes:
        return np.full((), float(release.rows))
    if rows is None:
        return release.rows * truth.project(m.axes).table
    return _counted(rows, m.axes, release.schema)


def _counted(rows: Rows, axes: Axes, schema: Schema) -> Floats:
    cells = np.zeros(len(next(iter(rows.values()))), dtype=np.int64)
    for axis in axes:
        codes = rows[axis.attribute]
        cells = cells * schema.size(axis) + (codes if axis.base else schema.view_map(axis)[codes])
    return np.bincount(cells, minlength=schema.cells(axes)).astype(np.float64).reshape(schema.sizes(axes))


def _noisy(m: Measurement, expected: Floats, generator: np.random.Generator) -> NDArray[np.int64]:
    draw = generator.laplace if isinstance(m.noise, Laplace) else generator.normal
    noisy = expected.reshape(m.values.shape) + draw(0.0, max(m.noise.scale, 1e-12), m.values.shape)
    return np.rint(noisy).astype(np.int64)
