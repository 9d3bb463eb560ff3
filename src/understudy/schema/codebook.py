"""A codebook: a public CSV that describes a table's attributes, written by people, read forgivingly.

The first line names the columns, in any order and case; `,` `;` or tab; UTF-8 or cp1252. Two kinds of rows mix:

- a row for an attribute: `attribute, kind, values, low, high, bins, edges, points, missing, other, format, step,
  decimals, pattern, true, false, label, taxonomy`, as in schema.toml. Lists are written `a|b|c` (values also `a; b`,
  `a, b` or one a line), and values may have labels, `1 = male; 2 = female`; `range` may hold
  `0..120` instead of low and high; `missing` is a list of codes, where `(empty)` or `true` means an empty cell;
  `taxonomy` is `Group: a|b; Group: c`, or `prefix:1,3`; a format may be written `DD.MM.YYYY`.
- a row for a value: `attribute, value, group, group2, …`, the finest group first. A mark in `missing` (x, yes) makes
  the value a missing code.

A row whose attribute is `[table]` sets something of the table: its next filled cell is the key (name, account, rows,
rows_max, neighbours, rows_per_person, delimiter, encoding, decimal), the one after that the setting.
"""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError, did_you_mean
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import NUMBER_KINDS, SCALES

TABLE_KEYS = (
    "name", "account", "rows", "rows_max", "neighbours", "rows_per_person", "delimiter", "encoding", "decimal",
)  # fmt: skip
COLUMNS: dict[str, tuple[str, ...]] = {
    "attribute": (
        "attribute", "variable", "column", "field", "name", "variable name", "column name", "field name",
        "attribute name", "varname", "var", "merkmal", "spalte",
    ),
    "kind": ("kind", "type", "data type", "datatype", "variable type", "dtype", "typ", "art"),
    "values": (
        "values", "categories", "levels", "allowed", "allowed values", "valid values", "permitted values",
        "value labels", "coding", "codes", "choices", "options", "werte",
    ),
    "value": ("value", "code", "wert"),
    "range": ("range", "wertebereich"),
    "low": ("low", "min", "minimum", "from", "lower bound", "von"),
    "high": ("high", "max", "maximum", "to", "upper bound", "bis"),
    "bins": ("bins",),
    "edges": ("edges",),
    "points": ("points",),
    "missing": ("missing", "na", "missing values", "missing codes", "fehlend"),
    "other": ("other",),
    "format": ("format",),
    "step": ("step", "schritt"),
    "decimals": ("decimals", "decimal places", "nachkommastellen"),
    "pattern": ("pattern", "muster"),
    "true": ("true", "yes"),
    "false": ("false", "no"),
    "label": (
        "label", "description", "text", "meaning", "variable label", "definition", "question", "question text",
        "bezeichnung", "beschreibung",
    ),
    "taxonomy": ("taxonomy", "groups"),
}  # fmt: skip
STATISTICS = frozenset(  # columns of a profile: whoever has them counted rows, and so its ends are those of rows
    (
        "mean", "average", "avg", "sd", "std", "stdev", "std dev", "standard deviation", "variance", "median", "n",
        "count", "counts", "freq", "frequency", "frequencies", "percent", "pct", "percentage", "n unique", "nunique",
        "distinct", "distinct values", "cardinality", "n missing", "missing count", "percent missing",
        "null count", "nulls", "q1", "q3", "25%", "50%", "75%", "p25", "p50", "p75", "skewness", "kurtosis",
    )
)  # fmt: skip
_OBSERVED = ("min", "minimum", "max", "maximum")  # declared by some, and the figures of a profile to others
_KINDS: dict[Kind, tuple[str, ...]] = {kind: scale.words for kind, scale in SCALES.items()}
_SLIP = 0.8  # how alike a word must be to one of ours to be taken for a slip of it
_MARKS = ("x", "yes", "y", "ja", "j", "true", "1")
DELIMITERS = (",", ";", "\t", "|")
_DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|"}


