"""Moments in SQL: patterns of dates and times written as text, and the number of a year, month, day and clock."""

from __future__ import annotations

import re

from understudy.engines.sql_dialects import Syntax
from understudy.schema import Intervals

SPACE = "[ \\t-\\r\\x1c-\\x1f]"
FAR = "[^\\x01-\\x7f]"  # beyond ASCII
_LETTERS = "YmdHMS"
_DAY = 86_400


def moment_rule(domain: Intervals) -> tuple[str, str, str] | None:
    """A pattern of plainly written moments, one of all that Python might read besides, the letters of the groups."""
    if domain.format is None:
        day = "([0-9]{4})-([0-9]{2})-([0-9]{2})"
        if domain.kind == "date":
            return day, "[0-9]{8}|[0-9]{4}-?W[0-9]{2}(?:-?[0-9])?", "Ymd"
        clock = "([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\\.(?:[0-9]{3}|[0-9]{6}))?)?)?"
        return f"{day}(?:[T ]{clock})?", "[0-9]{4}(?:.|\\n){3,60}", "YmdHMS"
    pieces = re.split("%(.)", domain.format)
    letters = pieces[1::2]
    if len(set(letters)) != len(letters) or not {"Y", "m", "d"} <= set(letters) <= set(_LETTERS):
        return None
    pattern = loose = "".join(map(_literal, pieces[0]))
    loose = "".join(map(_loosely, pieces[0]))
    for letter, after in zip(letters, pieces[2::2]):
        apart = after[:1] != "" and not after[0].isdigit()
        last = letter == letters[-1] and not after
        width = "{4}" if letter == "Y" else "{1,2}" if apart or last else "{2}"
        pattern += f"([0-9]{width})" + "".join(map(_literal, after))
        loose += f"(?:[0-9 ]|{FAR}){'{4}' if letter == 'Y' else '{1,2}'}" + "".join(map(_loosely, after))
    return pattern, loose, "".join(letters)


def _literal(character: str) -> str:
    return f"\\{character}" if character in r"\.^$*+?()[]{}|-" else character


def _loosely(character: str) -> str:
    if character.isspace():
        return f"(?:{SPACE}|{FAR})*"
    if character.isalpha():
        return f"(?:[{character.lower()}{character.upper()}]|{FAR})"
    return _literal(character)


def civil(names: dict[str, str], kind: str, syntax: Syntax) -> str:
    """Days (or seconds) since 1970 of a year, month and day, in whole numbers; null where there is no such day."""
    year, month, day = (names[letter] for letter in "Ymd")
    march = f"({year} - CASE WHEN {month} <= 2 THEN 1 ELSE 0 END)"  # years that begin in March end with the leap day
    days = (
        f"365 * {march} + {syntax.divide(march, 4)} - {syntax.divide(march, 100)} + {syntax.divide(march, 400)}"
        f" + {syntax.divide(f'153 * (({month} + 9) % 12) + 2', 5)} + {day} - 719469"
    )
    leap = f"{year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0)"
    longest = f"CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} <> 2 THEN 31 WHEN {leap} THEN 29 ELSE 28 END"
    if kind == "datetime":
        days = f"({days}) * {_DAY}"
        for letter, seconds in (("H", 3600), ("M", 60), ("S", 1)):
            if letter in names:
                days += f" + coalesce({names[letter]}, 0) * {seconds}"
    inside = [f"{year} >= 1", f"{month} BETWEEN 1 AND 12", f"{day} BETWEEN 1 AND {longest}"]
    inside += [
        f"coalesce({names[letter]}, 0) <= {most}"
        for letter, most in (("H", 23), ("M", 59), ("S", 59))
        if letter in names
    ]
    return f"CASE WHEN {' AND '.join(inside)} THEN {syntax.as_double(days)} END"
