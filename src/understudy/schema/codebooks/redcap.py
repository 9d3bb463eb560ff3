"""REDCap: the data dictionary of a project, written before anybody is asked anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from understudy.schema.codebooks.document import described
from understudy.schema.facts import Facts, Source

_NAME, _TYPE, _LABEL = "variable / field name", "field type", "field label"
_CHOICES = "choices, calculations, or slider labels"
_VALIDATION, _LOW, _HIGH = "text validation type or show slider number", "text validation min", "text validation max"
_IDENTIFIER, _REQUIRED = "identifier?", "required field?"
NAME = "REDCap data dictionary"


def is_redcap(head: Sequence[str]) -> bool:
    """Return whether these are the column titles of a REDCap data dictionary."""
    titles = {title.strip().casefold() for title in head}
    return {_NAME, _TYPE} <= titles or {"field_name", "field_type"} <= titles


def redcap_source(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Source:
    """Read the dictionary as it is downloaded, or as the API gives it."""
    titles = [_long(title.strip().casefold()) for title in head]
    attributes: dict[str, Facts] = {}
    for row in rows:
        cells = {title: cell.strip() for title, cell in zip(titles, row)}
        if name := cells.get(_NAME, ""):
            attributes |= _columns(name, cells)
    named = {name: replace(facts, source=f"codebook: {NAME}") for name, facts in attributes.items()}
    return Source(named, {}, (f"the codebook is a {NAME}",))


def _long(title: str) -> str:
    """Return the long title of one of the API's short ones."""
    short = {
        "field_name": _NAME, "field_type": _TYPE, "field_label": _LABEL, "select_choices_or_calculations": _CHOICES,
        "text_validation_type_or_show_slider_number": _VALIDATION, "text_validation_min": _LOW,
        "text_validation_max": _HIGH, "identifier": _IDENTIFIER, "required_field": _REQUIRED,
    }  # fmt: skip
    return short.get(title, title)


def _columns(name: str, cells: dict[str, str]) -> dict[str, Facts]:
    """Return the columns of a field: one, but of a checkbox one for each choice, `name___code`, with 1 where ticked."""
    kind, label = cells.get(_TYPE, ""), re.sub("<[^>]*>", " ", cells.get(_LABEL, ""))
    missing = () if cells.get(_REQUIRED, "").casefold() == "y" else ("",)
    if kind == "descriptive":
        return {}
    if cells.get(_IDENTIFIER, "").casefold() == "y" or kind in ("notes", "file", "signature"):
        return {name: Facts(kind="drop", label=label or None)}
    choices = _choices(cells.get(_CHOICES, ""))
    if kind == "checkbox":
        return {
            f"{name}___{code.lower().replace('-', '_')}": Facts(kind="boolean", true=("1",), false=("0",), label=text)
            for code, text in choices
        }
    if kind in ("radio", "dropdown"):
        return {name: described("category", tuple(code for code, _ in choices) or None, missing=missing, label=label)}
    if kind in ("yesno", "truefalse"):
        return {name: Facts(kind="boolean", true=("1",), false=("0",), missing=missing or None, label=label or None)}
    if kind == "slider":
        low, high = cells.get(_LOW) or 0, cells.get(_HIGH) or 100
        return {name: described("integer", None, low, high, missing=missing, label=label)}
    return {name: _text(cells, missing, label)}


def _choices(text: str) -> list[tuple[str, str]]:
    """Read choices such as `1, Yes | 2, No`."""
    pairs = (choice.partition(",") for choice in text.split("|"))
    return [(code.strip(), label.strip()) for code, comma, label in pairs if comma and code.strip()]


def _text(cells: dict[str, str], missing: tuple[str, ...], label: str) -> Facts:
    """Return the facts of a text field: what its validation lets in. Without validation it is free text."""
    rule, low, high = cells.get(_VALIDATION, "").casefold(), cells.get(_LOW) or None, cells.get(_HIGH) or None
    if rule == "integer":
        return described("integer", None, low, high, missing=missing, label=label)
    if rule.startswith("number"):
        places = re.fullmatch(r"number_(\d)dp.*", rule)
        decimals = int(places[1]) if places else None
        return described("number", None, low, high, missing=missing, label=label, decimals=decimals)
    if rule.startswith(("date_", "datetime_")):  # stored as ISO texts, whatever order the form shows
        ends = [end if end and re.match(r"\d{4}-", end) else None for end in (low, high)]
        return described(rule.split("_")[0], None, *ends, missing=missing, label=label)
    personal = rule in ("email", "phone") and cells.get(_TYPE) == "text"
    return Facts(kind="drop" if personal else None, missing=missing or None, label=label or None)
