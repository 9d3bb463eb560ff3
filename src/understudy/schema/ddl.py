"""DDL: what CREATE TABLE says about a table's columns. Types, CHECKs, enumerations, keys and NOT NULL are public."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from understudy.errors import SchemaError
from understudy.schema.codebook import read_text
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source
from understudy.schema.scales import FLAG_KINDS, SCALES, UNREAD_KINDS, takes
from understudy.schema.steps import MAX_DECIMALS

_TOKEN = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<text>[NE]?'(?:[^']|'')*')
      | (?P<name>"(?:[^"]|"")*"|`[^`]*`|\[[A-Za-z_][^\]\n]*\]|[^\W\d][\w$]*)
      | (?P<number>\d+(?:\.\d*)?|\.\d+)
      | (?P<mark>::|<=|>=|<>|!=|.)""",
    re.VERBOSE | re.DOTALL,
)
_KINDS: dict[str, Kind] = {name: kind for kind, scale in SCALES.items() for name in scale.ddl_types.split()}
_DOMAINS = {"year": "year", "money": "money", "smallmoney": "money"}  # types that mean a public domain
_KINDS |= {"year": "integer", "smallmoney": "number"}
_EXACT = ("numeric", "decimal", "number")  # with places before and after the point
_CONSTRAINTS = ("PRIMARY", "CONSTRAINT", "CHECK", "UNIQUE", "FOREIGN", "KEY", "INDEX", "EXCLUDE", "LIKE")
Token = tuple[str, str]  # group of _TOKEN, text


def read_ddl(path: Path, names: Sequence[str], table_name: str) -> Source:
    """Return the facts of the CREATE TABLE that is named so, or else of the one that has most of the columns."""
    tokens = list(_tokens(read_text(path)))
    enums, tables = dict(_enums(tokens)), list(_tables(tokens))
    if not tables:
        raise SchemaError(f"{path.name!r} holds no CREATE TABLE")
    wanted = {name.casefold() for name in names}

    def fit(table: tuple[str, list[list[Token]]]) -> tuple[int, bool]:
        known = {_bare(item[0]).casefold() for item in table[1] if item}
        return len(known & wanted), table[0].casefold() == table_name.casefold()

    name, body = max(tables, key=fit)
    columns = _columns([*body, *_alterations(tokens, name)], enums)
    return Source(columns, {}, (f"types and checks are those of CREATE TABLE {name}",))


def ddl_columns(path: Path) -> set[str]:
    """Return the names of the columns of every CREATE TABLE in the file."""
    tables = _tables(list(_tokens(read_text(path))))
    return {_bare(item[0]) for _, items in tables for item in items}


def ddl_tables(path: Path) -> dict[str, tuple[str, ...]]:
    """Return the columns of each CREATE TABLE in the file, in their order, by the table's name."""
    tables = _tables(list(_tokens(read_text(path))))
    return {name: tuple(_columns(items, {})) for name, items in tables}


def _tokens(text: str) -> Iterable[Token]:
    for match in _TOKEN.finditer(text):
        if match.lastgroup != "skip":
            yield str(match.lastgroup), match.group()


def _bare(token: Token) -> str:
    """Return a name without its quotes, or the content of a text."""
    kind, text = token
    if kind == "text":
        return text[text.index("'") + 1 : -1].replace("''", "'")
    return text[1:-1].replace('""', '"') if text[0] in '"`[' else text


def _word(tokens: Sequence[Token], i: int) -> str:
    return tokens[i][1].upper() if 0 <= i < len(tokens) else ""


