"""The parts of a release file: taken from a release, and put together again, each checked against the others."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from understudy.models.edition import Edition
from understudy.models.prior_parts import prior_from_parts, prior_parts, tables_from_parts, tables_parts
from understudy.models.ruled_model import free_model, with_rules
from understudy.models.serialization import MAX_TOTAL, details_from_parts, details_parts, with_groups
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.privacy.custodian import refuse_exact
from understudy.privacy.entries import Head
from understudy.relations.history_model import HistoryModel
from understudy.relations.storage import method_model, model_of, parts_of
from understudy.release.card import Card
from understudy.release.documents import listed
from understudy.release.facts import ReleaseFacts, check_facts
from understudy.release.release import Release
from understudy.release.storage import MAX_ATTRIBUTES, Format, StoredRelease, pack
from understudy.schema import Schema
from understudy.schema.files import schema_from_dict


def members_of(release: Release) -> dict[str, bytes]:
    """Return the content of a release's file, by the names of its parts."""
    refuse_exact(release.facts, release.card)
    model, arrays = parts_of(free_model(release.model))
    measured, tables = tables_parts(release.measurements, "measurement")
    arrays |= tables
    body = {"rows": release.rows, "columns": list(release.columns), "facts": release.facts.as_json(), "model": model}
    for name, (parts, more) in (("details", details_parts(release.details)), ("trees", trees_parts(release.trees))):
        if parts:
            body[name] = parts
            arrays |= more
    body |= release.edition.as_json()
    if release.prior is not None:
        body["prior"], more = prior_parts(release.prior)
        arrays |= more
    if release.schema.tables:
        body["tables"] = [[child.name, [a.name for a in child.schema.attributes]] for child in release.schema.tables]
    documents: dict[str, dict[str, Any]] = {
        "schema": release.schema.as_json(),
        "card": release.card.as_json(),
        "model": body,
        "measurements": {"measurements": measured},
    }
    return pack(documents, arrays)


def format_of(release: Release) -> Format:
    """Return the least format of the file that a program must know to read all of the release."""
    schema = release.schema
    needed = {
        Format.PLAIN: True,
        Format.DETAILS: bool(release.details),
        Format.TREES: bool(release.trees),
        Format.RULES: bool(schema.rules or schema.uses),
        Format.HISTORIES: schema.person is not None,
        Format.TABLES: bool(schema.tables),
        Format.PRIOR: release.prior is not None,
        Format.GROUPS: any(a.groups for a in method_model(release.model).schema.attributes),
        Format.CURVES: any(not tree.levels for tree in release.trees),
        Format.TIES: isinstance(model := free_model(release.model), HistoryModel) and bool(model.ties),
        Format.ROUNDING: any(tree.rounding is not None for tree in release.trees),
        Format.SPIKES: any(tree.look is not None or tree.calendar for tree in release.trees),
    }
    return max(format for format, wanted in needed.items() if wanted)


def release_from(stored: StoredRelease) -> Release:
    """Return the release of a file, each part checked against the others before it is unpacked."""
    body = stored.documents["model"]
    columns = tuple(listed(body["columns"]))
    if len(columns) > MAX_ATTRIBUTES or len(columns) != len(stored.documents["schema"]["attributes"]):
        raise ValueError
    schema = _in_order(schema_from_dict(stored.documents["schema"], stored.max_codes), columns)
    schema = _tables_in_order(schema, listed(body.get("tables", [])))
    schema = with_groups(body["model"], schema)
    check_facts(body["facts"], schema)
    measured = listed(stored.documents["measurements"]["measurements"])
    release = Release(
        schema,
        with_rules(model_of(body["model"], stored, schema), schema),
        tables_from_parts(measured, "measurement", stored, schema),
        _whole(body["rows"], 1),
        columns,
        ReleaseFacts.of(body["facts"]),
        Card.from_json(stored.documents["card"]),
        Head(_whole(stored.ledger["seq"]), str(stored.ledger["hash"])),
        details=details_from_parts(listed(body.get("details", [])), stored, schema),
        trees=trees_from_parts(listed(body.get("trees", [])), stored, schema, stored.max_codes),
        prior=prior_from_parts(body["prior"], stored, schema) if "prior" in body else None,
        edition=Edition.of(body),
    )
    # as it was read: written anew, a junction tree may come out in another order with another hash
    release.__dict__["members"] = stored.all_members()
    release.summary()  # it can be shown
    return release


def _whole(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= MAX_TOTAL:
        raise ValueError
    return value


def _in_order(schema: Schema, columns: tuple[str, ...]) -> Schema:
    """Put the attributes, which are written by name, into the order of the original file."""
    if sorted(columns) != sorted(a.name for a in schema.attributes):
        raise ValueError
    return replace(schema, attributes=tuple(schema[name] for name in columns))


def _tables_in_order(schema: Schema, order: list[Any]) -> Schema:
    """Put the child tables, and the attributes of each, into the order of the schema that was published by."""
    known = {child.name: child for child in schema.tables}
    if sorted(name for name, _ in order) != sorted(known):
        raise ValueError
    ordered = [replace(known[name], schema=_in_order(known[name].schema, tuple(columns))) for name, columns in order]
    return replace(schema, tables=tuple(ordered))
