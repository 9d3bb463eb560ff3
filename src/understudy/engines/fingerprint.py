"""A keyed fingerprint of coded rows, the same in every engine and in any order of the rows.

A row of codes x becomes u = a·x mod p, and the table the sum over its rows of u²·(u + c) mod p, with a and c from a
secret key and p = 2^31 − 1. Two tables that differ in a row agree with probability about 3/p. What leaves is an HMAC of
that sum, so that nobody without the key can test a guess about the rows.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from understudy.schema import Schema

if TYPE_CHECKING:
    from understudy.engines.store import Store
    from understudy.schema.scales.sql_syntax import Syntax

PRIME = 2**31 - 1
_PASS = 1 << 16  # rows at a time


class RowFingerprint:
    """The fingerprint of tables of one schema under one key."""

    def __init__(self, key: bytes, schema: Schema) -> None:
        self._key = key
        self._schema = schema
        self._weights = [self._derived(f"attribute {name}") for name in schema.names]
        self._shift = self._derived("shift")

    def _derived(self, what: str) -> int:
        """Return a number from 1 to p − 1 that follows from the key."""
        digest = hmac.new(self._key, f"understudy rows, {what}".encode(), hashlib.sha256).digest()
        return int.from_bytes(digest) % (PRIME - 1) + 1

    def of_store(self, store: Store) -> str:
        """Return the fingerprint of coded columns."""
        weights = dict(zip(self._schema.names, self._weights))
        shares = {n: np.arange(self._schema[n].size, dtype=np.int64) * weights[n] % PRIME for n in weights}
        total = 0
        for start in range(0, store.rows, _PASS):
            stop = min(start + _PASS, store.rows)
            u = np.zeros(stop - start, dtype=np.int64)
            for name, share in shares.items():
                u += share[store.codes(name, start, stop)]
            u %= PRIME
            total += int(((u * u % PRIME) * ((u + self._shift) % PRIME) % PRIME).sum())
        return self.text(store.rows, total)

    def row_sql(self, places: Sequence[str], syntax: Syntax) -> str:
        """Return u of a row as SQL over the columns of codes."""
        terms = [f"{syntax.as_integer(place)} * {weight}" for place, weight in zip(places, self._weights)]
        return f"({' + '.join(terms)}) % {PRIME}"

    def sum_sql(self, u: str, syntax: Syntax) -> str:
        """Return the sum over all rows as SQL, given the name of u."""
        return syntax.wide_sum(f"(({u} * {u}) % {PRIME}) * (({u} + {self._shift}) % {PRIME}) % {PRIME}")

    def text(self, rows: int, total: int) -> str:
        """Return the fingerprint of a table with so many rows and this sum."""
        content = f"{self._schema.hash} {rows} {total}".encode()
        return hmac.new(self._key, content, hashlib.sha256).hexdigest()
