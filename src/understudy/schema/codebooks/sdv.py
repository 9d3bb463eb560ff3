"""SDV metadata: the `sdtype` of each column, usually detected from a data frame. No list and no range is in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.schema.codebooks.document import Document, Reader, TrustClass
from understudy.schema.facts import Facts, Source

_PERSONAL = (
    "name", "first_name", "last_name", "email", "phone_number", "address", "ssn", "street_address", "ipv4_address",
)  # fmt: skip


def _columns(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    tables = tree.get("tables")
    if isinstance(tables, Mapping) and tables:
        parts = [t.get("columns") or t.get("fields") or {} for t in tables.values() if isinstance(t, Mapping)]
        return max(parts, key=len, default={})
    found = tree.get("columns") or tree.get("fields") or {}
    return found if isinstance(found, Mapping) else {}


def _recognises(document: Document) -> bool:
    columns = _columns(document.tree).values()
    if not all(isinstance(c, Mapping) and ("sdtype" in c or "type" in c) for c in columns):
        return False
    return any("sdtype" in c for c in columns) or (bool(columns) and "METADATA_SPEC_VERSION" in document.tree)


def _read(document: Document) -> Source:
    return Source({str(name): _facts(column) for name, column in _columns(document.tree).items()})


def _facts(column: Mapping[str, Any]) -> Facts:
    typed, format = column.get("sdtype") or column.get("type"), column.get("datetime_format")
    if typed == "numerical":
        whole = str(column.get("computer_representation", "")).startswith(("Int", "UInt"))
        return Facts(kind="integer" if whole else "number")
    if typed == "datetime":
        clock = format is None or any(sign in str(format) for sign in ("%H", "%I", "%X", "%c"))
        return Facts(kind="datetime" if clock else "date", format=str(format) if format else None)
    if typed in ("boolean", "id"):
        return Facts(kind=typed)
    return Facts(kind="drop") if typed in _PERSONAL or column.get("pii") else Facts()


SDV = Reader("SDV metadata", TrustClass.INFERRED, _recognises, _read)
