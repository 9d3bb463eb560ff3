"""Shamir's secret sharing (1979) of 32 bytes over the integers modulo 2^521 − 1: any `threshold` shares give the secret
back, and fewer say nothing about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

PRIME: Final = 2**521 - 1
SHARE: Final = 66  # bytes of a share
SECRET: Final = 32


def random_bytes_needed(threshold: int) -> int:
    return SHARE * (threshold - 1)


def split(secret: bytes, points: Iterable[int], threshold: int, random: bytes) -> dict[int, bytes]:
    """Return the share at each point (1 or more): a polynomial of degree threshold − 1 that is the secret at 0.

    521 uniform bits are a uniform coefficient, but for one value in 2^521.
    """
    assert len(secret) == SECRET and len(random) == random_bytes_needed(threshold)
    drawn = [int.from_bytes(random[i : i + SHARE], "big") & PRIME for i in range(0, len(random), SHARE)]
    coefficients = [int.from_bytes(secret, "big"), *(number % PRIME for number in drawn)]
    return {point: _value(coefficients, point).to_bytes(SHARE, "big") for point in points}


def _value(coefficients: list[int], point: int) -> int:
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * point + coefficient) % PRIME
    return value


def join(shares: Mapping[int, bytes]) -> bytes:
    """Return the secret, by Lagrange's formula at 0, from `threshold` shares; from a wrong one, something else."""
    secret = 0
    for i, share in shares.items():
        weight = 1
        for j in shares:
            if i != j:
                weight = weight * j % PRIME * pow(j - i, -1, PRIME) % PRIME
        secret = (secret + int.from_bytes(share, "big") * weight) % PRIME
    return secret.to_bytes(SHARE, "big")[-SECRET:]
