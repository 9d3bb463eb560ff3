"""The random source: the only module of the package that draws random numbers.

On the private path it is the operating system's entropy through opendp's exact integer samplers; there is no seed.
`understudy.testing` has the only other source, and whatever it touches is stamped NOT PRIVATE.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Integers

Words = NDArray[np.uint64]


class RandomSource(Protocol):
    """What the mechanisms need; each call is one draw that the ledger has already been charged for."""

    @property
    def private(self) -> bool: ...

    def laplace(self, values: Integers, scale: float) -> Integers: ...

    def gaussian(self, values: Integers, scale: float) -> Integers: ...

    def permute_and_flip(self, scores: Sequence[int], scale: float) -> int: ...

    def exponential(self, scores: Sequence[int], scale: float) -> int: ...

    def below(self, bound: int) -> int: ...

    def words(self, count: int) -> Words:
        """Return uniform 64-bit words, for samplers of the kernel's own and for keys."""
        ...

    def generator(self) -> np.random.Generator: ...


class SystemSource:
    """Operating-system entropy, exact samplers (opendp), no seed."""

    private = True

    def laplace(self, values: Integers, scale: float) -> Integers:
        return np.asarray(laplace_measurement(scale)(values.tolist()), dtype=np.int64)

    def gaussian(self, values: Integers, scale: float) -> Integers:
        return np.asarray(gaussian_measurement(scale)(values.tolist()), dtype=np.int64)

    def permute_and_flip(self, scores: Sequence[int], scale: float) -> int:
        return int(permute_and_flip_measurement(scale)(list(scores)))

    def exponential(self, scores: Sequence[int], scale: float) -> int:
        return int(exponential_measurement(scale)(list(scores)))

    def below(self, bound: int) -> int:
        return secrets.randbelow(bound)

    def words(self, count: int) -> Words:
        return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)

    def generator(self) -> np.random.Generator:
        """Return a generator for post-processing only (sampling rows from a model that is already private)."""
        return np.random.Generator(np.random.PCG64(secrets.randbits(256)))


def seeded_generator(seed: int) -> np.random.Generator:
    """Return a generator for post-processing that a user wants to repeat: `sample --seed`."""
    return np.random.default_rng(seed)


# -- opendp, imported late because it takes a quarter of a second ------------------------------------------------


@lru_cache(maxsize=1)
def _opendp() -> Any:
    """Return opendp's parts by name; its prelude is avoided, since that pulls in scikit-learn where it is installed."""
    import opendp.domains
    import opendp.measurements
    import opendp.measures
    import opendp.metrics
    import opendp.mod

    opendp.mod.enable_features("contrib")
    return opendp


@lru_cache(maxsize=256)
def laplace_measurement(scale: float) -> Any:
    """Return discrete Laplace noise on a vector of integers; its map takes an L1 distance."""
    dp = _opendp()
    space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.l1_distance(T="i64")
    return dp.measurements.make_laplace(*space, scale)


@lru_cache(maxsize=256)
def gaussian_measurement(scale: float) -> Any:
    """Return discrete Gaussian noise on a vector of integers; its map takes an L2 distance."""
    dp = _opendp()
    space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.l2_distance(T="f64")
    return dp.measurements.make_gaussian(*space, scale)


def permute_and_flip_measurement(scale: float) -> Any:
    """Return permute-and-flip, at a cost in pure epsilon; its map takes an L∞ distance."""
    return _selection(scale, "max_divergence")


def exponential_measurement(scale: float) -> Any:
    """Return the exponential mechanism by Gumbel noise, at a cost in rho; its map takes an L∞ distance."""
    return _selection(scale, "zero_concentrated_divergence")


@lru_cache(maxsize=256)
def _selection(scale: float, measure: str) -> Any:
    dp = _opendp()
    space = dp.domains.vector_domain(dp.domains.atom_domain(T="i64")), dp.metrics.linf_distance(T="i64")
    return dp.measurements.make_noisy_max(*space, getattr(dp.measures, measure)(), scale)
