"""Numerals: how shares, counts and amounts are written on the page, and what the commonest figure means."""

from __future__ import annotations

import math

TVD_IN_WORDS = (
    "Total variation distance (TVD): the share of rows that would have to move to another cell. 0 is a perfect copy of "
    "a table, 1 has nothing in common with it."
)


def percent(share: float, digits: int = 1) -> str:
    """Return a share as 12.3 %; something that would round to nothing is not shown as nothing."""
    smallest = 10.0**-digits
    if 0 < 100 * share < smallest / 2:
        return f"< {smallest:.{digits}f} %"
    return f"{100 * share:.{digits}f} %"


def points(share: float) -> str:
    """Return a distance between shares, in percentage points."""
    return f"{100 * share:.1f}" if share < 0.995 else f"{100 * share:.0f}"


def count(rows: float) -> str:
    return f"{max(0.0, rows):,.0f}"


def amount(value: float | None) -> str:
    """Return up to six digits; a dash where there is no number."""
    if value is None or not math.isfinite(value):
        return "–"
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.4g}"
    return f"{value:,.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"  # 2004 may be a year


def plural(many: int, one: str, more: str | None = None) -> str:
    return f"{many:,} {one if many == 1 else more or one + 's'}"


def listed(names: list[str] | tuple[str, ...], most: int = 8) -> str:
    """Return names as in "age, sex and town"."""
    shown = list(names[:most]) + ([f"{len(names) - most} more"] if len(names) > most else [])
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else "".join(shown)
