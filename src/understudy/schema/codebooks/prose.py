"""Prose: values inside the sentences of a codebook, such as `SMOKED? 1:EVER, 0:NEVER; 2:MISSING`.

A sentence is read only where the codebook says nothing else about the attribute. What it gives is one open point of the
draft: a person compares the lists with the sentences, which stand above them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from understudy.schema.codebook import says_no_value
from understudy.schema.facts import Facts, Source

PROSE = "codebook: prose"
_CODE = r"-?\d{1,6}(?:\.\d+)?|[A-Z]{1,2}"
_SIGN = r"\s*(?::|=|-(?=\s)|–)\s*"
# a code, a sign and a label that ends where the next code begins, or the sentence does
_PAIR = re.compile(
    rf"(?:(?<=^)|(?<=[\s,;(|.:?]))({_CODE}){_SIGN}(?=\S)(?!(?:{_CODE})\s*[:=])(.*?)(?=(?:[\s,;|]+(?:{_CODE}){_SIGN}\S)|$)",
    re.DOTALL,
)
_LABEL_FIRST = re.compile(r"([A-Za-z][^,;=:]*?)\s*=\s*(-?\d{1,6})(?=[\s,;.]|$)")
_OTHERWISE = re.compile(r"(-?\d{1,6})\s+(?:otherwise|else)\b", re.IGNORECASE)


def with_prose(source: Source) -> Source:
    """Return the source with values that its labels list, for attributes of which it says nothing else."""
    found = {name: prose_facts(facts.label or "") for name, facts in source.attributes.items() if _is_open(facts)}
    read = {name: replace(facts.over(source.attributes[name]), source=PROSE) for name, facts in found.items() if facts}
    if not read:
        return source
    return replace(source, attributes={**source.attributes, **read}, points=(*source.points, "prose"))


def _is_open(facts: Facts) -> bool:
    return facts.kind is None and facts.values is None and not facts.has_range


def prose_facts(sentence: str) -> Facts | None:
    """Return the values that a sentence lists, those that mean no value as `missing`; None where it lists none.

    >>> prose_facts("HAD 1 DRINK? 1:EVER, 0:NEVER; 2:MISSING").values
    ('1', '0')
    """
    pairs = [(code, label.strip(" ,;.")) for code, label in _PAIR.findall(sentence)]
    if len(pairs) < 2:
        pairs = _labels_first(sentence)
    codes = [code for code, _ in pairs]
    if len(pairs) < 2 or len(set(codes)) != len(codes):
        return None
    missing = tuple(code for code, label in pairs if says_no_value(label) and label.casefold() != "unknown")
    values = tuple(code for code in codes if code not in missing)
    return Facts(kind="category", values=values, missing=missing or None) if values else None


def _labels_first(sentence: str) -> list[tuple[str, str]]:
    """Read labels that come first: `High taxed state=1, 0 otherwise`."""
    found = [(code, label) for label, code in _LABEL_FIRST.findall(sentence)]
    return found + [(code, "otherwise") for code in _OTHERWISE.findall(sentence)] if found else []
