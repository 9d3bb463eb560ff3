"""The schema: all that is publicly known about a table before anyone looks at its rows."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError, UsageError, check_path, did_you_mean, kind_of
from understudy.schema.attribute import PUBLIC_BINS, Attribute, fine_name
from understudy.schema.axis import Axis
from understudy.schema.children import ChildTable, check_tables
from understudy.schema.csv_dialect import DEFAULT_CSV, CsvDialect
from understudy.schema.patterns import Pattern
from understudy.schema.person import Person, check_person
from understudy.schema.rule_blocks import Block, blocks_of
from understudy.schema.rules import Constraint, Rule, RuleBook
from understudy.schema.scales.identifiers import Dropped, Identifier
from understudy.schema.tree_grid import Index
from understudy.schema.uses import Use
from understudy.showing import html_of

Neighbours = Literal["replace-one", "add-remove"]
MAX_ROWS = 2**40  # of a table: up to here all integer arithmetic is exact, and no engine takes more
MAX_ROWS_PER_PERSON = 2**31 - 1


@dataclass(frozen=True, repr=False)
class Schema:
    """All that is publicly known about a table: its columns, and what a neighbour is. Nothing in it is read from rows.

    Usually read from a file: `Schema.open("schema.toml")`. A schema never changes; its hash goes into every charge.

    Args:
        name: of the table.
        attributes: its columns.
        rows: how many rows there are, under "replace-one", where that is public.
        neighbours: "replace-one" (one person's values change) or "add-remove" (a person is there or not).
        rows_per_person: how many rows one person may have; the promise is for a person with so many.
        account: the account in the ledger that pays; the default is `name`.
        rows_max: the most rows there can be, as far as the public knows; under "add-remove".
        csv: how the file is written.
        confirm: keys of the table that a person has yet to confirm.
        rules: what holds between columns in every row, as public knowledge says.
        uses: the analyses that a release is meant for, as public knowledge says.
        constraints: what the rules ask of the modelled columns; `free` fills it in.
        person: whose row each is, where a person has many; `rows_per_person` is then its `at_most`.
        tables: further tables, whose rows belong to rows of this one.
        file: of these rows in a folder of tables; the default is the name with any suffix that is read.

    >>> text = '''
    ... [table]
    ... name = "clinic"
    ... rows = 2000
    ... [attributes.smoker]
    ... kind = "category"
    ... values = ["no", "yes"]
    ... '''
    >>> understudy.Schema.from_toml(text)
    <Schema 'clinic': 1 attributes, 2,000 rows, replace-one>
    """

    name: str
    attributes: tuple[Attribute, ...]
    rows: int | None = None
    neighbours: Neighbours = "replace-one"
    rows_per_person: int = 1
    account: str = ""
    rows_max: int | None = None
    csv: CsvDialect = DEFAULT_CSV
    confirm: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    uses: tuple[Use, ...] = ()
    text: str | None = field(default=None, compare=False, repr=False)  # the file as written, comments and all
    path: Path | None = field(default=None, compare=False, repr=False)
    constraints: tuple[Constraint, ...] = field(default=(), compare=False, repr=False)  # of `free`: what rules ask
    person: Person | None = None
    tables: tuple[ChildTable, ...] = ()
    file: str | None = None

    def __post_init__(self) -> None:
        if not self.account:
            object.__setattr__(self, "account", self.name)
        names = [a.name for a in self.attributes] + [fine_name(a.name) for a in self.attributes if a.fine]
        if len(set(names)) != len(names):
            raise SchemaError("two attributes have the same name")
        known = any(a.modelled or a.undiscovered for a in self.attributes)
        if not known and not self.unconfirmed:
            raise SchemaError("the schema has no attribute to publish (only ids and dropped columns)")
        check_person(self)
        check_tables(self)
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
        if self.person is not None:
            object.__setattr__(self, "rows_per_person", self.person.at_most)
        if self.rules:
            assert self.rule_book  # refuses rules that do not fit the attributes

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
        """Read the schema.toml at `path`; a SchemaError says what is wrong with it and where."""
        from understudy.schema.files import read_schema

        check_path(path, "a schema")
        return read_schema(Path(path))

    @staticmethod
    def from_toml(text: str) -> Schema:
        """Parse the `text` of a schema.toml."""
        from understudy.schema.files import parse_schema

        if not isinstance(text, str):
            raise UsageError(f"the text of a schema.toml is read here, and this is {kind_of(text)}")
        return parse_schema(text)

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Schema:
        """Read a schema from a `document` of tables and lists, keyed as schema.toml is.

        >>> Schema.from_dict({"table": {"name": "t", "rows": 9}, "attributes": {"ok": {"kind": "boolean"}}}).names
        ('ok',)
        """
        from understudy.schema.files import schema_from_dict

        return schema_from_dict(plain_lists(document), in_file=True)

    @staticmethod
    def draft(data: Any, codebook: Any = None, *, ddl: str | Path | None = None, name: str = "table") -> Schema:
        """Draft a schema for a frame from its columns' names and types, and from what describes them; no row is read.

        Args:
            data: a pandas, polars or pyarrow frame, or a list of column names. For a file: `understudy init`.
            codebook: a document, a pydantic model, a pandera schema, or a JSON Schema as a dictionary.
            ddl: a file with a CREATE TABLE statement.
            name: of the table.

        Whatever these leave open is in `unconfirmed`; `edit` settles it, and `print(schema.to_toml())` shows the draft.

        >>> Schema.draft(["age", "zeta"])["age"].provenance
        'proposed: ages'
        """
        from understudy.schema.frame_draft import draft_frame

        return draft_frame(data, codebook, ddl, name)

    def edit(self, attribute: str | None = None, /, **keys: Any) -> Schema:
        """Return the schema with other `keys` in one `attribute`, or in [table] where none is named.

        A key that is None is taken out. What is edited counts as looked at: the attribute has no open point left; of
        [table], the points that the edited keys are called after.

        >>> Schema.draft(["age"]).edit("age", range=(0, 120), bins=24)["age"].size
        25
        """
        from understudy.schema.edits import edited

        return edited(self, attribute, keys)

    def to_toml(self) -> str:
        """Return the text of the file as it was written, or of a fresh one."""
        from understudy.schema.writing import write_toml

        return self.text if self.text is not None else write_toml(self)

    def save(self, path: str | Path) -> None:
        """Write the schema to the file `path`."""
        Path(check_path(path, "a schema", "saved to")).write_text(self.to_toml(), encoding="utf-8", newline="")

    def __repr__(self) -> str:
        rows = "private number of" if self.rows is None else f"{self.rows:,}"
        return f"<Schema {self.name!r}: {len(self.modelled)} attributes, {rows} rows, {self.neighbours}>"

    _repr_html_ = html_of

    def as_json(self) -> dict[str, Any]:
        """Return what the schema says, without comments or places: what is hashed and goes into a release."""
        from understudy.schema.writing import schema_as_dict

        return schema_as_dict(self)

    @cached_property
    def hash(self) -> str:
        canonical = json.dumps(self.as_json(), sort_keys=True, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()

    # -- attributes ------------------------------------------------------------------------------------------

    @cached_property
    def modelled(self) -> tuple[Attribute, ...]:
        """Return the attributes that take part in the model."""
        return tuple(a for a in self.attributes if a.modelled)

    @cached_property
    def id_patterns(self) -> dict[str, Pattern]:
        """Return the pattern of every id that has one."""
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
    def relational(self) -> bool:
        """Return whether counted tables are derived from rows: people with many rows, or tables with foreign keys."""
        return self.person is not None or bool(self.tables)

    @property
    def binary(self) -> bool:
        return all(a.size <= 2 for a in self.modelled)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._by_name.get(name) or self._seen[name]
        except (KeyError, TypeError):
            known = [a.name for a in self.attributes]
            raise UsageError(f"there is no attribute {name!r}. {did_you_mean(name, known)}", attribute=name) from None

    def find(self, name: str) -> Attribute | None:
        """Return the attribute of this name, or None."""
        return self._by_name.get(name)

    def project(self, names: Iterable[str]) -> Schema:
        """Return the same table with these `names` only, and without rules and uses: they may speak of others."""
        kept = tuple(self[name] for name in names)
        return replace(
            self, attributes=kept, text=None, rules=(), uses=(), constraints=(), person=None, tables=(), file=None
        )

    @cached_property
    def _seen(self) -> dict[str, Attribute]:
        """Return the rounding classes and endings of numbers whose bins a tree finds, by name: they are counted, no
        more."""
        found = [seen for a in self.modelled for seen in (a.rounding_seen, a.endings_seen) if seen is not None]
        return {a.name: a for a in found if a.name not in self._by_name}

    @cached_property
    def counted(self) -> Schema:
        """Return what an engine codes: the attributes, those with `fine` once more on their finest grid, and the
        rounding classes and endings of numbers."""
        more = tuple(a.refined(a.finest_grid) for a in self.attributes if a.finest_grid is not None)
        more += tuple(self._seen.values())
        plain = tuple(replace(a, fine=None, fine_cells=None) for a in self.attributes)
        return replace(self, attributes=plain + more, text=None) if more else self

    @cached_property
    def undiscovered(self) -> tuple[Attribute, ...]:
        """Return the attributes with something left to be bought: `values`, `range` or `kind` = "discover"."""
        return tuple(a for a in self.attributes if a.undiscovered is not None)

    def check_discovered(self, who: str) -> None:
        """Refuse a schema with something left to be bought, for whoever cannot buy it."""
        if self.undiscovered:
            raise UsageError(
                f'{self.undiscovered[0].name!r} has something left to be bought (= "discover"), and {who} cannot buy '
                "it: `understudy init DATA --epsilon E` or a release has the schema in which it is bought"
            )

    @cached_property
    def unbinned(self) -> tuple[Attribute, ...]:
        """Return the attributes whose bins a noisy tree is to find."""
        return tuple(a for a in self.modelled if a.grid is not None)

    def binned(self, bins: Mapping[str, Index]) -> Schema:
        """Return the same table with bins for these attributes, given by the first unit of each bin."""
        attributes = tuple(a.binned(bins[a.name]) if a.name in bins else a for a in self.attributes)
        return replace(self, attributes=attributes, text=None)

    def with_found_bins(self, names: Collection[str]) -> Schema:
        """Return the same table, with these attributes and no others as ones whose bins nobody gave."""
        attributes = tuple(replace(a, found=a.name in names) for a in self.attributes)
        return replace(self, attributes=attributes, text=None)

    def with_public_bins(self, bins: int = PUBLIC_BINS) -> Schema:
        """Return the same table with bins of equal prior mass where none are given: for what cannot buy a tree."""
        found = {a.name: a.grid.public_bins(bins) for a in self.unbinned if a.grid is not None}
        return self.binned(found) if found else self

    def for_owners(self) -> Schema:
        """Return the same table as rosters of earlier versions mean it, whose owners bought no tree: a range of whole
        numbers has a bin for each value, and any other has public bins."""
        self.check_discovered("a federation")
        each = {a.name: a.with_each_value() for a in self.unbinned if a.countable}
        attributes = tuple(each.get(a.name, a) for a in self.attributes)
        return replace(self, attributes=attributes, text=None).with_public_bins() if self.unbinned else self

    # -- rules -----------------------------------------------------------------------------------------------

    @cached_property
    def rule_book(self) -> RuleBook:
        """Return what the rules come to: computed columns, and constraints on the others."""
        return RuleBook.of(self)

    @cached_property
    def free(self) -> Schema:
        """Return the table as it is modelled: without columns that a rule determines; other rules are constraints."""
        if not self.rules:
            return self
        book = self.rule_book
        gone = {name: Attribute(name, Dropped()) for name in book.determined}
        if not any(a.modelled and a.name not in gone for a in self.attributes):
            raise SchemaError("the rules determine every column: there is nothing left to model")
        attributes = tuple(gone.get(a.name, a) for a in self.attributes)
        return replace(self, attributes=attributes, rules=(), constraints=book.constraints, text=None)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Return the constraints as tables over codes; see `schema.rule_blocks`."""
        return blocks_of(self._by_name, self.constraints)

    def completed(self, declared: Schema) -> Schema:
        """Return this free schema, which may have found bins, with the computed columns and the rules as declared."""
        if not declared.rules:
            return self
        known = declared.rule_book.determined
        own = {a.name: a for a in self.attributes} | {name: known[name].attribute.with_own_bins() for name in known}
        attributes = tuple(own[a.name] for a in declared.attributes if a.name in own)
        return replace(self, attributes=attributes, rules=declared.rules, constraints=(), text=None)

    @property
    def unconfirmed(self) -> list[tuple[str, str]]:
        """Return attribute (or "[table]") and key of every point that `init` left open."""
        table = [("[table]", key) for key in self.confirm]
        own = [(a.name, key) for a in self.attributes for key in a.confirm]
        return table + own + [point for child in self.tables for point in child.schema.unconfirmed]

    # -- axes ------------------------------------------------------------------------------------------------

    def size(self, axis: Axis) -> int:
        return self[axis.attribute].view_size(axis)

    def sizes(self, axes: Sequence[Axis]) -> tuple[int, ...]:
        return tuple(self.size(axis) for axis in axes)

    def cells(self, axes: Sequence[Axis] | Sequence[str]) -> int:
        """Return the number of cells of a table over these axes (or attribute names)."""
        return math.prod(self.size(a if isinstance(a, Axis) else Axis(a)) for a in axes)

    def merged(self, groups: Mapping[str, tuple[int, ...]]) -> Schema:
        """Return the schema in which these attributes have merged groups too: the group of each code, from 0 on."""
        attributes = tuple(a.merged(groups[a.name]) if a.name in groups else a for a in self.attributes)
        return replace(self, attributes=attributes)

    def view_map(self, axis: Axis) -> NDArray[np.int32]:
        cache = self._views
        if axis not in cache:
            cache[axis] = self[axis.attribute].view_map(axis)
        return cache[axis]

    @cached_property
    def _views(self) -> dict[Axis, NDArray[np.int32]]:
        return {}


def plain_lists(value: Any) -> Any:
    """Return tuples as lists, all the way down: what a file would hold."""
    if isinstance(value, Mapping):
        return {key: plain_lists(part) for key, part in value.items()}
    return [plain_lists(part) for part in value] if isinstance(value, list | tuple) else value
