"""Kind time: the time of day, in seconds since midnight."""

from __future__ import annotations

import math
import re
from datetime import datetime, time
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.schema.domain import Floats
from understudy.schema.scales.dates import civil, clock, clock_inside, seconds_of
from understudy.schema.scales.moments import DAY, PER_SECOND, Moment, seconds_between
from understudy.schema.scales.scale import ORDERED_KEYS
from understudy.schema.scales.sql_cell import ANY, SqlCell, SqlNumber
from understudy.schema.scales.sql_types import MOMENTS, Type

_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.[0-9]{1,9})?)?")
_SQL_CLOCK = "([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\\.[0-9]{1,9})?)?"
_ROUND = (60, 300, 900, 1800, 3600, 3 * 3600, 6 * 3600)


class TimeOfDay(Moment):
    """Whole seconds since midnight, 0 to 86,399. A column of timestamps is read for its time of day, in UTC where it
    has a time zone."""

    kind = "time"
    keys: ClassVar[tuple[str, ...]] = (*ORDERED_KEYS, "format", "step")
    words = ("time", "time of day", "clock")
    ddl_types = "time"
    file_types = r"time((32|64)\[.*)?"
    placeholder = ("00:00:00", "23:59:59")
    listable = False
    wanted = "times of day"
    noun = "time of day"
    writings = "times"
    unit = "seconds since midnight"
    heaps = (3_600, 1_800, 900, 300, 60)
    letters = "HMS"
    needed = "H"
    sql_types: ClassVar[tuple[Type, ...]] = ("time", *MOMENTS)
    sql_reads = "times of day, timestamps or text"
    arrow = ("time32[s]", "int32")
    read_as = ("timestamp[s]", "int64")  # Arrow casts no text to a time of day
    iso = "1970-01-01T%H:%M:%S"
    example = "23:59:59"
    sql_plain = (_SQL_CLOCK, _SQL_CLOCK, "HMS")
    sql_inferred = (f"(?:([0-9]{{4}})-([0-9]{{2}})-([0-9]{{2}})[T ])?{_SQL_CLOCK}", "YmdHMS")
    mark = ":"
    usual_formats = ("%H:%M:%S", "%H:%M", "%I:%M %p", "%I:%M:%S %p", "%H.%M", "%Hh%M", "%H%M")
    misfit_plain = _CLOCK.pattern.replace("?:", "")

    def written_step(self, format: str) -> float | None:
        return seconds_between(format)

    def is_format(self, format: str) -> bool:
        return "%H" in format and "%d" not in format

    def is_end(self, text: str) -> bool:
        return not math.isnan(self.parse(text))

    def from_iso(self, text: str) -> float:
        """Return the seconds of HH:MM, HH:MM:SS or that with a fraction, which is cut off."""
        if (found := _CLOCK.fullmatch(text)) is None:
            raise ValueError
        return float(int(found[1]) * 3600 + int(found[2]) * 60 + int(found[3] or 0))

    def of(self, moment: datetime) -> float:
        return float(moment.hour * 3600 + moment.minute * 60 + moment.second)

    def moment(self, value: float) -> time:
        minutes, second = divmod(min(max(math.floor(value), 0), DAY - 1), 60)
        return time(minutes // 60, minutes % 60, second)

    def reading(self, text: str, format: str | None) -> float | None:
        """Return the place of a time of day, whatever the declared format (a format that differs is refused).

        Also of a datetime, which some libraries make of a time by adding the day of the reading; but not of the first
        moment of a year (`misread`).
        """
        value = self.parse(text)
        if not math.isnan(value):
            return value
        try:
            seconds = seconds_of(datetime.fromisoformat(text))
            return None if _begins_a_year(seconds) else seconds % DAY
        except (ValueError, OverflowError):
            return None

    def misread(self, piece: Any) -> NDArray[np.bool_] | None:
        """Return where a year begins, in UTC where there is a time zone: pandas takes a clock such as 0815 for the year
        815, and one cell with a zone gives all of a column one."""
        import pyarrow as pa

        piece = piece.dictionary_decode() if pa.types.is_dictionary(piece.type) else piece
        if pa.types.is_date(piece.type):
            piece = piece.cast(pa.timestamp("s"))
        if not pa.types.is_timestamp(piece.type):
            return None
        ticks = piece.cast("int64").fill_null(1).to_numpy(zero_copy_only=False)
        return np.asarray(_begins_a_year(ticks // PER_SECOND[piece.type.unit]))

    def misread_sql(self, cell: SqlCell) -> str | None:
        if cell.type not in MOMENTS:
            return None
        source, second = cell.name("u"), f"{cell.name('x')} % {DAY * 1_000_000}"
        first = f"extract(month FROM {source}) = 1 AND extract(day FROM {source}) = 1"
        return f"{first} AND {second} BETWEEN 0 AND 999999"

    def ambiguous(self, format: str) -> bool:
        return format not in ("%H:%M", "%H:%M:%S")

    def roundness(self, values: Floats) -> NDArray[np.int64]:
        return np.asarray((values[:, None] % np.asarray(_ROUND) == 0).sum(axis=1), dtype=np.int64)

    def typed_numbers(self, piece: Any) -> tuple[Floats, NDArray[np.bool_]] | None:
        import pyarrow as pa

        if pa.types.is_date(piece.type):
            piece = piece.cast(pa.timestamp("s"))
        if not (pa.types.is_time(piece.type) or pa.types.is_timestamp(piece.type)):
            return None
        wide = piece.cast("int32") if pa.types.is_time32(piece.type) else piece
        ticks = wide.cast("int64").fill_null(0).to_numpy(zero_copy_only=False)
        seconds = np.asarray(ticks // PER_SECOND[piece.type.unit], dtype=np.float64)
        if pa.types.is_timestamp(piece.type):
            seconds %= DAY
        absent = piece.is_null().to_numpy(zero_copy_only=False)
        return np.where(seconds < DAY, seconds, np.nan), absent  # some databases have 24:00:00

    def plain(self, texts: Any, format: str | None, decimal: str, *, loose: bool = False) -> Floats:
        return super().plain(texts, format or "%H:%M:%S", decimal)

    def typed_sql(self, cell: SqlCell) -> SqlNumber:
        name, syntax = cell.name("x"), cell.syntax
        micros = "0" if cell.type == "date" else syntax.microseconds(cell.source)
        finite = None if cell.type == "time" else syntax.finite(cell.source)
        read = {name: micros if finite is None else f"CASE WHEN {finite} THEN {micros} END"}
        day = DAY * 1_000_000
        ticks = name if cell.type == "time" else f"((({name} % {day}) + {day}) % {day})"
        number = syntax.as_double(syntax.divide(ticks, 1_000_000))
        inside = f"CASE WHEN {ticks} < {day} THEN {number} ELSE {syntax.double(math.inf)} END"
        source = cell.name("u")
        read[source] = cell.source
        return SqlNumber(f"CASE WHEN {source} IS NOT NULL THEN {inside} END", read)

    def sql_number(self, names: dict[str, str], cell: SqlCell) -> str:
        inside = " AND ".join([f"{names['H']} IS NOT NULL", *clock_inside(names)])
        return f"CASE WHEN {inside} THEN {cell.syntax.as_double('0' + clock(names))} END"

    def inferred_sql(self, cell: SqlCell, format: str | None) -> SqlNumber:
        return super().inferred_sql(cell, None)

    def sql_canonical_number(self, names: dict[str, str], cell: SqlCell) -> str:
        """Return the SQL of the place of a clock alone, or of one after a day that there is, but for a year's first."""
        two_digits = cell.syntax.matches(cell.name("x"), f"{ANY}[T ][0-9]{{2}}:{ANY}")
        later = f"NOT ({names['m']} = 1 AND {names['d']} = 1 AND 0{clock(names)} = 0)"
        day = f"{names['Y']} IS NULL OR ({two_digits} AND {later} AND {civil(names, cell, 1)} IS NOT NULL)"
        return f"CASE WHEN {day} THEN {self.sql_number(names, cell)} END"


def _begins_a_year(seconds: Any) -> Any:
    """Return whether, or where, whole seconds since 1970 are the first of a year."""
    moment = np.asarray(seconds).astype(np.int64).astype("M8[s]")
    return moment == moment.astype("M8[Y]").astype("M8[s]")
