"""The view of a schema: its columns, those of the tables below it, and what else it declares."""

from __future__ import annotations

from understudy.report.markup import Child, Markup, join, shortened, tag
from understudy.report.numerals import count, listed, plural
from understudy.report.page import tiles
from understudy.report.parts import heading, plain_table
from understudy.report.tables import belonging, modelled_in_all
from understudy.schema import Attribute, Schema
from understudy.schema.undiscovered import PAID
from understudy.schema.uses import Use

MAX_LISTED = 60  # attributes of a table
MAX_RULES = 20
_LONGEST = 70


def schema_view(schema: Schema) -> Markup:
    rows = count(schema.rows) if schema.rows else "private"
    figures = [
        (str(modelled_in_all(schema) + len(schema.undiscovered)), "attributes modelled"), (rows, "rows"),
        (schema.neighbours, "neighbours"), (_unit(schema), "unit of protection"), (schema.account, "account"),
    ]  # fmt: skip
    open_points = [f"{key} of {name}" for name, key in schema.unconfirmed]
    confirm = tag("p", f"Still to confirm: {', '.join(open_points[:12])}", class_="warning") if open_points else None
    return join([
        heading("schema", schema.name, _origin(schema)), tiles(*figures), confirm, *_person(schema),
        *_columns(schema), *_below(schema), *_rules(schema), *_uses(schema),
    ])  # fmt: skip


def _unit(schema: Schema) -> str:
    if schema.tables:
        return f"row of {schema.name} and what belongs to it"
    return "row" if schema.rows_per_person == 1 else f"person, up to {schema.rows_per_person} rows"


def _origin(schema: Schema) -> str:
    if schema.undiscovered:
        names = listed([a.name for a in schema.undiscovered])
        return (
            f"All of this is public. What it leaves open of {names} is bought when it is published, out of its epsilon."
        )
    paid = [a.name for a in schema.attributes if a.provenance == PAID]
    if paid:
        return f"All of this is public: declared, or bought with noise out of an epsilon ({listed(paid)})."
    return "All of this is public: nothing here was read from the rows."


def _person(schema: Schema) -> list[Markup]:
    if schema.person is None:
        return []
    person = schema.person
    same = f" One value for a person: {listed(person.constant)}." if person.constant else ""
    words = f"Rows with the same {person.id} are one person's, in the order of {person.order}.{same}"
    return [tag("p", words)]


def _columns(schema: Schema) -> list[Markup]:
    shown = schema.attributes[:MAX_LISTED]
    lines: list[list[Child]] = [
        [tag("b", a.name), _kind(a), shortened(_values(a), _LONGEST), _marks(a, schema), _codes(a)] for a in shown
    ]
    more = len(schema.attributes) - len(shown)
    rest = [tag("p", plural(more, "more attribute"), class_="source")] if more > 0 else []
    return [plain_table(["attribute", "kind", "values", "", "codes"], lines, 1), *rest]


def _below(schema: Schema) -> list[Markup]:
    said = dict(belonging(schema))
    return [
        part
        for child in schema.tables
        for part in (
            tag("h2", child.name),
            tag("p", f"{said[child.name]}."),
            *_columns(child.schema),
        )
    ]


def _rules(schema: Schema) -> list[Markup]:
    if not schema.rules:
        return []
    lines = [tag("li", tag("code", rule.text)) for rule in schema.rules[:MAX_RULES]]
    more = len(schema.rules) - len(lines)
    rest = [tag("p", plural(more, "more rule"), class_="source")] if more > 0 else []
    return [tag("h2", "Rules that every synthetic row meets"), tag("ul", *lines), *rest]


def _uses(schema: Schema) -> list[Markup]:
    if not schema.uses:
        return []
    return [tag("h2", "What it is meant for"), tag("ul", *(tag("li", _use(use)) for use in schema.uses[:MAX_RULES]))]


def _use(use: Use) -> str:
    if not use.target:
        return f"a table of {listed(use.names)}"
    return f"predicting {use.target} from {listed(use.names) if use.names else 'all other columns'}"


def _kind(attribute: Attribute) -> str:
    if attribute.undiscovered is not None:
        return attribute.undiscovered.declared_kind or "to be bought"
    return attribute.kind


def _codes(attribute: Attribute) -> str:
    return f"{attribute.size:,}" if attribute.modelled else "–"


def _values(attribute: Attribute) -> str:
    if attribute.undiscovered is not None:
        return "range to be bought" if attribute.undiscovered.what == "range" else "values to be bought"
    if not attribute.modelled:
        return "fresh numbers on output" if attribute.published else "not published"
    labels = attribute.labels
    if len(labels) <= 6:
        return ", ".join(labels)
    ways = (f"{', '.join(labels[:first])}, … {labels[-1]}" for first in (3, 2, 1))
    return next((words for words in ways if len(words) <= _LONGEST), f"{labels[0]}, …")


def _marks(attribute: Attribute, schema: Schema) -> str:
    levels = attribute.levels - 1 if attribute.modelled else 0
    marks = [f"taxonomy, {plural(levels, 'level')}"] if levels > 0 else []
    marks += ["bins by a noisy tree"] if attribute.name in {a.name for a in schema.unbinned} else []
    marks += ["bought"] if attribute.provenance == PAID else []
    return ", ".join(marks + (["may be missing"] if attribute.modelled and attribute.has_missing else []))
