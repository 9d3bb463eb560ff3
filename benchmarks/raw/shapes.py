"""Generated columns on which the constants of the noisy tree are fixed: a declared range, a law."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from noisy_tree import Floats, Range

Draw = Callable[[int, np.random.Generator], Floats]


@dataclass(frozen=True)
class Shape:
    """A law and the range that is declared for it."""

    name: str
    span: Range
    draw: Draw

    def sample(self, rows: int, generator: np.random.Generator) -> Floats:
        values = np.clip(self.draw(rows, generator), self.span.low, self.span.high)
        if self.span.step:
            values = self.span.low + np.round((values - self.span.low) / self.span.step) * self.span.step
        return np.asarray(values, dtype=np.float64)


def _uniform(n: int, g: np.random.Generator) -> Floats:
    return g.uniform(0, 100, n)


def _normal(n: int, g: np.random.Generator) -> Floats:
    return g.normal(50, 10, n)


def _lognormal(n: int, g: np.random.Generator) -> Floats:
    return g.lognormal(10, 0.8, n)


def _zero_inflated(n: int, g: np.random.Generator) -> Floats:
    return np.where(g.random(n) < 0.7, 0.0, g.lognormal(8, 1, n))


def _rare_gain(n: int, g: np.random.Generator) -> Floats:
    return np.where(g.random(n) < 0.95, 0.0, g.lognormal(8.5, 0.7, n))


def _ages(n: int, g: np.random.Generator) -> Floats:
    age = np.round(g.gamma(6, 7, n))
    rounded = np.where(g.random(n) < 0.5, np.round(age / 10) * 10, np.round(age / 5) * 5)
    return np.where(g.random(n) < 0.3, rounded, age)


def _bimodal(n: int, g: np.random.Generator) -> Floats:
    return np.where(g.random(n) < 0.6, g.normal(-20, 4, n), g.normal(25, 2, n))


def _spikes(n: int, g: np.random.Generator) -> Floats:
    u = g.random(n)
    return np.where(u < 0.3, 0.0, np.where(u < 0.4, 999.0, g.normal(300, 80, n)))


def _exponential(n: int, g: np.random.Generator) -> Floats:
    return g.exponential(1.0, n)


def _dates(n: int, g: np.random.Generator) -> Floats:
    day = g.integers(0, 3652, 3 * n + 100)
    weight = 0.5 + 0.3 * np.sin(2 * np.pi * day / 365.25) + 0.2 * (day / 3652)
    weight *= np.where(day % 7 < 5, 1.0, 0.25)
    return 16_436.0 + day[g.random(len(day)) < weight][:n]


def _narrow(n: int, g: np.random.Generator) -> Floats:
    return g.normal(1_500, 20, n)


def _signed(n: int, g: np.random.Generator) -> Floats:
    return g.standard_t(3, n) * 1_000


def _few_values(n: int, g: np.random.Generator) -> Floats:
    return g.choice([1457.3, 1641.0, 2014.9, 2290.2, 3683.5], n, p=[0.1, 0.2, 0.3, 0.25, 0.15])


def _heaped_income(n: int, g: np.random.Generator) -> Floats:
    value, u = g.lognormal(10.3, 0.6, n), g.random(n)
    return np.where(u < 0.4, np.round(value, -3), np.where(u < 0.6, np.round(value / 500) * 500, value))


SHAPES = (
    Shape("uniform", Range(0, 100), _uniform),
    Shape("normal", Range(0, 100), _normal),
    Shape("lognormal", Range(0, 1_000_000, 1), _lognormal),
    Shape("zero-inflated", Range(0, 1_000_000, 1), _zero_inflated),
    Shape("rare gain", Range(0, 99_999, 1), _rare_gain),
    Shape("heaped ages", Range(0, 120, 1), _ages),
    Shape("bimodal", Range(-50, 50), _bimodal),
    Shape("spikes", Range(0, 999, 1), _spikes),
    Shape("exponential, long", Range(0, 1_000), _exponential),
    Shape("dates", Range(10_957, 20_088, 1, logarithmic=False), _dates),
    Shape("narrow", Range(0, 50_000), _narrow),
    Shape("signed", Range(-1_000_000, 1_000_000), _signed),
    Shape("few values", Range(16.3, 52_864.7), _few_values),
    Shape("heaped income", Range(-9_000, 1_341_000, 1), _heaped_income),
)
