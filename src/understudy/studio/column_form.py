"""A column as a form: what the fields hold, and what `Schema.edit` is told when they are sent."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from understudy.errors import SchemaError, UnderstudyError
from understudy.methods.discovery import Discovery
from understudy.methods.forecast import DELTA
from understudy.privacy.budget import Budget
from understudy.schema import Attribute, Schema
from understudy.schema.interview import answered, described
from understudy.schema.open_points import reason
from understudy.schema.scales import FLAG_KINDS, LISTED_KINDS, NUMBER_KINDS, ORDERED_KINDS, UNREAD_KINDS, takes
from understudy.schema.undiscovered import DISCOVER, asks_for
from understudy.schema.writing import attribute_as_dict
from understudy.studio.grid_picture import grid_picture
from understudy.studio.taxonomy_text import taxonomy_of_text, taxonomy_text

KINDS = (*ORDERED_KINDS, "category", "boolean", "id", "drop", "discover")
MAX_VALUES = 5000  # of a list in a form; a longer one is edited as text


@dataclass(frozen=True)
class ColumnForm:
    """What a row of the page shows of one column."""

    index: int
    name: str
    kind: str
    described: str
    low: str
    high: str
    bins: str
    values: str
    missing: str
    empty: bool
    other: str
    provenance: str
    taxonomy: str
    groups: str
    points: tuple[tuple[str, str], ...]
    paid: bool
    picture: str

    @staticmethod
    def of(schema: Schema, index: int) -> ColumnForm:
        """Return the form of the column at this place of the schema."""
        attribute = schema.attributes[index]
        body = attribute_as_dict(attribute)
        span = body.get("range")
        low, high = (str(span[0]), str(span[1])) if isinstance(span, list) else ("", "")
        missing = body.get("missing", [])
        missing = [""] if missing is True else list(missing)
        paid = asks_for(body) is not None
        values = body.get("values", [])
        return ColumnForm(
            index, attribute.name, str(body["kind"]), described_shortly(attribute, body), low, high, _bins(body),
            "\n".join(map(str, values)) if isinstance(values, list) else str(values),
            " | ".join(code for code in missing if code), "" in missing, str(body.get("other", "")),
            attribute.provenance, taxonomy_text(body.get("taxonomy")), _groups(attribute), _points(attribute), paid,
            grid_picture(schema, attribute),
        )  # fmt: skip


def discovery_price(schema: Schema) -> str:
    """Return how much of epsilon everything that is to be bought costs at most, "12%"; "" where nothing is."""
    if not schema.undiscovered:
        return ""
    for budget in (Budget(1), Budget(1, DELTA)):  # lists of values need a delta
        with suppress(UnderstudyError):
            found = Discovery.of(schema, budget)
            return f"{float(found.cost / found.whole):.0%}"
    return ""


def described_shortly(attribute: Attribute, body: Mapping[str, Any]) -> str:
    """Return what the column holds in a few words."""
    if asks_for(body) is not None:
        return "bought"
    if "edges" in body:
        return f"{body['kind']} {body['edges'][0]}..{body['edges'][-1]}"
    return described(body)


def _bins(body: Mapping[str, Any]) -> str:
    if "edges" in body:
        return ", ".join(map(str, body["edges"]))
    return str(body.get("bins", "each" if "range" in body else ""))


def _groups(attribute: Attribute) -> str:
    return attribute.taxonomy.explained or "" if attribute.taxonomy and takes(attribute.kind, "taxonomy") else ""


def _points(attribute: Attribute) -> tuple[tuple[str, str], ...]:
    return tuple((point, reason(attribute.name, point)) for point in attribute.confirm)


# -- what was sent -------------------------------------------------------------------------------------------------


def sent_keys(form: Mapping[str, str], attribute: Attribute) -> dict[str, Any]:
    """Return the keys for `Schema.edit` that a sent form comes to."""
    kind = form.get("kind", "")
    if kind not in KINDS:
        raise SchemaError(f"{kind!r:.40} is no kind of column", attribute=attribute.name)
    held = attribute_as_dict(attribute)
    if kind in UNREAD_KINDS:
        return {key: None for key in held if key not in ("kind", "format")} | {"kind": kind}
    keys: dict[str, Any] = {"missing": _missing(form)}
    if kind == DISCOVER:
        return dict.fromkeys(held) | keys | {"kind": kind}
    if kind in LISTED_KINDS:
        keys |= _values(form)
    elif kind in ORDERED_KINDS:
        keys |= _span(kind, form, held)
    if kind != held.get("kind"):
        keys |= {"kind": kind} | ({"true": None, "false": None} if held.get("kind") in FLAG_KINDS else {})
        keys |= _words(held) if kind in FLAG_KINDS else {}
    return keys | {"other": form.get("other", "").strip() or None}


def _missing(form: Mapping[str, str]) -> list[str] | None:
    codes = [code.strip() for code in form.get("missing", "").split("|") if code.strip()]
    return ([""] if form.get("empty") else []) + codes or None


def _values(form: Mapping[str, str]) -> dict[str, Any]:
    """Return the values and their groups; a form without the field leaves the groups as they are."""
    groups = {"taxonomy": taxonomy_of_text(form["taxonomy"])} if "taxonomy" in form else {}
    text = form.get("values", "").strip()
    if text == DISCOVER:
        return {"values": DISCOVER} | groups
    values = [line.strip() for line in text.splitlines() if line.strip()]
    if not values:
        raise SchemaError("list every value that may occur, one a line, from a form or a codebook, not from the rows")
    return {"values": values} | groups


def _span(kind: str, form: Mapping[str, str], held: Mapping[str, Any]) -> dict[str, Any]:
    """Return the range and the bins; the text of an interview's answer says what a range is."""
    low, high, bins = (form.get(key, "").strip() for key in ("low", "high", "bins"))
    if DISCOVER in (low, high):
        return {"range": DISCOVER, "bins": None, "edges": None}
    if "," in bins:
        return {"edges": [_edge(kind, part) for part in bins.split(",")], "range": None, "bins": None}
    if not low or not high:
        raise SchemaError("write the lowest and the highest value that can be meant; what lies outside is clamped")
    span = answered(f"{kind} {low}..{high}", held)["range"]
    wanted: Any = int(bins) if bins.isdecimal() else bins or None
    return {"range": span, "bins": wanted, "edges": None}


def _edge(kind: str, text: str) -> Any:
    plain = text.strip()
    if kind not in NUMBER_KINDS:
        return plain
    try:
        return float(plain) if "." in plain or "e" in plain.lower() else int(plain)
    except ValueError:
        raise SchemaError(
            f"{plain!r:.40} is no number: bins are a number, `auto`, `each`, or edges as 0, 18, 65, 120"
        ) from None


def _words(held: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answered("yes/no", held).items() if key != "kind"}
