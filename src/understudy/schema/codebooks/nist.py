"""NIST: the data dictionaries of its excerpts (codes with labels, ranges), and the schema.json beside them.

The dictionary is written by people, but some of its ends are those of one year's file (16.3 to 52,864.7), so its origin
is asked about. The schema is a profile of one file (`dtype`, the values that occur, the least and the greatest cell):
its lists are asked about, its minima and maxima are never read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from understudy.schema.codebook import says_no_value
from understudy.schema.codebooks.document import Document, Reader, TrustClass, described, scalar_text, texts
from understudy.schema.domain import Kind
from understudy.schema.facts import Facts, Source, number_of

_ENDS = ("min", "max")


# -- the data dictionary -------------------------------------------------------------------------------------


def _is_dictionary(document: Document) -> bool:
    entries = list(document.tree.values())
    said = {"description", "values", "label"}
    return bool(entries) and all(isinstance(entry, Mapping) and said & set(entry) for entry in entries)


def _read_dictionary(document: Document) -> Source:
    return Source({str(name): _dictionary_facts(entry) for name, entry in document.tree.items()})


def _dictionary_facts(entry: Mapping[str, Any]) -> Facts:
    label, values = entry.get("description") or entry.get("label"), entry.get("values")
    if isinstance(values, list):
        return described("category", texts(values), label=label)
    if not isinstance(values, Mapping):
        return described(None, label=label)
    codes = {scalar_text(code): str(meaning) for code, meaning in values.items() if code not in _ENDS}
    if set(_ENDS) <= set(values):
        return _ranged(values["min"], values["max"], codes, label)
    return described("category", tuple(codes) or None, label=label)


def _ranged(low: Any, high: Any, codes: Mapping[str, str], label: Any) -> Facts:
    """Return a range with codes beside it: numbers widen it and are points, texts mean that there is no value."""
    numbers = {code: number_of(code) for code in codes}
    points = [code for code, number in numbers.items() if number == number and not says_no_value(codes[code])]
    missing = tuple(code for code in codes if code not in points)
    ends = sorted([float(low), float(high), *(numbers[code] for code in points)])
    kind: Kind = "integer" if all(end.is_integer() for end in ends) else "number"
    facts = described(kind, None, ends[0], ends[-1], missing=missing, label=label)
    outside = tuple(code for code in points if not float(low) <= numbers[code] <= float(high))
    return replace(facts, points=outside or None)


NIST_DICTIONARY = Reader("NIST data dictionary", TrustClass.INFERRED, _is_dictionary, _read_dictionary)


# -- the profile of a file -----------------------------------------------------------------------------------

KINDS: dict[str, Kind] = {"int": "integer", "float": "number", "bool": "boolean", "datetime": "datetime"}


def _is_profile(document: Document) -> bool:
    entries = document.tree.get("schema")
    if not isinstance(entries, Mapping) or not entries:
        return False
    return all(isinstance(entry, Mapping) and "dtype" in entry for entry in entries.values())


def _read_profile(document: Document) -> Source:
    return Source({str(name): _profile_facts(entry) for name, entry in document.tree["schema"].items()})


def _profile_facts(entry: Mapping[str, Any]) -> Facts:
    kind = next((kind for name, kind in KINDS.items() if str(entry["dtype"]).startswith(name)), None)
    null = entry.get("null_value")
    missing = (scalar_text(null),) if entry.get("has_null") and null is not None else ()
    values = texts(entry.get("values"))
    return described(kind, values, missing=() if values else missing)


NIST_SCHEMA = Reader("NIST schema.json", TrustClass.INFERRED, _is_profile, _read_profile)
