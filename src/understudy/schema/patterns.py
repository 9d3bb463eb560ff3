"""Patterns: the format of an id, such as `P-{5 digits}`, and fresh ids that follow it, no two alike.

The ids of a sample are a permutation of a pattern's texts: number i becomes the text at place π(i), where π is a
Feistel network over whole numbers, walked until it is inside (Black and Rogaway 2002). So ids are unique however many
parts a sample is drawn in, and no list of them is kept. They follow from the schema and the sampling generator alone.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError, UsageError, did_you_mean

Words = NDArray[np.uint64]
ALPHABETS = {
    "digits": string.digits,
    "letters": string.ascii_lowercase,
    "LETTERS": string.ascii_uppercase,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
}
MAX_LENGTH = 200
_ROUNDS = 6
_PERMUTED = 2**62  # places that are permuted; characters beyond are drawn for themselves
_PART = re.compile(r"\{([^{}]*)\}|[{}]")
_FIELD = re.compile(r"\s*([0-9]{1,3})\s+(\S+)\s*")


@dataclass(frozen=True)
class Pattern:
    """Literal text and fields. `alphabets` has one entry a character: the characters that may stand there."""

    text: str
    alphabets: tuple[str, ...]

    @staticmethod
    def of(text: Any) -> Pattern:
        """Read a pattern; `{5 digits}` is a field of five, what stands outside braces is itself.

        >>> Pattern.of("P-{5 digits}").capacity
        100000
        """
        if not isinstance(text, str):
            raise SchemaError('`pattern` is a text such as "P-{5 digits}"')
        alphabets = tuple(_alphabets(text))
        if not any(len(alphabet) > 1 for alphabet in alphabets):
            raise SchemaError('`pattern` has no field, so all ids would be the same: write one such as "P-{5 digits}"')
        if len(alphabets) > MAX_LENGTH:
            raise SchemaError(f"`pattern` makes ids of more than {MAX_LENGTH} characters")
        return Pattern(text, alphabets)

    @property
    def capacity(self) -> int:
        """Return how many distinct ids there are."""
        return math.prod(map(len, self.alphabets))

    @property
    def literals(self) -> str:
        """Return all characters that stand in every id."""
        return "".join(alphabet for alphabet in self.alphabets if len(alphabet) == 1)

    def check(self, rows: int, name: str) -> None:
        """Refuse more rows than there are distinct ids."""
        if rows > self.capacity:
            raise UsageError(
                f"the pattern {self.text!r} of {name} has {self.capacity:,} distinct ids and {rows:,} rows are asked "
                "for: ask for fewer, or give the pattern a longer field",
                attribute=name,
            )

    def keyed(self, generator: np.random.Generator) -> FreshIds:
        """Return the ids of one sample; its order is drawn here."""
        return FreshIds(self, generator.integers(0, 2**63, size=_ROUNDS, dtype=np.uint64))

    @cached_property
    def _permuted(self) -> int:
        """Return from which character on ids are permuted: the first, unless that is too many for one permutation."""
        count, at = 1, len(self.alphabets)
        while at and count * len(self.alphabets[at - 1]) <= _PERMUTED:
            at -= 1
            count *= len(self.alphabets[at])
        return at


@dataclass(frozen=True, eq=False)
class FreshIds:
    """The ids of one sample, by the number of the row."""

    pattern: Pattern
    keys: Words

    def texts(self, first: int, count: int, generator: np.random.Generator) -> list[str]:
        """Return the ids of `count` rows from number `first` on; rows are numbered from 0."""
        alphabets, split = self.pattern.alphabets, self.pattern._permuted
        size = math.prod(map(len, alphabets[split:]))
        place = _permute(np.arange(first, first + count, dtype=np.uint64), size, self.keys)
        letters = np.empty((count, len(alphabets)), dtype=np.uint32)
        for at in reversed(range(len(alphabets))):
            size = len(alphabets[at])
            drawn = place % np.uint64(size) if at >= split else generator.integers(0, size, size=count)
            letters[:, at] = np.array([ord(letter) for letter in alphabets[at]])[drawn.astype(np.int64)]
            place //= np.uint64(size)
        return letters.view(f"<U{len(alphabets)}").ravel().tolist() if count else []


def _alphabets(text: str) -> Iterator[str]:
    at = 0
    for part in _PART.finditer(text):
        yield from text[at : part.start()]
        at = part.end()
        yield from _field(part)
    yield from text[at:]


def _field(part: re.Match[str]) -> list[str]:
    found = _FIELD.fullmatch(part[1] or "")
    if found is None or found[2] not in ALPHABETS or not int(found[1]):
        near = did_you_mean(found[2], list(ALPHABETS)) if found else ""
        raise SchemaError(
            f"`pattern`: a field is written {{N digits}}, {{N letters}}, {{N LETTERS}}, {{N hex}} or {{N HEX}}. {near}"
        )
    return [ALPHABETS[found[2]]] * int(found[1])


def _permute(numbers: Words, size: int, keys: Words) -> Words:
    """Return a permutation of 0 … size − 1 at these numbers."""
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    out = _feistel(numbers, half, keys)
    while (outside := out >= size).any():
        out[outside] = _feistel(out[outside], half, keys)
    return out


def _feistel(numbers: Words, half: int, keys: Words) -> Words:
    bits, mask = np.uint64(half), np.uint64((1 << half) - 1)
    left, right = numbers >> bits, numbers & mask
    for key in keys:
        left, right = right, left ^ (_mixed(right ^ key) & mask)
    return (left << bits) | right


def _mixed(words: Words) -> Words:
    """Mix the bits of each word (the finaliser of splitmix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
