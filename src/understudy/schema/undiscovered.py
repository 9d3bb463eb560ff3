"""What a schema leaves to be bought: attributes with `values`, `range` or `kind` = "discover".

Until it is bought such an attribute has no codes and takes no part in anything, like one that is dropped. Its body is
kept as it was written: what is bought is filled in there, and the ordinary reader of schemas reads the result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from understudy.errors import SchemaError
from understudy.schema.domain import Kind
from understudy.schema.scales import DISCOVERABLE_KINDS, LISTED_KINDS, WHOLE_KINDS
from understudy.schema.scales.identifiers import Dropped

DISCOVER = "discover"
PAID = "paid"  # the provenance of what was bought
What = Literal["kind", "range", "values"]
_LISTED_KEYS = ("kind", "missing", "other", "confirm", "provenance", "values")
_KINDLESS_KEYS = ("kind", "missing", "confirm", "provenance")
_RANGE_KEYS = ("kind", "missing", "other", "confirm", "provenance", "range", "bins", "step", "decimals", "format")


@dataclass(frozen=True)
class Undiscovered(Dropped):
    """A domain that is to be bought: what of it, and the rest as it was declared."""

    what: What = "kind"
    text: str = "{}"  # the body of the attribute, as JSON

    @property
    def body(self) -> dict[str, Any]:
        """Return the body of the attribute as it was declared."""
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def declared_kind(self) -> Kind | None:
        """Return the kind, unless that is to be bought too."""
        return None if self.what == "kind" else str(self.body["kind"])

    @property
    def whole_numbers(self) -> bool:
        """Return whether the column was declared to hold whole numbers."""
        return self.declared_kind in WHOLE_KINDS


def asks_for(body: Mapping[str, Any]) -> What | None:
    """Return what an attribute's body leaves to be bought, None for one that is declared whole."""
    return next((key for key in get_args(What) if body.get(key) == DISCOVER), None)


def undiscovered(body: Mapping[str, Any], what: What) -> Undiscovered:
    """Return the domain of an attribute of which `what` is to be bought; refuse keys that make no sense beside that."""
    kind = body.get("kind")
    wanted: dict[What, tuple[str, ...]] = {"kind": (DISCOVER,), "range": DISCOVERABLE_KINDS, "values": LISTED_KINDS}
    if kind not in wanted[what]:
        raise SchemaError(f'{what} = "discover" goes with kind = {" or ".join(map(repr, wanted[what]))}')
    known = {"kind": _KINDLESS_KEYS, "range": _RANGE_KEYS, "values": _LISTED_KEYS}[what]
    for key in body:
        if key not in known:
            raise SchemaError(
                f'`{key}` cannot be declared beside {what} = "discover": it is about something that is not known yet'
            )
    if what == "range" and body.get("bins") not in (None, "auto"):
        raise SchemaError('range = "discover" has its bins found too: leave `bins` out')
    return Undiscovered(what, json.dumps(dict(body), sort_keys=True))
