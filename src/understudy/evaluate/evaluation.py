"""`evaluate`: every measure of a stand-in against its original, exact, for the custodian's own eyes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataError, UsageError
from understudy.evaluate.classification import ClassifierErrors, classify
from understudy.evaluate.dependence import Dependence, Information, cramers_v, information, pearson
from understudy.evaluate.distances import TableErrors, compare_sets
from understudy.evaluate.question import EvaluationRequest, check_options
from understudy.evaluate.ranges import RangeErrors, random_queries, range_errors
from understudy.evaluate.raw import Matches, NumericColumn, matches, numeric_column, numeric_names, paired_columns
from understudy.evaluate.tables import counted
from understudy.evaluate.text import evaluation_text
from understudy.planning import as_schema
from understudy.privacy.custodian import STAMP, CustodianFigures, ExactTable, stays_in_place
from understudy.progress import Progress, ProgressBar
from understudy.schema import Axis, Schema
from understudy.showing import figure_of, html_of

if TYPE_CHECKING:
    from understudy.report.views import View

Numbers = dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]


@dataclass(frozen=True)
class Shares(CustodianFigures):
    """A one-way table: the share of the rows that each value has."""

    labels: tuple[str, ...]
    original: tuple[float, ...]
    synthetic: tuple[float, ...]


@dataclass(frozen=True, repr=False)
class Evaluation(CustodianFigures):
    """All exact figures of one comparison. CUSTODIAN ONLY — NOT FOR RELEASE.

    Made by `understudy.evaluate`. `print` it, `plot()` it, or write its `report("FILE.custodian.html")`. What was not
    asked for is None or empty.

    Args:
        schema: that both tables fit.
        question: what was asked for.
        rows: of the original and of the stand-in.
        tables: errors by the number of attributes: total variation distances (the share of rows that would move).
        ranges: relative errors of random range counts.
        cramers_v: differences between the matrices of Cramér's V.
        pearson: differences between the correlation matrices of numeric columns.
        numeric: numeric columns as they were written: moments, quantiles, Wasserstein-1 in the column's unit.
        matches_coded: synthetic rows with a twin among real ones, in codes.
        matches_raw: the same as they were written.
        information: mutual information of a release's network, in bits.
        classification: errors of classifiers trained on either table, as shares of the test rows.
        one_way: each attribute's shares in both tables.

    >>> found = understudy.evaluate(frame, release.sample(2000), schema, measures=["tvd"])
    >>> 0 <= found.tables[2].mean <= 1
    True
    >>> found.plot()
    <every pair: shown in a notebook, or .save("FILE.custodian.html")>
    """

    schema: Schema
    question: EvaluationRequest
    rows: tuple[int, int]  # of the original and of the stand-in
    tables: dict[int, TableErrors]
    ranges: RangeErrors | None
    cramers_v: Dependence | None
    pearson: Dependence | None
    numeric: dict[str, NumericColumn]
    matches_coded: Matches | None
    matches_raw: Matches | None
    information: Information | None
    classification: tuple[ClassifierErrors, ...]
    one_way: dict[str, Shares]

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints: what was asked for, and the stamp."""
        asked, found = self.question.measures, self.tables
        both = {"cramers_v": self.cramers_v, "pearson": self.pearson}
        twins = {"coded": self.matches_coded, "raw": self.matches_raw}
        document = {
            "tvd": {str(a): t.as_json() for a, t in found.items()} if "tvd" in asked else None,
            "l2": {str(a): {"mean": t.l2} for a, t in found.items()} if "l2" in asked else None,
            "k_marginal": {str(a): t.k_marginal for a, t in found.items()} if "k-marginal" in asked else None,
            "ranges": self.ranges and self.ranges.as_json(),
            "correlation": {n: part and part.as_json() for n, part in both.items()} if "correlation" in asked else None,
            "numeric": {n: column.as_json() for n, column in self.numeric.items()} if "numeric" in asked else None,
            "matches": {n: part and part.as_json() for n, part in twins.items()} if self.matches_coded else None,
            "information": self.information and self.information.as_json(),
            "classification": [task.as_json() for task in self.classification] or None,
            "rows": {"original": self.rows[0], "synthetic": self.rows[1]},
        }
        said = {key: value for key, value in document.items() if value is not None}
        return {**said, "schema": self.schema.name, "stamp": STAMP}

    def text(self) -> str:
        """Return the figures as a page for a terminal."""
        return evaluation_text(self)

    def report(self, path: str | Path | None = None) -> View:
        """Return the custodian's report; with a `path` (it must end .custodian.html) it is written there too."""
        made = figure_of(self, "report")
        if path is not None:
            made.save(path)
        return made

    def plot(self, attribute: str | None = None) -> View:
        """Return the error of every pair as a map of shades, or one `attribute` in both tables, under the stamp."""
        return figure_of(self, "plot", *(() if attribute is None else (attribute,)))

    def __repr__(self) -> str:
        original, synthetic = self.rows
        compared = f"{synthetic:,} synthetic rows against {original:,}"
        return f"<Evaluation of {self.schema.name!r}: {compared}; print it, .plot(), .report(); {STAMP}>"

    def __str__(self) -> str:
        """Return the page: whoever prints it sees the stamp."""
        return self.text()

    _repr_html_ = html_of


