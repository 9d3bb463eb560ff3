"""A scale: the codec of one kind of column. All rules of a kind are methods of its scale, in one file.

An ordered scale places cells on a line of numbers (numbers themselves, days, seconds); the bins and points on that line
are a matter of `Intervals`, whatever the kind. `SCALES` in this package has one scale for each kind.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError, did_you_mean
from understudy.schema.domain import Domain, Floats
from understudy.schema.scales.sql_cell import SqlCell, SqlNumber
from understudy.schema.scales.sql_types import Type

ORDERED_KEYS = ("range", "bins", "edges", "points", "fine", "fine_cells")
_MAX_WHOLE = 1 << 16


class Scale(ABC):
    """The codec of one kind; `keys` are what an attribute of this kind may say in the schema file.

    A draft is told the kind by `words` of a codebook, by `ddl_types` of a CREATE TABLE, or by the type of a file's
    column, a pattern. `modelled` is false for columns that are never read; `flags` says that cells mean true or false.

    >>> from understudy.schema.scales import SCALES
    >>> SCALES["boolean"].read({"kind": "boolean", "true": "Y", "false": "N"}).texts
    ('Y', 'N')
    """

    kind: ClassVar[str]
    keys: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[tuple[str, ...]]
    ddl_types: ClassVar[str] = ""
    file_types: ClassVar[str] = ""
    modelled: ClassVar[bool] = True
    flags: ClassVar[bool] = False

    @abstractmethod
    def read(self, body: Mapping[str, Any]) -> Domain:
        """Return the domain that the `body` of an attribute in the schema file declares."""


class OrderedScale(Scale):
    """The codec of a kind whose cells lie on a line of numbers.

    Parameters
    ----------
    integral
        Whether values are whole numbers of the scale.
    arithmetic
        Whether 0, sums and means of values mean something; not so for dates and times.
    listable
        Whether a range without `bins` has a cell for each value.
    wanted, noun, writings
        What cells have to be, one value, and values in some format, in the words of messages.
    unit
        What the scale counts, where a value is shown as a number.
    heaps
        Units that values without a natural 0 are often multiples of, the roundest first, each a multiple of the next.
    calendar
        Whether values are days, of which the first ones of months and years may be heaped.
    placeholder
        The range of a draft that knows none.
    reach
        The lowest and the highest place that a cell of whole numbers can have.
    sql_types, text_types, inferred_types
        The column types of a database that are read as such, as text, and as text where types were inferred.
    """

    integral: ClassVar[bool] = True
    arithmetic: ClassVar[bool] = False
    listable: ClassVar[bool] = True
    wanted: ClassVar[str]
    noun: ClassVar[str]
    writings: ClassVar[str] = "dates"
    unit: ClassVar[str | None] = None
    heaps: ClassVar[tuple[int, ...]] = ()
    calendar: ClassVar[bool] = False
    placeholder: ClassVar[tuple[str, str]]
    sql_types: ClassVar[tuple[Type, ...]]
    sql_reads: ClassVar[str]
    text_types: ClassVar[tuple[Type, ...]] = ("text",)
    inferred_types: ClassVar[tuple[Type, ...]]
    reach: ClassVar[tuple[int, int]] = (-(2**53), 2**53)

    def read(self, body: Mapping[str, Any]) -> Domain:
        from understudy.schema.interval_keys import read_intervals

        return read_intervals(self, body)

    @property
    def whole_numbers(self) -> bool:
        """Return whether values are whole numbers; days and seconds are no numbers."""
        return self.integral and self.arithmetic

    def search_edges(self) -> tuple[float, ...]:
        """Return the edges of the public cells in which an undeclared range is looked for; () where none can be."""
        return ()

    # -- texts -----------------------------------------------------------------------------------------------

    @abstractmethod
    def parse(self, text: str, format: str | None = None, decimal: str = ".") -> float:
        """Return the place of a cell of text, or NaN."""

    @abstractmethod
    def show(self, value: float, format: str | None = None, decimal: str = ".") -> str:
        """Return the text that a cell with this value holds."""

    @abstractmethod
    def reading(self, text: str, format: str | None) -> float | None:
        """Return the place of an inferred column's canonical text; infinite for one that is no value, None for none."""

    def ambiguous(self, format: str) -> bool:
        """Return whether libraries that infer types read texts of this format in more than one way."""
        return True

    def written_step(self, format: str) -> float | None:
        """Return the distance of neighbouring texts of a format that leaves the finest parts out: 60 for `%H:%M`."""
        return None

    @abstractmethod
    def position(self, text: str, format: str | None) -> float:
        """Return the place that a word of a query names, or NaN."""

    @abstractmethod
    def from_file(self, value: Any, format: str | None) -> float:
        """Return the place of a value in the schema file."""

    @abstractmethod
    def in_file(self, value: float) -> Any:
        """Return a place as the schema file has it."""

    def roundness(self, values: Floats) -> NDArray[np.int64]:
        """Return how round each value is beyond its digits (a first of January): cuts between bins are made there."""
        return np.zeros(len(values), dtype=np.int64)

    # -- Arrow -----------------------------------------------------------------------------------------------

    def numbers(self, piece: Any) -> tuple[Floats, NDArray[np.bool_]] | None:
        """Return the places of a typed column, and its nulls; None where the column is not of such a type."""
        import pyarrow as pa

        if pa.types.is_dictionary(piece.type) and not _textual(piece.type.value_type):
            piece = piece.dictionary_decode()
        return self.typed_numbers(piece)

    @abstractmethod
    def typed_numbers(self, piece: Any) -> tuple[Floats, NDArray[np.bool_]] | None:
        """Return the places of a column that is no dictionary, and its nulls."""

    def misread(self, piece: Any) -> NDArray[np.bool_] | None:
        """Return which cells of a typed column a reader made of a text that means something else; None for none."""
        return None

    def as_integers(self, piece: Any) -> Any | None:
        """Return a typed column whose places are whole numbers, as such; None where it is not of such a type."""
        return None

    def whole(self, piece: Any) -> tuple[Any, int, int] | None:
        """Return a typed column of few different whole numbers, with its least and its greatest."""
        import pyarrow.compute as pc

        if (piece := self.as_integers(piece)) is None:
            return None
        found = pc.min_max(piece).as_py()
        low, high = found["min"], found["max"]
        if low is None or max(-low, high) >= 2**53 or high - low >= min(len(piece), _MAX_WHOLE):
            return None
        return piece, low, high

    @abstractmethod
    def plain(self, texts: Any, format: str | None, decimal: str, *, loose: bool = False) -> Floats:
        """Return the place of each plainly written text, as `parse` has it; NaN where only `parse` can tell.

        `loose` takes fractions and exponents for whole numbers too, as a column of floats would bring them.
        """

    @abstractmethod
    def to_arrow(self, values: NDArray[Any], absent: NDArray[np.bool_]) -> Any:
        """Return values as a typed array."""

    @abstractmethod
    def cell_texts(self, column: Any, format: str | None, decimal: str, places: int | None) -> Any:
        """Return the text of each value of a typed array, with so many decimals where they are declared."""

    # -- SQL -------------------------------------------------------------------------------------------------

    @abstractmethod
    def typed_sql(self, cell: SqlCell) -> SqlNumber:
        """Return the SQL of the place of a cell of one of the `sql_types`.

        Null is an empty cell, infinity one that does not fit.
        """

    def misread_sql(self, cell: SqlCell) -> str | None:
        """Return the condition of `misread` over the names that `typed_sql` reads; None for none."""
        return None

    @abstractmethod
    def text_sql(self, cell: SqlCell, format: str | None) -> SqlNumber | None:
        """Return the SQL of the place of a cell of text, null where it is not plainly written.

        None for a format that SQL cannot read.
        """

    @abstractmethod
    def inferred_sql(self, cell: SqlCell, format: str | None) -> SqlNumber:
        """Return the SQL of the place of a cell's canonical text, null where it is not plainly written."""

    @abstractmethod
    def cell_pattern(self, format: str | None, decimal: str) -> str | None:
        """Return a regular expression for the cells that fit; None for a format with names or two-digit years."""


