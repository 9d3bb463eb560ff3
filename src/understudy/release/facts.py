"""Facts of a release: which network was chosen, or which tables were measured together. Shown, never computed with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from understudy.privacy.noise import NOISES
from understudy.release.documents import listed
from understudy.release.former_spelling import ReadByWords
from understudy.schema import Axis, Schema


@dataclass(frozen=True)
class NetworkLine:
    """A variable of a network and its parents, named as `str(axis)` names them."""

    attribute: str
    parents: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return {"attribute": self.attribute, "parents": list(self.parents)}


@dataclass(frozen=True)
class ReleaseFacts(ReadByWords):
    """What a method decided: its network or the tables it measured together, and `more` that only it knows of.

    A part that the method does not have is None. `facts["network"]` warns, and leaves with the next version.
    """

    network: tuple[NetworkLine, ...] | None = None
    tables: tuple[tuple[str, ...], ...] | None = None
    more: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ReleaseFacts:
        """Return the facts that a document tells of: a method's, or a release file's."""
        network, tables = document.get("network"), document.get("tables")
        return cls(
            None if network is None else tuple(NetworkLine(p["attribute"], tuple(p["parents"])) for p in network),
            None if tables is None else tuple(tuple(names) for names in tables),
            {key: value for key, value in document.items() if key not in ("network", "tables")},
        )

    def as_json(self) -> dict[str, Any]:
        """Return the document of the release file."""
        network = {} if self.network is None else {"network": [line.as_json() for line in self.network]}
        tables = {} if self.tables is None else {"tables": [list(names) for names in self.tables]}
        return {**self.more, **network, **tables}


def check_facts(facts: dict[str, Any], schema: Schema) -> None:
    """Raise a ValueError unless what pages and summaries show of the facts speaks of this schema.

    A network names each variable once, with different parents; names are those of `str(axis)`.
    """
    if pairs := listed(facts.get("network", [])):
        _check_network(pairs, schema)
    if not all(isinstance(name, str) for table in listed(facts.get("tables", [])) for name in listed(table)):
        raise ValueError("a table is a list of names")
    if "model_error" in facts:
        _check_model_error(facts["model_error"], schema)


def _check_model_error(found: dict[str, Any], schema: Schema) -> None:
    """Check that bought figures are numbers of rows with noise, and that compared tables name known attributes."""
    for figure in (found[name] for name in ("pairs", "largest", "triples")):
        numbers = [figure["rows"], figure["scale"]]
        if not all(type(n) in (int, float) and abs(n) < 1e18 for n in numbers) or figure["scale"] < 0:
            raise ValueError("a bought figure is a number with its noise")
        if figure["noise"] not in NOISES or type(figure["tables"]) is not int:
            raise ValueError("a bought figure has a noise of a known law")
    for ways, tables in ((2, found["compared"]["pairs"]), (3, found["compared"]["triples"])):
        for names in listed(tables):
            if len(set(listed(names))) != ways or not set(schema.names).issuperset(names):
                raise ValueError("a compared table names different attributes of the schema")


def _check_network(pairs: list[Any], schema: Schema) -> None:
    variables = {str(axis) for name in schema.names for axis in _variables(schema, name)}
    views = {str(Axis(name, level)) for name in schema.names for level in range(schema[name].levels)}
    children = [pair["attribute"] for pair in pairs]
    if len(set(children)) < len(children) or not variables.issuperset(children):
        raise ValueError("a network names each variable once")
    for parents in (listed(pair["parents"]) for pair in pairs):
        if len(set(parents)) < len(parents) or not (variables | views).issuperset(parents):
            raise ValueError("a parent is a view of an attribute, named once")


def _variables(schema: Schema, name: str) -> list[Axis]:
    bits = range(schema[name].bits)
    return [Axis(name), *(Axis(name, 0, bit, gray) for gray in (False, True) for bit in bits)]
