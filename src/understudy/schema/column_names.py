"""Column names: which texts may be taken for one, and which look like a cell of somebody's row.

Whether the first line of a file names its columns or is a person's row cannot be known from the line. A line with a
text that is more often a cell than a name is refused until a person has declared it; no message quotes a text of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from understudy.errors import UsageError
from understudy.schema.facts import Facts, Source, is_number

# what vouches for the names: a first line or a footer that nobody has declared, a person, a list, or only their number
Origin = Literal["first line", "footer", "declared", "listed", "numbered"]

MAX_NAME = 100  # characters; a longer text is a remark or a question, not a name

_VALUES = {
    "true", "false", "yes", "no", "male", "female", "null", "nan", "none", "na", "n/a", "nil", "missing", "unknown",
    "ja", "nein", "oui", "non", "männlich", "weiblich",
}  # fmt: skip
_CELL_LIKE: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("is a date or a time", re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*|\d{1,2}:\d\d.*")),
    ("has no letter", re.compile(r"[\W\d_]*")),
    ("is an address", re.compile(r"\S+@\S+\.\S+|\w+://.*")),
    ("has a long number in it", re.compile(r".*\d{5,}.*")),
    ("is an identifier", re.compile(r"\{?[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}\}?|(?=.*\d)[0-9a-f]{16,}")),
    ("begins with a sign of comparison", re.compile(r"[<>=≤≥].*")),
    ("holds characters that no name has", re.compile(r".*[\x00-\x1f\x7f-\x9f\ufffd{}\[\]].*", re.DOTALL)),
)


def numbered(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names with `column_3` in place of an empty one in the third place."""
    return tuple(name or f"column_{at}" for at, name in enumerate(names, 1))


def row_numbers(names: Sequence[str]) -> Source:
    """Propose to leave out a first column without a name, where programs write row numbers."""
    if not _is_index(names):
        return Source()
    return Source({numbered(names)[0]: Facts(kind="drop", source="proposed: index")})


def _is_index(names: Sequence[str]) -> bool:
    return len(names) > 1 and not names[0] and all(name.strip() for name in names[1:])


def check_unique(names: Sequence[str], where: str) -> None:
    """Refuse a name that comes twice; the message tells the two places and not the name."""
    first: dict[str, int] = {}
    for at, name in enumerate(names, 1):
        if first.setdefault(name, at) != at:
            raise UsageError(
                f"columns {first[name]} and {at} have the same name in {where}. Rename one of them; if that line is a "
                "person's row, say --no-header, or name the columns with --names FILE"
            )


def check_names(names: Sequence[str], where: str, known: frozenset[str] = frozenset()) -> None:
    """Refuse a line in which a text looks like a cell, unless a public source has that name (`known`, casefolded).

    The first text alone may be empty: so is the name of the column of row numbers that pandas and R write.
    """
    for at, name in enumerate(names, 1):
        if at == 1 and _is_index(names):
            continue
        if name.strip().casefold() not in known and (why := why_a_cell(name)) is not None:
            raise UsageError(
                f"{where} looks like a person's row: its text number {at} {why}. If it names the columns, say "
                "--header; if the file has no header, say --no-header, or name its columns with --names FILE"
            )


def why_a_cell(name: str) -> str | None:
    """Return why this text looks like a cell, in words that hold nothing of it, or None for a plain name."""
    if not name.strip():
        return "is empty"
    if name != name.strip():
        return "begins or ends with a blank"
    if is_number(name):
        return "is a number"
    if name.casefold() in _VALUES:
        return "is a common value"
    if len(name) > MAX_NAME:
        return f"is longer than {MAX_NAME} characters"
    return next((why for why, pattern in _CELL_LIKE if pattern.fullmatch(name.casefold())), None)
