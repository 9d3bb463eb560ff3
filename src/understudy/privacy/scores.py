"""Scores: the closed list of functions by which rows may decide a choice, each an integer with a proved sensitivity.

A score looks at one attribute–parent pair (X, Π) through the exact table of counts over X and Π.

    R   Σ|n·c(x,π) − c(x)c(π)| = 2n²R        Zhang et al. 2017, Theorem 5.3, tightened for a binary side
    F   −min (n−2a)⁺ + (n−2b)⁺ = 2nF          the same, Theorem 4.5; X binary
    D   Σ|c(x,π) − r(x,π)| against public integers r: moves no further than the table itself, 2 or (add-remove) 1
    I   Σ L[c(x,π)] − ΣL[c(x)] − ΣL[c(π)] + L[n], with L[c] = round(2^s·c·log2 c); 2^s·n·I up to rounding; Lemma 4.1

Under add-remove neighbours n is private, so scores are on the scale of counts (nR, nF, nI), computed inside with the
exact n; so is R from 2^30 rows on, where 2n²R would not fit an integer of 64 bits. Every value is exact for every table
of at most 2^40 rows, the most that a schema or an engine takes (`schema.MAX_ROWS`): a score that overflowed would move
without a bound, and a refusal that depended on the scores would tell about them.

PROOF.md of PrivBayes has the lemmas; tests/unit/privacy/test_scores.py checks them by brute force, and
test_score_limits.py in Python's unbounded integers up to 2^40 rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from understudy.engines.engine import CountingEngine
from understudy.errors import UsageError, did_you_mean
from understudy.privacy.mechanisms import as_integers
from understudy.schema import Axes, Axis, Schema

if TYPE_CHECKING:  # it loads the compiler, which `import understudy` does without
    from understudy.engines.pairs import PairCounts

Table = NDArray[np.int64]  # rows: parent configurations; columns: values of the child
R_UNIT = 2**20  # on the scale of counts nR is rounded down to a multiple of 2^-20
WIDE_ROWS = 2**30  # a declared row count from which R is on the scale of counts under replace-one neighbours too
F_ROWS = 2**31  # a declared row count from which F is for few parents: its search may take a state for each row
F_PARENTS = 16  # configurations of those
_BATCH = 400  # tables counted at a time while scoring: what a batch counts stays in memory until it ends
_BATCH_CELLS = 32_000_000  # 256 MB of counts
SMALL_DOMAIN = 8  # up to here a pair is faster by bit columns than by a scan
_DIGITS = Context(prec=60)


@dataclass(frozen=True)
class Pair:
    """An attribute–parent pair (X, Π); parents may be generalised."""

    child: Axis
    parents: Axes = ()

    @property
    def axes(self) -> Axes:
        return (*self.parents, self.child)

    def __str__(self) -> str:
        return f"{self.child} | {', '.join(map(str, self.parents)) or '∅'}"


@dataclass(frozen=True)
class Score:
    """A score's value on a table of counts, how far one row can move it, and how much of it a row is worth.

    `unit` is what a public penalty in rows is multiplied by. R, F and D are total variation distances in units of it,
    so a table whose noise moves one row costs one unit; of I, the information of a row is one bit.
    """

    name: str
    value: Callable[[Table, int, Schema], int]
    sensitivity: Callable[[Pair, Schema], int]
    unit: Callable[[Schema], int]


def score_named(name: str) -> Score:
    if name not in SCORES:
        raise UsageError(f"there is no score {name!r}. {did_you_mean(name, list(SCORES))}")
    return SCORES[name]


def refusal(score: str, pair: Pair, schema: Schema) -> str | None:
    """Why this score cannot be used on this pair, or None."""
    if score == "F" and schema.size(pair.child) > 2:
        return f"score F needs a binary attribute and {pair.child} has {schema.size(pair.child)} values: use score R"
    configurations = schema.cells(pair.parents)
    if score == "F" and configurations > F_PARENTS and (schema.rows or schema.rows_max or 0) >= F_ROWS:
        return (
            f"score F takes up to {F_PARENTS} configurations of the parents where there may be {F_ROWS:,} rows or "
            f"more, and these have {configurations:,}: use score R"
        )
    if score == "I" and schema.neighbours == "add-remove" and schema.rows_max is None:
        return (
            "score I has no bounded sensitivity under add-remove neighbours: "
            "declare `rows_max` in [table], or use score R"
        )
    return None


def reference_refusal(
    score: str, options: Sequence[Pair], references: Sequence[NDArray[np.int64]] | None, schema: Schema
) -> str | None:
    """Why these public tables cannot be compared with, or None."""
    if (score == "D") != (references is not None):
        return "score D compares with public reference tables, and no other score does"
    if references is not None and len(references) != len(options):
        return "score D needs one reference table for each option"
    for pair, table in zip(options, references or ()):
        if table.dtype != np.int64 or table.shape != schema.sizes(pair.axes) or _huge(table):
            return f"the reference table of {pair} must hold a whole number for each cell, 2^60 at most in all"
    return None


def _huge(table: NDArray[np.int64]) -> bool:
    """Whether Σ|r| is above 2^60: added up as floats and so that what they round off does not matter."""
    return float(np.abs(table.astype(np.float64)).sum()) > 2.0**60 * (1 - 2.0**-20)


# -- R ---------------------------------------------------------------------------------------------------------


@runtime_checkable
class CountsPairs(Protocol):
    """An engine that counts all pairwise tables at once."""

    def pairs(self, axes: Axes) -> PairCounts: ...


def _at_once(engine: CountingEngine) -> int:
    """An engine for which a pass over the rows is dear says so, and has all tables of a round to count together."""
    return int(getattr(engine, "tables_at_once", _BATCH))


def _batches(engine: CountingEngine, asks: Sequence[Axes], schema: Schema) -> Iterator[slice]:
    """Stretches of so many tables, and of so few cells, that what a batch counts fits into memory."""
    begin = cells = 0
    for at, axes in enumerate(asks):
        own = schema.cells(axes)
        if at > begin and (at - begin >= _at_once(engine) or cells + own > _BATCH_CELLS):
            yield slice(begin, at)
            begin, cells = at, 0
        cells += own
    if asks:
        yield slice(begin, len(asks))


def pair_scores(engine: CountingEngine, axes: Axes, schema: Schema) -> NDArray[np.int64]:
    """Score R of every pair of axes, a symmetric matrix: small domains in one go, the others table by table."""
    from understudy.privacy.score_kernels import r_deviations

    rows = engine.rows()
    small = [i for i, axis in enumerate(axes) if isinstance(engine, CountsPairs) and schema.size(axis) <= SMALL_DOMAIN]
    out = np.zeros((len(axes), len(axes)), dtype=np.int64)
    if small:
        assert isinstance(engine, CountsPairs)
        counts = engine.pairs(tuple(axes[i] for i in small))
        high, low = r_deviations(counts.gram, counts.first, rows)
        out[np.ix_(small, small)] = _r_scaled(high, low, rows, schema)
    few = set(small)
    rest = [(i, j) for i in range(len(axes)) for j in range(i) if i not in few or j not in few]
    for batch in _batches(engine, [(axes[i], axes[j]) for i, j in rest], schema):
        part = rest[batch]
        for (i, j), table in zip(part, engine.marginals([(axes[i], axes[j]) for i, j in part])):
            out[i, j] = out[j, i] = _r_value(np.ascontiguousarray(table, dtype=np.int64), rows, schema)
    return out


def f_scores(engine: CountingEngine, axes: Axes, schema: Schema) -> NDArray[np.int64]:
    """Score F of every axis (row) given every other (column); all of them binary."""
    from understudy.privacy.score_kernels import f_distances

    rows = engine.rows()
    if isinstance(engine, CountsPairs):
        counts = engine.pairs(axes)
        found: NDArray[np.int64] = -f_distances(counts.gram, counts.first, rows)
        return found
    out = np.zeros((len(axes), len(axes)), dtype=np.int64)
    pairs = [(i, j) for i in range(len(axes)) for j in range(i)]
    at_once = _at_once(engine)
    for begin in range(0, len(pairs), at_once):
        part = pairs[begin : begin + at_once]
        for (i, j), table in zip(part, engine.marginals([(axes[j], axes[i]) for i, j in part])):
            out[i, j], out[j, i] = (
                _f_value(as_integers(table), rows, schema),
                _f_value(as_integers(table).T, rows, schema),
            )
    return out


def _r_value(table: Table, rows: int, schema: Schema) -> int:
    from understudy.privacy.score_kernels import r_deviation

    high, low = r_deviation(table, rows)
    return int(_r_scaled(high, low, rows, schema))


def _r_scaled(high: Any, low: Any, rows: int, schema: Schema) -> NDArray[np.int64]:
    """Return T = high·2^20 + low as it is, or ⌊2^20·T/2n⌋ on the scale of counts; no step of this passes 2^62."""
    if not _on_counts(schema):
        return np.asarray(high * R_UNIT + low)
    if not rows:
        return np.zeros_like(high)
    whole, rest = np.divmod(high, 2 * rows)
    more, rest = np.divmod(rest * R_UNIT + low, 2 * rows)
    return np.asarray((whole * R_UNIT + more) * R_UNIT + rest * R_UNIT // (2 * rows))


def _on_counts(schema: Schema) -> bool:
    """Whether R is on the scale of counts: from public facts."""
    return schema.rows is None or schema.rows >= WIDE_ROWS


def _r_unit(schema: Schema) -> int:
    return R_UNIT if schema.rows is None or _on_counts(schema) else 2 * schema.rows


def _r_sensitivity(pair: Pair, schema: Schema) -> int:
    """Rounding down both sides adds nothing to a bound that is a whole number: |⌊x⌋ − ⌊y⌋| ≤ ⌈|x − y|⌉."""
    if schema.rows is None:
        return 2 * R_UNIT  # nR moves by at most 2n/(n+1) < 2
    n = schema.rows
    moves = max(1, 4 * (n - 1)) if _binary_side(pair, schema) else 6 * n + 4
    return -(-R_UNIT * moves // (2 * n)) if _on_counts(schema) else moves


def _binary_side(pair: Pair, schema: Schema) -> bool:
    return schema.size(pair.child) <= 2 or schema.cells(pair.parents) <= 2


# -- F ---------------------------------------------------------------------------------------------------------


def _f_value(table: Table, rows: int, schema: Schema) -> int:
    from understudy.privacy.score_kernels import f_distance

    two = np.zeros((table.shape[0], 2), dtype=np.int64)
    two[:, : table.shape[1]] = table
    return -int(f_distance(two, rows))


def _f_sensitivity(pair: Pair, schema: Schema) -> int:
    return 2  # 2nF: Theorem 4.5, S(F) = 1/n; adding a row moves (n−2a)⁺ + (n−2b)⁺ by at most 2 as well


# -- I ---------------------------------------------------------------------------------------------------------


def _i_bits(schema: Schema) -> int:
    """Binary digits after the point: 40, or fewer so that the largest score stays below 2^62."""
    most = schema.rows if schema.rows is not None else schema.rows_max
    assert most is not None
    return min(40, 60 - math.ceil(math.log2(max(2.0, most * math.log2(most + 1)))))


def _i_value(table: Table, rows: int, schema: Schema) -> int:
    bits = _i_bits(schema)

    def total(counts: NDArray[Any]) -> int:
        values, times = np.unique(counts, return_counts=True)
        return sum(_l(int(c), bits) * int(t) for c, t in zip(values, times) if c > 1)

    return total(table) - total(table.sum(axis=0)) - total(table.sum(axis=1)) + _l(rows, bits)


@lru_cache(maxsize=1_000_000)
def _l(count: int, bits: int) -> int:
    """round(2^bits · c · log2 c), to the nearest integer."""
    if count < 2:
        return 0
    with localcontext(_DIGITS):  # whatever precision the caller's program has set
        return int((count * _log2(Decimal(count)) * 2**bits).to_integral_value(ROUND_HALF_EVEN))


def _log2(value: Decimal) -> Decimal:
    return _DIGITS.divide(_DIGITS.ln(value), _DIGITS.ln(Decimal(2)))


def _i_sensitivity(pair: Pair, schema: Schema) -> int:
    """⌈2^s·n·S(I)⌉ + 6: at most six L-terms change, each off by at most one half before and after."""
    with localcontext(_DIGITS):
        exact = _largest_information(pair, schema) * 2 ** _i_bits(schema)
        # sixty digits are kept, so that the 35th decimal is above whatever rounding has taken off
        return int((exact + Decimal(10) ** -35).to_integral_value(ROUND_CEILING)) + 6


def _largest_information(pair: Pair, schema: Schema) -> Decimal:
    """n·S(I), in bits."""
    if schema.neighbours == "add-remove":
        assert schema.rows_max is not None
        most = Decimal(schema.rows_max)
        return _log2(most + 1) + most * _log2(1 + 1 / most)
    assert schema.rows is not None
    n = Decimal(schema.rows)
    if n == 1:
        return Decimal(0)
    if _binary_side(pair, schema):
        return _log2(n) + (n - 1) * _log2(n / (n - 1))
    return 2 * _log2((n + 1) / 2) + (n - 1) * _log2((n + 1) / (n - 1))


# -- D ---------------------------------------------------------------------------------------------------------


def deviation(table: NDArray[np.int64], reference: NDArray[np.int64]) -> int:
    """Σ|c − r|. By the triangle inequality it moves by at most ‖c − c'‖₁, whatever the public r is."""
    return int(np.abs(table - reference).sum())