@dataclass
class _Entry:
    """What the rows about one attribute have said so far."""

    cells: dict[str, str] = field(default_factory=dict)
    values: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def facts_of_records(rows: Iterable[Sequence[str]], name: str) -> Source:
    """Read a codebook from its rows, the first of which names its columns; `name` is that of the document."""
    records = iter(rows)
    heads = [head.strip() for head in next(records, [])]
    columns = _columns(heads)
    profile = [head for head in heads if _plain(head) in STATISTICS]
    ends = [at for at, head in enumerate(heads) if _plain(head) in _OBSERVED and columns[at] is not None]
    points = ("origin",) if profile or ends else ()
    if profile:
        columns = [None if at in ends else column for at, column in enumerate(columns)]
    if "attribute" not in columns:
        raise SchemaError(f"the codebook {name!r} needs a column `attribute`; see the guide for its other columns")
    entries: dict[str, _Entry] = {}
    table: dict[str, str] = {}
    for line, row in enumerate(records, 2):
        cells = {column: cell for column, cell in zip(columns, row) if column is not None and cell.strip()}
        named = cells.pop("attribute", "").strip()
        if named == "[table]":
            _set(table, [cell for column, cell in zip(columns, row) if column != "attribute" and cell.strip()], line)
        elif named:
            _add(entries.setdefault(named, _Entry()), cells, f"row {line} of the codebook, {named!r}")
    unknown = [head for head, column in zip(heads, columns) if column is None and head]
    remarks = [f"columns of the codebook that are not used: {', '.join(unknown)}"] if unknown else []
    if profile and ends:
        remarks.append(f"statistics of rows ({', '.join(profile)}) are beside its ends, which are therefore not read")
    kinds = {cell: _kind(cell, named) for named, entry in entries.items() if (cell := entry.cells.get("kind"))}
    if odd := sorted(cell for cell, kind in kinds.items() if kind is None):
        remarks.append(f"types of the codebook that say no kind: {', '.join(odd)}")
    facts = {named: _facts(named, entry) for named, entry in entries.items()}
    return Source(facts, table, tuple(remarks), points)


def _columns(heads: Sequence[str]) -> list[str | None]:
    """Return what each column holds, by its title.

    Of two columns with the same meaning the second is not used (`name` beside `variable`).
    """
    found: list[str | None] = []
    for head in heads:
        column = _column(_plain(head))
        found.append(None if column in found else column)
    return found


def csv_records(path: Path) -> Iterator[list[str]]:
    """Read the records of a CSV document, by the delimiter that its first line shows."""
    text = read_text(path)
    try:
        yield from csv.reader(io.StringIO(text, newline=""), delimiter=delimiter_of(text.split("\n", 1)[0]))
    except csv.Error:
        raise SchemaError(f"{path.name!r} is not a CSV file: a quote is never closed, or a cell too long") from None


