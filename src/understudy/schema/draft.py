"""A draft: the text of a schema.toml from public things only. Whatever they leave open is marked `confirm`.

No function of this file opens the private table; names and types are handed in (`header.py` reads them). What a name or
a type may still tell about the rows is an open point too: see `docs/decisions/0016-what-init-reads.md`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from understudy.errors import SchemaError
from understudy.schema import toml_text as toml
from understudy.schema.codebook import read_codebook
from understudy.schema.column_names import Origin, check_unique
from understudy.schema.ddl import read_ddl
from understudy.schema.domain import Booleans, Kind
from understudy.schema.facts import MOVED, Facts, Source, number_of
from understudy.schema.files import parse_schema
from understudy.schema.moment import date_of, datetime_of, parse_moment
from understudy.schema.public_file import read_public
from understudy.schema.tree_grid import MIN_VALUES

_TRUE_WORDS = ("true", "yes", "y", "ja", "j", "oui", "o", "si", "sí", "s", "wahr", "t", "1")
_FALSE_WORDS = ("false", "no", "n", "nein", "non", "falsch", "f", "0")
_TYPES: tuple[tuple[str, Kind], ...] = (
    (r"u?int\d*", "integer"),
    (r"decimal\d*\(\d+, 0\)", "integer"),
    (r"float\d*|double|halffloat|decimal.*", "number"),
    (r"bool(ean)?", "boolean"),
    (r"timestamp.*|datetime.*", "datetime"),
    (r"date\d*.*", "date"),
    (r"(large_)?string(_view)?|large_utf8|utf8|str|object|dictionary.*|category|categorical.*|enum.*", "category"),
)
_PUBLIC = 'provenance = "public (declared)"'
_PLACEHOLDER = {"integer": ("0", "100"), "number": ("0", "100")}
_DAYS = ("2000-01-01", "2030-01-01")
_TODO = {
    "kind": "what is it? integer, number, category, boolean, date, datetime, id (never read) or drop (left out)",
    "values": "list every value that may occur, from a form or a codebook, not from the rows",
    "range": "write the lowest and highest value that can be meant; what lies outside is clamped",
    "true": "which text means true, which false?",
}
_TYPED_KIND = "the kind follows the file's type, which a program may have inferred from rows: is it so by a codebook?"
_TABLE_TODO = {
    "rows": "write the true number of rows, or make it private as said above",
    "header": "are these names, or a person's row? If a row: delete this file, and use --no-header or --names FILE",
    "columns": "the columns were counted in the first row: check their number and the delimiter, and name them",
    "public": "is the public file published already, and not made from this table? See `provenance` below",
}
_TOLD: dict[Origin, tuple[str, str]] = {
    "declared": ("from public things only", "no row was read"),
    "listed": ("from public things only", "of the rows, the first one's cells were counted"),
    "numbered": ("from public things only", "of the rows, the first one's cells were counted"),
    "first line": ("from the table's first line, taken to name its columns", "no other line was read"),
    "footer": ("from the names and types in the file's footer", "no row was read"),
}


def draft(
    names: Sequence[str],
    types: Mapping[str, str] | Sequence[str] | None = None,
    codebook: str | Path | None = None,
    ddl: str | Path | None = None,
    public: str | Path | None = None,
    table_name: str = "table",
    settings: Mapping[str, str] | None = None,
    origin: Origin = "declared",
) -> str:
    """Return the text of a schema.toml for a table with these columns.

    `types` are Arrow type names; `settings` are what the header showed of the CSV dialect; `origin` says what vouches
    for the names. A codebook is stronger than DDL, DDL than declared types, types than a public file.
    """
    if not names or any(not name.strip() for name in names):
        raise SchemaError("every column needs a name: the header is empty, or one of its names is")
    check_unique(names, "the header")
    book = read_codebook(Path(codebook)) if codebook is not None else Source()
    table = {"name": table_name, **(settings or {}), **book.table}
    declared = read_ddl(Path(ddl), names, table["name"]) if ddl is not None else Source()
    seen = read_public(Path(public), names, "header" in table) if public is not None else Source()
    stated = {name: book.about(name).over(declared.about(name)) for name in names}
    sources = [Path(p).name for p in (codebook, ddl, public) if p is not None]
    unused = [name for name in book.attributes if all(name.casefold() != n.casefold() for n in names)]
    remarks = [*book.remarks, *declared.remarks]
    remarks += [f"the codebook also describes {', '.join(unused)}, not in the header"] if unused else []
    typed = _typed(names, types)
    bodies = [_block(name, stated[name], typed.about(name), seen.about(name)) for name in names]
    points = [{"numbered": "columns", "first line": "header", "footer": "header"}.get(origin, "")]
    points.append("public" if any(_PUBLIC in body for body in bodies) else "")
    head = _head(f"{told(origin, compared=public is not None)}.", sources, remarks)
    blocks = [head, _table_block(table, list(filter(None, points))), *bodies]
    text = "\n".join(line for block in blocks for line in [*block, ""]).rstrip("\n") + "\n"
    _check(text)
    return text


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


def _table_block(table: Mapping[str, str], points: list[str]) -> list[str]:
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
    lines.append(
        toml.remarked(f"rows_per_person = {_count(table, 'rows_per_person')}", "the most rows one person can have")
    )
    if neighbours != "add-remove" and "rows" not in table:
        points = ["rows", *points]
    if points:
        todo = "; ".join(_TABLE_TODO[point] for point in points)
        lines.append(toml.remarked(f"confirm = {toml.strings(points)}", todo))
    keys = [key for key in ("delimiter", "encoding", "decimal") if key in table]
    dialect = [f"{key} = {toml.string(table[key])}" for key in keys]
    dialect += ["header = false"] if "header" in table else []
    lines += ["", "[table.csv]", *dialect] if dialect else []
    if table.get("delimiter") == ";" and "decimal" not in table:
        lines.append('# decimal = ","                 if numbers are written 3,14')
    return lines


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
    return next((kind for pattern, kind in _TYPES if re.fullmatch(pattern, typed.lower())), None)


def _block(name: str, stated: Facts, typed: Facts, seen: Facts) -> list[str]:
    """The lines of one attribute: what documents state, else the file's type, else what a public file shows."""
    known = stated.over(typed)
    facts, confirm = _settle(name, known.over(seen))
    todo = dict(_TODO)
    if stated.kind is None and typed.kind is not None:
        confirm, todo = ["kind", *confirm], {**todo, "kind": _TYPED_KIND}
    lines = [f"[attributes.{toml.key(name)}]"]
    if facts.label:
        lines.append(toml.comment(facts.label))
    lines += [f"kind = {toml.string(str(facts.kind))}", *_domain_lines(name, facts)]
    if facts.kind not in ("id", "drop"):
        if facts.missing:
            lines.append(f"missing = {'true' if facts.missing == ('',) else toml.strings(facts.missing)}")
        if facts.other is not None:
            lines.append(f"other = {toml.string(facts.other)}")
        if _is_public(facts, known):
            lines.append(_PUBLIC)
    if confirm:
        lines.append(toml.remarked(f"confirm = {toml.strings(confirm)}", "; ".join(todo[point] for point in confirm)))
    if facts.kind == "category" and isinstance(facts.groups, Mapping):
        lines += toml.groups(f"attributes.{toml.key(name)}.taxonomy", facts.groups)
    return lines


