"""Several owners of a public data set in one process: what a federated method publishes, and what it sends.

`Pooled` is a FederatedTable whose turns, prices and charges are the product's own, but whose secure sums are drawn
directly: exact counts of all rows plus a noise with the law of all owners' shares. No messages, so that thousands of
tables cost nothing; `over_the_wire` runs the real protocol (LocalOwners). Noise is seeded. NOT PRIVATE.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "reproduce"))

import numpy as np
from trials import UnwrittenReservation, forget_scores, scores_of

from understudy.federation.federated_table import FederatedTable
from understudy.federation.local import LocalFederation, local_federation
from understudy.federation.roster import Owner, Roster, schema_hash
from understudy.methods import Fit, method_named
from understudy.privacy.budget import Budget
from understudy.privacy.custodian import ExactTable
from understudy.privacy.local_table import LocalPrivateTable
from understudy.privacy.questions import Marginals, NoisyBlock, NoisyQuery, Selection
from understudy.privacy.questions.question import split
from understudy.schema import Axis
from understudy.testing import SeededSource


def parts_of(table: ExactTable, owners: int, seed: int, by: str | None = None) -> dict[str, ExactTable]:
    """Equal random parts, or one owner for each group of the values of an attribute (the rarest share an owner)."""
    generator = np.random.default_rng(seed)
    if by is None:
        groups = np.array_split(generator.permutation(table.rows()), owners)
    else:
        codes = np.asarray(table.codes(by))
        common = np.argsort(-np.bincount(codes, minlength=table.schema[by].size), kind="stable")
        place = np.minimum(np.argsort(common, kind="stable"), owners - 1)  # of a value: its owner
        groups = [np.flatnonzero(place[codes] == k) for k in range(owners)]
    return {f"owner{i}": rows_of(table, np.sort(group)) for i, group in enumerate(groups)}


def rows_of(table: ExactTable, rows: Any) -> ExactTable:
    columns = {name: table.codes(name)[rows] for name in table.schema.names}
    return ExactTable(columns, len(rows), replace(table.schema, rows=len(rows)))


class _Named:
    """Owners that nobody asks."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def ask(self, round: int, stage: str, bodies: Mapping[str, bytes], limit: int) -> dict[str, bytes]:
        raise AssertionError("a pooled table sends no messages")


class Pooled(FederatedTable):
    """All owners' rows, with the federation's own turns and charges."""

    def __init__(
        self, whole: ExactTable, parts: Mapping[str, ExactTable], budget: Budget, seed: int, colluding: int = 1
    ) -> None:
        owners = tuple(Owner(name, part.rows()) for name, part in parts.items())
        roster = Roster(owners, schema_hash(whole.schema), budget, colluding=colluding)
        super().__init__(whole.schema, roster, _Named(tuple(parts)), str(seed))
        self._whole_rows = whole
        self._source = SeededSource(seed)
        self._tables = {name: self._owned(part, budget) for name, part in parts.items()}

    def _owned(self, part: ExactTable, budget: Budget) -> LocalPrivateTable:
        table = LocalPrivateTable(part.schema, part, UnwrittenReservation(budget), self._source)  # type: ignore[arg-type]
        table._LocalPrivateTable__scorer._known = scores_of(part)  # type: ignore[attr-defined]
        return table

    def owners(self) -> Any:
        return tuple(self._tables.values())

    def _asked_of(self, name: str, question: Selection[Any], price: Fraction, purpose: str) -> int | None:
        return self._tables[name].select(question, price, purpose)

    def _measure(self, question: NoisyQuery[Any], cost: Fraction, purpose: str) -> list[NoisyBlock]:
        state, owners, honest = self._session, len(self._tables), self._roster.honest
        cost = min(cost, self._whole - max(state.paid.values()))
        blocks = question.noise_blocks(self.schema, self.accounting, cost)
        for name in state.paid:
            state.paid[name] += cost
        state.charges.append((purpose, cost, "all"))
        exact = split(question.exact(self._whole_rows, self.schema), blocks)
        draw = self._source.generator()
        noisy = []
        for values, block in zip(exact, blocks):
            p = -math.expm1(-1 / block.noise.scale)
            up, down = (draw.negative_binomial(owners / honest, p, block.cells) for _ in range(2))
            noisy.append(NoisyBlock(values + up - down, block.noise.summed(honest, owners)))
        return noisy


def pooled_fit(
    whole: ExactTable, parts: Mapping[str, ExactTable], method: str, options: Mapping[str, Any], epsilon: str, seed: int
) -> Fit:
    table = Pooled(whole, parts, Budget(epsilon), seed)
    return method_named(method, options, whole.schema).fit(table)


def forget(parts: Mapping[str, ExactTable]) -> None:
    for part in parts.values():
        forget_scores(part)


# -- over the wire -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Traffic:
    """Of one owner, on average: bytes it sends and receives; exchanges in all."""

    sent: float
    received: float
    exchanges: int


def over_the_wire(
    whole: ExactTable, parts: Mapping[str, ExactTable], method: str, options: Mapping[str, Any], epsilon: str, seed: int
) -> tuple[Fit, Traffic]:
    """The real protocol among owners in this process, with their own ledgers and keys."""
    with (
        tempfile.TemporaryDirectory() as folder,
        local_federation(parts, whole.schema, Budget(epsilon), Path(folder), source=SeededSource(seed)) as all_sides,
    ):
        fit = method_named(method, options, whole.schema).fit(all_sides.table)
        return fit, traffic_of(all_sides)


def traffic_of(all_sides: LocalFederation) -> Traffic:
    owners = all_sides.owners
    sent, received = (sum(counts.values()) / len(counts) for counts in (owners.sent, owners.received))
    return Traffic(sent, received, owners.exchanges)


def surroundings(whole: ExactTable, parts: Mapping[str, ExactTable]) -> Traffic:
    """What one secure sum among these owners sends besides its question and its cells."""
    name = min(whole.schema.names, key=lambda n: whole.schema[n].size)
    asked = Marginals.of([(Axis(name),)])
    with (
        tempfile.TemporaryDirectory() as folder,
        local_federation(parts, whole.schema, Budget(1), Path(folder), source=SeededSource(0)) as all_sides,
    ):
        all_sides.table.measure(asked.workload, Fraction(1, 2), "tables")
        found = traffic_of(all_sides)
    return Traffic(found.sent - 8 * whole.schema[name].size, found.received - _length(asked.as_json()), found.exchanges)


def ccbn_traffic(variables: Sequence[Axis], degree: int, around: Traffic) -> Traffic:
    """What DP-CCBN sends: the candidates of every round, and the tables of the network.

    Reckoned from the lengths of questions and cells, since the tables themselves would take hours; checked against a
    run over the wire at degree 1 (tests/unit/rivals/test_federation_benchmarks.py).
    """
    axis = np.mean([len(json.dumps(v, separators=(",", ":"))) for v in variables])
    d, sent, received = len(variables), 0.0, 0.0
    rounds = [(d - i) * math.comb(i, min(degree, i)) for i in range(1, d)] + [d - degree]
    for i, tables in enumerate(rounds, start=1):
        width = min(degree, i) + 1 if i < d else degree + 1
        share = len(f'"1/{tables}",')
        received += around.received + tables * (width * (axis + 1) + 2 + share)
        sent += around.sent + 8 * tables * 2**width
    return Traffic(sent, received, around.exchanges * len(rounds))


def _length(document: Any) -> int:
    return len(json.dumps(document, separators=(",", ":")))
