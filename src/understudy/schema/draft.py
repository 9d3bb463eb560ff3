"""A draft: the text of a schema.toml from public things only. Whatever they leave open is marked `confirm`.

No function of this file opens the private table; names and types are handed in (`header.py` reads them). What a name or
a type may still tell about the rows is an open point too: see `docs/decisions/0016-what-init-reads.md`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from understudy.errors import SchemaError
from understudy.schema import toml_text as toml
from understudy.schema.attribute_lines import domain_lines, with_words
from understudy.schema.codebooks import read_codebook
from understudy.schema.codebooks.prose import PROSE
from understudy.schema.column_names import Origin, check_unique
from understudy.schema.ddl import read_ddl
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.files import parse_schema
from understudy.schema.open_points import ATTRIBUTE_POINTS, reason
from understudy.schema.public_domains import propose, unread_column
from understudy.schema.public_file import read_public
from understudy.schema.scales import FLAG_KINDS, LISTED_KINDS, ORDERED_KINDS, SCALES, UNREAD_KINDS

_PUBLIC = "public (declared)"
_TYPED_KIND = "the kind follows the file's type, which a program may have inferred from rows: is it so by a codebook?"
_TOLD: dict[Origin, tuple[str, str]] = {
    "declared": ("from public things only", "no row was read"),
    "listed": ("from public things only", "of the rows, the first one's cells were counted"),
    "numbered": ("from public things only", "of the rows, the first one's cells were counted"),
    "first line": ("from the table's first line, taken to name its columns", "no other line was read"),
    "footer": ("from the names and types in the file's footer", "no row was read"),
}


@dataclass(frozen=True)
class Drafted:
    """The text of a schema.toml, and the attributes that each open point of [table] is about."""

    text: str
    groups: Mapping[str, tuple[str, ...]]


def drafted(
    names: Sequence[str],
    types: Mapping[str, str] | Sequence[str] | None = None,
    codebook: str | Path | Source | None = None,
    ddl: str | Path | None = None,
    public: str | Path | None = None,
    table_name: str = "table",
    settings: Mapping[str, str] | None = None,
    origin: Origin = "declared",
    inside: Source | None = None,
    grouped: bool = True,
) -> Drafted:
    """Return a draft for a table with these columns.

    `types` are Arrow type names; `settings` are what the header showed of the CSV dialect; `origin` says what vouches
    for the names; `inside` is what the private file says about its own columns. A codebook is stronger than DDL, DDL
    than the file's own words, these than types, types than a public file; a public domain is proposed for what is left.
    With `grouped` a look at many attributes is one open point of [table], else each attribute has a point of its own.
    """
    if not names or any(not name.strip() for name in names):
        raise SchemaError("every column needs a name: the header is empty, or one of its names is")
    check_unique(names, "the header")
    inside = inside or Source()
    book = codebook if isinstance(codebook, Source) else Source() if codebook is None else read_codebook(Path(codebook))
    table = {"name": table_name, **(settings or {}), **book.table}
    declared = read_ddl(Path(ddl), names, table["name"]) if ddl is not None else Source()
    seen = read_public(Path(public), names, "header" in table) if public is not None else Source()
    sources = [Path(p).name for p in (codebook, ddl, public) if isinstance(p, str | Path)]
    remarks = [*book.remarks, *declared.remarks]
    typed = _typed(names, types)
    book, misspelt = book.respelt(names)
    remarks += [*misspelt, *_unused(book, names)]
    columns = [
        _column(name, [source.about(name) for source in (book, declared, inside)], typed.about(name), seen.about(name))
        for name in names
    ]
    groups = _groups(columns) if grouped else {}
    points = [{"numbered": "columns", "first line": "header", "footer": "header"}.get(origin, "")]
    points += ["public" if any(column.facts.source == _PUBLIC for column in columns) else ""]
    points += [point for point in ("origin",) if point in (*book.points, *inside.points)] + [*groups]
    head = _head(f"{told(origin, compared=public is not None)}.", sources, remarks)
    blocks = [head, _table_block(table, list(dict.fromkeys(filter(None, points))), groups)]
    blocks += [_block(column, grouped) for column in columns]
    text = "\n".join(line for block in blocks for line in [*block, ""]).rstrip("\n") + "\n"
    _check(text)
    return Drafted(text, groups)


def _unused(book: Source, names: Sequence[str]) -> list[str]:
    known = Source(dict.fromkeys(names, Facts(label="x")))
    unused = [name for name in book.attributes if known.about(name).label is None]
    return [f"the codebook also describes {', '.join(unused)}, not in the header"] if unused else []


def _groups(columns: Sequence[_Column]) -> dict[str, tuple[str, ...]]:
    """Return the attributes that a person settles with one look, by the point of [table] that asks for it."""
    points = ("prose", "proposed", "undescribed")
    found = {point: tuple(column.name for column in columns if column.group == point) for point in points}
    return {point: about for point, about in found.items() if about}


def told(origin: Origin, compared: bool) -> str:
    """Return what a draft was made from, and what of the private table was read for it."""
    source, rows = _TOLD[origin]
    return f"{source}; {'rows were read only to see that the public file is no copy of them' if compared else rows}"


def _check(text: str) -> None:
    try:
        parse_schema(text)
    except SchemaError as error:
        raise SchemaError(
            f"the public sources do not make a schema: {error.message}", attribute=error.attribute
        ) from None


def _head(told: str, sources: list[str], remarks: list[str]) -> list[str]:
    return [
        toml.comment(f"Drafted by `understudy init` {told}"),
        *([toml.comment(f"Public sources: {', '.join(sources)}.")] if sources else []),
        "# Settle each point marked `confirm` from public knowledge, then delete its `confirm` line:",
        "# `publish` refuses while one is left. Where cells may be empty, add `missing = true`.",
        *(toml.comment(remark) for remark in remarks),
    ]


def _table_block(table: Mapping[str, str], points: list[str], groups: Mapping[str, tuple[str, ...]]) -> list[str]:
    lines = ["[table]", f"name = {toml.string(table['name'])}"]
    if "account" in table:
        lines.append(f"account = {toml.string(table['account'])}")
    neighbours = table.get("neighbours", "replace-one")
    if neighbours != "add-remove":
        lines.append(f"rows = {_count(table, 'rows')}")
    note = '"add-remove" hides the row count too: then leave `rows` out'
    lines.append(toml.remarked(f"neighbours = {toml.string(neighbours)}", note))
    if "rows_max" in table:
        lines.append(f"rows_max = {_count(table, 'rows_max')}")
    most = f"rows_per_person = {_count(table, 'rows_per_person')}"
    lines.append(toml.remarked(most, "the most rows one person can have"))
    if neighbours != "add-remove" and "rows" not in table:
        points = ["rows", *points]
    if _may_have_commas(table):
        points = [*points, "decimal"]
    if points:
        todo = "; ".join(reason("[table]", point, groups) for point in points)
        lines.append(toml.remarked(f"confirm = {toml.strings(points)}", todo))
    table = {**table, "decimal": ","} if _may_have_commas(table) else table
    keys = [key for key in ("delimiter", "encoding", "decimal") if key in table]
    dialect = [f"{key} = {toml.string(table[key])}" for key in keys]
    dialect += ["header = false"] if "header" in table else []
    dialect += [toml.remarked("trim = true", "blanks at the ends of cells are left out")] if "trim" in table else []
    lines += ["", "[table.csv]", *dialect] if dialect else []
    return lines


def _may_have_commas(table: Mapping[str, str]) -> bool:
    """Return whether numbers may be written 3,14: cells are cut by `;`, and no source names the decimal sign."""
    return table.get("delimiter") == ";" and "decimal" not in table


def _count(table: Mapping[str, str], key: str) -> str:
    text = table.get(key, "1")
    if not text.isdecimal():
        raise SchemaError(f"`{key}` in the codebook's [table] must be a whole number")
    return text


def _typed(names: Sequence[str], types: Mapping[str, str] | Sequence[str] | None) -> Source:
    if types is None:
        return Source()
    pairs = dict(types) if isinstance(types, Mapping) else dict(zip(names, types, strict=True))
    return Source({name: Facts(kind=_kind_of_type(str(typed))) for name, typed in pairs.items()})


def _kind_of_type(typed: str) -> Kind | None:
    read = {kind: scale.file_types for kind, scale in SCALES.items() if scale.file_types}
    return next((kind for kind, types in read.items() if re.fullmatch(types, typed.lower())), None)


@dataclass(frozen=True)
class _Column:
    """An attribute of the draft: its facts, its own open points, and the point that it shares with other attributes."""

    name: str
    facts: Facts
    confirm: tuple[str, ...] = ()
    group: str | None = None
    reason: str | None = None

    @property
    def ungrouped(self) -> tuple[str, ...]:
        """Return the points of a draft that asks for each attribute by itself."""
        own = {"prose": "prose", "proposed": "proposed", "undescribed": "kind"}.get(self.group or "")
        return self.confirm if own is None or own in self.confirm else (own, *self.confirm)


def _column(name: str, stated: Sequence[Facts], typed: Facts, seen: Facts) -> _Column:
    """Return a column's facts: what documents state, else the file's type, else a public file, else a public domain."""
    known = Facts()
    for facts in stated:
        known = known.over(facts)
    known = replace(known, source=next((f.source for f in stated if f.source and _says_domain(f)), None))
    if (unread := unread_column(name, known)) is not None:  # whatever type the file has for it
        filled = replace(unread.facts, source=f"proposed: {unread.domain}", label=known.label)
        return _Column(name, filled, (), "proposed", unread.reason)
    facts = known.over(typed).over(replace(seen, source=None))
    confirm = ("kind",) if known.kind is None and typed.kind is not None else ()
    reason = _TYPED_KIND if confirm else None
    if _is_public(facts, known.over(typed)):
        return _Column(name, replace(facts, source=_PUBLIC), confirm, None, reason)
    if _lacks_domain(facts):
        if (proposal := propose(name, facts)) is not None:
            kind = facts.kind or proposal.facts.kind
            filled = replace(_with_empty(facts.over(proposal.facts)), kind=kind, source=f"proposed: {proposal.domain}")
            return _Column(name, filled, confirm, "proposed", f"{proposal.domain}, {proposal.reason}")
        if facts.kind not in ORDERED_KINDS:
            # a list that nobody has written down: leaving the column out is safe, a guess is not
            said = (
                "no source describes it" if facts.kind is None else "a text column, of which no source lists the values"
            )
            return _Column(name, Facts(kind="drop", label=facts.label), (), "undescribed", said)
        return _Column(name, facts, (*confirm, "range"), None, reason)
    if facts.kind in FLAG_KINDS:
        facts, sure = with_words(facts)
        confirm = confirm if sure else (*confirm, "true")
    if facts.source == PROSE:
        return _Column(name, _with_empty(facts), confirm, "prose", reason)
    return _Column(name, facts, confirm, None, reason)


def _with_empty(facts: Facts) -> Facts:
    """Return the facts with empty cells allowed, unless a source says that none is empty.

    A domain that was guessed from a column's meaning says nothing about empty cells.
    """
    if facts.missing == () or "" in (facts.missing or ()):
        return facts
    return replace(facts, missing=(*(facts.missing or ()), ""))


def _says_domain(facts: Facts) -> bool:
    return bool(facts.kind or facts.values or facts.has_range or facts.low or facts.high or facts.true)


def _lacks_domain(facts: Facts) -> bool:
    """Return whether nobody has said which values there are."""
    if facts.kind in ORDERED_KINDS:
        return not facts.has_range
    return facts.kind is None or (facts.kind in LISTED_KINDS and not facts.values)


def _is_public(facts: Facts, known: Facts) -> bool:
    """Return whether the domain itself was read from the public file."""
    if facts.kind in LISTED_KINDS:
        return known.values is None and bool(facts.values)
    return facts.kind in ORDERED_KINDS and not known.has_range and facts.has_range


def _block(column: _Column, grouped: bool) -> list[str]:
    """Return the lines of one attribute."""
    name, facts = column.name, column.facts
    lines = [f"[attributes.{toml.key(name)}]"]
    if facts.label:
        lines.append(toml.comment(facts.label))
    kind = f"kind = {toml.string(str(facts.kind))}"
    lines.append(toml.remarked(kind, column.reason) if column.group == "undescribed" and column.reason else kind)
    lines += domain_lines(name, facts)
    if facts.kind not in UNREAD_KINDS:
        if facts.missing:
            lines.append(f"missing = {'true' if facts.missing == ('',) else toml.strings(facts.missing)}")
        if facts.other is not None:
            lines.append(f"other = {toml.string(facts.other)}")
    if facts.source is not None:
        line = f"provenance = {toml.string(facts.source)}"
        lines.append(toml.remarked(line, column.reason) if column.group == "proposed" and column.reason else line)
    confirm = column.confirm if grouped else column.ungrouped
    if confirm:
        asked = [column.reason if point == "kind" and column.confirm and column.reason else None for point in confirm]
        todo = "; ".join(said or ATTRIBUTE_POINTS[point] for point, said in zip(confirm, asked))
        lines.append(toml.remarked(f"confirm = {toml.strings(confirm)}", todo))
    if facts.takes("taxonomy") and isinstance(facts.groups, Mapping):
        lines += toml.groups(f"attributes.{toml.key(name)}.taxonomy", facts.groups)
    return lines