def _is_public(facts: Facts, known: Facts) -> bool:
    """Whether the domain itself was read from the public file."""
    if facts.kind == "category":
        return known.values is None and facts.values != ("?",)
    return facts.kind in MOVED and not known.has_range and facts.has_range


def _settle(name: str, facts: Facts) -> tuple[Facts, list[str]]:
    """The facts with a placeholder for each open point, and those points."""
    confirm: list[str] = []
    if facts.kind is None:
        looks_like_id = re.search(r"(^|[_\s-])(id|uuid|guid)$|[a-z]I[dD]$", name) or name.casefold() in ("id", "key")
        facts, confirm = replace(facts, kind="id" if looks_like_id else "category"), ["kind"]
    if facts.kind == "category" and not facts.values:
        return replace(facts, values=("?",), groups=None), [*confirm, "values"]
    if facts.kind == "boolean":
        facts, known = _boolean(facts)
        return facts, confirm if known else [*confirm, "true"]
    if facts.kind in MOVED and not facts.has_range:
        return facts, [*confirm, "range"]
    return facts, confirm


def _boolean(facts: Facts) -> tuple[Facts, bool]:
    """Which of two listed texts means true, and whether that is known."""
    if (facts.true and facts.false) or not facts.values:
        return facts, True
    true = tuple(v for v in facts.values if v.casefold() in _TRUE_WORDS)
    false = tuple(v for v in facts.values if v.casefold() in _FALSE_WORDS)
    if true and false and len(true) + len(false) == len(facts.values):
        return replace(facts, true=true, false=false), True
    return replace(facts, true=facts.values[:1], false=facts.values[1:] or ("?",)), False


