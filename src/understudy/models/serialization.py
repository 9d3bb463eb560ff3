"""Models as plain parts — a JSON document and numeric arrays — and back, with every shape checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError, UsageError
from understudy.models.bayesian_network import BayesianNetwork, Conditional, base_of
from understudy.models.factor import MAX_CELLS, Factor
from understudy.models.model import Model
from understudy.privacy.noise import NOISES, Noise
from understudy.privacy.questions.details import Details, finest_grid
from understudy.schema import Axis, Floats, Schema
from understudy.schema.axis import MERGED

if TYPE_CHECKING:
    from understudy.models.junction_tree import JunctionTree

MAX_TOTAL = 2**53  # rows; more could not be counted in floating point
MAX_SCALE = 1e100  # of noise; its square is still a number
_SLACK = 1e-6  # within which probabilities add up


def require(holds: bool) -> None:
    """Raise a ValueError unless this holds of a file that somebody else may have written."""
    if not holds:
        raise ValueError


class ArraySource(Protocol):
    """Where the arrays of a model come from; a file unpacks one only if its size fits the shape asked for."""

    def take(self, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
        """Return the array with this name, which has this shape and type, or refuse it."""
        ...


class Arrays(dict[str, NDArray[Any]]):
    """Arrays in memory, by name."""

    def take(self, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
        if (array := self[name]).shape != shape or array.dtype != dtype:
            raise ValueError(f"the array {name} has another shape or type")
        return array


@dataclass(frozen=True)
class PrefixedArrays:
    """The arrays of one part of a model, whose names in the file begin with a prefix."""

    arrays: ArraySource
    prefix: str

    def take(self, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
        return self.arrays.take(self.prefix + name, shape, dtype)


def model_parts(model: Model) -> tuple[dict[str, Any], Arrays]:
    from understudy.models.junction_tree import JunctionTree
    from understudy.models.mixture import Mixture
    from understudy.models.wavelet import WaveletModel

    if isinstance(model, Mixture):
        return _mixture_parts(model)
    if isinstance(model, WaveletModel):
        return _wavelet_parts(model)
    if isinstance(model, BayesianNetwork):
        arrays = Arrays({f"conditional-{i}": c.table for i, c in enumerate(model.conditionals)})
        pairs = [{"child": c.child.as_json(), "parents": [p.as_json() for p in c.parents]} for c in model.conditionals]
        return {"kind": "bayesian-network", "pairs": pairs}, arrays
    if isinstance(model, JunctionTree):
        factors = [model.belief(i) for i in range(len(model.cliques))]
        arrays = Arrays({f"clique-{i}": np.array(f.table) for i, f in enumerate(factors)})
        document = {"kind": "junction-tree", "cliques": [[a.as_json() for a in f.axes] for f in factors]}
        groups = {a.name: list(a.groups) for a in model.schema.modelled if a.groups}
        return document | ({"groups": groups} if groups else {}), arrays
    raise TypeError(f"a {type(model).__name__} cannot be saved")


def model_from_parts(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> Model:
    """Read a model, checked against the schema, so that a crafted file cannot make a wrong or endless one."""
    try:
        if (kind := str(document["kind"])) in _READERS:
            return _READERS[kind](document, arrays, schema)
    except (LookupError, TypeError, ValueError, ArithmeticError, AssertionError, UsageError):
        raise ReleaseError("the model in the release is damaged") from None
    raise ReleaseError("the release holds a kind of model this understudy does not know: upgrade to open it")


def _network(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> BayesianNetwork:
    conditionals: list[Conditional] = []
    placed: set[Axis] = set()
    for i, pair in enumerate(document["pairs"]):
        child = axis_of(pair["child"], schema)
        parents = tuple(axis_of(p, schema) for p in pair["parents"])
        bases = {base_of(p) for p in parents}
        require(child not in placed and not child.level and bases <= placed and len(bases) == len(parents))
        table = _table(f"conditional-{i}", (*parents, child), arrays, schema)
        require(np.allclose(table.sum(axis=-1), 1, atol=_SLACK))
        conditionals.append(Conditional(child, parents, table))
        placed.add(child)
    _check_variables(placed, schema)
    return BayesianNetwork(schema, tuple(conditionals))


def _check_variables(placed: set[Axis], schema: Schema) -> None:
    """Check that every attribute stands for itself, or is there with all its bits in one spelling."""
    wanted: set[Axis] = set()
    spelled = {axis.attribute: axis.gray for axis in placed if axis.bit >= 0}
    for name in schema.names:
        bits = range(schema[name].bits) if name in spelled else (-1,)
        wanted |= {Axis(name, 0, bit, spelled.get(name, False)) for bit in bits}
    require(placed == wanted)


def with_groups(document: dict[str, Any], schema: Schema) -> Schema:
    """Return the schema with the merged groups that a model's document tells of; a ValueError where they are odd."""
    groups = {name: tuple(listed) for name, listed in document.get("groups", {}).items()}
    require(all(type(group) is int for listed in groups.values() for group in listed))
    require(all(schema[name].modelled for name in groups))
    return schema.merged(groups) if groups else schema


