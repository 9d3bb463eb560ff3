"""Facts of a release: which network was chosen, or which tables were measured together. Shown, never computed with."""

from __future__ import annotations

from typing import Any

from understudy.schema import Axis, Schema


def check_facts(facts: dict[str, Any], schema: Schema) -> None:
    """Raise a ValueError unless what pages and summaries show of the facts speaks of this schema.

    A network names each variable once, with different parents; names are those of `str(axis)`.
    """
    if pairs := _listed(facts.get("network", [])):
        _check_network(pairs, schema)
    if not all(isinstance(name, str) for table in _listed(facts.get("tables", [])) for name in _listed(table)):
        raise ValueError("a table is a list of names")


def _check_network(pairs: list[Any], schema: Schema) -> None:
    variables = {str(axis) for name in schema.names for axis in _variables(schema, name)}
    views = {str(Axis(name, level)) for name in schema.names for level in range(schema[name].levels)}
    children = [pair["attribute"] for pair in pairs]
    if len(set(children)) < len(children) or not variables.issuperset(children):
        raise ValueError("a network names each variable once")
    for parents in (_listed(pair["parents"]) for pair in pairs):
        if len(set(parents)) < len(parents) or not (variables | views).issuperset(parents):
            raise ValueError("a parent is a view of an attribute, named once")


def _variables(schema: Schema, name: str) -> list[Axis]:
    bits = range(schema[name].bits)
    return [Axis(name), *(Axis(name, 0, bit, gray) for gray in (False, True) for bit in bits)]


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("this is not a list")
    return value
