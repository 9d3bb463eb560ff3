"""Kind datetime: seconds since 1970."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema.domain import Floats
from understudy.schema.scales.dates import FIRST_DAY, ISO_DAYS, LAST_DAY, Date, civil, seconds_of
from understudy.schema.scales.moments import DAY, Moment, seconds_between
from understudy.schema.scales.scale import ORDERED_KEYS
from understudy.schema.scales.sql_cell import SqlCell

_CLOCKS = (" %H:%M:%S", "T%H:%M:%S", " %H:%M", "T%H:%M", " %I:%M %p", ":%H:%M:%S")


class DateTime(Date):
    """Whole seconds since 1970, in UTC where a cell has a time zone."""

    kind = "datetime"
    keys = (*ORDERED_KEYS, "format", "step")
    words = ("datetime", "timestamp")
    ddl_types = "timestamp datetime timestamptz datetime2 smalldatetime"
    file_types = r"timestamp.*|datetime.*"
    listable = False
    wanted = "datetimes"
    noun = "date and time"
    unit = "seconds since 1970-01-01"
    calendar = False
    heaps = (86_400, 3_600, 1_800, 900, 300, 60)
    arrow = read_as = ("timestamp[s]", "int64")
    iso = "%Y-%m-%dT%H:%M:%S"
    example = "2024-12-31T23:59:59"
    plain_texts = f"{Date.plain_texts[:-1]}[T ]([01][0-9]|2[0-3]):([0-5][0-9]):([0-5][0-9])$"
    sql_plain = (
        Date.sql_plain[0] + "(?:[T ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:\\.(?:[0-9]{3}|[0-9]{6}))?)?)?)?",
        "[0-9]{4}(?:.|\\n){3,60}",
        "YmdHMS",
    )
    misfit_plain = (
        f"{ISO_DAYS}([T ]([01][0-9]|2[0-3])(:[0-5][0-9](:[0-5][0-9](\\.[0-9]{{1,9}})?)?)?"
        "(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
    )
    reach = (FIRST_DAY * DAY, (LAST_DAY + 1) * DAY)
    usual_formats = tuple(day + clock for day in Date.usual_formats for clock in _CLOCKS)
    seconds = 1
    datum = "M8[s]"

    def written_step(self, format: str) -> float | None:
        return seconds_between(format)

    def is_format(self, format: str) -> bool:
        return "%H" in format and "%d" in format

    def is_end(self, text: str) -> bool:
        return False

    def from_iso(self, text: str) -> float:
        return seconds_of(datetime.fromisoformat(text))

    def of(self, moment: datetime) -> float:
        return seconds_of(moment)

    def moment(self, value: float) -> datetime:
        return datetime(1970, 1, 1) + timedelta(seconds=math.floor(value))

    def reading(self, text: str, format: str | None) -> float | None:
        return Moment.reading(self, text, format)

    def from_file(self, value: Any, format: str | None) -> float:
        return Moment.from_file(self, value, format)

    def _floored(self, ticks: NDArray[np.int64], unit: int) -> Floats:
        return np.asarray(ticks // unit, dtype=np.float64)

    def as_integers(self, piece: Any) -> Any | None:
        return None

    def cell_texts(self, column: Any, format: str | None, decimal: str, places: int | None) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if format is None:
            return pc.replace_substring(column.cast(pa.large_string()), " ", "T")
        if self._parts(format) is not None:
            return pc.strftime(column, format).cast(pa.large_string())
        return super().cell_texts(column, format, decimal, places)

    def _sql_floored(self, number: str, rest: str, cell: SqlCell) -> str:
        return number

    def sql_number(self, names: dict[str, str], cell: SqlCell) -> str:
        return civil(names, cell, DAY)

    def _sql_from_seconds(self, seconds: str, cell: SqlCell) -> str:
        return f"ELSE {seconds}"
