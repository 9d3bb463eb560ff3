"""A model under rules: a model of the free columns, and the columns that rules determine from them.

What a computed column is, given the codes of its sources, is known exactly where each code is one value. Where it is a
bin, values are taken as evenly spread inside: a share for each code of the computed column. Rows are not drawn here but
decoded from the free columns (`release.decoding`), so that what is computed is exact in every row.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from understudy.errors import UsageError
from understudy.models.bayesian_network import BayesianNetwork
from understudy.models.factor import MAX_CELLS, Factor, check_cells
from understudy.models.junction_tree import JunctionTree
from understudy.models.mixture import Mixture
from understudy.models.model import Evidence, Model, Rows
from understudy.models.structural_zeros import logarithm
from understudy.schema import Axis, Floats, Integers, Mask, Schema
from understudy.schema.predicates import Cells, Columns
from understudy.schema.resolution import Determined
from understudy.schema.rule_blocks import FixedPlaces, is_wide

TINY = 1e-9  # the weight of values that break a rule, for cells where no others were tried
SPREAD = 64  # values that stand for a cell of several columns
IRRATIONAL = (0.6180339887498949, 0.7548776662466927, 0.8191725133961645, 0.8566748838545029, 0.8812714616335696)


def with_rules(model: Model, schema: Schema) -> Model:
    """Return the model of a schema with rules from that of its free columns: a network becomes a tree.

    Parameters
    ----------
    schema
        With the computed columns; its `free` columns are the model's.
    """
    if not schema.rules:
        return model
    if model.schema.blocks and isinstance(model, BayesianNetwork | Mixture):
        model = _as_tree(model)
    return RuledModel(schema, model)


def free_model(model: Model) -> Model:
    """Return the model of the free columns: what is drawn from and saved."""
    return model.free if isinstance(model, RuledModel) else model


def _as_tree(model: BayesianNetwork | Mixture) -> Model:
    if isinstance(model, Mixture):
        parts = [_as_tree(part) if isinstance(part, BayesianNetwork) else part for part in model.parts]
        return Mixture(model.schema, tuple(parts), model.weights)
    return model.condition({})


@dataclass(frozen=True, eq=False)
class RuledModel:
    """`free` models the columns that no rule determines; `schema` has all of them."""

    schema: Schema
    free: Model

    @cached_property
    def _known(self) -> Mapping[str, Determined]:
        return self.schema.rule_book.determined

    def project(self, names: Sequence[str], limit: int = MAX_CELLS) -> Factor:
        """Return the probability table over these attributes, computed ones among them."""
        computed = [name for name in names if name in self._known]
        if not computed:
            return self.free.project(names)
        needed = self.sources(names)
        axes = tuple(Axis(name) for name in (*needed, *computed))
        check_cells(self.schema.cells(axes), axes, limit)
        joint = self.free.project(needed)
        joint = joint.multiply(self.given(computed), limit)
        return joint.project(tuple(Axis(name) for name in names))

    def sources(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the free columns that determine these: themselves, or what they are computed from."""
        computed = [name for name in names if name in self._known]
        own = [name for name in names if name not in computed]
        return tuple(dict.fromkeys([*own, *(s for name in computed for s in self._known[name].sources)]))

    def condition(self, evidence: Evidence) -> Model:
        """Return the distribution given allowed codes; a computed column's codes weigh the cells of its sources."""
        for name, codes in evidence.items():
            if any(not 0 <= code < self.schema[name].size for code in codes):
                raise UsageError(f"{name!r} has the codes 0 to {self.schema[name].size - 1}", attribute=name)
        model = self.free.condition({n: c for n, c in evidence.items() if n not in self._known})
        for name, codes in evidence.items():
            if name in self._known:
                given = self.given([name])
                weights = given.table[..., sorted(set(codes))].sum(axis=-1)
                model = weighted(model, [Factor(given.axes[:-1], logarithm(weights))])
        return RuledModel(self.schema, model)

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        """Draw coded rows, computed columns from values that are evenly spread inside bins."""
        found = self.free.sample(rows, generator)
        columns = {}
        for name in dict.fromkeys(s for known in self._known.values() for s in known.sources):
            attribute = self.schema[name]
            values, absent = attribute.decode(found[name], generator)
            ordered = attribute.intervals is not None
            columns[name] = Cells.of_values(found[name], values.astype(np.float64) if ordered else None, absent)
        return found | {name: computed_codes(self.schema, known, columns) for name, known in self._known.items()}

    def given(self, computed: Sequence[str]) -> Factor:
        """Return Pr[computed columns | their sources], a dimension for each source, then for each computed column."""
        sources = tuple(dict.fromkeys(s for name in computed for s in self._known[name].sources))
        shape = tuple(self.schema[name].size for name in sources)
        axes = tuple(Axis(name) for name in (*sources, *computed))
        sizes = tuple(self.schema[name].size for name in computed)
        check_cells(math.prod(shape + sizes), axes, MAX_CELLS)
        table = np.zeros((math.prod(shape), math.prod(sizes)))
        blocks = [b for b in self.schema.free.blocks if b.open.any() and set(b.names) <= set(sources)]
        codes = dict(zip(sources, (index.ravel() for index in np.indices(shape))))
        spread = SPREAD if any(is_wide(self.schema[name]) for name in sources) else 1
        for t in range(spread):
            columns = {name: self._placed(name, codes[name], i, t) for i, name in enumerate(sources)}
            cell = np.zeros(len(table), dtype=np.int64)
            for name, size in zip(computed, sizes):
                cell = cell * size + computed_codes(self.schema, self._known[name], columns)
            held = [np.broadcast_to(block.held(columns), cell.shape) for block in blocks]
            table[np.arange(len(table)), cell] += np.where(np.all(held, axis=0), 1.0, TINY) if held else 1.0
        return Factor(axes, (table / table.sum(axis=1, keepdims=True)).reshape(shape + sizes))

    def _placed(self, name: str, codes: Integers, column: int, t: int) -> Cells:
        attribute = self.schema[name]
        absent = codes == attribute.missing_code
        if attribute.intervals is None:
            return Cells.of_values(codes, None, absent)
        step = IRRATIONAL[column % len(IRRATIONAL)]
        values, _ = attribute.decode(codes, FixedPlaces(np.full(len(codes), ((t + 0.5) * step) % 1.0)))  # type: ignore[arg-type]
        return Cells.of_values(codes, values.astype(np.float64), absent)


