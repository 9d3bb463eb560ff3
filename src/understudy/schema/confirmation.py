"""Confirmation: a person has looked at every point that `init` left open."""

from __future__ import annotations

from understudy.errors import SchemaError
from understudy.schema.table import Schema


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
