"""Released tables: what is left when a rival publishes tables, not a distribution. It answers these tables only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.errors import UsageError
from understudy.models.factor import Factor
from understudy.models.model import Evidence, Model, Rows
from understudy.schema import Axis, Schema


@dataclass(frozen=True, eq=False)
class ReleasedTables:
    """Probability tables by their set of attributes; they need not agree where they overlap."""

    schema: Schema
    tables: Mapping[frozenset[str], Factor]
    source: str  # the rival, for messages

    def project(self, names: Sequence[str]) -> Factor:
        """The table over these attributes, or a projection of the smallest one that holds them."""
        wanted = frozenset(names)
        table = self.tables.get(wanted) or self._holding(wanted)
        return table.project(tuple(Axis(name) for name in names))

    def _holding(self, wanted: frozenset[str]) -> Factor:
        holding = [table for names, table in self.tables.items() if wanted <= names]
        if not holding:
            known, asked = max(map(len, self.tables)), ", ".join(sorted(wanted))
            raise UsageError(f"{self.source} measured tables of at most {known} attributes, and none over {asked}")
        return min(holding, key=lambda table: table.table.size)

    def condition(self, evidence: Evidence) -> Model:
        raise no_distribution(self.source)

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        raise no_distribution(self.source)


def no_distribution(source: str) -> UsageError:
    return UsageError(
        f"{source} publishes tables, not a distribution: it has no rows to draw and nothing to condition on"
    )


def by_attributes(factors: Sequence[Factor]) -> dict[frozenset[str], Factor]:
    return {frozenset(axis.attribute for axis in factor.axes): factor for factor in factors}
