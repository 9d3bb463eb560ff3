"""Paillier encryption, for what it would cost: seconds and bytes for each counter. Not part of the product.

A curator that holds the key could open partial sums, and 1024-bit ciphertexts, as in Su et al. 2016, mean a 512-bit
modulus, which can be factored. Neither side of a federation can import this.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key


@dataclass(frozen=True)
class Paillier:
    """A key; `modulus` is p·q and messages are numbers below it."""

    modulus: int
    secret: int  # (p − 1)(q − 1)

    @staticmethod
    def fresh(bits: int = 2048) -> Paillier:
        primes = generate_private_key(public_exponent=65537, key_size=bits).private_numbers()
        return Paillier(primes.p * primes.q, (primes.p - 1) * (primes.q - 1))

    def encrypt(self, number: int) -> int:
        n = self.modulus
        blind = secrets.randbelow(n - 1) + 1
        return (1 + number % n * n) * pow(blind, n, n * n) % (n * n)

    def add(self, one: int, other: int) -> int:
        return one * other % (self.modulus * self.modulus)

    def decrypt(self, text: int) -> int:
        n = self.modulus
        return (pow(text, self.secret, n * n) - 1) // n * pow(self.secret, -1, n) % n

    @property
    def bytes_each(self) -> int:
        """Of a ciphertext."""
        return -(-2 * self.modulus.bit_length() // 8)


def seconds_each(key: Paillier, times: int = 10) -> float:
    """Of one encryption, as the best of a few."""
    best = float("inf")
    for i in range(times):
        begin = time.process_time()
        key.encrypt(i)
        best = min(best, time.process_time() - begin)
    return best
