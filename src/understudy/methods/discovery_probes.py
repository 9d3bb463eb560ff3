"""Probes: the attributes on which rows are coded for discovery, one for each histogram that may be asked.

All are public and fixed before any row is read. `values` needs none but the ledger's fingerprint: texts are grouped.
"""

from __future__ import annotations

from understudy.schema import Attribute, Axis
from understudy.schema.domain import Kind
from understudy.schema.octaves import few_probe, range_probe
from understudy.schema.scales import ordered_scale
from understudy.schema.text_classes import decades, digests, formats
from understudy.schema.undiscovered import Undiscovered

FORMATS, RANGES, FEW_VALUES, LISTS = "formats", "ranges", "few values", "value lists"


def left_open(attribute: Attribute) -> Undiscovered:
    """Return what an attribute leaves to be bought."""
    found = attribute.undiscovered
    assert found is not None
    return found


def probes_of(attribute: Attribute, decimal: str) -> list[Attribute]:
    """Return the attributes that are coded in the place of one that is left open."""
    domain, name, missing = attribute.undiscovered, attribute.name, attribute.missing
    if domain is None:
        return [attribute]
    few = few_probe(_probe(name, FEW_VALUES), missing, name)
    if domain.what == "range":
        kind = domain.declared_kind
        assert kind is not None
        octaves = range_probe(_probe(name, RANGES), kind, domain.body.get("format"), missing, name)
        return [octaves, few] if domain.whole_numbers else [octaves]
    digest = Attribute(_probe(name, "digests"), digests(), read_from=name)  # not asked for: the ledger's fingerprint
    if domain.what == "values":
        return [digest]
    classes = Attribute(_probe(name, FORMATS), formats(decimal), read_from=name)
    octaves = range_probe(_probe(name, "octaves"), "number", None, missing, name)
    return [classes, octaves, few, Attribute(_probe(name, "decades"), decades(), read_from=name), digest]


def probe_axis(attribute: Attribute, what: str) -> Axis:
    """Return the histogram of an attribute's formats (FORMATS), or of small whole numbers (FEW_VALUES)."""
    return Axis(_probe(attribute.name, what))


def range_axis(attribute: Attribute, kind: Kind) -> Axis:
    """Return the histogram that has the range of this kind."""
    if left_open(attribute).what == "range":
        return probe_axis(attribute, RANGES)
    return probe_axis(attribute, "octaves" if ordered_scale(kind).arithmetic else "decades")


def range_edges(attribute: Attribute, kind: Kind) -> tuple[float, ...]:
    """Return the edges of that histogram's cells, on the scale of the kind."""
    scale = ordered_scale(kind)
    if scale.arithmetic and left_open(attribute).what != "range":
        scale = ordered_scale("number")
    return scale.search_edges()


def _probe(name: str, what: str) -> str:
    return f"{name} ({what})"
