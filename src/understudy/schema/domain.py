"""A domain: the values an attribute may take, coded 0 … size−1, and how a cell of text becomes a code and back.

Everything here is public. No function of this file has ever seen which codes occur in the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Kind = str  # a word of the table SCALES in schema/scales
UNFIT = -1  # the code of a cell that no rule of the schema covers
MAX_CODES = 65_535  # two bytes a value, one code kept for "missing"


class Domain(Protocol):
    """What every domain answers, so that nobody has to ask which kind it is.

    `texts` are the values that are compared as text, none in an ordered domain; `flags` says that booleans are its
    codes 0 and 1; `modelled` is false for columns that are never read. `characters` are those that a written cell may
    have, the first one first, or None for any.
    """

    @property
    def kind(self) -> Kind: ...
    @property
    def modelled(self) -> bool: ...
    @property
    def flags(self) -> bool: ...
    @property
    def size(self) -> int: ...
    @property
    def labels(self) -> tuple[str, ...]: ...
    @property
    def texts(self) -> tuple[str, ...]: ...
    @property
    def characters(self) -> str | None: ...
    @property
    def wanted(self) -> str:
        """Return what cells have to be, in words."""
        ...

    def encode(self, texts: Sequence[str], decimal: str = ".") -> Codes:
        """Return the code of each text; UNFIT for one that is no value."""
        ...

    def decode(self, codes: Codes, generator: np.random.Generator) -> NDArray[Any]:
        """Return a value for each code; `encode` of its text is that code again."""
        ...

    def holds(self, text: str) -> bool:
        """Return whether the text is a value, and for ordered domains one inside the range."""
        ...

    def to_arrow(self, codes: Codes, absent: NDArray[np.bool_], generator: np.random.Generator) -> Any:
        """Return the decoded values as a typed Arrow array, null where `absent`."""
        ...

    def cell_texts(self, column: Any, decimal: str) -> Any:
        """Return the text of each value of a typed Arrow array, null where it is null."""
        ...

    def as_dict(self) -> dict[str, Any]:
        """Return what the schema file says of it besides the kind."""
        ...


def check_size(size: int) -> None:
    """Refuse more values than two bytes can code."""
    if size > MAX_CODES:
        raise SchemaError(f"{size:,} values are more than {MAX_CODES:,}; set `bins`, or group values with `other`")
