"""The schema: all that is publicly known about a table before anyone looks at its rows."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError, UsageError, did_you_mean
from understudy.schema.attribute import Attribute, fine_name
from understudy.schema.axis import Axis
from understudy.schema.domain import Identifier
from understudy.schema.patterns import Pattern
from understudy.schema.tree_grid import Index

Neighbours = Literal["replace-one", "add-remove"]
MAX_ROWS = 2**40  # of a table: up to here all integer arithmetic is exact, and no engine takes more
MAX_ROWS_PER_PERSON = 2**31 - 1
PUBLIC_BINS = 20  # of a range without bins, where no tree is bought


@dataclass(frozen=True)
class Dialect:
    """How the CSV file is written; output uses the same.

    Without a header, the columns of the file are the attributes of the schema in their order.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True


@dataclass(frozen=True)
class Schema:
    """The table's name, attributes, row count and neighbour definition. Public, immutable, hashed into every charge."""

    name: str
    attributes: tuple[Attribute, ...]
    rows: int | None = None
    neighbours: Neighbours = "replace-one"
    rows_per_person: int = 1
    account: str = ""
    rows_max: int | None = None
    csv: Dialect = Dialect()
    confirm: tuple[str, ...] = ()
    text: str | None = field(default=None, compare=False, repr=False)  # the file as written, comments and all
    path: Path | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not self.account:
            object.__setattr__(self, "account", self.name)
        names = [a.name for a in self.attributes] + [fine_name(a.name) for a in self.attributes if a.fine]
        if len(set(names)) != len(names):
            raise SchemaError("two attributes have the same name")
        if not any(a.modelled for a in self.attributes):
            raise SchemaError("the schema has no attribute to publish (only ids and dropped columns)")
        if self.neighbours == "replace-one" and self.rows is None:
            raise SchemaError(
                'under neighbours = "replace-one" the row count is public: write `rows = N` in [table], '
                'or protect it too with neighbours = "add-remove"'
            )
        if self.neighbours == "add-remove" and self.rows is not None:
            raise SchemaError('under neighbours = "add-remove" the row count is private: leave `rows` out of [table]')
        limits = {"rows": MAX_ROWS, "rows_per_person": MAX_ROWS_PER_PERSON, "rows_max": MAX_ROWS}
        for key, most in limits.items():
            value = getattr(self, key)
            if value is not None and not 1 <= value <= most:
                raise SchemaError(f"`{key}` must be a whole number from 1 to {most:,}")
        self._check_ids()

    def _check_ids(self) -> None:
        for name, pattern in self.id_patterns.items():
            if pattern.capacity < (self.rows or self.rows_max or 1):
                raise SchemaError(
                    f"the pattern {pattern.text!r} of {name!r} has {pattern.capacity:,} distinct ids, fewer than the "
                    "table may have rows: give it a longer field",
                    attribute=name,
                )

    # -- reading and writing ---------------------------------------------------------------------------------

    @staticmethod
    def open(path: str | Path) -> Schema:
        """Read a schema.toml."""
        from understudy.schema.files import read_schema

        return read_schema(Path(path))

    @staticmethod
    def from_toml(text: str) -> Schema:
        """Parse the text of a schema.toml."""
        from understudy.schema.files import parse_schema

        return parse_schema(text)

    def to_toml(self) -> str:
        """The file as it was written, or a fresh one."""
        from understudy.schema.writing import write_toml

        return self.text if self.text is not None else write_toml(self)

    def save(self, path: str | Path) -> None:
        Path(path).write_text(self.to_toml(), encoding="utf-8", newline="")

    def as_json(self) -> dict[str, Any]:
        """What the schema says, without comments or places: the form that is hashed and goes into a release."""
        from understudy.schema.writing import schema_as_dict

        return schema_as_dict(self)

    @cached_property
    def hash(self) -> str:
        canonical = json.dumps(self.as_json(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    # -- attributes ------------------------------------------------------------------------------------------

    @cached_property
    def modelled(self) -> tuple[Attribute, ...]:
        """The attributes that take part in the model."""
        return tuple(a for a in self.attributes if a.modelled)

    @cached_property
    def id_patterns(self) -> dict[str, Pattern]:
        """The pattern of every id that has one."""
        domains = {a.name: a.domain for a in self.attributes}
        return {n: d.pattern for n, d in domains.items() if isinstance(d, Identifier) and d.pattern is not None}

    @cached_property
    def _by_name(self) -> dict[str, Attribute]:
        return {a.name: a for a in self.attributes}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.modelled)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that the attributes are read from, each once, in the order of the schema."""
        return tuple(dict.fromkeys(a.column for a in self.attributes))

    @property
    def binary(self) -> bool:
        return all(a.size <= 2 for a in self.modelled)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._by_name[name]
        except KeyError:
            known = [a.name for a in self.attributes]
            raise UsageError(f"there is no attribute {name!r}. {did_you_mean(name, known)}", attribute=name) from None

    def find(self, name: str) -> Attribute | None:
        """Return the attribute of this name, or None."""
        return self._by_name.get(name)

    def project(self, names: Iterable[str]) -> Schema:
        """The same table with these attributes only."""
        return replace(self, attributes=tuple(self[name] for name in names), text=None)

    @cached_property
    def counted(self) -> Schema:
        """What an engine codes: the attributes, and those with `fine` once more on their finest grid."""
        more = tuple(a.refined(a.finest_grid) for a in self.attributes if a.finest_grid is not None)
        plain = tuple(replace(a, fine=None, fine_cells=None) for a in self.attributes)
        return replace(self, attributes=plain + more, text=None) if more else self

    @cached_property
    def unbinned(self) -> tuple[Attribute, ...]:
        """The attributes whose bins a noisy tree is to find."""
        return tuple(a for a in self.modelled if a.grid is not None)

    def binned(self, bins: Mapping[str, Index]) -> Schema:
        """The same table with bins for these attributes, given by the first unit of each bin."""
        attributes = tuple(a.binned(bins[a.name]) if a.name in bins else a for a in self.attributes)
        return replace(self, attributes=attributes, text=None)

    def with_public_bins(self) -> Schema:
        """The same table with bins of equal prior mass where none are given: for what cannot buy a tree."""
        found = {a.name: a.grid.public_bins(PUBLIC_BINS) for a in self.unbinned if a.grid is not None}
        return self.binned(found) if found else self

    def for_owners(self) -> Schema:
        """The same table for several owners, who buy no tree: a range of whole numbers has a bin for each value,
        as in earlier versions, and any other has public bins."""
        each = {a.name: a.with_each_value() for a in self.unbinned if a.countable}
        attributes = tuple(each.get(a.name, a) for a in self.attributes)
        return replace(self, attributes=attributes, text=None).with_public_bins() if self.unbinned else self

    @property
    def unconfirmed(self) -> list[tuple[str, str]]:
        """Attribute (or "[table]") and key of every point that `init` left open."""
        table = [("[table]", key) for key in self.confirm]
        return table + [(a.name, key) for a in self.attributes for key in a.confirm]

    # -- axes ------------------------------------------------------------------------------------------------

    def size(self, axis: Axis) -> int:
        return self[axis.attribute].view_size(axis)

    def sizes(self, axes: Sequence[Axis]) -> tuple[int, ...]:
        return tuple(self.size(axis) for axis in axes)

    def cells(self, axes: Sequence[Axis] | Sequence[str]) -> int:
        """The number of cells of a table over these axes (or attribute names)."""
        return math.prod(self.size(a if isinstance(a, Axis) else Axis(a)) for a in axes)

    def view_map(self, axis: Axis) -> NDArray[np.int32]:
        cache = self._views
        if axis not in cache:
            cache[axis] = self[axis.attribute].view_map(axis)
        return cache[axis]

    @cached_property
    def _views(self) -> dict[Axis, NDArray[np.int32]]:
        return {}
