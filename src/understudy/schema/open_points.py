"""Open points: what a draft asks a person, each with a reason in one line.

A point of an attribute stands in its own `confirm`. Points that are settled by one look at many attributes stand in
`confirm` of [table]: which document a list came from is one question, however many lists it gave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from understudy.errors import SchemaError
from understudy.schema.scales import SCALES

if TYPE_CHECKING:
    from understudy.schema.table import Schema

_READ = ", ".join(kind for kind, scale in SCALES.items() if scale.modelled)

TABLE_POINTS = {
    "rows": 'write the true number of rows; or leave `rows` out, with neighbours = "add-remove", which hides it',
    "header": "are these names, or a person's row? If a row: delete this file, and use --no-header or --names FILE",
    "columns": "the columns were counted in the first row: check their number and the delimiter, and name them",
    "decimal": 'are numbers written 3,14 or 3.14? If with a point, write `decimal = "."`; or say --decimal at once',
    "public": "is the public file published already, and not made from this table? See `provenance` below",
    "origin": "was this written before these rows, or from them? If from them it is not public; see `provenance` below",
    "prose": "lists were read from sentences of the codebook, which stand above them: compare",
    "proposed": "domains were proposed by name, label or declared type: look at each `provenance = \"proposed: …\"`",
    "undescribed": "columns that no source describes are left out: declare those that are to be published",
}  # fmt: skip
ATTRIBUTE_POINTS = {
    "kind": f"what is it? {_READ}, id (never read) or drop (left out)",
    "values": "list every value that may occur, from a form or a codebook, not from the rows",
    "range": "write the lowest and highest value that can be meant; what lies outside is clamped",
    "true": "which text means true, which false?",
    "proposed": "a public domain was proposed: is it meant?",
    "prose": "its values were read from the sentence above: compare",
}


def reason(attribute: str, point: str, groups: Mapping[str, Sequence[str]] | None = None) -> str:
    """Return why a point is open, in one line; `groups` are the attributes that a point of [table] is about."""
    known = TABLE_POINTS if attribute == "[table]" else ATTRIBUTE_POINTS
    said = known.get(point, "look at it")
    about = (groups or {}).get(point, ()) if attribute == "[table]" else ()
    shown = ", ".join([*about[:8], *(["…"] if len(about) > 8 else [])])
    return f"{said} ({len(about)}: {shown})" if about else said


def check_confirmed(schema: Schema) -> None:
    """Refuse a draft with open points: it is not a schema yet."""
    if open_points := schema.unconfirmed:
        name, key = open_points[0]
        more = f" ({len(open_points) - 1} more)" if len(open_points) > 1 else ""
        raise SchemaError(
            f"the schema still has open points: {key} of {name!r}{more}. Look at each, correct it, "
            "and take it out of `confirm`",
            attribute=name,
        )
