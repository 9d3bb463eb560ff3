"""Table distances: how far each of several tables is from a public one, all measured together.

Each distance is D = Σ|c − r| for a public table r of whole numbers, and moves no further than the table c itself in L1:
by 1 where a row comes or goes, by 2 where one is replaced, whatever r is (the triangle inequality). All q of them may
move at once, so the answer moves by q in L1 and by q in squared L2, or by 2q and 4q, and there are tables r where it
does. What is cut off at 2^62 moves no further than before. The bounds are compared with all small tables in
`tests/unit/privacy/test_table_distances.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from understudy.engines.engine import CountingEngine
from understudy.errors import TooLarge, UsageError
from understudy.privacy.noise import Noise, as_integers
from understudy.privacy.questions import statistics
from understudy.privacy.questions.question import MAX_CELLS, NoisyBlock, NoisyQuery
from understudy.privacy.questions.statistics import MAX_FIGURE, ReferenceTables
from understudy.privacy.sensitivity import Sensitivity
from understudy.schema import Integers, Schema


@dataclass(frozen=True, eq=False)
class NoisyDistances:
    """The L1 distance of each table from its public one, in rows, with noise on it. Public, once it exists."""

    values: Integers
    noise: Noise


@dataclass(frozen=True, eq=False)
class TableDistances(NoisyQuery[NoisyDistances]):
    """How far the rows are from each of these public tables."""

    kind: ClassVar[str] = "distances"
    is_linear: ClassVar[bool] = False

    tables: ReferenceTables

    def check(self, schema: Schema) -> None:
        for axes in self.tables.workload:
            if (cells := schema.cells(axes)) > MAX_CELLS:
                raise TooLarge(f"a table of {cells:,} cells cannot be compared; the limit is {MAX_CELLS:,}")
        if (reason := self.tables.refusal(schema)) is not None:
            raise UsageError(reason)

    def sensitivity(self, schema: Schema) -> Sensitivity:
        """Return q·Δ and q·Δ²: each of the q distances moves by at most Δ, all of them at once."""
        moved, q = statistics.row_distance(schema), len(self.tables.workload)
        return Sensitivity(q * moved, q * moved**2).times(schema.rows_per_person)

    def blocks(self, schema: Schema) -> list[tuple[int, Fraction]]:
        return [(len(self.tables.workload), Fraction(1))]

    def exact(self, engine: CountingEngine, schema: Schema) -> Integers:
        return as_integers([min(distance, MAX_FIGURE) for distance in self.tables.distances(engine)])

    def result(self, noisy: Sequence[NoisyBlock], schema: Schema) -> NoisyDistances:
        return NoisyDistances(noisy[0].values, noisy[0].noise)

    def as_json(self) -> list[Any]:
        """Return what identifies the question: which tables are compared, not what the public ones hold."""
        return [self.kind, self.tables.key]
