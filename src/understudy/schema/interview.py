"""The interview: one question a column, with a proposal; what is answered is in schema.toml at once, so it can wait.

Answers are written into the file that holds the draft, comments and all. Nothing here opens the private table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from understudy.errors import SchemaError
from understudy.schema.facts import kind_of_ends, number_of
from understudy.schema.files import parse_schema
from understudy.schema.open_points import TABLE_POINTS, reason
from understudy.schema.public_domains import DOMAINS, NO, YES
from understudy.schema.scales import FLAG_KINDS, LISTED_KINDS, MOMENT_KINDS, ORDERED_KINDS, UNREAD_KINDS, takes
from understudy.schema.table import Schema

HELP = (
    "0..120 · number 0..10 · date 2000-01-01..2020-12-31 · a|b|c · yes/no · ages, months, countries … · id · drop; "
    "add `missing NA|9` (or `missing` alone, for empty cells); `later` leaves it open"
)
Ask = Callable[[str], str]
Say = Callable[[str], None]


def interview(path: Path, ask: Ask, say: Say) -> int:
    """Ask for every open point of the schema in the file, and return how many are left open.

    `ask` shows a prompt and returns the answer; an EOFError or KeyboardInterrupt that it raises ends the interview, and
    what was answered before stays.
    """
    try:
        for point in _read(path).confirm:
            _ask_table(path, point, ask, say)
        names = [a.name for a in _read(path).attributes if a.confirm]
        for at, name in enumerate(names, 1):
            _ask_attribute(path, name, f"{at}/{len(names)}", ask, say)
    except (EOFError, KeyboardInterrupt):
        say("")
    return len(_read(path).unconfirmed)


def _read(path: Path) -> Schema:
    return parse_schema(path.read_text(encoding="utf-8"))


def _edit(path: Path, change: Callable[[Any], None]) -> None:
    """Change the document and write it, if it still is a schema."""
    import tomlkit

    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    change(document)
    text = tomlkit.dumps(document)
    parse_schema(text)
    path.write_text(text, encoding="utf-8", newline="")


def _without(body: MutableMapping[str, Any], point: str | None) -> None:
    """Take one point, or all points, out of `confirm`."""
    left = [key for key in body.get("confirm", []) if point is not None and key != point]
    body.pop("confirm", None)
    if left:
        body["confirm"] = left


# -- the table -----------------------------------------------------------------------------------------------


def _ask_table(path: Path, point: str, ask: Ask, say: Say) -> None:
    if point == "rows":
        _ask_rows(path, ask, say)
        return
    names = ", ".join(a.name for a in _read(path).attributes)
    about = f"\n  {names}" if point in ("header", "columns") else ""
    answer = ask(
        f"[table] {point}: {TABLE_POINTS.get(point, 'look at it')}{about}\n  y: it is as it should be; Enter: later > "
    )
    if answer.strip().casefold() in ("y", "yes", "j", "ja"):
        _edit(path, lambda document: _without(document["table"], point))
    elif point == "header" and answer.strip().casefold() in ("n", "no"):
        say(f"Then delete {path.name}: a person's row is in it. See --no-header and --names.")


def _ask_rows(path: Path, ask: Ask, say: Say) -> None:
    answer = ask(
        "[table] rows: how many rows are there? The number becomes public. `private` protects it; Enter: later > "
    )
    plain = answer.strip().casefold().replace(",", "").replace("_", "")

    def change(document: Any) -> None:
        table = document["table"]
        if plain == "private":
            table.pop("rows", None)
            table["neighbours"] = "add-remove"
        else:
            table["rows"] = int(plain)
        _without(table, "rows")

    if plain == "private" or (plain.isdecimal() and int(plain) > 0):
        _edit(path, change)
    elif plain:
        say("  That is no number of rows: it stays open.")


# -- an attribute --------------------------------------------------------------------------------------------


def _ask_attribute(path: Path, name: str, place: str, ask: Ask, say: Say) -> None:
    import tomlkit

    while True:
        body = tomlkit.parse(path.read_text(encoding="utf-8")).unwrap()["attributes"][name]
        point = body["confirm"][0]
        said = body.get("provenance", "").removeprefix("proposed: ") or reason(name, point)
        answer = ask(f"[{place}] {name}: {described(body)} ({said})\n  Enter accepts, or {HELP}\n  > ").strip()
        if answer.casefold() == "later":
            return
        try:
            _write_answer(path, name, answered(answer, body))
            return
        except SchemaError as error:
            say(f"  {error.message}")


def _write_answer(path: Path, name: str, body: Mapping[str, Any]) -> None:
    _edit(path, lambda document: _replace(document["attributes"], name, body))


def _replace(attributes: Any, name: str, body: Mapping[str, Any]) -> None:
    """Put the answer in the place of what the draft had; what is equal stays as it was written."""
    held = attributes[name]
    for key in [key for key in held if key not in body]:
        del held[key]
    for key, value in body.items():
        if key not in held or held[key] != value:
            held[key] = value


def described(body: Mapping[str, Any]) -> str:
    """Return what an attribute's plain form says, as one would answer it.

    >>> described({"kind": "integer", "range": [0, 120]})
    'integer 0..120'
    """
    kind, span = str(body.get("kind")), body.get("range")
    if kind == "drop":
        return "left out"
    if kind in LISTED_KINDS:
        values = [str(value) for value in body.get("values", [])]
        return "|".join(values[:6]) + ("|…" if len(values) > 6 else "")
    if kind in FLAG_KINDS:
        return "yes/no"
    return f"{kind} {span[0]}..{span[1]}" if span else kind


def answered(text: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain form of an attribute after an answer; an empty one accepts what is there.

    >>> answered("0..99", {"kind": "drop", "confirm": ["kind"]})
    {'kind': 'integer', 'range': [0, 99]}
    """
    domain, missing = _split(text)
    if not domain:
        return {**{key: value for key, value in body.items() if key != "confirm"}, **missing}
    return {**_domain(domain, body), **missing}


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """Return what an answer says about the domain, and what it says after `missing`."""
    domain, word, codes = text.partition("missing")
    if not word or (domain and not domain.endswith((" ", ";"))):
        return text, {}
    listed = [code.strip().replace("(empty)", "") for code in codes.strip(" :").split("|") if code.strip()]
    return domain.strip(" ;"), {"missing": listed or True}