def read_text(path: Path) -> str:
    """Return the text of a public document, UTF-8 or else cp1252."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise SchemaError(f"cannot read {path.name!r}: {error.strerror}") from None
    return decode(raw)[0]


def decode(raw: bytes) -> tuple[str, str]:
    """Return the text, and the encoding it turned out to have."""
    try:
        return raw.decode("utf-8-sig"), "utf-8"
    except UnicodeDecodeError:
        return raw.decode("cp1252", errors="replace"), "cp1252"


def delimiter_of(head: str) -> str:
    """Return the delimiter that cuts the header line into the most names."""
    return max(DELIMITERS, key=lambda mark: len(cells_of(head, mark)))


def cells_of(line: str, delimiter: str) -> list[str]:
    """Return the cells of one record; a line that is not CSV is one cell."""
    try:
        return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), [])
    except csv.Error:
        return [line]


def _plain(head: str) -> str:
    return " ".join(head.casefold().replace("_", " ").split())


def _column(head: str) -> str | None:
    if re.fullmatch(r"(group|gruppe)\s*_?\d*", head):
        return "group" + (re.sub(r"\D", "", head) or "1")
    return next((column for column, names in COLUMNS.items() if head in names), None)


def _set(table: dict[str, str], cells: list[str], line: int) -> None:
    if len(cells) < 2:
        raise SchemaError(f"row {line} of the codebook: a [table] row needs a key and a setting")
    key = cells[0].strip().casefold()
    if key not in TABLE_KEYS:
        raise SchemaError(f"row {line} of the codebook: [table] has no key {key!r}. {did_you_mean(key, [*TABLE_KEYS])}")
    setting = cells[1].strip() or cells[1]
    table[key] = _DELIMITERS.get(setting, setting) if key == "delimiter" else setting
    if key == "delimiter" and (len(table[key]) != 1 or table[key] in '"\r\n\0'):
        raise SchemaError(f"row {line} of the codebook: a delimiter is one character, and no quotation mark")


def _add(entry: _Entry, cells: dict[str, str], where: str) -> None:
    value = cells.pop("value", None)
    groups = {int(column[5:]): cells.pop(column).strip() for column in [*cells] if column.startswith("group")}
    if value is None:
        if entry.cells:
            raise SchemaError(f"{where}: this attribute has a row already")
        entry.cells |= {column: cell.strip() for column, cell in cells.items()}
    elif cells.get("missing", "").strip().casefold() in _MARKS:
        entry.missing.append(value)
    else:
        entry.values.append((value, tuple(groups[i] for i in sorted(groups, reverse=True))))


def _facts(name: str, entry: _Entry) -> Facts:
    cells = entry.cells
    groups = tree_of(entry.values) or _flat_tree(cells.get("taxonomy"), name)
    told, told_missing = listed_values(cells.get("values"))
    listed = tuple(dict.fromkeys(value for value, _ in entry.values)) or told
    named = groups.values() if isinstance(groups, Mapping) else ()
    values = listed or tuple(v for below in named for v in below) or None
    low, high = _ends(cells, name)
    missing = (*(_missing(cells.get("missing")) or ()), *entry.missing, *told_missing)
    kind = _kind(cells.get("kind"), name)
    if values and kind in NUMBER_KINDS:  # codes that are digits
        kind, low, high = "category", None, None
    facts = Facts(
        kind=kind,
        values=tuple(value for value in values if value not in missing) if values else None,
        groups=groups,
        low=low,
        high=high,
        bins=_whole(cells.get("bins"), "bins", name),
        edges=items(cells.get("edges")),
        points=items(cells.get("points")),
        missing=missing or None,
        other=cells.get("other"),
        format=strptime_format(cells["format"]) if "format" in cells else None,
        step=cells.get("step"),
        decimals=_whole(cells.get("decimals"), "decimals", name),
        pattern=cells.get("pattern"),
        true=items(cells.get("true")),
        false=items(cells.get("false")),
        label=cells.get("label"),
    )
    return facts.with_kind()


def items(cell: str | None) -> tuple[str, ...] | None:
    """Return `a | b | c` as a tuple."""
    found = tuple(item.strip() for item in (cell or "").split("|") if item.strip())
    return found or None


_LABELLED = re.compile(r"(-?\d{1,6}|[A-Za-z]{1,2})\s*[=:]\s*(.*\S)", re.DOTALL)


def listed_values(cell: str | None) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return the values that a cell lists, and those whose label says that there is no value.

    >>> listed_values("1 = male; 2 = female; 9 = refused")
    (('1', '2'), ('9',))
    >>> listed_values("Oslo, Bergen")[0]
    ('Oslo', 'Bergen')
    """
    mark = next((mark for mark in ("|", "\n", ";", ",") if mark in (cell or "")), "|")
    found = tuple(item.strip() for item in (cell or "").split(mark) if item.strip())
    pairs = [_LABELLED.fullmatch(item) for item in found]
    if len(found) < 2 or not all(pairs):
        return found or None, ()
    labels = {pair[1]: pair[2] for pair in pairs if pair is not None}
    missing = tuple(code for code, label in labels.items() if says_no_value(label))
    return tuple(code for code in labels if code not in missing) or None, missing


NO_VALUE_WORDS = (
    "n/a", "not applicable", "missing", "not reported", "unknown", "refused", "don't know", "dont know", "no answer",
    "not available", "not asked", "blank",
)  # fmt: skip


