"""An attribute: a named column, its domain, its taxonomy, and what to do with missing and undeclared cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError, UsageError
from understudy.schema.axis import Axis
from understudy.schema.decimal_classes import DecimalClasses
from understudy.schema.domain import MAX_CODES, UNFIT, Codes, Domain, Floats, Kind
from understudy.schema.endings import Endings, endings_of
from understudy.schema.fine_grid import FineGrid, finest
from understudy.schema.intervals import Intervals
from understudy.schema.rounding_classes import Rounding, RoundingClasses, rounding_of
from understudy.schema.scales import ORDERED_KINDS
from understudy.schema.scales.identifiers import Dropped, Identifier
from understudy.schema.taxonomy import Level, Taxonomy, taxonomy_of
from understudy.schema.tree_grid import Index, TreeGrid
from understudy.schema.undiscovered import Undiscovered

MISSING = "missing"
PUBLIC_BINS = 20  # of a range without bins, where no tree is bought
Fine = Literal["wavelet"]


@dataclass(frozen=True)
class Attribute:
    """A column of the table: its name, and every value that it can have. A missing value is one more, coded last.

    Args:
        name: of the column.
        domain: the values or bins: `Categories`, `Intervals`, `Booleans` and others of `understudy.schema`.
        taxonomy: groups of values, so that a method may look at it more coarsely.
        missing: the texts that mean a missing value, such as "" or "NA".
        other: the value, or "missing", that a text outside the domain is counted as; None refuses such a text.
        provenance: where the values were learned: "declared", or the public document.
        confirm: keys that a person has yet to confirm.
        fine: publishes the shape inside its bins too; "wavelet".
        fine_cells: into how many cells each bin is cut for that.
        read_from: the column of the file, where that is not `name`.
        grid: of a range whose bins are found by a noisy tree.
        found: whether its bins were found by a run, or are a public guess: nobody gave them.
        groups: of each code its merged group, where a run found groups of values; a schema file has none.
        endings: last digits of values that many rows share, where a run looks for them; a schema file has none.

    >>> schema["smoker"].labels
    ('no', 'yes')
    >>> schema["age"].kind, schema["age"].size
    ('integer', 5)
    """

    name: str
    domain: Domain
    taxonomy: Taxonomy | None = None
    missing: tuple[str, ...] = ()
    other: str | None = None
    provenance: str = "declared"
    confirm: tuple[str, ...] = ()
    fine: Fine | None = None
    fine_cells: int | None = None
    read_from: str | None = None
    grid: TreeGrid | None = None  # of a range whose bins are found by a noisy tree
    groups: tuple[int, ...] = field(default=(), compare=False, repr=False)  # of each code, where rare ones are merged
    endings: Endings | None = field(default=None, compare=False, repr=False)  # of a range whose bins were found
    found: bool = field(default=False, compare=False)  # its bins were, or are a public guess: nobody gave them

    def __post_init__(self) -> None:
        if not self.name:
            raise SchemaError("an attribute needs a name")
        if not self.modelled:
            return
        if self.taxonomy is None:
            of_tree = None if self.grid is None else self.grid.taxonomy
            object.__setattr__(self, "taxonomy", of_tree or taxonomy_of(self.intervals))
        self._check_missing()
        if self.other is not None and not self._sends_to_missing and self.domain.encode([self.other])[0] == UNFIT:
            raise SchemaError(f'`other` of {self.name!r} is not a declared value nor "missing"', attribute=self.name)
        if self.fine is not None:
            assert self.finest_grid is not None  # refuses what has no finer grid

    def _check_missing(self) -> None:
        """Refuse a missing code that is also a value: it would become "missing" when the output is read again."""
        for text in self.missing:
            if self.domain.holds(text):
                raise SchemaError(
                    f"the missing code {text!r} of {self.name!r} is also one of its values; "
                    "take it out of `missing`, or out of the values or the range",
                    attribute=self.name,
                )
        if self.has_missing and MISSING in self._texts:
            raise SchemaError(
                f'{self.name!r} has a value "missing" and missing codes too; list "missing" among '
                "the codes in `missing` instead",
                attribute=self.name,
            )

    @property
    def kind(self) -> Kind:
        return self.domain.kind

    @property
    def modelled(self) -> bool:
        """Return whether the attribute takes part in the model (ids and dropped columns do not)."""
        return self.domain.modelled

    @property
    def published(self) -> bool:
        """Return whether the column is in the output: ids come back as fresh ones, dropped columns do not."""
        return not isinstance(self.domain, Dropped)

    @property
    def is_id(self) -> bool:
        """Return whether the column identifies rows: its values are compared, never shown."""
        return isinstance(self.domain, Identifier)

    @property
    def undiscovered(self) -> Undiscovered | None:
        """Return what is to be bought of the attribute; None where it is declared whole."""
        return self.domain if isinstance(self.domain, Undiscovered) else None

    @property
    def intervals(self) -> Intervals | None:
        """Return the domain of an ordered attribute; None for lists and columns that are never read."""
        return self.domain if isinstance(self.domain, Intervals) else None

    @property
    def ordered(self) -> Intervals:
        """Return the domain of an attribute that is known to be ordered."""
        assert self.intervals is not None
        return self.intervals

    @property
    def _sends_to_missing(self) -> bool:
        return self.other == MISSING and MISSING not in self._texts

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(self.domain.labels) if self.domain.texts else frozenset()

    @cached_property
    def has_missing(self) -> bool:
        return bool(self.missing) or self._sends_to_missing

    @cached_property
    def size(self) -> int:
        """Return how many codes there are, "missing" included."""
        return self.domain.size + self.has_missing if self.modelled else 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Return a public name for each code."""
        return self.domain.labels + ((MISSING,) if self.modelled and self.has_missing else ())

    @property
    def missing_code(self) -> int:
        """Return the code of "missing", or UNFIT where the attribute has none."""
        return self.size - 1 if self.has_missing else UNFIT

    @property
    def missing_text(self) -> str:
        """Return what a missing cell looks like on output."""
        return self.missing[0] if self.missing else ""

    @property
    def levels(self) -> int:
        """Return how many views there are: the attribute itself and its taxonomy levels."""
        return 1 + (len(self.taxonomy.levels) if self.taxonomy else 0)

    @property
    def bits(self) -> int:
        """Return how many binary digits code this attribute."""
        return max(1, (self.size - 1).bit_length())

    # -- the fine grid ---------------------------------------------------------------------------------------

    @property
    def column(self) -> str:
        """Return the column of the data that this attribute is read from."""
        return self.name if self.read_from is None else self.read_from

    @cached_property
    def finest_grid(self) -> FineGrid | None:
        """Return the grid on which rows are coded for `fine`; None without it."""
        if self.fine is None:
            return None
        if self.intervals is None:
            listed = f"{', '.join(ORDERED_KINDS[:-1])} or {ORDERED_KINDS[-1]}"
            raise SchemaError(f"`fine` is for ordered attributes: {listed}", attribute=self.name)
        return FineGrid(self.intervals, finest(self.intervals, self.fine_cells))

    def refined(self, grid: FineGrid) -> Attribute:
        """Return the same column on a finer grid: one more attribute, for engines and the shape inside bins."""
        return self._beside(fine_name(self.name), grid.fine)

    def _beside(self, name: str, domain: Domain) -> Attribute:
        """Return one more attribute of the same column."""
        return Attribute(name, domain, Taxonomy(()), self.missing, self.other, read_from=self.column)

    @cached_property
    def decimals_seen(self) -> Attribute | None:
        """Return one more attribute of the same column: how many decimals its numbers need, where nobody declared it.

        Only for a range whose bins a noisy tree finds; None for any other.
        """
        if self.grid is None or not self.grid.guesses_decimals:
            return None
        domain = DecimalClasses(self.kind, (self.grid.low, self.grid.high), most=self.grid.steps.digits)
        return self._beside(decimals_name(self.name), domain)

    @cached_property
    def rounding(self) -> Rounding | None:
        """Return the rounding classes of a range whose bins a noisy tree finds; None where nothing is to be known."""
        return None if self.grid is None else rounding_of(self.grid)

    @cached_property
    def rounding_seen(self) -> Attribute | None:
        """Return one more attribute of the same column: how round its numbers are."""
        if self.grid is None or self.rounding is None:
            return None
        return self._beside(rounding_name(self.name), RoundingClasses.of(self.grid, self.rounding))

    @cached_property
    def endings_seen(self) -> Attribute | None:
        """Return one more attribute of the same column: the last digits of its numbers, if they tell values apart."""
        endings = self.endings if self.grid is None else endings_of(self.grid)
        return None if endings is None else self._beside(endings_name(self.name), endings)

    # -- bins that a noisy tree finds ------------------------------------------------------------------------

    def binned(self, first: Index) -> Attribute:
        """Return the same column with bins that begin at these units of its grid."""
        assert self.grid is not None
        endings = endings_of(self.grid)
        return replace(self, domain=self.grid.binned(first), taxonomy=None, grid=None, found=True, endings=endings)

    @property
    def countable(self) -> bool:
        """Return whether each value of the range can have a bin of its own."""
        return self.grid is not None and self.grid.scale.listable and self.grid.count <= MAX_CODES

    def with_each_value(self) -> Attribute:
        """Return the same column with a bin for each value of its range."""
        assert self.grid is not None
        edges = self.grid.steps.between(self.grid.low, self.grid.high, MAX_CODES)
        domain = Intervals(self.kind, edges, self.grid.points, self.grid.format, self.grid.every)
        return replace(self, domain=domain, taxonomy=None, grid=None)

    def with_own_bins(self) -> Attribute:
        """Return the same column with bins of equal prior mass if it has none: a computed column buys no tree."""
        if self.grid is None:
            return self
        found = self.binned(self.grid.public_bins(PUBLIC_BINS))
        return replace(found, domain=replace(found.ordered, places=self.grid.decimals), taxonomy=None)

    def homes(self, first: Index) -> NDArray[np.int64]:
        """Return the code of each unit's bin, given the first unit of each bin; "missing" stays last."""
        assert self.grid is not None
        return np.append(self.grid.homes(first), [len(first)] * self.has_missing).astype(np.int64)

    # -- views -----------------------------------------------------------------------------------------------

    def view_size(self, axis: Axis) -> int:
        if axis.bit >= 0:
            return 2
        if axis.level == 0:
            return self.size
        return max(self.groups) + 1 if axis.merged else len(self._level(axis).labels) + self.has_missing

    def view_labels(self, axis: Axis) -> tuple[str, ...]:
        if axis.bit >= 0:
            return ("0", "1")
        if axis.level == 0:
            return self.labels
        if axis.merged:
            return tuple(self._group_label(group) for group in range(max(self.groups) + 1))
        return self._level(axis).labels + ((MISSING,) if self.has_missing else ())

    def view_map(self, axis: Axis) -> NDArray[np.int32]:
        """Return the view's code for each code of the attribute: the public function that generalises a row."""
        codes = np.arange(self.size, dtype=np.int32)
        if axis.bit >= 0:
            shown = codes ^ (codes >> 1) if axis.gray else codes
            return (shown >> (self.bits - 1 - axis.bit)) & 1
        if axis.level == 0:
            return codes
        if axis.merged:
            return np.asarray(self.groups, dtype=np.int32)
        level = self._level(axis)
        return np.asarray(level.group + (len(level.labels),) * self.has_missing, dtype=np.int32)

    def _level(self, axis: Axis) -> Level:
        """Return the grouping of the values at a level of the taxonomy."""
        assert self.taxonomy is not None
        return self.taxonomy.levels[axis.level - 1]

    def merged(self, groups: tuple[int, ...]) -> Attribute:
        """Return the attribute with its values merged into groups; `groups` has the group of each code.

        There are three groups at least and none is empty. Two are refused, since engines pack views of two values
        before groups are known.
        """
        whole = len(groups) == self.size and min(groups) >= 0 and 2 <= max(groups) < self.size
        if not whole or len(set(groups)) != max(groups) + 1:
            raise UsageError("values are merged into three groups or more, each value into one", attribute=self.name)
        return replace(self, groups=groups)

    def _group_label(self, group: int) -> str:
        """Return the values of a merged group, the first few of many."""
        own = [label for label, place in zip(self.labels, self.groups) if place == group]
        return ", ".join(own[:3]) + (f" and {len(own) - 3} more" if len(own) > 3 else "")

    # -- cells -----------------------------------------------------------------------------------------------

    def encode(self, texts: Sequence[str], decimal: str = ".") -> Codes:
        """Return the code of each cell of text; UNFIT where no rule of the schema covers it."""
        codes = self.domain.encode(texts, decimal)
        return self._settle(codes, np.fromiter((t in self.missing for t in texts), dtype=bool, count=len(texts)))

    def encode_numbers(self, values: Floats, absent: NDArray[np.bool_]) -> Codes:
        """Return the code of each number of a typed column; `absent` marks nulls, which are empty cells."""
        is_missing = np.isin(values, self._missing_numbers) & ~absent
        return self._settle(self.ordered.encode_numbers(values), is_missing | (absent & ("" in self.missing)))

    @cached_property
    def _missing_numbers(self) -> Floats:
        """Return missing codes that are numbers (999): in a typed column they come as numbers, not as text."""
        codes = np.asarray([self.ordered.parse(text) for text in self.missing], dtype=np.float64)
        return codes[~np.isnan(codes)]

    @cached_property
    def unlisted_code(self) -> int:
        """Return the code of a cell that nothing declares: that of `other`, or UNFIT."""
        return int(self.encode(["\0"])[0])

    def _settle(self, codes: Codes, is_missing: NDArray[np.bool_]) -> Codes:
        """Give missing cells their code, and then that of `other` to cells that nothing declares."""
        if is_missing.any():
            codes[is_missing] = self.missing_code
        if self.other is not None:
            other = self.missing_code if self._sends_to_missing else self.domain.encode([self.other])[0]
            codes[codes == UNFIT] = other
        return codes

    def decode(self, codes: NDArray[Any], generator: np.random.Generator) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return a value for each code, and which of them are missing (their values are to be ignored)."""
        codes, absent = self._present(codes)
        return self.domain.decode(codes, generator), absent

    def to_arrow(self, codes: NDArray[Any], generator: np.random.Generator) -> Any:
        """Return the decoded values as a typed Arrow array, null where missing."""
        codes, absent = self._present(codes)
        return self.domain.to_arrow(codes, absent, generator)

    def _present(self, codes: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_]]:
        """Return codes of the domain (any for a missing value), and which are missing."""
        absent = codes == self.missing_code if self.has_missing else np.zeros(len(codes), dtype=bool)
        return np.where(absent, 0, codes).astype(np.int32), absent


def fine_name(name: str) -> str:
    """Return what an attribute is called on its fine grid."""
    return f"{name} (fine)"


def decimals_name(name: str) -> str:
    """Return what the decimal classes of an attribute are called."""
    return f"{name} (decimals)"


def rounding_name(name: str) -> str:
    """Return what the rounding classes of an attribute are called."""
    return f"{name} (rounding)"


def endings_name(name: str) -> str:
    """Return what the endings of an attribute's numbers are called."""
    return f"{name} (endings)"