def computed_tables(model: Model, tables: Floats, free: Sequence[str], names: Sequence[str]) -> Floats:
    """Return stacked tables over `names`, computed columns among them, from stacked ones over their free columns."""
    assert isinstance(model, RuledModel)
    computed = [name for name in names if name not in free]
    given = model.given(computed)
    letters = dict(zip(dict.fromkeys([*free, *computed]), string.ascii_lowercase))
    one, other, out = ("".join(letters[n] for n in of) for of in (free, [a.attribute for a in given.axes], names))
    return np.asarray(np.einsum(f"...{one},{other}->...{out}", tables, given.table))


def weighted(model: Model, logs: Sequence[Factor]) -> Model:
    """Return the model with its probabilities multiplied by these log tables, and normalised."""
    if isinstance(model, RuledModel):
        return RuledModel(model.schema, weighted(model.free, logs))
    if isinstance(model, JunctionTree):
        return JunctionTree.of(model.schema, [*model.potentials(), *logs])
    if isinstance(model, Mixture):
        return _weighted_mixture(model, logs)
    return weighted(model.condition({}), logs)  # of a network or wavelets: a junction tree


def _weighted_mixture(model: Mixture, logs: Sequence[Factor]) -> Mixture:
    """Weigh each part, which counts for as much as it makes of the weights."""
    parts, shares = [], []
    for part, share in zip(model.parts, model.weights.tolist()):
        for log in logs:
            likely = float((part.project([a.attribute for a in log.axes]).table * np.exp(log.table)).sum())
            share *= likely
            part = weighted(part, [log]) if likely > 0 else part
        if share > 0:
            parts.append(part)
            shares.append(share)
    if not parts:
        raise UsageError("no combination of values is left: the conditions exclude each other under this model")
    return Mixture.of(model.schema, parts, shares)


def computed_values(known: Determined, columns: Columns) -> tuple[Floats, Mask]:
    """Return the numbers of a computed column that has an order, and where it is missing."""
    assert known.term is not None
    found = known.term.bounds(columns)
    return found.low, found.absent


def computed_codes(schema: Schema, known: Determined, columns: Columns) -> Integers:
    """Return the codes of a computed column; what lies outside its range is counted at its ends."""
    attribute = schema[known.attribute.name]
    if known.term is None:
        return np.asarray(known.codes[columns[known.source].codes])
    values, absent = computed_values(known, columns)
    encoded = attribute.ordered.encode_numbers(np.clip(np.where(absent, 0.0, values), -1e300, 1e300))
    return np.where(absent, attribute.missing_code, encoded).astype(np.int64)