def evaluate(
    original: Any,
    synthetic: Any,
    schema: Schema | str | Path,
    *,
    types: str | None = None,
    progress: bool | None = None,
    **question: Any,
) -> Evaluation:
    """Compare a synthetic table with its original. The figures are exact: for the custodian only, not for release.

    `understudy.evaluate.buying.buy` buys figures that may be published.

    Args:
        original: the private table, a path or a frame; or the address of a table in PostgreSQL or DuckDB, which is
            counted there, without the measures that are computed row by row.
        synthetic: its stand-in, ours or anyone's, with any number of rows.
        schema: a `Schema` or the path of a schema.toml that both fit.
        types: "declared" or "inferred", said of the original's columns, as for `publish`.
        progress: shows a bar; None means where somebody is looking.
        question: alpha, classify, ignore, measures, models, network, tables, queries, seed (docs/guide/evaluation.md).

    >>> understudy.evaluate(frame, frame, schema, measures=["tvd"]).tables[2].mean == 0
    True
    """
    declared = as_schema(schema)
    if declared.tables:
        raise UsageError("tables with foreign keys are compared by understudy.evaluate.hops.compare_tables")
    public = declared.with_public_bins()
    check_options(question)
    asked = EvaluationRequest.of(public, counted=stays_in_place(original), **question)
    with ProgressBar(progress) as bar:
        bar("reading", 0, 1, Fraction(0))
        with both_opened(original, synthetic, public, types) as (real, stand_in):
            return answer(real, stand_in, asked, bar)


@contextmanager
def both_opened(
    original: Any, synthetic: Any, schema: Schema, types: str | None
) -> Iterator[tuple[ExactTable, ExactTable]]:
    """Open both tables in codes; a table that is open already is taken as it is, and stays open."""
    other = synthetic if isinstance(synthetic, ExactTable) else _stand_in(synthetic, schema)
    if isinstance(original, ExactTable):
        yield original, other
        return
    with closing(ExactTable.original(original, schema, types)) as real:
        yield real, other


def _stand_in(synthetic: Any, schema: Schema) -> ExactTable:
    """Open the stand-in; the schema is the original's, so what to do about another column is said of the stand-in."""
    try:
        return ExactTable.stand_in(synthetic, schema)
    except DataError as error:
        name = error.attribute
        if "is not in the schema" in error.message:
            told = error.message.partition(" Rename it")[0]
            raise DataError(f"{told} Rename it, or take it out of the synthetic table") from None
        if "no such column" in error.message:
            raise DataError(
                f"synthetic table: it has no column {name!r}, which the schema declares. Rename the column that holds "
                f'it; to compare without it: kind = "drop" for {name!r} in a copy of the schema',
                attribute=name,
            ) from None
        raise


def answer(
    original: ExactTable, synthetic: ExactTable, question: EvaluationRequest, progress: Progress | None = None
) -> Evaluation:
    """Measure what was asked for; tables first, since later measures find them counted."""
    asked = question.measures
    targets = question.targets if "classify" in asked else ()

    def doing(what: str, done: int = 0, of: int = 1) -> None:
        if progress is not None:
            progress(what, done, of, Fraction(0))

    def classified() -> Iterator[ClassifierErrors]:
        for done, target in enumerate(targets):
            doing("classifying", done, len(targets))
            yield classify(original, synthetic, target, question.models, question.seed)

    doing("comparing tables")
    tables = compare_sets(original, synthetic, question.sets) if question.compares_tables else {}
    numbers = _numbers(original, synthetic) if {"numeric", "correlation", "matches"} & set(asked) else {}
    correlation, twins, raw = "correlation" in asked, "matches" in asked, original.raw and synthetic.raw
    doing("comparing columns")
    plain = {n: pair for n, pair in numbers.items() if original.schema[n].ordered.scale.arithmetic}
    return Evaluation(
        schema=original.schema,
        question=question,
        rows=(original.rows(), synthetic.rows()),
        tables=tables,
        ranges=_ranges(original, synthetic, question) if "ranges" in asked else None,
        cramers_v=cramers_v(original, synthetic) if correlation else None,
        pearson=pearson(*({n: pair[i] for n, pair in plain.items()} for i in (0, 1))) if correlation else None,
        numeric=_numeric(original.schema, numbers) if "numeric" in asked else {},
        matches_coded=matches(paired_columns(original, synthetic, {}), question.seed) if twins else None,
        matches_raw=matches(paired_columns(original, synthetic, numbers), question.seed) if twins and raw else None,
        information=information(original, synthetic, question.network) if "information" in asked else None,
        classification=tuple(classified()),
        one_way=one_way(original, synthetic),
    )


def one_way(original: ExactTable, synthetic: ExactTable) -> dict[str, Shares]:
    """Return every attribute's own table, for a picture of both."""
    names = original.schema.names
    n, m = original.rows(), synthetic.rows()
    pairs = counted([(Axis(name),) for name in names], original, synthetic)
    return {
        name: Shares(original.schema[name].labels, tuple((real / n).tolist()), tuple((other / m).tolist()))
        for name, (real, other) in zip(names, pairs)
    }


def _ranges(original: ExactTable, synthetic: ExactTable, question: EvaluationRequest) -> RangeErrors:
    queries = random_queries(original.schema, question.queries, question.seed)
    return range_errors(original, synthetic, queries, question.seed)


def _numbers(original: ExactTable, synthetic: ExactTable) -> Numbers:
    """Return raw numbers by column; none where a table came in codes."""
    if not (original.raw and synthetic.raw):
        return {}
    names = numeric_names(original.schema)
    real, other = original.numbers(names), synthetic.numbers(names)
    return {name: (real[name], other[name]) for name in names}


def _numeric(schema: Schema, numbers: Numbers) -> dict[str, NumericColumn]:
    return {
        name: numeric_column(real, other, schema[name].ordered.scale.unit) for name, (real, other) in numbers.items()
    }
