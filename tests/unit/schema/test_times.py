"""Kind time: the time of day."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest

from understudy.errors import SchemaError
from understudy.release.frames import to_frame
from understudy.schema import Attribute, Intervals, Schema
from understudy.schema.files import schema_from_dict
from understudy.schema.readings import Readings
from understudy.schema.scales import ordered_scale

CLOCK = ordered_scale("time")
TOML = """
[table]
name = "visits"
rows = 600
[attributes.arrival]
kind = "time"
range = [06:00:00, "22:00"]
missing = true
[attributes.slot]
kind = "time"
range = ["08:00", "18:00"]
step = 900
format = "%H:%M"
[attributes.hour]
kind = "time"
range = ["00:00:00", "23:59:59"]
bins = 24
points = ["12:00"]
"""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00", 0), ("8:15", 29_700), ("08:15:30", 29_730), ("08:15:30.999999999", 29_730), ("23:59:59", 86_399)],
)
def test_what_is_read(text: str, seconds: int) -> None:
    assert CLOCK.parse(text) == seconds
    assert CLOCK.parse(CLOCK.show(seconds)) == seconds


@pytest.mark.parametrize("text", ["24:00", "23:60", "8:5", "0815", "08:15Z", " 08:15", "08:15 AM", "x", "", "٠٨:15"])
def test_what_is_not(text: str) -> None:
    assert math.isnan(CLOCK.parse(text))


def test_a_schema_says_the_same_in_all_its_forms() -> None:
    schema = Schema.from_toml(TOML)
    assert Schema.from_toml(schema.to_toml()).hash == schema_from_dict(schema.as_json()).hash == schema.hash
    assert schema.as_json()["attributes"]["arrival"]["range"] == ["06:00:00", "22:00:00"]
    assert [a.name for a in schema.unbinned] == ["arrival"]
    assert schema["slot"].labels[:2] == ("08:00", "08:15") and schema["hour"].size == 25


def test_drawn_times_are_read_back_as_their_codes() -> None:
    for attribute in Schema.from_toml(TOML).modelled:
        codes = np.arange(attribute.size)
        column = attribute.to_arrow(codes, np.random.default_rng(1))
        texts = attribute.domain.cell_texts(column, ".")
        assert column.type == pa.time32("s")
        assert attribute.encode(["" if text is None else text for text in texts.to_pylist()]).tolist() == codes.tolist()


def test_frames_have_times() -> None:
    schema = Schema.from_toml(TOML).project(["hour"])
    table = pa.table({"hour": schema["hour"].to_arrow(np.arange(3), np.random.default_rng(1))})
    assert isinstance(to_frame(table, schema, "pandas")["hour"][0], dt.time)
    assert str(to_frame(table, schema, "polars")["hour"].dtype) == "Time"


def test_typed_columns_are_read_by_value_and_timestamps_by_their_time_of_day() -> None:
    hands = [dt.time(8, 15), None, dt.time(23, 59, 59, 5)]
    for column in (pa.array(hands, pa.time64("us")), pa.array(hands, pa.time64("us")).dictionary_encode()):
        found = CLOCK.numbers(column)
        assert (
            found is not None
            and found[0][[0, 2]].tolist() == [29_700, 86_399]
            and found[1].tolist() == [False, True, False]
        )
    moments = pa.array([dt.datetime(1969, 12, 31, 8, 15), dt.datetime(2024, 2, 29)], pa.timestamp("ns"))
    assert CLOCK.numbers(moments)[0].tolist() == [29_700, 0]  # type: ignore[index]
    midnight = pa.array([86_400], pa.int32()).cast(pa.time32("s"))  # some databases have 24:00:00
    assert np.isnan(CLOCK.numbers(midnight)[0]).all()  # type: ignore[index]
    assert CLOCK.numbers(pa.array([815])) is None


def test_a_format_that_readers_take_for_something_else_is_refused_in_frames() -> None:
    edges = (0.0, 43_200.0, 86_399.0)
    faults = {f: Readings(Attribute("a", Intervals("time", edges, format=f))).fault for f in ("%H:%M", "%H%M", "%H.%M")}
    assert faults["%H:%M"] is None and faults["%H%M"] == "times written '%H%M' are read in more than one way"
    assert faults["%H.%M"] is not None


def test_what_a_schema_may_not_say() -> None:
    with pytest.raises(SchemaError, match="a time is written 23:59:59"):
        Schema.from_toml(TOML.replace('"18:00"', '"24:00"'))
    with pytest.raises(SchemaError, match="read back in another cell"):
        Intervals("time", (0.0, 30.0, 86_399.0), format="%H:%M")
    with pytest.raises(SchemaError, match="heaps"):
        Schema.from_toml(TOML + "heaps = [3600]\n")
