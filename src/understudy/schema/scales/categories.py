"""Kind category: a closed list of texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.domain import Codes, Kind, check_size
from understudy.schema.scales.lists import Listed
from understudy.schema.scales.scale import Scale, texts_of

_WHOLE = re.compile("0|-?[1-9][0-9]{0,14}")  # a float holds every one of these


@dataclass(frozen=True)
class Categories(Listed):
    """A closed list of texts, compared as text."""

    values: tuple[str, ...]
    kind: ClassVar[Kind] = "category"

    def __post_init__(self) -> None:
        if not self.values:
            raise SchemaError("a category needs at least one value")
        if len(set(self.values)) != len(self.values):
            raise SchemaError("a category lists the same value twice")
        check_size(len(self.values))

    @property
    def size(self) -> int:
        return len(self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.values

    @cached_property
    def codes(self) -> dict[str, int]:
        return {value: code for code, value in enumerate(self.values)}

    def decode(self, codes: Codes, generator: np.random.Generator) -> NDArray[Any]:
        return np.asarray(self.values, dtype=object)[codes]

    @property
    def are_whole(self) -> bool:
        """Return whether every value is the one text of an integer: `1`, `20`, `-3`, but not `01` or `1.0`."""
        return all(_WHOLE.fullmatch(value) for value in self.values)

    def to_arrow(self, codes: Codes, absent: NDArray[np.bool_], generator: np.random.Generator) -> Any:
        """Return integers if all values are whole, else texts."""
        import pyarrow as pa

        whole = self.are_whole
        values = pa.array(map(int, self.values), pa.int64()) if whole else pa.array(self.values, pa.string())
        return values.take(pa.array(codes, mask=absent))

    def as_dict(self) -> dict[str, Any]:
        return {"values": list(self.values)}


class Category(Scale):
    """The codec of closed lists; their groups are read with the taxonomy."""

    kind = "category"
    keys = ("values", "taxonomy")
    words = ("category", "categorical", "nominal", "ordinal", "enum", "factor", "string", "code")
    ddl_types = "char varchar text character nvarchar nchar varchar2 string enum"
    file_types = r"(large_)?string(_view)?|large_utf8|utf8|str|object|dictionary.*|category|categorical.*|enum.*"

    def read(self, body: Mapping[str, Any]) -> Categories:
        return Categories(texts_of(body.get("values", []), "values"))
