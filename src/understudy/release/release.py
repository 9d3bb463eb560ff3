"""The release: what leaves the building. A model, its noisy measurements, the schema and the privacy card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError, SchemaError, UsageError, check_path, kind_of
from understudy.models.edition import Edition
from understudy.models.model import Model, Rows
from understudy.models.noisy_tree import NoisyTree
from understudy.models.prior import Prior
from understudy.models.ruled_model import free_model
from understudy.models.within_bins import Shape, Shapes, placed_schema, shape_of
from understudy.privacy.custodian import refuse_exact
from understudy.privacy.entries import Head
from understudy.privacy.measurement import Measurement
from understudy.privacy.questions.details import Details
from understudy.privacy.random_source import SystemSource, seeded_generator
from understudy.progress import ProgressBar
from understudy.relations.history_model import HistoryModel
from understudy.relations.linked_model import LinkedModel
from understudy.release.card import Card
from understudy.release.drawing import SMALL_BATCH, Drawing
from understudy.release.facts import ReleaseFacts
from understudy.release.given import Given
from understudy.release.linked_tables import sampled_tables, write_tables
from understudy.release.replacement import replacing
from understudy.release.storage import content_hash, reading, release_bytes
from understudy.release.summary import summary_of
from understudy.schema import Schema
from understudy.showing import figure_of, html_of

if TYPE_CHECKING:
    from understudy.inference.combining import Population, RowsBy
    from understudy.inference.intervals import Inference
    from understudy.inference.trust import Trust
    from understudy.models.refit import Design
    from understudy.query.answers import Answer
    from understudy.release.draws import Draws
    from understudy.report.views import View


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """What was published: a model, its noisy tables, the schema and the privacy card. Safe to give away.

    Everything that can be done with it is post-processing, and costs nothing. Made by `understudy.publish`, or read by
    `Release.open`. Its parts: `schema`, `model`, `measurements` (noisy tables), `rows` (public, or noisy), `columns`,
    `facts` (what was modelled together), `card` (the promise), the ledger's `head`, `details`, `trees`, `prior`,
    `edition` (of the rules that it was estimated by), `library`.

    >>> release
    <Release of 'clinic': 2,000 rows, 4 attributes, aim at epsilon 1; .sample(), .query(…), .report(), .save(…)>
    >>> release.save("clinic.release.zip")
    >>> understudy.Release.open("clinic.release.zip").hash == release.hash
    True
    """

    schema: Schema
    model: Model
    measurements: tuple[Measurement, ...]
    rows: int
    columns: tuple[str, ...]  # in the order of the original file
    facts: ReleaseFacts
    card: Card
    head: Head
    library: str | None = None  # of the caller's frame, "pandas" for example; not saved
    details: tuple[Details, ...] = ()  # inside the bins of attributes with `fine`
    trees: tuple[NoisyTree, ...] = ()  # that bins were made of
    prior: Prior | None = None  # what was known before, as far as the model uses it
    edition: Edition = Edition.NEWEST  # of the rules that it was estimated by

    def __post_init__(self) -> None:
        refuse_exact(self.facts, self.card)

    # -- sampling --------------------------------------------------------------------------------------------

    def sample(
        self,
        rows: int | None = None,
        given: Given | None = None,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> Any:
        """Draw synthetic rows, as a frame of the library that the data came in (pandas where that is not known).

        The type of each column follows from the schema alone (docs/guide/frames.md). Tables with foreign keys come as a
        dictionary of frames by name; `rows` and `given` are then about the root.

        Args:
            rows: how many; the default is as many as the table has.
            given: what every row shall meet: {"sex": "Female"}, with a value, the label of a bin, or a group; or a
                condition such as "age >= 60 and sex = Female" (docs/guide/rules.md).
            seed: repeats the same draw. It is allowed here, where nothing private is read.
            progress: shows a bar; None means for many rows, where somebody is looking.

        >>> release.sample(3, given={"smoker": "yes"}, seed=1)["smoker"].tolist()
        ['yes', 'yes', 'yes']
        """
        import pyarrow as pa

        from understudy.release.frames import to_frame
        from understudy.release.writing import decode_chunks

        generator = self.generator(seed)
        if isinstance(self.model, LinkedModel):
            return sampled_tables(self, rows, given, generator)
        with self._progress(rows, progress) as bar:
            drawing = Drawing.of(self, rows, given)
            batches = drawing.placed(generator, bar)
            tables = list(decode_chunks(batches, self._placed, self.columns, generator, drawing.settling))
        return to_frame(pa.concat_tables(tables), self.schema, self.library)

    def sample_codes(self, rows: int | None, given: Given | None, generator: np.random.Generator) -> Rows:
        """Draw synthetic rows and leave them in codes, all at once."""
        return Drawing.of(self, rows, given).codes(generator)

    def sample_batches(self, rows: int | None, given: Given | None, generator: np.random.Generator) -> Iterator[Rows]:
        """Draw coded rows a batch at a time, so that any number of rows takes the same memory; at least one batch."""
        return Drawing.of(self, rows, given).coded(generator)

    @property
    def design(self) -> Design | None:
        """Return what `refit(release.measurements, release.design)` needs to give the model again (`models.refit`).

        None where the model did not come about in this way: a paper's own rule, wavelets, a mixture of owners.
        """
        from understudy.models.estimation import MODEL_CELLS
        from understudy.models.junction_tree import JunctionTree
        from understudy.models.refit import Design

        model = free_model(self.model)
        if not isinstance(model, JunctionTree) or self.card.options.get("estimate") == "paper":
            return None
        found = frozenset(tree.attribute.name for tree in self.trees if tree.smooth)
        schema, cells = model.schema.with_found_bins(found), max(MODEL_CELLS, model.cells)
        return Design(schema, cells, self.prior, self.edition)

    @property
    def default_rows(self) -> int:
        """Return how many rows are drawn where nobody says: as many as the table had, or as there are distinct ids."""
        room = {name: pattern.capacity for name, pattern in self.schema.id_patterns.items()}
        if isinstance(self.model, HistoryModel) and (own := self.model.panel.person.id) in room:
            room[own] = self.model.rows_for(room[own])
        return min([self.rows, *room.values()])

    def write(
        self,
        path: str | Path,
        rows: int | None = None,
        given: Given | None = None,
        seed: int | None = None,
        progress: bool | None = None,
    ) -> None:
        """Write synthetic rows to the CSV or Parquet file `path` in the original's dialect, drawn a part at a time.

        `rows`, `given`, `seed` and `progress` are those of `sample`. Tables with foreign keys go to a folder.
        """
        from understudy.release.writing import decode_chunks, write_table

        generator = self.generator(seed)
        if isinstance(self.model, LinkedModel):
            write_tables(self, Path(path), rows, given, generator)
            return
        with self._progress(rows, progress) as bar:
            drawing = Drawing.of(self, rows, given)
            batches = drawing.placed(generator, bar)
            tables = decode_chunks(batches, self._placed, self.columns, generator, drawing.settling)
            write_table(tables, path, self._placed)

    @cached_property
    def shapes(self) -> Shapes:
        """Return how values lie inside the bins of attributes whose details or trees were measured, or whose bins are a
        public guess. The others are flat.
        """
        found: dict[str, Shape] = {}
        for tree in self.trees:
            name = tree.attribute.name
            found[name] = tree.written_shape(self._counts(name)) if tree.written else tree.shape
        for d in self.details:
            found[d.attribute] = shape_of(self.schema[d.attribute], d, self._counts(d.attribute))
        return found

    def _counts(self, name: str) -> NDArray[np.float64]:
        """Return the model's own count of each code of an attribute."""
        return self.rows * self.model.project([name]).table

    @cached_property
    def _placed(self) -> Schema:
        return placed_schema(self.schema, self.shapes)

    def _progress(self, rows: int | None, wanted: bool | None) -> ProgressBar:
        """Return a bar; for a few rows, which come at once, nobody is shown one unasked."""
        few = not isinstance(rows, int) or rows <= SMALL_BATCH if rows is not None else self.default_rows <= SMALL_BATCH
        return ProgressBar(False if wanted is None and few else wanted)

    def generator(self, seed: int | None = None) -> np.random.Generator:
        if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
            raise UsageError(f"a seed is a whole number of 0 or more, and this is {kind_of(seed)}")
        return SystemSource().generator() if seed is None else seeded_generator(seed)

    # -- querying --------------------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        confidence: float | None = None,
        *,
        simultaneous: bool = False,
        population: Population = "finite",
    ) -> Answer:
        """Answer a question from the model, with the error that is known. Costs nothing.

        Args:
            text: `count`, `share`, `mean(NAME)` …, then `by NAMES`, then `where` conditions (docs/guide/queries.md).
            confidence: with a number, 0.95 for example, every figure gets an interval (docs/guide/inference.md).
            simultaneous: all intervals of the answer hold together.
            population: "finite" asks about the rows of the table, "sample" about what they were drawn from.

        >>> release.query("count by smoker where age >= 40")
        <Answer: count by smoker, 2 groups; print it, or .to_pandas()>
        """
        if not isinstance(text, str):
            raise UsageError(f"a query is a text, such as 'count by sex where age >= 40', and this is {text!r:.40}")
        return self.answer(text, self.inference(population) if confidence else None, confidence or 0.0, simultaneous)

    def answer(
        self, text: str, inference: Inference | None = None, confidence: float = 0.0, simultaneous: bool = False
    ) -> Answer:
        """Answer a question as `query` does, with intervals from an inference that was made before."""
        from understudy.query.queries import Query, answer

        query = Query.of_text(text, self.schema, self.rows, self.shapes)
        found = replace(answer(self.model, query, self.measurements), question=" ".join(text.split()))
        return found if inference is None else inference.answer(query, found, confidence, simultaneous)

    def inference(self, population: Population = "finite", cache: Path | None = None) -> Inference:
        """Return what intervals and draws come from: refits of this release, made once (`understudy.inference`)."""
        from understudy.inference.intervals import Inference

        if population not in ("finite", "sample"):
            raise UsageError("the population is finite (the rows of the table) or sample (what they were drawn from)")
        known = self.__dict__.setdefault("_inferences", {})
        if population not in known:
            known[population] = Inference(self, population, cache)
        found: Inference = known[population]
        return found

    def draws(
        self,
        tables: int = 20,
        about: Sequence[str] = (),
        *,
        rows: int | None = None,
        rows_by: RowsBy = "multinomial",
        population: Population = "sample",
        seed: int | None = None,
    ) -> Draws:
        """Return several synthetic tables for one analysis, drawn one at a time as you go through them.

        Give the estimates of an analysis of each of the `tables`, and their squared standard errors, to `.combine`;
        `about` puts in model error of these columns. `rows`, `rows_by`, `population`, `seed`: docs/guide/inference.md.
        """
        from understudy.inference.draws import CodedDraws
        from understudy.release.draws import Draws

        own = int(self.generator(seed).integers(2**62))
        return Draws(self, CodedDraws.of(self.inference(population), tables, about, rows, rows_by, own))

    @property
    def model_error(self) -> dict[str, Any] | None:
        """Return what was bought about the model's own error, as the release file has it; None where nothing was."""
        found: dict[str, Any] | None = self.facts.more.get("model_error")
        return found

    def trust(self, one: str, other: str) -> Trust:
        """Return whether the columns `one` and `other` were measured together, or are inferred or assumed independent.

        Of people with many rows: which `links` were measured, within a first row and from a row to the next.
        """
        from understudy.inference.trust import trust
        from understudy.release.history_links import history_trust, with_root_tables

        if isinstance(self.model, HistoryModel):
            return history_trust(self.model, one, other)
        return trust(with_root_tables(self), one, other)

    @cached_property
    def what_holds(self) -> tuple[Trust, ...]:
        """Return every pair of columns with its status and expected error; of the first 64 columns of a wide table."""
        from understudy.inference.trust import MAX_COLUMNS, sheet
        from understudy.release.history_links import history_sheet, with_root_tables

        if isinstance(self.model, HistoryModel):
            return history_sheet(self.model, MAX_COLUMNS)
        return sheet(with_root_tables(self), MAX_COLUMNS)

    # -- files -----------------------------------------------------------------------------------------------

    @cached_property
    def members(self) -> dict[str, bytes]:
        """Return the hashed content of the release file, by the names of its parts."""
        from understudy.release.stored_parts import members_of

        return members_of(self)

    @property
    def hash(self) -> str:
        return content_hash(self.members)

    def save(self, path: str | Path) -> None:
        """Write the release to the file `path`; an older one is replaced."""
        with replacing(Path(check_path(path, "a release", "saved to"))) as file:
            file.write(self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the content of the release's file."""
        from understudy.release.stored_parts import format_of

        ledger = {"seq": self.head.seq, "hash": self.head.hash}
        return release_bytes(self.members, ledger, format_of(self))

    @staticmethod
    def open(path: str | Path) -> Release:
        """Read the release file `path`; one that is damaged or was tampered with is a ReleaseError."""
        from understudy.release.stored_parts import release_from

        check_path(path, "a release")
        try:
            with reading(Path(path)) as stored:
                return release_from(stored)
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
        """Return one page of text: what was published, the network, and the card."""
        return summary_of(self)

    def report(self, path: str | Path | None = None) -> View:
        """Return the public report, which a notebook shows; with a `path` (.html) it is written there too.

        Args:
            path: a file to write, as `understudy report` does.

        >>> release.report()
        <public report: shown in a notebook, or .save("FILE.html")>
        """
        made = figure_of(self, "report")
        if path is not None:
            made.save(path)
        return made

    def plot(self, attribute: str) -> View:
        """Return the published shares of one `attribute` ("age", or "orders.price") as bars, with their noise.

        >>> release.plot("age")
        <age: shown in a notebook, or .save("FILE.html")>
        """
        return figure_of(self, "plot", attribute)

    def network(self) -> View:
        """Return a drawing of what was modelled together: a network, or the cliques of a junction tree.

        >>> release.network()
        <network: shown in a notebook, or .save("FILE.html")>
        """
        return figure_of(self, "network")

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return (
            f"<Release of {self.schema.name!r}: {self.rows:,} rows, {len(self.schema.modelled)} attributes, "
            f"{self.card.method} at {self.card.promise}; .sample(), .query(…), .report(), .save(…)>"
        )

    _repr_html_ = html_of
