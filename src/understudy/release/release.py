"""The release: what leaves the building. A model, its noisy measurements, the schema and the privacy card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError, SchemaError, UsageError, did_you_mean
from understudy.models.model import Evidence, Model, Rows
from understudy.models.noisy_tree import NoisyTree
from understudy.models.serialization import (
    MAX_TOTAL,
    ArraySource,
    axis_of,
    checked_noise,
    details_from_parts,
    details_parts,
    model_from_parts,
    model_parts,
)
from understudy.models.tree_parts import trees_from_parts, trees_parts
from understudy.models.within_bins import Shape, Shapes, placed_rows, placed_schema, shape_of
from understudy.privacy.custodian import refuse_exact
from understudy.privacy.entries import Head
from understudy.privacy.measurement import Measurement
from understudy.privacy.questions.details import Details
from understudy.privacy.random_source import SystemSource, seeded_generator
from understudy.release.card import card_text, check_card
from understudy.release.facts import check_facts
from understudy.release.replacement import replacing
from understudy.release.storage import (
    DETAILS_FORMAT,
    MAX_ATTRIBUTES,
    PLAIN_FORMAT,
    TREES_FORMAT,
    StoredRelease,
    content_hash,
    pack,
    reading,
    release_bytes,
)
from understudy.schema import Axis, Schema
from understudy.schema.files import schema_from_dict

if TYPE_CHECKING:
    from understudy.query.queries import Answer


SMALL_BATCH = 1 << 17  # rows; what models draw at a time is a divisor or a multiple
LARGE_BATCH = 1 << 20
BATCH_CELLS = 1 << 26


@dataclass(frozen=True, eq=False)
class Release:
    """Safe to give away. Sampling and saving are post-processing: they cost nothing."""

    schema: Schema
    model: Model
    measurements: tuple[Measurement, ...]
    rows: int
    columns: tuple[str, ...]  # in the order of the original file
    facts: dict[str, Any]
    card: dict[str, Any]
    head: Head
    library: str | None = None  # of the caller's frame, "pandas" for example; not saved
    details: tuple[Details, ...] = ()  # inside the bins of attributes with `fine`
    trees: tuple[NoisyTree, ...] = ()  # that bins were made of

    def __post_init__(self) -> None:
        refuse_exact(self.facts, self.card)

    # -- sampling --------------------------------------------------------------------------------------------

    def sample(self, rows: int | None = None, given: Mapping[str, Any] | None = None, seed: int | None = None) -> Any:
        """Draw synthetic rows as a frame of the caller's library (pandas where nothing else is known).

        The type of each column follows from the schema alone; `release.frames` has the table.
        """
        import pyarrow as pa

        from understudy.release.frames import to_frame
        from understudy.release.writing import decode_chunks

        generator = self.generator(seed)
        batches = self._placed_batches(rows, given, generator)
        tables = list(decode_chunks(batches, self._placed, self.columns, generator))
        return to_frame(pa.concat_tables(tables), self.schema, self.library)

    def sample_codes(self, rows: int | None, given: Mapping[str, Any] | None, generator: np.random.Generator) -> Rows:
        """Synthetic rows still in codes, all at once."""
        model, count = self._model_and_rows(rows, given)
        return model.sample(count, generator)

    def sample_batches(
        self, rows: int | None, given: Mapping[str, Any] | None, generator: np.random.Generator
    ) -> Iterator[Rows]:
        """The same a batch at a time, so that any number of rows takes the same memory; at least one batch.

        Each batch follows the model as closely as whole numbers allow (`rounding`); batches are independent.
        """
        model, count = self._model_and_rows(rows, given)
        step = max(BATCH_CELLS // len(self.schema.modelled) // SMALL_BATCH, 1) * SMALL_BATCH
        step = min(step, LARGE_BATCH)
        for start in range(0, max(count, 1), step):
            yield model.sample(min(step, count - start), generator)

    @property
    def default_rows(self) -> int:
        """How many rows are drawn where nobody says: as many as the table had, or as there are distinct ids."""
        return min([self.rows, *(pattern.capacity for pattern in self.schema.id_patterns.values())])

    def _model_and_rows(self, rows: int | None, given: Mapping[str, Any] | None) -> tuple[Model, int]:
        count = self.default_rows if rows is None else rows
        if count < 0 or count > 2**40:
            raise UsageError("the number of rows to sample must be 0 or more")
        for name, pattern in self.schema.id_patterns.items():
            pattern.check(count, name)
        return (self.model.condition(self.evidence(given)) if given else self.model), count

    def write(
        self, path: str | Path, rows: int | None = None, given: Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        """Synthetic rows to a CSV or Parquet file in the original's dialect, drawn and decoded a part at a time."""
        from understudy.release.writing import write_rows

        generator = self.generator(seed)
        batches = self._placed_batches(rows, given, generator)
        write_rows(batches, path, self._placed, self.columns, generator)

    @cached_property
    def shapes(self) -> Shapes:
        """How values lie inside the bins of attributes whose details or trees were measured; the others are flat."""
        found: dict[str, Shape] = {}
        for tree in self.trees:
            found[tree.attribute.name] = (
                tree.heaped_shape(self._counts(tree.attribute.name)) if tree.heaps else tree.shape
            )
        for d in self.details:
            found[d.attribute] = shape_of(self.schema[d.attribute], d, self._counts(d.attribute))
        return found

    def _counts(self, name: str) -> NDArray[np.float64]:
        """The model's own count of each code of an attribute."""
        return self.rows * self.model.project([name]).table

    @cached_property
    def _placed(self) -> Schema:
        return placed_schema(self.schema, self.shapes)

    def _placed_batches(
        self, rows: int | None, given: Mapping[str, Any] | None, generator: np.random.Generator
    ) -> Iterator[Rows]:
        """Batches with every value in a cell of its fine grid, where it has one."""
        for batch in self.sample_batches(rows, given, generator):
            yield placed_rows(batch, self.shapes, generator)

    def generator(self, seed: int | None = None) -> np.random.Generator:
        return SystemSource().generator() if seed is None else seeded_generator(seed)

    def evidence(self, given: Mapping[str, Any]) -> Evidence:
        """Codes for `{"sex": "Female"}`: a value, a label of a bin, or the name of a taxonomy group."""
        return {name: self._allowed(name, value) for name, value in given.items()}

    def _allowed(self, name: str, value: Any) -> list[int]:
        attribute = self.schema[name]
        if not attribute.modelled:
            raise UsageError(f"{name} is not part of the model (kind {attribute.kind})", attribute=name)
        text = str(value)
        if isinstance(value, bool | np.bool_):
            return [int(value)]
        for level in range(attribute.levels):
            axis = Axis(name, level)
            labels = attribute.view_labels(axis)
            if text in labels:
                return [int(c) for c in np.flatnonzero(attribute.view_map(axis) == labels.index(text))]
        code = int(attribute.encode([text])[0]) if attribute.other is None else -1
        if code < 0:
            raise UsageError(
                f"{name} has no value {text!r}. {did_you_mean(text, list(attribute.labels))}", attribute=name
            )
        return [code]

    # -- querying --------------------------------------------------------------------------------------------

    def query(self, text: str) -> Answer:
        """The answer to `count by sex where age >= 40`, from the model; see docs/guide/queries.md for the grammar."""
        from understudy.query.queries import Query, answer

        return answer(self.model, Query.of_text(text, self.schema, self.rows, self.shapes), self.measurements)

    # -- files -----------------------------------------------------------------------------------------------

    @cached_property
    def members(self) -> dict[str, bytes]:
        """The hashed content of the release file."""
        refuse_exact(self.facts, self.card)
        model, arrays = model_parts(self.model)
        listed = []
        for i, m in enumerate(self.measurements):
            arrays[f"measurement-{i}"] = m.values
            listed.append({"axes": [a.as_json() for a in m.axes], "noise": m.noise.name, "scale": m.noise.scale})
        documents: dict[str, dict[str, Any]] = {
            "schema": self.schema.as_json(),
            "card": self.card,
            "model": {"rows": self.rows, "columns": list(self.columns), "facts": self.facts, "model": model},
            "measurements": {"measurements": listed},
        }
        if self.details:
            documents["model"]["details"], more = details_parts(self.details)
            arrays |= more
        if self.trees:
            documents["model"]["trees"], more = trees_parts(self.trees)
            arrays |= more
        return pack(documents, arrays)

    @property
    def hash(self) -> str:
        return content_hash(self.members)

    def save(self, path: str | Path) -> None:
        """Write the release to a file; an older file of that name is replaced."""
        with replacing(Path(path)) as file:
            file.write(self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the release's file."""
        ledger = {"seq": self.head.seq, "hash": self.head.hash}
        format = TREES_FORMAT if self.trees else DETAILS_FORMAT if self.details else PLAIN_FORMAT
        return release_bytes(self.members, ledger, format)

    @staticmethod
    def open(path: str | Path) -> Release:
        """Read a release file; anything odd about it is a ReleaseError."""
        try:
            with reading(Path(path)) as stored:
                return _read(stored)
        except (
            LookupError, TypeError, ValueError, ArithmeticError, AssertionError, AttributeError, SchemaError, UsageError
        ):  # fmt: skip
            raise ReleaseError(
                f"{Path(path).name!r} is damaged: a part is missing or does not fit the others"
            ) from None
        except MemoryError:
            raise ReleaseError(f"{Path(path).name!r} does not fit into memory") from None

    # -- showing ---------------------------------------------------------------------------------------------

    def summary(self) -> str:
        """One page: what was published, the network, and the card."""
        lines = [f"{self.schema.name}: {self.rows:,} rows, {len(self.schema.modelled)} attributes modelled", ""]
        network = self.facts.get("network", [])
        if network:
            width = max(len(p["attribute"]) for p in network)
            lines += ["Network"] + [
                f"  {p['attribute']:<{width}}  {'← ' + ', '.join(p['parents']) if p['parents'] else ''}".rstrip()
                for p in network
            ]
            lines.append("")
        if tables := list(dict.fromkeys(" × ".join(names) for names in self.facts.get("tables", []))):
            more = [f"  and {len(tables) - 20} more"] if len(tables) > 20 else []
            lines += ["Measured together, in this order", *(f"  {table}" for table in tables[:20]), *more, ""]
        return "\n".join([*lines, card_text(self.card)])

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.summary())}</pre>"


