"""Uses: what the intended analyses of a schema name."""

from __future__ import annotations

from understudy.errors import UsageError
from understudy.schema import Schema


def check_uses(schema: Schema) -> None:
    """Refuse uses that name what is no attribute."""
    for name in {name for use in schema.uses for name in (*use.names, use.target) if name}:
        if schema.find(name) is None:
            raise UsageError(f"the uses of this schema name {name!r}, which is no attribute")
