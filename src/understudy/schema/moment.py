"""A moment: a date as days, a datetime as seconds since 1970, and the texts they are read from."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from functools import cache

_EPOCH = date(1970, 1, 1)


def parse_moment(text: str, kind: str, format: str | None) -> float:
    """A date in days or a datetime in seconds since 1970, or NaN; without a format, ISO 8601."""
    try:
        if kind == "date":
            day = _read(text, format).date() if format else date.fromisoformat(text)
            return float((day - _EPOCH).days)
        moment = _read(text, format) if format else datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError, re.error):
        # overflow: a time zone that leads out of the years 1 to 9999; re.error: a format that names %Y twice
        return math.nan
    return math.floor((moment - datetime(1970, 1, 1)).total_seconds())


def _read(text: str, format: str) -> datetime:
    """Read a text by its format. A day without a year is one of 1900 in every Python; 3.13 would warn of it."""
    if _lacks_year(format):
        return datetime.strptime(f"1900 {text}", f"%Y {format}")
    return datetime.strptime(text, format)


@cache
def _lacks_year(format: str) -> bool:
    signs = set(re.findall("%(.)", format, re.DOTALL))
    return "d" in signs and not signs & {"Y", "y", "G"}


def date_of(days: float) -> date:
    return _EPOCH + timedelta(days=math.floor(days))


def datetime_of(seconds: float) -> datetime:
    return datetime(1970, 1, 1) + timedelta(seconds=math.floor(seconds))