def _domain(text: str, body: Mapping[str, Any]) -> dict[str, Any]:
    plain = text.casefold()
    if plain in UNREAD_KINDS:
        return {"kind": plain}
    if plain in ("yes/no", "boolean", "bool", "y/n"):
        return {"kind": "boolean", "true": list(YES), "false": list(NO)}
    known = next((d for d in DOMAINS if plain in (d.name, d.name.split(" (")[0], d.name.rstrip("s"))), None)
    if known is not None:
        return _of_facts(known.facts)
    kind, _, rest = text.partition(" ")
    if kind.casefold() not in ORDERED_KINDS:
        kind, rest = "", text
    ends = re.split(r"\.\.+|\s+to\s+", rest.strip(" []"))
    if len(ends) == 2:
        return _range(kind.casefold(), [end.strip() for end in ends], body)
    values = [value.strip() for value in re.sub(r"^(category|values?)\s+", "", text).split("|") if value.strip()]
    if len(values) > 1 or text.startswith("category "):
        return {"kind": "category", "values": values}
    raise SchemaError(f"not understood. {HELP}")


def _of_facts(facts: Any) -> dict[str, Any]:
    if facts.kind in LISTED_KINDS:
        return {"kind": "category", "values": list(facts.values)}
    if facts.kind in FLAG_KINDS:
        return {"kind": "boolean", "true": list(facts.true), "false": list(facts.false)}
    return _range(facts.kind, [facts.low, facts.high], {})


def _range(kind: str, ends: list[str], body: Mapping[str, Any]) -> dict[str, Any]:
    held = str(body.get("kind"))
    kind = kind or (held if held in ORDERED_KINDS else "") or kind_of_ends(tuple(ends)) or ""
    if not kind:
        *first, last = ORDERED_KINDS
        raise SchemaError(f"say what it is: {', '.join(first)} or {last}, then the two ends as 0..120")
    if kind in MOMENT_KINDS:
        return {"kind": kind, "range": list(ends)}
    numbers = [number_of(end) for end in ends]
    if any(number != number for number in numbers):
        raise SchemaError("a range of numbers is written 0..120")
    whole = all(number.is_integer() for number in numbers)
    kept = {"decimals": body["decimals"]} if takes(kind, "decimals") and "decimals" in body else {}
    return {"kind": kind, "range": [int(n) if whole else n for n in numbers], **kept}
