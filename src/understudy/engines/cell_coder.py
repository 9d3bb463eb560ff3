"""A coder of cells: every cell of one attribute's column becomes its public code, each distinct text only once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.engines.arrow_parsing import as_texts
from understudy.schema import Attribute, Intervals
from understudy.schema.domain import Codes, Floats
from understudy.schema.readings import Readings
from understudy.schema.spreadsheet import neutralised
from understudy.schema.text_classes import TextClasses
from understudy.schema.written_forms import written_forms

_REMEMBERED = 100_000


@dataclass(frozen=True)
class CellCoder:
    """The codes of one attribute's cells of text, or of a declared type; remembers texts that are slow to parse."""

    attribute: Attribute
    decimal: str
    known: dict[str, int] = field(default_factory=dict)

    def code(self, piece: Any) -> Codes:
        """Return the code of each cell; UNFIT where no rule of the schema covers it."""
        domain = self.attribute.intervals
        if domain is not None and (whole := domain.scale.whole(piece)) is not None:
            return self._code_whole(*whole)
        if domain is not None and (numbers := domain.scale.numbers(piece)) is not None:
            codes = self._number_codes(piece, *numbers)
            codes[numbers[1]] = self.null_code
            return codes
        return self._code_others(piece)

    def _code_whole(self, piece: Any, low: int, high: int) -> Codes:
        """Code a column of whole numbers by coding each number from the least to the greatest once."""
        import pyarrow.compute as pc

        values = np.arange(low, high + 1, dtype=np.float64)
        codes = self.attribute.encode_numbers(values, np.zeros(len(values), dtype=bool))
        return self._pick(codes, pc.subtract(piece.cast("int64"), low))

    def _number_codes(self, piece: Any, values: Floats, absent: NDArray[np.bool_]) -> Codes:
        """Code the numbers of a typed column."""
        return self.attribute.encode_numbers(values, absent)

    def _code_others(self, piece: Any) -> Codes:
        """Code a column whose cells are no numbers of the attribute's scale."""
        import pyarrow as pa

        if pa.types.is_dictionary(piece.type) and pa.types.is_boolean(piece.type.value_type):
            piece = piece.dictionary_decode()
        if self.attribute.intervals is None and pa.types.is_boolean(piece.type):
            return self._pick(self.boolean_codes, piece.cast(pa.int8()))
        return self._code_texts(*as_texts(piece, self.attribute.name))

    def _code_texts(self, texts: Any, indices: Any) -> Codes:
        """Code distinct texts: plain numbers and dates are read by Arrow, all others by the schema's own parser."""
        import pyarrow as pa

        if (domain := self.attribute.intervals) is None:
            codes = self._code_slowly(texts.fill_null("").to_pylist())
        else:
            values, codes = self._plain_codes(texts, domain)
            slow = np.isnan(values)
            codes[slow] = self._code_slowly(texts.filter(pa.array(slow)).fill_null("").to_pylist())
        codes[texts.is_null().to_numpy(zero_copy_only=False)] = self.null_code
        return self._pick(codes, indices)

    def _plain_codes(self, texts: Any, domain: Intervals) -> tuple[Floats, Codes]:
        """Return the place of each plainly written text (NaN for others), and its code."""
        import pyarrow as pa
        import pyarrow.compute as pc

        missing = pc.is_in(texts, pa.array(self.attribute.missing, texts.type))
        values = domain.scale.plain(pc.if_else(missing, None, texts), domain.format, self.decimal)
        return values, domain.encode_numbers(values)

    def _code_slowly(self, texts: Sequence[str]) -> Codes:
        fresh = [text for text in texts if text not in self.known]
        codes = dict(zip(fresh, self._encode([self.neutralised.get(text, text) for text in fresh])))
        if len(self.known) + len(fresh) <= _REMEMBERED:
            self.known.update(codes)
        found = (codes[text] if text in codes else self.known[text] for text in texts)
        return np.fromiter(found, dtype=np.int32, count=len(texts))

    def _encode(self, texts: Sequence[str]) -> list[int]:
        return list(map(int, self.attribute.encode(texts, self.decimal)))

    def _pick(self, codes: Codes, indices: Any) -> Codes:
        """Return the code at each index; a null index is an empty cell."""
        table = np.append(codes, np.int32(self.null_code))
        if indices.null_count:
            indices = indices.cast("int64").fill_null(len(codes))
        return np.asarray(table[indices.to_numpy(zero_copy_only=False)])

    def text_codes(self) -> dict[str, int]:
        """Return the code of every text that is compared as text, neutralised ones included."""
        texts = [*sorted(self.readings.declared), *self.neutralised]
        return dict(zip(texts, self._code_slowly(texts).tolist()))

    @cached_property
    def neutralised(self) -> dict[str, str]:
        """Return the declared text behind each that our CSV output has neutralised or a program wrote otherwise."""
        declared = self.readings.declared
        return neutralised(declared) | (written_forms(declared) if self.attribute.intervals is None else {})

    @cached_property
    def readings(self) -> Readings:
        return Readings(self.attribute, self.decimal)

    @property
    def null_code(self) -> int:
        return self.readings.null_code

    @property
    def boolean_codes(self) -> Codes:
        """Return the codes of false and of true; in a list, `True`, `true` and a boolean are one text."""
        if self.attribute.domain.flags:
            return np.asarray([0, 1], dtype=np.int32)
        if isinstance(self.attribute.domain, TextClasses):
            return self.attribute.domain.encode(["false", "true"])
        return np.asarray([self.readings.code(word) for word in ("false", "true")], dtype=np.int32)
