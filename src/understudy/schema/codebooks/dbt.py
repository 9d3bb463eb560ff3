"""dbt: the columns of a schema.yml, with their types and tests (accepted_values, not_null, accepted_range)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from understudy.schema.codebooks.document import Document, Reader, TrustClass, described, texts
from understudy.schema.ddl import kind_of_type
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import LISTED_KINDS


def _tables(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in ("models", "seeds", "snapshots"):
        yield from (t for t in tree.get(key) or () if isinstance(t, Mapping))
    for source in tree.get("sources") or ():
        if isinstance(source, Mapping):
            yield from (t for t in source.get("tables") or () if isinstance(t, Mapping))


def _recognises(document: Document) -> bool:
    return any(isinstance(table.get("columns"), list) for table in _tables(document.tree))


def _read(document: Document) -> Source:
    """Return the columns of the model that describes most of them; the draft names that model."""
    tables = sorted(_tables(document.tree), key=lambda table: -len(table.get("columns") or ()))
    remark = (f"columns are those of the dbt model {tables[0].get('name')}",)
    return Source({str(c["name"]): _facts(c) for c in tables[0]["columns"]}, remarks=remark)


def _facts(column: Mapping[str, Any]) -> Facts:
    tests = dict(_tests(column))
    accepted = tests.get("accepted_values") or {}
    span = next((rule for name, rule in tests.items() if name.endswith("accepted_range")), {})
    between = next((rule for name, rule in tests.items() if name.endswith("_to_be_between")), span)
    kind = kind_of_type(str(column.get("data_type", "")))
    missing = () if "not_null" in tests else ("",)
    if "unique" in tests and not accepted:
        return Facts(kind="id", label=column.get("description"))
    values = texts(accepted.get("values"))
    if kind in LISTED_KINDS and values is None:
        kind = None
    low, high = between.get("min_value"), between.get("max_value")
    if kind is None and low is not None and high is not None:
        kind = "integer" if isinstance(low, int) and isinstance(high, int) else "number"
    return described(kind, values, low, high, missing=missing, label=column.get("description"))


def _tests(column: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each test's name and arguments: `not_null`, `accepted_values: {values: […]}`, maybe with `arguments`."""
    for test in [*(column.get("tests") or ()), *(column.get("data_tests") or ())]:
        if isinstance(test, str):
            yield test, {}
        elif isinstance(test, Mapping):
            for name, rule in test.items():
                rule = rule if isinstance(rule, Mapping) else {}
                yield str(name), {**rule, **(rule.get("arguments") or {})}


DBT = Reader("dbt schema.yml", TrustClass.STATED, _recognises, _read)
