"""Kind date: days since 1970."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.schema.domain import Floats
from understudy.schema.scales.moments import DAY, PER_SECOND, Moment
from understudy.schema.scales.scale import ORDERED_KEYS
from understudy.schema.scales.sql_cell import ANY, SqlCell, SqlNumber
from understudy.schema.scales.sql_types import MOMENTS

FIRST_DAY, LAST_DAY = -719_162, 2_932_896  # the years 1 to 9999, in days since 1970
FIRST_DECADE, LAST_DECADE = 180, 209  # the years 1800 to 2099, in which a range is looked for
_EPOCH = date(1970, 1, 1)
_YEAR_FIRST = re.compile(r"%Y[^%\w]*%m[^%\w]*%d([^%\w]|T)*(%H[^%\w]*(%M[^%\w]*(%S[^%\w]*)?)?)?")
_SQL_DAY = "([0-9]{4})-([0-9]{2})-([0-9]{2})"
_SQL_CLOCK = "([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\\.[0-9]{1,9})?)?)?(?:Z|([+-])([01][0-9]|2[0-3]):([0-5][0-9]))?"
# a date that a program wrote as a moment: 1887-05-12 00:00:00
_MIDNIGHT = re.compile(r"\A([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]00:00(:00(\.0{1,6})?)?\Z")
_SQL_MIDNIGHT = "(?:[T ]00:00(?::00(?:\\.0{1,6})?)?)?"
_FRACTION = f"{ANY}[.]0*[1-9]{ANY}"
# a year, a month and a day, month lengths and leap years included
_LEAP = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)"
_CALENDAR = (
    {"Y": "[0-9]{4}", "m": "(0?[13578]|1[02])", "d": "(0?[1-9]|[12][0-9]|3[01])"},
    {"Y": "[0-9]{4}", "m": "(0?[469]|11)", "d": "(0?[1-9]|[12][0-9]|30)"},
    {"Y": "[0-9]{4}", "m": "0?2", "d": "(0?[1-9]|1[0-9]|2[0-8])"},
    {"Y": _LEAP, "m": "0?2", "d": "29"},
)
ISO_DAYS = f"({'|'.join('-'.join(day.values()).replace('0?', '0') for day in _CALENDAR)})"


class Date(Moment):
    """Days since 1970. `seconds` is how long one unit of the scale is."""

    kind = "date"
    keys: ClassVar[tuple[str, ...]] = (*ORDERED_KEYS, "format")
    words: ClassVar[tuple[str, ...]] = ("date",)
    ddl_types = "date"
    file_types = r"date(?!time).*"
    placeholder = ("2000-01-01", "2030-01-01")
    wanted = "dates"
    noun = "date"
    unit = "days since 1970-01-01"
    calendar = True
    sql_types = MOMENTS
    sql_reads = "dates, timestamps or text"
    arrow = read_as = ("date32[day]", "int32")
    iso = "%Y-%m-%d"
    example = "2024-12-31"
    plain_texts = "^([1-9][0-9]{3})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"
    sql_plain = (_SQL_DAY + _SQL_MIDNIGHT, "[0-9]{8}|[0-9]{4}-?W[0-9]{2}(?:-?[0-9])?", "Ymd")
    sql_inferred = (f"{_SQL_DAY}(?:[T ]{_SQL_CLOCK})?", "YmdHMSzoi")
    days = _CALENDAR
    misfit_plain = ISO_DAYS + "([T ]00:00(:00(\\.0{1,6})?)?)?"
    reach: ClassVar[tuple[int, int]] = (FIRST_DAY, LAST_DAY)
    usual_formats: ClassVar[tuple[str, ...]] = (
        "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%Y.%m.%d", "%Y%m%d",
        "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d %b %Y", "%d-%b-%Y", "%d-%b-%y", "%d%b%Y", "%b %d, %Y", "%d %B %Y",
        "%B %d, %Y",
    )  # fmt: skip
    seconds: ClassVar[int] = DAY
    datum: ClassVar[str] = "M8[D]"  # of numpy

    def search_edges(self) -> tuple[float, ...]:
        """Return where decades begin, and the end of the last."""
        days = ((date(10 * decade, 1, 1) - _EPOCH).days for decade in range(FIRST_DECADE, LAST_DECADE + 2))
        return tuple(float(day * DAY // self.seconds) for day in days)

    def is_format(self, format: str) -> bool:
        return "%H" not in format

    def is_end(self, text: str) -> bool:
        return len(text) == 10 and text[4:5] == "-"

    def from_iso(self, text: str) -> float:
        return float((date.fromisoformat(_MIDNIGHT.sub(r"\1", text)) - _EPOCH).days)

    def of(self, moment: datetime) -> float:
        return float((moment.date() - _EPOCH).days)

    def moment(self, value: float) -> date:
        return _EPOCH + timedelta(days=math.floor(value))

    def reading(self, text: str, format: str | None) -> float | None:
        """Return the place of a date, or of a datetime: infinite where it is not midnight."""
        value = super().reading(text, format)
        if value is not None:
            return value
        try:
            seconds = seconds_of(datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            return None
        return seconds // DAY if seconds % DAY == 0 and _midnight(text) else math.inf

    def ambiguous(self, format: str) -> bool:
        return not _YEAR_FIRST.fullmatch(format)

    def from_file(self, value: Any, format: str | None) -> float:
        return super().from_file(value.date() if isinstance(value, datetime) else value, format)

    def roundness(self, values: Floats) -> NDArray[np.int64]:
        moments = values.astype(np.int64).astype(self.datum)
        starts = np.asarray([moments == moments.astype(f"M8[{unit}]") for unit in "DMY"])
        return np.asarray(starts.sum(axis=0), dtype=np.int64)

    # -- Arrow -----------------------------------------------------------------------------------------------

    def typed_numbers(self, piece: Any) -> tuple[Floats, NDArray[np.bool_]] | None:
        """Return days or whole seconds; a moment that is not midnight is no date, and NaN."""
        import pyarrow as pa

        if not (pa.types.is_date(piece.type) or pa.types.is_timestamp(piece.type)):
            return None
        absent = piece.is_null().to_numpy(zero_copy_only=False)
        if pa.types.is_date32(piece.type):
            days = np.asarray(piece.cast("int32").fill_null(0), dtype=np.float64)
            return days * (DAY // self.seconds), absent
        if pa.types.is_date64(piece.type):
            piece = piece.cast("int64").cast(pa.timestamp("ms"))
        ticks = piece.cast("int64").fill_null(0).to_numpy(zero_copy_only=False)
        return self._floored(ticks, PER_SECOND[piece.type.unit] * self.seconds), absent

    def _floored(self, ticks: NDArray[np.int64], unit: int) -> Floats:
        return np.where(ticks % unit == 0, ticks // unit, np.nan)

    def as_integers(self, piece: Any) -> Any | None:
        import pyarrow as pa

        return piece.cast("int32") if pa.types.is_date32(piece.type) else None

    def cell_texts(self, column: Any, format: str | None, decimal: str, places: int | None) -> Any:
        import pyarrow as pa

        if format is None:
            return column.cast(pa.large_string())
        return super().cell_texts(column, format, decimal, places)

    # -- SQL -------------------------------------------------------------------------------------------------

    def typed_sql(self, cell: SqlCell) -> SqlNumber:
        name, syntax = cell.name("x"), cell.syntax
        read, finite = {name: cell.source}, syntax.finite(name)
        infinite = syntax.double(math.inf)
        if cell.type == "date":
            number = f"{syntax.as_integer(syntax.days(name))} * {DAY // self.seconds}"
        else:
            unit = 1_000_000 * self.seconds
            ticks, inside = cell.name("u"), syntax.finite(cell.source)
            micros = syntax.microseconds(cell.source)
            read[ticks] = micros if inside is None else f"CASE WHEN {inside} THEN {micros} END"
            rest = f"((({ticks} % {unit}) + {unit}) % {unit})"
            number = self._sql_floored(syntax.divide(f"{ticks} - {rest}", unit), rest, cell)
        number = syntax.as_double(number)
        if finite is not None:
            number = f"CASE WHEN {name} IS NULL THEN NULL WHEN {finite} THEN {number} ELSE {infinite} END"
        return SqlNumber(number, read)

    def _sql_floored(self, number: str, rest: str, cell: SqlCell) -> str:
        exact, infinite = cell.syntax.as_double(number), cell.syntax.double(math.inf)
        return f"CASE WHEN {rest} = 0 THEN {exact} ELSE {infinite} END"

    def sql_number(self, names: dict[str, str], cell: SqlCell) -> str:
        return civil(names, cell, 1)

    def sql_canonical_number(self, names: dict[str, str], cell: SqlCell) -> str:
        """Return the SQL of seconds since 1970 in UTC, or of days (infinite if not midnight).

        Null if there is no such day.
        """
        year, sign = names["Y"], names["z"]
        ahead = f"coalesce({names['o']}, 0) * 3600 + coalesce({names['i']}, 0) * 60"
        seconds = f"{civil(names, cell, DAY)} - CASE WHEN {sign} = '-' THEN -1 ELSE 1 END * ({ahead})"
        far = f"{sign} IS NOT NULL AND {year} IN (1, 9999)"  # another zone may lead out of Python's years
        return f"CASE WHEN {far} THEN NULL {self._sql_from_seconds(seconds, cell)} END"

    def _sql_from_seconds(self, seconds: str, cell: SqlCell) -> str:
        days = f"({seconds}) / {DAY}"
        part = cell.syntax.matches(cell.name("x"), _FRACTION)
        return f"WHEN {part} OR {cell.syntax.broken(days)} THEN {cell.syntax.double(math.inf)} ELSE {days}"


def seconds_of(moment: datetime) -> float:
    """Return seconds since 1970, in UTC where there is a time zone."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return math.floor((moment - datetime(1970, 1, 1)).total_seconds())