def _tree(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> Model:
    from understudy.models.junction_tree import JunctionTree

    schema = with_groups(document, schema)
    axes = [tuple(axis_of(a, schema) for a in clique) for clique in document["cliques"]]
    require({axis.attribute for clique in axes for axis in clique} == set(schema.names))
    require(sum(schema.cells(clique) for clique in axes) <= MAX_CELLS)
    tables = [Factor(clique, _table(f"clique-{i}", clique, arrays, schema)) for i, clique in enumerate(axes)]
    tree = JunctionTree.of_beliefs(schema, tables, MAX_CELLS)
    _check_calibrated(tree)
    return tree if _keeps_rules(tree) else JunctionTree.of(schema, tree.potentials())


def _keeps_rules(tree: JunctionTree) -> bool:
    """Return whether a tree has nothing in cells that rules or merged groups strike out: a crafted file may."""
    from understudy.models.structural_zeros import group_zeros, rule_zeros

    for zero in group_zeros(tree.schema, tree.variables) + rule_zeros(tree.schema, tree.variables):
        home = tree.layout.holding(zero.axes)
        if home is None:
            return False
        struck = np.broadcast_to(zero.expand(tree.layout.axes[home]) == -np.inf, tree.layout.shapes[home])
        if tree.belief(home).table[struck].any():
            return False
    return True


def _check_calibrated(tree: JunctionTree) -> None:
    """Check that every clique is a distribution, and neighbours agree on what they share."""
    for i, parent in enumerate(tree.layout.parent.tolist()):
        own = tree.belief(i)
        require(abs(own.total - 1) <= _SLACK)
        shared = tree.layout.separators[i]
        if parent >= 0 and shared:
            theirs = tree.belief(parent).project(shared)
            require(np.allclose(own.project(shared).table, theirs.table, atol=_SLACK))


def _mixture_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    documents, arrays = [], Arrays({"weights": model.weights})
    for i, part in enumerate(model.parts):
        document, own = model_parts(part)
        documents.append(document)
        arrays.update({f"part-{i}-{name}": array for name, array in own.items()})
    return {"kind": "mixture", "parts": documents}, arrays


def _mixture(mixed: dict[str, Any], arrays: ArraySource, schema: Schema) -> Model:
    from understudy.models.mixture import Mixture

    documents = mixed["parts"]
    require(all(document["kind"] != "mixture" for document in documents))
    weights = _shares(arrays.take("weights", (len(documents),), np.float64))
    parts = [model_from_parts(doc, PrefixedArrays(arrays, f"part-{i}-"), schema) for i, doc in enumerate(documents)]
    return Mixture.of(schema, parts, weights.tolist())


def _wavelet_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    own = model.wavelets
    document = {"kind": "wavelet", "axes": [a.as_json() for a in own.axes], "kinds": list(own.kinds), "form": own.form}
    return document | noise_json(own.noise) | {"total": model.total}, Arrays({"coefficients": own.values})


def _wavelet(document: dict[str, Any], arrays: ArraySource, schema: Schema) -> Model:
    from understudy.models.wavelet import WaveletModel
    from understudy.privacy.questions.wavelets import Form, Wavelets, wavelet_dimensions

    axes = tuple(axis_of(a, schema) for a in document["axes"])
    kinds, total = tuple(document["kinds"]), document["total"]
    dimensions = wavelet_dimensions(schema, axes, kinds, MAX_CELLS)  # refuses what is too large or does not fit
    require(document["form"] in get_args(Form))
    require(total is None or (type(total) is int and 1 <= total <= MAX_TOTAL))
    values = arrays.take("coefficients", tuple(d.coefficients for d in dimensions), np.int64)
    return WaveletModel(schema, Wavelets(axes, kinds, document["form"], values, checked_noise(document)), total)


def noise_json(noise: Noise) -> dict[str, Any]:
    """Return the noise as a document tells of it."""
    return {"noise": noise.name, "scale": noise.scale}


_READERS = {"bayesian-network": _network, "junction-tree": _tree, "wavelet": _wavelet, "mixture": _mixture}


def checked_noise(document: dict[str, Any]) -> Noise:
    """Return the noise that a document tells of."""
    noise, scale = document["noise"], document["scale"]
    require(type(noise) is str and noise in NOISES and type(scale) in (int, float) and 0 <= scale <= MAX_SCALE)
    return NOISES[noise](float(scale))


def details_parts(details: Sequence[Details]) -> tuple[list[dict[str, Any]], Arrays]:
    """Return what was measured inside the bins of attributes, as a document and arrays."""
    listed = [{"attribute": d.attribute, "depth": d.depth} | noise_json(d.noise) for d in details]
    return listed, Arrays({f"details-{i}": d.values for i, d in enumerate(details)})


def details_from_parts(listed: Any, arrays: ArraySource, schema: Schema) -> tuple[Details, ...]:
    try:
        found = tuple(_details(item, f"details-{i}", arrays, schema) for i, item in enumerate(listed))
    except (LookupError, TypeError, ValueError, ArithmeticError, AssertionError, UsageError):
        raise ReleaseError("the details in the release are damaged") from None
    if len({d.attribute for d in found}) < len(found):
        raise ReleaseError("the details in the release are damaged")
    return found


def _details(item: dict[str, Any], name: str, arrays: ArraySource, schema: Schema) -> Details:
    depth, noise = item["depth"], checked_noise(item)
    require(type(depth) is int and noise.scale != 0)
    cells = sum(len(first) for first, _, _ in finest_grid(schema, item["attribute"], depth).levels[:depth])
    return Details(item["attribute"], depth, arrays.take(name, (cells,), np.int64), noise)


def axis_of(item: Any, schema: Schema) -> Axis:
    """Return the view of a modelled attribute that a document names; a ValueError or LookupError if there is none."""
    name, level, bit, gray = item
    require(type(name) is str and type(level) is int and type(bit) is int and gray in (0, 1))
    attribute = schema[name]
    require(0 <= level < attribute.levels or (level == MERGED and bool(attribute.groups)))
    require(-1 <= bit < attribute.bits and attribute.modelled)
    require(not (level and bit >= 0) and not (gray and bit < 0))
    return Axis(name, level, bit, bool(gray))


def _table(name: str, axes: tuple[Axis, ...], arrays: ArraySource, schema: Schema) -> Floats:
    require(schema.cells(axes) <= MAX_CELLS)
    return _shares(arrays.take(name, schema.sizes(axes), np.float64))


def _shares(table: NDArray[Any]) -> Floats:
    """Refuse a table that is not of shares: between 0 and 1, and numbers."""
    require(bool(((table >= 0) & (table <= 1 + _SLACK)).all()))
    return table
