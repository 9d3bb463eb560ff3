"""Score I: mutual information. Σ L[c(x,π)] − ΣL[c(x)] − ΣL[c(π)] + L[n], with L[c] = round(2^s·c·log2 c).

That is 2^s·n·I up to rounding; Zhang et al. 2017, Lemma 4.1. Under add-remove neighbours its sensitivity is bounded
only where the number of rows is. PROOF.md of PrivBayes has the lemmas.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal, localcontext
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.privacy.scores.score import Pair, Score, Table, binary_side
from understudy.schema import Schema

_DIGITS = Context(prec=60)


class MutualInformation(Score):
    """Mutual information in bits: the information of a row is one bit."""

    name = "I"

    def value(self, table: Table, rows: int, schema: Schema) -> int:
        bits = binary_digits(schema)

        def total(counts: NDArray[Any]) -> int:
            values, times = np.unique(counts, return_counts=True)
            return sum(term(int(c), bits) * int(t) for c, t in zip(values, times) if c > 1)

        return total(table) - total(table.sum(axis=0)) - total(table.sum(axis=1)) + term(rows, bits)

    def sensitivity(self, pair: Pair, schema: Schema) -> int:
        """⌈2^s·n·S(I)⌉ + 6: at most six L-terms change, each off by at most one half before and after."""
        with localcontext(_DIGITS):
            exact = _largest_information(pair, schema) * 2 ** binary_digits(schema)
            # sixty digits are kept, so that the 35th decimal is above whatever rounding has taken off
            return int((exact + Decimal(10) ** -35).to_integral_value(ROUND_CEILING)) + 6

    def unit(self, schema: Schema) -> int:
        return int(2 ** binary_digits(schema))

    def refusal(self, pair: Pair, schema: Schema) -> str | None:
        if schema.neighbours == "add-remove" and schema.rows_max is None:
            return (
                "score I has no bounded sensitivity under add-remove neighbours: "
                "declare `rows_max` in [table], or use score R"
            )
        return None


def binary_digits(schema: Schema) -> int:
    """Return the binary digits after the point: 40, or fewer so that the largest score stays below 2^62."""
    most = schema.rows if schema.rows is not None else schema.rows_max
    assert most is not None
    return min(40, 60 - math.ceil(math.log2(max(2.0, most * math.log2(most + 1)))))


@lru_cache(maxsize=1_000_000)
def term(count: int, bits: int) -> int:
    """Return L[c] = round(2^bits · c · log2 c), to the nearest integer."""
    if count < 2:
        return 0
    with localcontext(_DIGITS):  # whatever precision the caller's program has set
        return int((count * _log2(Decimal(count)) * 2**bits).to_integral_value(ROUND_HALF_EVEN))


def _log2(value: Decimal) -> Decimal:
    return _DIGITS.divide(_DIGITS.ln(value), _DIGITS.ln(Decimal(2)))


def _largest_information(pair: Pair, schema: Schema) -> Decimal:
    """Return n·S(I), in bits."""
    if schema.neighbours == "add-remove":
        assert schema.rows_max is not None
        most = Decimal(schema.rows_max)
        return _log2(most + 1) + most * _log2(1 + 1 / most)
    assert schema.rows is not None
    n = Decimal(schema.rows)
    if n == 1:
        return Decimal(0)
    if binary_side(pair, schema):
        return _log2(n) + (n - 1) * _log2(n / (n - 1))
    return 2 * _log2((n + 1) / 2) + (n - 1) * _log2((n + 1) / (n - 1))
