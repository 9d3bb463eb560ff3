"""Models as plain parts — a JSON document and numeric arrays — and back, with every shape checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError, UsageError
from understudy.models.bayesian_network import BayesianNetwork, Conditional, base_of
from understudy.models.factor import MOST_CELLS, Factor
from understudy.models.model import Model
from understudy.privacy.details import Details, finest_grid
from understudy.schema import Axis, Schema

Arrays = dict[str, NDArray[Any]]


def model_parts(model: Model) -> tuple[dict[str, Any], Arrays]:
    from understudy.models.junction_tree import JunctionTree
    from understudy.models.mixture import Mixture
    from understudy.models.wavelet import WaveletModel

    if isinstance(model, Mixture):
        return _mixture_parts(model)
    if isinstance(model, WaveletModel):
        return _wavelet_parts(model)
    if isinstance(model, BayesianNetwork):
        arrays = {f"conditional-{i}": c.table for i, c in enumerate(model.conditionals)}
        pairs = [{"child": c.child.as_json(), "parents": [p.as_json() for p in c.parents]} for c in model.conditionals]
        return {"kind": "bayesian-network", "pairs": pairs}, arrays
    if isinstance(model, JunctionTree):
        factors = [model.belief(i) for i in range(len(model.cliques))]
        arrays = {f"clique-{i}": np.array(f.table) for i, f in enumerate(factors)}
        return {"kind": "junction-tree", "cliques": [[a.as_json() for a in f.axes] for f in factors]}, arrays
    raise TypeError(f"a {type(model).__name__} cannot be saved")


def model_from_parts(document: dict[str, Any], arrays: Arrays, schema: Schema) -> Model:
    """Everything is checked against the schema, so that a crafted file cannot make a wrong or endless model."""
    try:
        if document["kind"] == "bayesian-network":
            return _network(document["pairs"], arrays, schema)
        if document["kind"] == "junction-tree":
            return _tree(document["cliques"], arrays, schema)
        if document["kind"] == "wavelet":
            return _wavelet(document, arrays, schema)
        if document["kind"] == "mixture":
            return _mixture(document["parts"], arrays, schema)
    except (LookupError, TypeError, ValueError, ArithmeticError, AssertionError, UsageError):
        raise ReleaseError("the model in the release is damaged") from None
    raise ReleaseError("the release holds a kind of model this understudy does not know: upgrade to open it")


def _network(pairs: list[Any], arrays: Arrays, schema: Schema) -> BayesianNetwork:
    conditionals: list[Conditional] = []
    placed: set[Axis] = set()
    for i, pair in enumerate(pairs):
        child = _axis(pair["child"], schema)
        parents = tuple(_axis(p, schema) for p in pair["parents"])
        if child in placed or child.level or not {base_of(p) for p in parents} <= placed:
            raise ValueError
        conditionals.append(Conditional(child, parents, _table(arrays[f"conditional-{i}"], (*parents, child), schema)))
        placed.add(child)
    if {axis.attribute for axis in placed} != set(schema.names):
        raise ValueError
    for c in conditionals:
        if not np.allclose(c.table.sum(axis=-1), 1, atol=1e-6):
            raise ValueError
    return BayesianNetwork(schema, tuple(conditionals))


def _tree(cliques: list[Any], arrays: Arrays, schema: Schema) -> Model:
    from understudy.models.junction_tree import JunctionTree

    axes = [tuple(_axis(a, schema) for a in clique) for clique in cliques]
    if {axis.attribute for clique in axes for axis in clique} != set(schema.names):
        raise ValueError
    tables = [Factor(clique, _table(arrays[f"clique-{i}"], clique, schema)) for i, clique in enumerate(axes)]
    return JunctionTree.of_beliefs(schema, tables, MOST_CELLS)


def _mixture_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    documents, arrays = [], {"weights": model.weights}
    for i, part in enumerate(model.parts):
        document, own = model_parts(part)
        documents.append(document)
        arrays |= {f"part-{i}-{name}": array for name, array in own.items()}
    return {"kind": "mixture", "parts": documents}, arrays


def _mixture(documents: list[Any], arrays: Arrays, schema: Schema) -> Model:
    from understudy.models.mixture import Mixture

    if any(document["kind"] == "mixture" for document in documents):
        raise ValueError
    parts = []
    for i, document in enumerate(documents):
        own = {name.removeprefix(f"part-{i}-"): a for name, a in arrays.items() if name.startswith(f"part-{i}-")}
        parts.append(model_from_parts(document, own, schema))
    return Mixture.of(schema, parts, [float(weight) for weight in arrays["weights"]])


def _wavelet_parts(model: Any) -> tuple[dict[str, Any], Arrays]:
    own = model.wavelets
    document = {"kind": "wavelet", "axes": [a.as_json() for a in own.axes], "kinds": list(own.kinds), "form": own.form}
    return document | {"noise": own.noise, "scale": own.scale, "total": model.total}, {"coefficients": own.values}


def _wavelet(document: dict[str, Any], arrays: Arrays, schema: Schema) -> Model:
    from understudy.models.wavelet import WaveletModel
    from understudy.privacy.wavelets import Wavelets, wavelet_dimensions

    axes = tuple(_axis(a, schema) for a in document["axes"])
    values, total, scale = arrays["coefficients"], document["total"], float(document["scale"])
    wavelet_dimensions(schema, axes, document["kinds"], MOST_CELLS)  # refuses what is too large or does not fit
    if values.dtype != np.int64 or not 0 <= scale < float("inf") or document["noise"] not in ("laplace", "gaussian"):
        raise ValueError
    if document["form"] not in ("tight", "published") or not (total is None or (type(total) is int and total >= 0)):
        raise ValueError
    noisy = Wavelets(axes, tuple(document["kinds"]), document["form"], values, document["noise"], scale)
    return WaveletModel(schema, noisy, total)


def details_parts(details: Sequence[Details]) -> tuple[list[dict[str, Any]], Arrays]:
    """What was measured inside the bins of attributes."""
    listed = [{"attribute": d.attribute, "depth": d.depth, "noise": d.noise, "scale": d.scale} for d in details]
    return listed, {f"details-{i}": d.values for i, d in enumerate(details)}


def details_from_parts(listed: Any, arrays: Arrays, schema: Schema) -> tuple[Details, ...]:
    try:
        found = tuple(_details(item, arrays[f"details-{i}"], schema) for i, item in enumerate(listed))
    except (LookupError, TypeError, ValueError, ArithmeticError, AssertionError, UsageError):
        raise ReleaseError("the details in the release are damaged") from None
    if len({d.attribute for d in found}) < len(found):
        raise ReleaseError("the details in the release are damaged")
    return found


def _details(item: dict[str, Any], values: NDArray[Any], schema: Schema) -> Details:
    depth, scale = item["depth"], float(item["scale"])
    if type(depth) is not int or not 0 < scale < float("inf") or item["noise"] not in ("laplace", "gaussian"):
        raise ValueError
    cells = sum(len(first) for first, _, _ in finest_grid(schema, item["attribute"], depth).levels[:depth])
    if values.shape != (cells,) or values.dtype != np.int64:
        raise ValueError
    return Details(item["attribute"], depth, values, item["noise"], scale)


def _axis(item: Any, schema: Schema) -> Axis:
    axis = Axis.from_json(item)
    attribute = schema[axis.attribute]
    if not (0 <= axis.level < attribute.levels and -1 <= axis.bit < attribute.bits) or not attribute.modelled:
        raise ValueError
    return axis


def _table(array: NDArray[Any], axes: tuple[Axis, ...], schema: Schema) -> NDArray[np.float64]:
    if array.shape != schema.sizes(axes) or array.size > MOST_CELLS or array.dtype != np.float64:
        raise ValueError
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError
    return array