def says_no_value(label: str) -> bool:
    """Return whether the label of a code says that there is no value."""
    plain = label.strip().casefold()
    return any(plain == word or plain.startswith((word + " ", word + "(", word + ",")) for word in NO_VALUE_WORDS)


def _missing(cell: str | None) -> tuple[str, ...] | None:
    if cell is None or cell.casefold() in ("false", "no", "none", "-"):
        return None
    if cell.casefold() in ("true", "yes"):
        return ("",)
    return tuple(dict.fromkeys("" if item.strip() in ("", "(empty)") else item.strip() for item in cell.split("|")))


def _kind(cell: str | None, name: str) -> Kind | None:
    """Return the kind that a word or a type of DDL means; None for any other word, which leaves the column open.

    Refuse a word that is nearly one of ours: it is a slip of the pen.
    """
    word = re.sub(r"\(.*", "", cell or "").strip().casefold()
    named = next((kind for kind, names in _KINDS.items() if word in names), None)
    named = named or next((kind for kind, scale in SCALES.items() if word and word in scale.ddl_types.split()), None)
    words = [word for names in _KINDS.values() for word in names]
    if named is None and difflib.get_close_matches(word, words, cutoff=_SLIP):
        near = did_you_mean(word, words)
        raise SchemaError(f"the codebook gives {name!r} the kind {cell!r}; known are {', '.join(_KINDS)}. {near}")
    return named


def _ends(cells: Mapping[str, str], name: str) -> tuple[str | None, str | None]:
    if "range" not in cells:
        return cells.get("low"), cells.get("high")
    span = cells["range"].strip("[]() ")
    for mark in (r"\.\.+", r"\|", r";", r"\s(?:to|bis|–|-)\s", r",\s", r"(?<=\d)[-–](?=\d+$)"):
        ends = re.split(mark, span)
        if len(ends) == 2:
            return ends[0].strip(), ends[1].strip()
    raise SchemaError(f"the codebook's range of {name!r} is not understood; write it 0..120")


def _whole(cell: str | None, key: str, name: str) -> int | None:
    if cell is None:
        return None
    if not cell.isdecimal():
        raise SchemaError(f"the codebook's {key} of {name!r} must be a whole number")
    return int(cell)


def tree_of(values: list[tuple[str, tuple[str, ...]]]) -> Mapping[str, Any] | None:
    """Return nested groups from each value's path, coarsest group first."""
    tree: dict[str, Any] = {}
    for value, path in values:
        if path:
            _graft(tree, path, value)
    return tree or None


def _graft(tree: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    head, *rest = path
    below = tree.get(head)
    if rest:
        if not isinstance(below, dict):  # values directly in a group that now gets groups become groups of themselves
            below = tree[head] = {single: [single] for single in below or []}
        _graft(below, tuple(rest), value)
    elif isinstance(below, dict):
        below.setdefault(value, []).append(value)
    else:
        tree.setdefault(head, []).append(value)


def _flat_tree(cell: str | None, name: str) -> Mapping[str, Any] | str | None:
    if cell is None or cell.startswith("prefix:"):
        return cell
    tree: dict[str, Any] = {}
    for part in filter(str.strip, cell.split(";")):
        group, mark, members = part.partition(":")
        if not mark or items(members) is None:
            raise SchemaError(f"the codebook's taxonomy of {name!r} is not understood; write it Group: a|b; Group: c")
        tree[group.strip()] = list(items(members) or ())
    return tree


def strptime_format(text: str) -> str:
    """Return `DD.MM.YYYY hh:mm` (or its German letters) in Python's signs."""
    if "%" in text:
        return text
    signs = {"y": "%Y", "j": "%Y", "d": "%d", "t": "%d", "h": "%H", "s": "%S"}
    out, hours = "", False
    for found in re.finditer(r"([A-Za-z])\1*|[^A-Za-z]", text):
        run, sign = found.group(), (found.group(1) or "").casefold()
        if run in ("T", "t"):  # the letter between date and time
            out += run
        elif sign == "m":
            out += "%M" if hours else "%m"
        elif sign in ("y", "j") and len(run) == 2:
            out += "%y"
        else:
            out += signs.get(sign, run)
        hours |= sign == "h"
    return out
