"""Spreadsheet formulas: texts that a program which opens a CSV file would run, and their harmless form.

A spreadsheet takes a cell that begins with one of = + - @, a tab or a carriage return for a formula. A reader that does
not heed quotes also begins a cell after a line break. A quotation mark ' in front makes either a text. Names and values
are the schema's, and the schema may be a stranger's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_ACTIVE = "=+@\t\r-"
_LINE = re.compile(rf"(?<=[\n\r])(?=[{_ACTIVE}])")


def neutral(text: str, decimal: str = ".") -> str:
    """Return the text with a ' before each line that a spreadsheet would run; a number alone is harmless."""
    if _is_number(text, decimal):
        return text
    return _LINE.sub("'", f"'{text}" if begins_formula(text) else text)


def begins_formula(text: str) -> bool:
    """Return whether the first character makes a formula of what follows."""
    return text.startswith(tuple(_ACTIVE))


def neutral_forms(text: str) -> set[str]:
    """Return the texts, other than this one, that a CSV file of ours may hold in its place."""
    forms = {neutral(text), f"'{text}"} if begins_formula(text) else {neutral(text)}
    return forms - {text}


def neutralised(declared: Iterable[str]) -> dict[str, str]:
    """Return the neutral forms of declared texts, where these are not declared themselves, each with its text."""
    known = frozenset(declared)
    forms = {form: text for text in sorted(known) for form in sorted(neutral_forms(text))}
    return {form: text for form, text in forms.items() if form not in known}


def _is_number(text: str, decimal: str) -> bool:
    point = re.escape(decimal)
    return re.fullmatch(rf"[+-]?([0-9]+({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]+)?", text) is not None
