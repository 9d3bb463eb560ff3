"""Every factor of the noise reaches the sampler: rows a person has, shares of honest owners, the mechanism's own law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import columns_of, private_table, schema_of
from federating import A, B, federation
from understudy.privacy.accounting import ZCDP
from understudy.privacy.budget import Budget
from understudy.privacy.distributed_noise import gaussian_share_scale
from understudy.privacy.measurement import table_noise
from understudy.privacy.questions import Choice, ChooseChild, ChooseEdge, Selection
from understudy.privacy.random_source import SystemSource
from understudy.privacy.scores import INDEPENDENCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis, Schema

SIZES = {"a": 3, "b": 3, "c": 2}  # the binary one moves less far: the widest pair decides
ROWS = 60
AXES = tuple(Axis(name) for name in SIZES)
COST = Fraction(1, 100)


class Recording(SystemSource):
    """Notes which sampler was called with which scale."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []

    def permute_and_flip(self, scores: Sequence[int], scale: float) -> int:
        self.calls.append(("permute-and-flip", scale))
        return super().permute_and_flip(scores, scale)

    def exponential(self, scores: Sequence[int], scale: float) -> int:
        self.calls.append(("exponential", scale))
        return super().exponential(scores, scale)

    def gaussian(self, values: Any, scale: float) -> Any:
        self.calls.append(("gaussian", scale))
        return super().gaussian(values, scale)


def ask_choice(table: PrivateTable) -> None:
    table.choose([Pair(AXES[0], (AXES[1],)), Pair(AXES[2], (AXES[1],))], INDEPENDENCE, COST, "structure")


def ask_link(table: PrivateTable) -> None:
    table.choose_edge(AXES[:1], AXES[1:], INDEPENDENCE, COST, "structure", cells=100)


def ask_next(table: PrivateTable) -> None:
    table.choose_child(AXES[:1], AXES[1:], COST, "structure")


QUESTIONS: list[tuple[Callable[[PrivateTable], None], Callable[[Schema], Selection]]] = [
    (ask_choice, lambda schema: Choice([Pair(AXES[0], (AXES[1],)), Pair(AXES[2], (AXES[1],))], INDEPENDENCE)),
    (ask_link, lambda schema: ChooseEdge.of(schema, AXES[:1], AXES[1:], INDEPENDENCE, 0, 100, False)),
    (ask_next, lambda schema: ChooseChild(AXES[:1], AXES[1:])),
]


@pytest.mark.parametrize("question", range(len(QUESTIONS)), ids=["choose", "choose_link", "choose_next"])
@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("person", [1, 3])
@pytest.mark.parametrize("delta", [0, "1e-9"])
def test_a_choice_is_as_uncertain_as_its_price_and_the_rows_of_a_person_say(
    ledger_path: Path, question: int, neighbours: str, person: int, delta: Any
) -> None:
    ask, public = QUESTIONS[question]
    rows = ROWS if neighbours == "replace-one" else None
    schema = schema_of(SIZES, rows, neighbours, rows_per_person=person)
    source = Recording()
    table = private_table(schema, columns_of(SIZES, ROWS), Budget(1, delta), ledger_path, source)
    ask(table)
    sampler = "exponential" if delta else "permute-and-flip"
    one_row = 6 * ROWS + 4 if rows else 2 * 2**20
    assert public(schema).sensitivity(schema) == one_row
    assert source.calls == [(sampler, table.accounting.selection_scale(person * one_row, COST))]


@pytest.mark.parametrize(("owners", "colluding", "dropping"), [(3, 1, 0), (4, 1, 1), (5, 2, 0)])
def test_shares_are_for_the_honest_owners_that_may_be_left(
    tmp_path: Path, owners: int, colluding: int, dropping: int
) -> None:
    """h = K − t − u: colluding owners take their shares off and missing owners send none."""
    source = Recording()
    with federation(tmp_path, owners, colluding=colluding, dropping=dropping, source=source) as made:
        made.table.measure([(A, B)], COST, "tables")
        whole = table_noise(made.table.schema, ZCDP, COST).scale
        assert made.roster.honest == owners - colluding - dropping
        assert source.calls == [("gaussian", gaussian_share_scale(whole, made.roster.honest))] * owners
        # what is left of the noise when t of the shares are known and u are missing
        left = made.roster.honest * np.square(source.calls[0][1])
        assert left >= whole**2