def _read(stored: StoredRelease) -> Release:
    """The parts of a release file put together, each checked against the others before it is unpacked."""
    body = stored.documents["model"]
    columns = tuple(_listed(body["columns"]))
    if len(columns) > MAX_ATTRIBUTES or len(columns) != len(stored.documents["schema"]["attributes"]):
        raise ValueError
    schema = _in_order(schema_from_dict(stored.documents["schema"], stored.max_codes), columns)
    check_card(stored.documents["card"])
    check_facts(body["facts"], schema)
    listed = _listed(stored.documents["measurements"]["measurements"])
    release = Release(
        schema,
        model_from_parts(body["model"], stored, schema),
        tuple(_measurement(item, f"measurement-{i}", stored, schema) for i, item in enumerate(listed)),
        _whole(body["rows"], 1),
        columns,
        body["facts"],
        stored.documents["card"],
        Head(_whole(stored.ledger["seq"]), str(stored.ledger["hash"])),
        details=details_from_parts(_listed(body.get("details", [])), stored, schema),
        trees=trees_from_parts(_listed(body.get("trees", [])), stored, schema, stored.max_codes),
    )
    # as it was read: written anew, a junction tree may come out in another order with another hash
    release.__dict__["members"] = stored.all_members()
    release.summary()  # it can be shown
    return release


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError
    return value


def _whole(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= MAX_TOTAL:
        raise ValueError
    return value


def _in_order(schema: Schema, columns: tuple[str, ...]) -> Schema:
    """A schema is written by name; this is the order of the original file."""
    if sorted(columns) != sorted(a.name for a in schema.attributes):
        raise ValueError
    return replace(schema, attributes=tuple(schema[name] for name in columns))


def _measurement(document: dict[str, Any], name: str, arrays: ArraySource, schema: Schema) -> Measurement:
    axes = tuple(axis_of(item, schema) for item in _listed(document["axes"]))
    return Measurement(axes, arrays.take(name, schema.sizes(axes), np.int64), checked_noise(document))