def _domain_lines(name: str, facts: Facts) -> list[str]:
    if facts.kind == "category":
        groups = [f"taxonomy = {toml.string(facts.groups)}"] if isinstance(facts.groups, str) else []
        return [f"values = {toml.strings(facts.values or ())}", *groups]
    if facts.kind == "id" and facts.pattern is not None:
        return [f"pattern = {toml.string(facts.pattern)}"]
    if facts.kind == "boolean":
        return _boolean_lines(facts)
    if facts.kind in MOVED:
        return _range_lines(name, facts)
    return []


def _boolean_lines(facts: Facts) -> list[str]:
    """The words for true and false; where nobody says which, the usual ones, since the first of each is written."""
    if facts.true or facts.false:
        return [f"{key} = {toml.strings(texts)}" for key in ("true", "false") if (texts := getattr(facts, key))]
    usual = Booleans()
    note = "put the word that the file uses first: it is written"
    return [
        toml.remarked(f"true = {toml.strings(usual.true)}", note),
        toml.remarked(f"false = {toml.strings(usual.false)}", note),
    ]


def _range_lines(name: str, facts: Facts) -> list[str]:
    """The lines of an ordered domain; where nobody says how to cut a long range, a noisy tree finds its bins."""
    points = [_literal(name, point, facts) for point in facts.points or ()]
    lines = [f"points = {toml.array(points)}"] if points else []
    if facts.format is not None:
        lines.append(f"format = {toml.string(facts.format)}")
    if facts.kind == "number" and facts.decimals is not None:
        lines.append(f"decimals = {facts.decimals}")
    if (step := _step(facts)) is not None:
        lines.append(f"step = {_show(step, replace(facts, kind='number'))}")
    if facts.edges is not None:
        return [f"edges = {toml.array([_literal(name, edge, facts) for edge in facts.edges])}", *lines]
    low, high = _ends(name, facts)
    span = f"range = [{_literal(name, low, facts)}, {_literal(name, high, facts)}]"
    if facts.bins is not None:
        return [span, f"bins = {facts.bins}", *lines]
    width, unit = _place(name, high, facts) - _place(name, low, facts), _unit(facts)
    if unit is not None and width / unit < MIN_VALUES:
        each = [] if step is not None else [f"step = {_show(unit, facts)}"]
        return [span, *each, *lines[len(points) > 0 :]]  # one cell a multiple
    if unit is not None or facts.kind in ("number", "datetime") or width >= MIN_VALUES:
        return [toml.remarked(span, "its bins are found from noisy counts; `bins` or `edges` would fix them"), *lines]
    return [span, *lines[len(points) > 0 :]]  # one cell a value: a point would be that cell again


def _step(facts: Facts) -> float | None:
    """The step that a source states, for kinds that have one."""
    if facts.step is None or facts.kind not in ("integer", "number", "datetime"):
        return None
    if not 0 < (step := number_of(facts.step)) < math.inf:
        raise SchemaError(f"the public sources give the step {facts.step!r}, which is no number above 0")
    return step


def _unit(facts: Facts) -> float | None:
    """What values are multiples of, where a source says so."""
    if (step := _step(facts)) is not None:
        return step
    return 10.0**-facts.decimals if facts.kind == "number" and facts.decimals is not None else None


def _ends(name: str, facts: Facts) -> tuple[str, str]:
    """The range, or a placeholder that reaches on from the end that is known."""
    low, high = _PLACEHOLDER.get(str(facts.kind), _DAYS)
    if facts.low is not None and facts.high is None:
        place = _place(name, facts.low, facts)
        return facts.low, high if place < _place(name, high, facts) else _show(place + 100, facts)
    if facts.high is not None and facts.low is None:
        place = _place(name, facts.high, facts)
        return low if _place(name, low, facts) < place else _show(place - 100, facts), facts.high
    return facts.low or low, facts.high or high


def _place(name: str, text: str, facts: Facts) -> float:
    """A number, or a moment on its own scale."""
    if facts.kind in ("date", "datetime"):
        place = parse_moment(text, facts.kind, None)
        place = parse_moment(text, facts.kind, facts.format) if math.isnan(place) else place
    else:
        place = number_of(text)
    if not math.isfinite(place):
        raise SchemaError(
            f"the public sources give {name!r} the limit {text!r}, which is no {facts.kind}", attribute=name
        )
    return place


def _show(place: float, facts: Facts) -> str:
    if facts.kind == "date":
        return date_of(place).isoformat()
    if facts.kind == "datetime":
        return datetime_of(place).isoformat()
    return str(int(place)) if place == math.floor(place) else repr(place)


def _literal(name: str, text: str, facts: Facts) -> str:
    return _show(_place(name, text, facts), facts)
