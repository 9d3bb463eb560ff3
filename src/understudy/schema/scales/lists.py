"""Lists: what closed lists of texts have in common, and columns that are never read."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.schema.domain import UNFIT, Codes


class Listed:
    """A domain whose values are texts, compared as text; a subclass says which, and their codes."""

    modelled: ClassVar[bool] = True
    flags: ClassVar[bool] = False
    characters: ClassVar[str | None] = None
    wanted: ClassVar[str] = "the values the schema declares"

    @property
    @abstractmethod
    def codes(self) -> dict[str, int]:
        """Return the code of each text."""

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(self.codes)

    def encode(self, texts: Sequence[str], decimal: str = ".") -> Codes:
        codes = self.codes
        return np.fromiter((codes.get(text, UNFIT) for text in texts), dtype=np.int32, count=len(texts))

    def holds(self, text: str) -> bool:
        return text in self.codes

    def cell_texts(self, column: Any, decimal: str) -> Any:
        import pyarrow as pa

        return column.cast(pa.large_string())


class NeverRead(Listed):
    """A domain without codes: its column is no part of the model."""

    modelled = False
    size: ClassVar[int] = 0
    labels: ClassVar[tuple[str, ...]] = ()
    codes: ClassVar[dict[str, int]] = {}

    def decode(self, codes: Codes, generator: np.random.Generator) -> NDArray[Any]:
        """Return no value for any row: None."""
        return np.full(len(codes), None)

    def to_arrow(self, codes: Codes, absent: NDArray[np.bool_], generator: np.random.Generator) -> Any:
        """Return null for every row."""
        import pyarrow as pa

        return pa.nulls(len(codes))

    def as_dict(self) -> dict[str, Any]:
        return {}