def _group(tokens: Sequence[Token], start: int) -> list[Token]:
    """Return what stands between the parenthesis at `start` and its partner."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[i][1], 0)
        if depth == 0:
            return list(tokens[start + 1 : i])
    return list(tokens[start + 1 :])


def _enums(tokens: list[Token]) -> Iterable[tuple[str, tuple[str, ...]]]:
    for i in range(len(tokens)):
        if [_word(tokens, i), _word(tokens, i + 1)] == ["CREATE", "TYPE"]:
            ahead = next((j for j in range(i + 2, min(i + 8, len(tokens))) if _word(tokens, j) == "ENUM"), None)
            if ahead is not None:
                name = _bare(tokens[ahead - 2]).casefold()
                yield name, tuple(_bare(t) for t in _group(tokens, ahead + 1) if t[0] == "text")


def _tables(tokens: list[Token]) -> Iterable[tuple[str, list[list[Token]]]]:
    for i in range(len(tokens)):
        if _word(tokens, i) != "CREATE":
            continue
        start = next((j for j in range(i, len(tokens)) if tokens[j][1] in "(;"), len(tokens))
        if start < len(tokens) and tokens[start][1] == "(" and "TABLE" in [_word(tokens, j) for j in range(i, start)]:
            yield _bare(tokens[start - 1]), _items(_group(tokens, start))


def _alterations(tokens: list[Token], name: str) -> Iterable[list[Token]]:
    """Yield the statements ALTER TABLE name ADD CONSTRAINT …, where pg_dump puts the keys."""
    for i in range(len(tokens)):
        if _word(tokens, i) == "ALTER" and _word(tokens, i + 1) == "TABLE":
            stop = next((j for j in range(i, len(tokens)) if tokens[j][1] == ";"), len(tokens))
            add = next((j for j in range(i, stop) if _word(tokens, j) == "ADD"), stop)
            if add < stop - 1 and _bare(tokens[add - 1]) == name and _word(tokens, add + 1) in _CONSTRAINTS:
                yield tokens[add + 1 : stop]


def _items(tokens: list[Token]) -> list[list[Token]]:
    """Cut the tokens at commas outside parentheses."""
    items: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += {"(": 1, ")": -1}.get(token[1], 0)
        if token[1] == "," and depth == 0:
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if item]


def _columns(body: list[list[Token]], enums: dict[str, tuple[str, ...]]) -> dict[str, Facts]:
    columns: dict[str, Facts] = {}
    checks: list[list[Token]] = []
    for item in body:
        words = [token[1].upper() for token in item]
        checks += [_group(item, i + 1) for i, word in enumerate(words) if word == "CHECK"]
        if words[0] in _CONSTRAINTS:
            key = _key(item, words)
            columns |= {name: replace(columns[name], kind="id") for name in key if len(key) == 1 and name in columns}
        else:
            columns[_bare(item[0])] = _column(item, words, enums)
    for check in checks:
        for name, facts in _check(check):
            known = next((c for c in columns if c.casefold() == name.casefold()), None)
            if known is not None and columns[known].kind not in UNREAD_KINDS:
                columns[known] = replace(facts.over(columns[known]), kind=_checked_kind(facts, columns[known]))
    return columns


def _checked_kind(check: Facts, column: Facts) -> Kind | None:
    """Return the kind of a column: one with listed values is a category, whatever its type."""
    return "category" if check.values is not None and column.kind not in FLAG_KINDS else column.kind


def _key(item: list[Token], words: list[str]) -> list[str]:
    if "PRIMARY" not in words or "(" not in words[words.index("PRIMARY") :]:
        return []
    return [_bare(t) for t in _group(item, words.index("(", words.index("PRIMARY"))) if t[0] == "name"]


def _column(item: list[Token], words: list[str], enums: dict[str, tuple[str, ...]]) -> Facts:
    pairs = list(pairwise(words))
    required = ("NOT", "NULL") in pairs or ("PRIMARY", "KEY") in pairs
    missing = () if required else ("",)
    if ("PRIMARY", "KEY") in pairs:
        return Facts(kind="id", missing=missing)
    at = 1
    while _word(item, at + 1) == ".":  # a type may have a schema of its own
        at += 2
    typed = _bare(item[at]).casefold() if at < len(item) else ""
    if typed in enums:
        return Facts(kind="category", values=enums[typed], missing=missing)
    inside = _group(item, at + 1) if _word(item, at + 1) == "(" else []
    if typed == "enum":
        return Facts(kind="category", values=tuple(_bare(t) for t in inside if t[0] == "text"), missing=missing)
    kind = _KINDS.get(typed)
    size = [t[1] for t in inside if t[0] == "number"]
    if typed == "tinyint" and size == ["1"]:
        kind = "boolean"  # MySQL's boolean
    if typed in _EXACT and len(size) == 2 and size[1] == "0":
        kind = "integer"
    decimals = _decimals(typed, size) if takes(kind, "decimals") else None
    return Facts(kind=kind, missing=missing, decimals=decimals, declared_type=_DOMAINS.get(typed))


def kind_of_type(declared: str) -> Kind | None:
    """Return the kind of a type as SQL writes it: `varchar(20)` is a category."""
    name = re.match(r"\s*([A-Za-z_]\w*)", declared)
    return _KINDS.get(name[1].casefold()) if name else None


def _decimals(typed: str, size: list[str]) -> int | None:
    """Return the decimals of a type: NUMERIC(10, 2) has two, and so has money."""
    if typed == "money":
        return 2
    exact = typed in _EXACT and len(size) == 2
    return int(size[1]) if exact and size[1].isdecimal() and int(size[1]) <= MAX_DECIMALS else None


def _check(tokens: list[Token]) -> list[tuple[str, Facts]]:
    """Return ranges and lists that a CHECK states for certain; with an OR or a NOT in it, nothing is certain."""
    plain = _without_casts([t for t in tokens if t[1] not in "(),[]" or t[0] != "mark"])
    words = [t[1].upper() for t in plain]
    loose = " ".join(words)
    loose = re.sub(r"\S+ IS NULL OR | OR \S+ IS NULL|\S+ IS NOT NULL AND | AND \S+ IS NOT NULL", " ", f" {loose} ")
    if re.search(r" (OR|NOT|CASE) ", loose):
        return []
    found = ((_bare(token), _statement(plain, words, i)) for i, token in enumerate(plain) if token[0] == "name")
    return [(name, facts) for name, facts in found if facts is not None]


def _without_casts(tokens: list[Token]) -> list[Token]:
    """Drop `::character varying` and the like, the word DATE before a text, and join signs to their numbers."""
    out: list[Token] = []
    i = 0
    while i < len(tokens):
        kind, text = tokens[i]
        if text == "::":
            i += 2 + (_word(tokens, i + 1) in ("CHARACTER", "DOUBLE"))
            continue
        if text == "-" and i + 1 < len(tokens) and tokens[i + 1][0] == "number":
            out.append(("number", "-" + tokens[i + 1][1]))
            i += 2
            continue
        if not (text.upper() in ("DATE", "TIMESTAMP") and i + 1 < len(tokens) and tokens[i + 1][0] == "text"):
            out.append((kind, text))
        i += 1
    return out


def _statement(tokens: list[Token], words: list[str], i: int) -> Facts | None:
    after = words[i + 1] if i + 1 < len(words) else ""
    literal = [_bare(t) if t[0] in ("text", "number") else None for t in tokens]
    if after == "IN" or words[i + 1 : i + 4] == ["=", "ANY", "ARRAY"]:
        start = i + (2 if after == "IN" else 4)
        stop = next((j for j in range(start, len(tokens)) if literal[j] is None), len(tokens))
        return Facts(values=tuple(v for v in literal[start:stop] if v is not None)) if stop > start else None
    if after == "BETWEEN" and i + 4 < len(tokens) and literal[i + 2] and literal[i + 4]:
        return Facts(low=literal[i + 2], high=literal[i + 4])
    if after in (">=", "<=") and i + 2 < len(tokens) and literal[i + 2] is not None:
        return Facts(low=literal[i + 2]) if after == ">=" else Facts(high=literal[i + 2])
    return None
