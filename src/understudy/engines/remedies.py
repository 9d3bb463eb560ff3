"""Remedies: what would make the cells fit that an attribute's declaration does not cover, in the words of schema.toml.

They follow from private cells, so they are for the custodian's eyes alone; a schema that is changed by them was
declared after seeing rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from understudy.schema import Attribute, Intervals
from understudy.schema.scales import MOMENT_SCALES, OrderedScale

NO_VALUE = frozenset((
    "", "na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", ".", "-", "--", "?", "#n/a", "(blank)",
))  # fmt: skip
_MAX_LISTED = 6  # texts that a remedy spells out


def remedies(attribute: Attribute, cells: Mapping[str, int], decimal: str = ".") -> tuple[str, ...]:
    """Return what to write so that these cells (with their numbers) are covered; what helps nothing is left out."""
    if not cells:
        return ()
    absent = [text for text in cells if text.strip().casefold() in NO_VALUE]
    left = [text for text in cells if text not in absent]
    found = [_missing(absent)] if absent else []
    if left:
        found += _for_domain(attribute, left, decimal)
    return tuple(found)


def _missing(texts: list[str]) -> str:
    if texts == [""]:
        return "missing = true reads the empty cells"
    listed = ", ".join(f'"{text}"' for text in sorted(texts)[:_MAX_LISTED])
    return f"missing = [{listed}] reads the cells that say there is no value"


def _for_domain(attribute: Attribute, texts: list[str], decimal: str) -> list[str]:
    if (domain := attribute.intervals) is None:
        return _for_list(attribute, texts)
    return _for_numbers(domain, texts, decimal) if domain.scale.arithmetic else _for_moments(domain, texts)


def _for_list(attribute: Attribute, texts: list[str]) -> list[str]:
    declared = set(attribute.domain.texts)
    folded = {text.casefold() for text in declared}
    if all(text.strip() in declared for text in texts):
        return ["trim = true in [table.csv] reads them: they differ by blanks at their ends"]
    if all(text.strip().casefold() in folded for text in texts):
        return ["they differ from the listed values by upper and lower case: list them as the file writes them"]
    many = "a value is not listed: list it" if len(texts) == 1 else f"{len(texts):,} values are not listed: list them"
    return [f"{many}, or send what is not listed to one value with `other`"]


def _for_numbers(domain: Intervals, texts: list[str], decimal: str) -> list[str]:
    number = Intervals("number", (0.0, 1.0))
    tries: list[tuple[str, Callable[[str], bool]]] = [
        ('decimal = "," in [table.csv] reads them', lambda text: _reads(domain, text, ",")),
        ('kind = "number" reads them: they have decimals', lambda text: _reads(number, text, decimal)),
        ('kind = "number" with decimal = "," in [table.csv] reads them', lambda text: _reads(number, text, ",")),
    ]
    fits = next((said for said, reads in tries if all(map(reads, texts))), None)
    if fits is not None:
        return [fits]
    bare = [text.strip().strip("$€£%").replace(",", "").replace(" ", "").replace("'", "") for text in texts]
    if all(map(str.isdecimal, bare)):
        return ["they are numbers with signs of thousands, money or per cent: write them without, or list them"]
    return ["they are no numbers: declare the texts among them in `missing`, or send them to a value with `other`"]


def _reads(domain: Intervals, text: str, decimal: str) -> bool:
    return not math.isnan(domain.parse(text, decimal))


def _for_moments(domain: Intervals, texts: list[str]) -> list[str]:
    for scale in MOMENT_SCALES:
        if formats := [format for format in scale.usual_formats if _parses(texts, scale, format)]:
            return [_format(domain, scale.kind, formats)]
    for scale in MOMENT_SCALES:
        if _parses(texts, scale, None):
            return [f'kind = "{scale.kind}" without `format` reads them (ISO 8601)']
    return [f"no usual format reads all of them: several are mixed, or some are no {domain.scale.writings}"]


def _parses(texts: list[str], scale: OrderedScale, format: str | None) -> bool:
    return all(not math.isnan(scale.parse(text.strip(), format)) for text in texts)


def _format(domain: Intervals, kind: str, formats: list[str]) -> str:
    words = " or ".join(f'"{format}"' for format in formats)
    also = f'kind = "{kind}" and ' if domain.kind != kind else ""
    several = ": these cells fit several, so say which is meant" if len(formats) > 1 else ""
    return f"{also}format = {words} reads them{several}"