def _d_value(table: Table, rows: int, schema: Schema) -> int:
    raise UsageError("score D needs public reference tables")


def _d_sensitivity(pair: Pair, schema: Schema) -> int:
    return 2 if schema.neighbours == "replace-one" else 1


SCORES = {
    "R": Score("R", _r_value, _r_sensitivity, _r_unit),
    "F": Score("F", _f_value, _f_sensitivity, lambda schema: 2),
    "I": Score("I", _i_value, _i_sensitivity, lambda schema: 2 ** _i_bits(schema)),
    "D": Score("D", _d_value, _d_sensitivity, lambda schema: 2),
}


# -- scoring, and remembering it -------------------------------------------------------------------------------


class Scorer:
    """Exact scores of one table's pairs, each counted once. Lives inside a private table and nowhere else."""

    def __init__(self, engine: CountingEngine, schema: Schema) -> None:
        self._engine = engine
        self._schema = schema
        self._known: dict[tuple[str, Pair], int] = {}
        self._links: tuple[dict[Axis, int], NDArray[np.int64]] | None = None  # score R of all pairs, once asked for
        self._distances: NDArray[np.int64] | None = None  # score F of all pairs, the same

    def scores(self, options: Sequence[Pair], score: str) -> list[int]:
        rule = score_named(score)
        known = self._known
        if score == "R" and self._links is not None:
            known.update({("R", pair): link for pair in options if (link := self._link(pair)) is not None})
        fresh = list(dict.fromkeys(pair for pair in options if (score, pair) not in known))
        rows = self._engine.rows()
        for part in _batches(self._engine, [pair.axes for pair in fresh], self._schema):
            batch = fresh[part]
            for pair, counts in zip(batch, self._engine.marginals([pair.axes for pair in batch])):
                width = self._schema.size(pair.child)
                table = np.ascontiguousarray(as_integers(counts).reshape(-1, width))
                known[score, pair] = rule.value(table, rows, self._schema)
        return [known[score, pair] for pair in options]

    def deviations(self, options: Sequence[Pair], references: Sequence[NDArray[np.int64]]) -> list[int]:
        """Not kept: the references are others next time."""
        found = []
        for part in _batches(self._engine, [pair.axes for pair in options], self._schema):
            tables = self._engine.marginals([pair.axes for pair in options[part]])
            found += [deviation(as_integers(counts), r) for counts, r in zip(tables, references[part])]
        return found

    def links(self, left: Axes, placed: Axes, score: str) -> NDArray[np.int64]:
        """R or F of each attribute (row) with each parent (column), and in the last column with none."""
        if score == "R":
            at, links = self._all_links()
            alone = np.zeros(len(left), dtype=np.int64)
        else:
            axes = tuple(Axis(a.name) for a in self._schema.modelled)
            at = {axis: i for i, axis in enumerate(axes)}
            if self._distances is None:
                self._distances = f_scores(self._engine, axes, self._schema)
            links = self._distances
            alone = np.array(self.scores([Pair(axis) for axis in left], score), dtype=np.int64)
        return np.column_stack([links[np.ix_([at[axis] for axis in left], [at[axis] for axis in placed])], alone])

    def _all_links(self) -> tuple[dict[Axis, int], NDArray[np.int64]]:
        if self._links is None:
            axes = tuple(Axis(a.name) for a in self._schema.modelled)
            self._links = {axis: i for i, axis in enumerate(axes)}, pair_scores(self._engine, axes, self._schema)
        return self._links

    def best_links(self, left: Axes, placed: Axes, fine: int) -> list[int]:
        """All pairs are counted the first time; from then on `scores` finds single parents here too."""
        schema = self._schema
        at, links = self._all_links()
        widths, sizes = (np.array(schema.sizes(side), dtype=np.int64) for side in (left, placed))
        scores = links[np.ix_([at[axis] for axis in left], [at[axis] for axis in placed])]
        most = 2**60 // max(1, fine)  # cells beyond which a fine stops growing, so that it stays an exact integer
        best = (scores - fine * np.minimum(widths[:, None] * sizes, most)).max(axis=1)
        return [int(score) for score in np.maximum(best, -fine * np.minimum(widths, most))]

    def _link(self, pair: Pair) -> int | None:
        if self._links is None or len(pair.parents) != 1:
            return None
        at, links = self._links
        i, j = at.get(pair.child), at.get(pair.parents[0])
        return int(links[i, j]) if i is not None and j is not None else None