# -- what several scales need --------------------------------------------------------------------------------


def only(texts: Any, pattern: str) -> Any:
    """Return the texts that match, null for the others."""
    import pyarrow.compute as pc

    return pc.if_else(pc.match_substring_regex(texts, pattern), texts, None)


def cast(texts: Any, type: str, through: str) -> Floats:
    """Return texts as numbers; all NaN when Arrow refuses one (30 February), for the exact parser to look at."""
    import pyarrow as pa

    try:
        values = texts.cast(type).cast(through).cast("float64")
    except pa.ArrowInvalid:
        return np.full(len(texts), np.nan)
    found: Floats = np.array(values.fill_null(np.nan).to_numpy(zero_copy_only=False))
    found[~np.isfinite(found)] = np.nan
    return found


def whole_or_real(value: float) -> int | float:
    """Return a number as the schema file has it."""
    return int(value) if value == math.floor(value) else value


def texts_of(value: Any, key: str) -> tuple[str, ...]:
    """Return a list of texts of the schema file; one text is a list of one."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise SchemaError(f"`{key}` is a list of texts (in quotes)")
    return tuple(str(v) for v in value)


def check_keys(body: Any, known: Sequence[str], where: str) -> None:
    """Refuse what is no table of the schema file, or has a key that is not known there."""
    if not isinstance(body, Mapping):
        raise SchemaError(f"{where} must be a table")
    for key in body:
        if key not in known:
            raise SchemaError(f"{where} has no key {key!r}. {did_you_mean(str(key), list(known))}")


def _textual(type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))
