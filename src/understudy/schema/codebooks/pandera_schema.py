"""pandera: a schema of a data frame as YAML, JSON or an object. Often begun by `infer_schema`, so it is asked about."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from understudy.schema.codebooks.document import Document, Reader, TrustClass, described, texts
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import FLAG_KINDS

KINDS: tuple[tuple[str, Kind], ...] = (
    ("int", "integer"), ("uint", "integer"), ("float", "number"), ("decimal", "number"), ("bool", "boolean"),
    ("datetime", "datetime"), ("date", "date"),
)  # fmt: skip


def pandera_document(described: Any) -> Mapping[str, Any] | None:
    """Return the plain form of a pandera schema or model; None for anything else."""
    schema = described.to_schema() if callable(getattr(described, "to_schema", None)) else described
    if not callable(getattr(schema, "to_json", None)) or not hasattr(schema, "columns"):
        return None
    found = json.loads(schema.to_json())
    return found if isinstance(found, Mapping) else None


def _recognises(document: Document) -> bool:
    tree = document.tree
    return tree.get("schema_type") == "dataframe" and isinstance(tree.get("columns"), Mapping)


def _read(document: Document) -> Source:
    return Source({str(name): _facts(column or {}) for name, column in document.tree["columns"].items()})


def _facts(column: Mapping[str, Any]) -> Facts:
    typed = str(column.get("dtype") or "").casefold()
    kind = next((kind for prefix, kind in KINDS if typed.startswith(prefix)), None)
    checks = dict(_checks(column.get("checks")))
    values = None if kind in FLAG_KINDS else texts(checks.get("isin"))
    low, high = checks.get("greater_than_or_equal_to"), checks.get("less_than_or_equal_to")
    if isinstance(span := checks.get("in_range"), Mapping):
        low, high = span.get("min_value"), span.get("max_value")
    missing = ("",) if column.get("nullable") else ()
    label = column.get("title") or column.get("description")
    return described(kind, values, _plain(low), _plain(high), missing=missing, label=label)


def _plain(bound: Any) -> Any:
    return bound.get("value") if isinstance(bound, Mapping) else bound


def _checks(checks: Any) -> Iterator[tuple[str, Any]]:
    """Yield checks: from a table of names, or (newer versions) a list whose entries name their check in `options`."""
    if isinstance(checks, Mapping):
        for name, rule in checks.items():
            yield str(name), rule.get("value", rule) if isinstance(rule, Mapping) else rule
    for check in checks if isinstance(checks, list) else ():
        options = check.get("options") or {}
        rule = {key: value for key, value in check.items() if key != "options"}
        yield str(options.get("check_name")), rule.get("value", rule)


PANDERA = Reader("pandera", TrustClass.INFERRED, _recognises, _read)
