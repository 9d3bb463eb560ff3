"""What every fitted model can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.models.factor import Factor
from understudy.schema import Schema

Rows = dict[str, NDArray[Any]]  # attribute name -> codes, one or two bytes each
Evidence = Mapping[str, Sequence[int]]  # attribute name -> the codes that are allowed


class Model(Protocol):
    """A distribution over the schema's attributes, fitted to noisy tables: all it does costs nothing.

    >>> release.model.project(["smoker"]).table.sum().round(6)
    np.float64(1.0)
    """

    @property
    def schema(self) -> Schema: ...

    def project(self, names: Sequence[str]) -> Factor:
        """Return the table of probabilities over the attributes of these `names`, an axis for each, in codes."""
        ...

    def condition(self, evidence: Evidence) -> Model:
        """Return the distribution given that each attribute has one of the codes that `evidence` allows it."""
        ...

    def sample(self, rows: int, generator: np.random.Generator) -> Rows:
        """Draw so many `rows`, in codes, with a numpy `generator`."""
        ...
