"""Small federations in one process, for tests; and the exact laws of noise shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from conftest import another_source, columns_of, schema_of
from understudy.engines.memory import MemoryEngine
from understudy.federation.local import LocalFederation, local_federation
from understudy.privacy.budget import Budget
from understudy.privacy.random_source import SystemSource
from understudy.schema import Axis, Schema

NAMES = ("ada", "bea", "cy", "dan", "eve", "fay", "gil", "hal", "ida", "jo")
SIZES = {"a": 2, "b": 3, "c": 2}
A, B, C = (Axis(name) for name in SIZES)


class QuietSource(SystemSource):
    """No Gaussian noise at all, so that a sum can be compared with the exact one. For tests of masks only."""

    private = False

    def gaussian(self, values: Any, scale: float) -> Any:
        return values


def parts_of(columns: dict[str, np.ndarray], owners: int) -> list[dict[str, np.ndarray]]:
    return [{name: codes[i::owners] for name, codes in columns.items()} for i in range(owners)]


@contextmanager
def federation(
    folder: Path,
    owners: int = 3,
    rows: int = 40,
    sizes: dict[str, int] = SIZES,
    budget: Budget | None = None,
    neighbours: str = "replace-one",
    columns: Sequence[dict[str, np.ndarray]] | None = None,
    **more: Any,
) -> Iterator[LocalFederation]:
    """`rows` for each owner."""
    more.setdefault("source", another_source())
    counted = neighbours == "replace-one"
    schema = schema_of(sizes, rows * owners if counted else None, neighbours)
    own = schema_of(sizes, rows if counted else None, neighbours)
    held = columns or parts_of(columns_of(sizes, rows * owners, seed=3), owners)
    engines = {name: MemoryEngine(part, rows, own) for name, part in zip(NAMES, held)}
    with local_federation(engines, schema, budget or Budget(1, "1e-9"), folder, **more) as made:
        yield made


def exact_counts(schema: Schema, parts: Sequence[dict[str, np.ndarray]], axes: Sequence[Axis]) -> np.ndarray:
    table = np.zeros(schema.sizes(axes), dtype=np.int64)
    for part in parts:
        np.add.at(table, tuple(part[axis.attribute] for axis in axes), 1)
    return table


def polya_law(shares: float, decay: float, reach: int = 1 << 12) -> np.ndarray:
    """P(NB(r, α) − NB(r, α) = z) for z = 0, 1, …, with r = `shares`; the same for −z."""
    one = np.empty(reach)
    one[0] = (1 - decay) ** shares
    for k in range(1, reach):
        one[k] = one[k - 1] * decay * (k - 1 + shares) / k
    return np.correlate(one, one, "full")[reach - 1 :]  # sums of positive terms: right to the last digits
