"""Kind boolean: two values, each with its texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.domain import Codes, Kind
from understudy.schema.scales.lists import Listed
from understudy.schema.scales.scale import Scale, texts_of


@dataclass(frozen=True)
class Booleans(Listed):
    """Two values, each with the texts that stand for it; the first text of each is written on output."""

    true: tuple[str, ...] = ("true", "True", "TRUE", "1")
    false: tuple[str, ...] = ("false", "False", "FALSE", "0")
    kind: ClassVar[Kind] = "boolean"
    flags: ClassVar[bool] = True
    size: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not self.true or not self.false or set(self.true) & set(self.false):
            raise SchemaError("a boolean needs texts for true and for false, with none in both")

    @property
    def labels(self) -> tuple[str, ...]:
        return (self.false[0], self.true[0])

    @cached_property
    def codes(self) -> dict[str, int]:
        return dict.fromkeys(self.true, 1) | dict.fromkeys(self.false, 0)

    def decode(self, codes: Codes, generator: np.random.Generator) -> NDArray[Any]:
        return codes.astype(bool)

    def to_arrow(self, codes: Codes, absent: NDArray[np.bool_], generator: np.random.Generator) -> Any:
        import pyarrow as pa

        return pa.array(codes.astype(bool), pa.bool_(), mask=absent)

    def cell_texts(self, column: Any, decimal: str) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        false, true = (pa.scalar(text, pa.large_string()) for text in self.labels)
        return pc.if_else(column, true, false)

    def as_dict(self) -> dict[str, Any]:
        return {"true": list(self.true), "false": list(self.false)}


class Boolean(Scale):
    """The codec of booleans."""

    kind = "boolean"
    keys = ("true", "false")
    words = ("boolean", "bool", "logical", "binary", "yes/no")
    ddl_types = "bool boolean bit"
    file_types = r"bool(ean)?"
    flags = True

    def read(self, body: Mapping[str, Any]) -> Booleans:
        return Booleans(**{key: texts_of(body[key], key) for key in self.keys if key in body})