def _midnight(text: str) -> bool:
    """Return whether a datetime has no fraction of a second, once its whole seconds are known to be midnight."""
    fraction = re.search(r"[.,](\d+)", text)
    return fraction is None or not fraction[1].strip("0")


def civil(names: dict[str, str], cell: SqlCell, per_day: int) -> str:
    """Return the SQL of days (or seconds) since 1970 of a year, month and day, in whole numbers.

    Null where there is no such day.
    """
    syntax = cell.syntax
    year, month, day = (names[letter] for letter in "Ymd")
    march = f"({year} - CASE WHEN {month} <= 2 THEN 1 ELSE 0 END)"  # years that begin in March end with the leap day
    number = (
        f"365 * {march} + {syntax.divide(march, 4)} - {syntax.divide(march, 100)} + {syntax.divide(march, 400)}"
        f" + {syntax.divide(f'153 * (({month} + 9) % 12) + 2', 5)} + {day} - 719469"
    )
    leap = f"{year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0)"
    longest = f"CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} <> 2 THEN 31 WHEN {leap} THEN 29 ELSE 28 END"
    inside = [f"{year} >= 1", f"{month} BETWEEN 1 AND 12", f"{day} BETWEEN 1 AND {longest}", *clock_inside(names)]
    if per_day > 1:
        number = f"({number}) * {per_day}{clock(names)}"
    return f"CASE WHEN {' AND '.join(inside)} THEN {syntax.as_double(number)} END"


def clock(names: dict[str, str]) -> str:
    """Return SQL that adds the seconds of a clock's hours, minutes and seconds, each after a plus sign."""
    units = (("H", 3600), ("M", 60), ("S", 1))
    return "".join(f" + coalesce({names[letter]}, 0) * {unit}" for letter, unit in units if letter in names)


def clock_inside(names: dict[str, str]) -> list[str]:
    """Return SQL conditions for hours, minutes and seconds that a clock shows."""
    limits = (("H", 23), ("M", 59), ("S", 59))
    return [f"coalesce({names[letter]}, 0) <= {most}" for letter, most in limits if letter in names]
