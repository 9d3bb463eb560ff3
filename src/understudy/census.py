"""A census of a made-up country: the conditional probabilities behind the demo table, from believable rules.

Every table is the softmax of scores laid out with the parents first and the child last; −inf is a structural zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Schema

Scores = NDArray[np.float64]
NEVER = -np.inf


def conditionals(schema: Schema) -> list[tuple[str, tuple[str, ...], Scores]]:
    """Return name, parents and conditional table of every attribute, parents before children."""
    world = _World(schema)
    return [(name, parents, _softmax(rule(world), world, name)) for name, (parents, rule) in _NETWORK.items()]


class _World:
    """Sizes, codes by label, and typical values of the cells."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema

    def size(self, name: str) -> int:
        return self.schema[name].size

    def code(self, name: str, *labels: str) -> list[int]:
        return [self.schema[name].labels.index(label) for label in labels]

    def scores(self, name: str) -> Scores:
        """Return zeros in the shape of the attribute's table."""
        return np.zeros([self.size(n) for n in (*_NETWORK[name][0], name)])

    def per_value(self, name: str, rest: float = 0.0, **values: float) -> Scores:
        """Return a number for each code, given by label (spaces and hyphens written as underscores)."""
        plain = [label.replace(" ", "_").replace("-", "_") for label in self.schema[name].labels]
        return np.asarray([values.get(label, rest) for label in plain])

    def bounds(self, name: str) -> Scores:
        domain = self.schema[name].ordered
        return np.asarray([domain.bounds(code) for code in range(domain.size)])

    def centre(self, name: str) -> Scores:
        return np.asarray(self.bounds(name).mean(axis=1))


def _softmax(scores: Scores, world: _World, name: str) -> Scores:
    shape = world.scores(name).shape
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    table = np.broadcast_to(weights / weights.sum(axis=-1, keepdims=True), shape).copy()
    table.setflags(write=False)  # shared by every caller
    return table


def _bell(world: _World, name: str, mean: Any, spread: Any, scale: Callable[[Any], Any] = np.asarray) -> Scores:
    """Return scores of an ordered attribute's cells around a mean: a normal density times the bin's width."""
    bounds = world.bounds(name)
    width = np.maximum(scale(bounds[:, 1]) - scale(bounds[:, 0]), 1e-9)
    offset = (scale(bounds.mean(axis=1)) - np.asarray(mean)[..., None]) / np.asarray(spread)[..., None]
    return np.asarray(np.maximum(np.log(width) - offset**2 / 2, -12.0))  # a thin tail everywhere


def _logit(chance: Any) -> Scores:
    """Return the scores of (false, true)."""
    kept = np.clip(np.asarray(chance, dtype=float), 0.01, 0.99)
    return np.stack([np.log(1 - kept), np.log(kept)], axis=-1)


def _age(world: _World) -> Scores:
    bounds = world.bounds("age")
    years = bounds[:, 1] - bounds[:, 0] + 1
    return np.asarray(np.log(years) - np.maximum(bounds.mean(axis=1) - 55, 0) ** 2 / 900)


def _birth_country(world: _World) -> Scores:
    scores = world.scores("birth_country")
    scores += world.per_value("birth_country", -3.6, Home=1.4, missing=-3.0, Poland=-2.8, Turkey=-2.9, Germany=-3.0)
    area = np.repeat(np.arange(6), [4, 3, 3, 4, 3, 3])  # Coast, Lakes, Capital, Plain, Hills, Border
    scores[area == 2] += world.per_value("birth_country", 1.3, Home=0, missing=0.8)
    scores[area == 5] += world.per_value("birth_country", 0.0, Germany=2.6, France=2.4, Italy=2.0, Home=-0.2)
    scores[area == 0] += world.per_value("birth_country", 0.0, Poland=1.8, Brazil=0.8, Nigeria=0.8)
    return scores


def _education(world: _World) -> Scores:
    age = world.centre("age")[:, None, None]
    rank = np.arange(8.0)
    base = world.per_value("education", No_schooling=-2.6, Primary=-1.0, Lower_secondary=0.3, Upper_secondary=1.0,
                           Vocational=1.3, Bachelor=0.6, Master=0.2, Doctorate=-2.2)  # fmt: skip
    origin = world.per_value("birth_country", -0.35, Home=0.0, Germany=0.15, France=0.15, India=0.55, China=0.5,
                             missing=-0.2)[:, None]  # fmt: skip
    score = base + (rank - 3) * (origin - np.maximum(age - 50, 0) / 55)
    youngest = np.maximum(23.5 - age, 0) * np.maximum(rank - np.asarray([2.0]), 0) * 0.45  # too young for a degree
    return np.asarray(score - youngest)


def _marital_status(world: _World) -> Scores:
    age = world.centre("age")
    male = np.asarray([0.0, 1.0])[None, :]
    old, young = np.maximum(age - 60, 0)[:, None], np.maximum(32 - age, 0)[:, None]
    flat = np.zeros((len(age), 2))
    single = 2.2 - np.minimum(age, 55)[:, None] / 18 + young * 0.12 + 0.25 * male
    return np.stack(
        [
            single,
            1.0 - young * 0.22 - old * 0.01 + flat,
            -0.6 - young * 0.05 - old * 0.03 + flat,
            -2.4 - young * 0.15 + flat,
            -0.8 - young * 0.30 - old * 0.01 + flat,
            -3.0 + old * 0.16 - young * 0.3 - 1.1 * male,
        ],
        axis=-1,
    )


def _employment(world: _World) -> Scores:
    age = world.centre("age")[:, None, None]
    male = np.asarray([0.0, 1.0])[None, :, None]
    rank = np.arange(8.0)[None, None, :]
    old = np.maximum(age - 60, 0)
    parts = [
        1.6 + 0.12 * rank + 0.25 * male - old * 0.30,
        -0.6 + 0.08 * rank + 0.35 * male - old * 0.16 - np.maximum(30 - age, 0) * 0.12,
        0.3 - 0.22 * rank - old * 0.30,
        4.5 - np.maximum(age - 18, 0) * 0.55 + 0.1 * rank,
        -6.5 + np.maximum(age - 48, 0) * 0.40 - np.maximum(48 - age, 0) * 0.3,
        0.4 - 1.9 * male - 0.15 * rank - np.maximum(24 - age, 0) * 0.3,
        -1.3 - 0.25 * rank + np.minimum(np.maximum(age - 35, 0), 30) * 0.05,
    ]
    return np.stack(np.broadcast_arrays(*parts), axis=-1)


def _occupation(world: _World) -> Scores:
    scores = world.scores("occupation")
    wanted = np.asarray([4.6, 5.4, 6.6, 5.3, 3.6, 3.5, 2.6, 2.3, 3.6, 2.2, 2.4, 1.0])  # the usual rank of education
    fit = -((np.arange(8.0)[:, None] - wanted) ** 2) / 1.6
    size = np.log(np.asarray([5, 7, 4, 6, 12, 9, 9, 4, 9, 8, 6, 6.0]))
    men = np.asarray([0.3, 0.9, 0.0, -0.6, -0.8, -1.1, -0.5, 0.2, 1.5, 0.8, 1.6, -0.9])
    by_sex = np.stack([-men / 2, men / 2])
    scores[..., :12] = (np.maximum(fit, -6) + size)[None, :, None, :] + by_sex[None, None]
    scores[world.code("employment", "Self-employed")[0], ..., :12] += world.per_value(
        "occupation", -0.5, Manager=1.3, Craftsperson=0.9, Cook=0.7, Physician=0.5
    )[:12]
    works = world.code("employment", "Employee", "Self-employed")
    idle = [i for i in range(7) if i not in works]
    scores[works, ..., 12] = NEVER
    scores[idle, ..., :12] = NEVER
    return scores


def _hours_per_week(world: _World) -> Scores:
    scores = world.scores("hours_per_week")
    employee, own = world.code("employment", "Employee", "Self-employed")
    full, half = world.code("hours_per_week", "40", "20")
    missing = world.size("hours_per_week") - 1
    scores[..., :missing] = NEVER  # those without work have no hours
    mean, spread = np.asarray([[33.0, 39.0], [38.0, 47.0]]), np.asarray([[8.0, 6.0], [14.0, 12.0]])
    bell = _bell(world, "hours_per_week", mean, spread)
    bell[..., full], bell[..., half] = np.asarray([[2.4, 3.4], [2.2, 2.4]]), np.asarray([[1.9, -0.2], [0.2, -1.0]])
    scores[[employee, own], :, :missing] = bell
    scores[[employee, own], :, missing] = -1.0
    return scores


def _income(world: _World) -> Scores:
    """Return scores of the income bins: log income is about normal, with a mean by pay and hours, or by pension."""
    pay = np.asarray([11.05, 10.9, 11.35, 10.65, 10.3, 10.2, 9.95, 9.9, 10.35, 10.15, 10.15, 9.65, 9.5])
    hours = np.append(world.centre("hours_per_week"), 36.0)
    worked = pay[:, None] + np.log(hours / 40) * 0.9
    support = world.per_value("employment", 0.0, Unemployed=9.1, Student=8.3, Retired=9.75, Homemaker=8.2, Unable=9.2)
    mean = np.where(support[:, None, None] > 0, support[:, None, None], worked[None])
    mean[world.code("employment", "Self-employed")] += 0.1
    spread = np.broadcast_to(world.per_value("employment", 0.45, Employee=0.3, Self_employed=0.6)[:, None, None],
                             mean.shape)  # fmt: skip
    bell = _bell(world, "income", mean, spread, lambda euros: np.log(np.maximum(euros, 300)))
    none = world.per_value("employment", -4.0, Employee=-7.0, Unemployed=-0.9, Student=0.1, Homemaker=1.6, Retired=-3.5)
    bell[..., 0] = np.log(np.exp(bell[..., 1:]).sum(axis=-1)) + none[:, None, None]
    return bell


def _owns_home(world: _World) -> Scores:
    age, income = world.centre("age")[:, None], world.centre("income")[None, :]
    push = (np.minimum(age, 70) - 45) / 9 + (np.log(income + 3000) - 10) * 1.4
    return _logit(0.04 + 0.88 / (1 + np.exp(-push)))


def _children(world: _World) -> Scores:
    grown = np.clip((world.centre("age") - 20) / 20, 0.02, 1)[:, None]
    wish = world.per_value("marital_status", Single=0.25, Married=2.1, Partnership=1.2, Separated=1.6, Divorced=1.5,
                           Widowed=2.3)  # fmt: skip
    count, mean = np.arange(9.0), (grown * wish)[..., None]
    log_factorial = np.cumsum(np.log(np.maximum(count, 1)))
    return np.asarray(count * np.log(mean) - log_factorial - 0.08 * np.maximum(count - 2, 0) ** 2)


def _chronic_illness(world: _World) -> Scores:
    age = world.centre("age")[:, None]
    work = world.per_value("employment", 0.0, Unable=3.2, Unemployed=0.5, Employee=-0.3)[None, :]
    return _logit(1 / (1 + np.exp(-((age - 66) / 13 + work))))


def _last_doctor_visit(world: _World) -> Scores:
    missing = world.size("last_doctor_visit") - 1
    bounds = world.bounds("last_doctor_visit")
    ago = bounds[-1, 1] - bounds.mean(axis=1)
    rate = 1 / np.asarray([[230.0, 420.0], [60.0, 75.0]])  # days between visits, by illness and sex
    scores = np.empty((2, 2, missing + 1))
    scores[..., :missing] = np.maximum(np.log(bounds[:, 1] - bounds[:, 0] + 1) - ago * rate[..., None], -4.0)
    scores[..., missing] = np.asarray([[2.5, 3.1], [-0.5, 0.0]])
    return scores


def _commute_km(world: _World) -> Scores:
    scores = world.scores("commute_km")
    missing = world.size("commute_km") - 1
    area = np.repeat(np.arange(6), [4, 3, 3, 4, 3, 3])
    typical = np.log(np.asarray([9.0, 14.0, 6.0, 24.0, 18.0, 11.0]))[area]
    bell = _bell(world, "commute_km", typical, np.full(20, 0.7), lambda km: np.log(np.maximum(km, 0.5)))
    scores[..., :missing] = NEVER
    for status, home in (("Employee", -2.6), ("Self-employed", -0.4), ("Student", -2.0)):
        code = world.code("employment", status)[0]
        scores[code, :, :missing] = bell
        scores[code, :, 0] = np.log(np.exp(bell[:, 1:]).sum(axis=-1)) + home
        scores[code, :, missing] = -3.0
    return scores


_NETWORK: dict[str, tuple[tuple[str, ...], Callable[[_World], Scores]]] = {  # parents and rule of each attribute
    "age": ((), _age),
    "sex": (("age",), lambda world: _logit(0.51 - np.maximum(world.centre("age") - 65, 0) / 120)),
    "region": ((), lambda world: np.log([4, 2, 3, 1, 3, 2, 4, 14, 9, 6, 3, 2, 4, 2, 3, 2, 1, 5, 3, 2])),  # people
    "birth_country": (("region",), _birth_country),
    "education": (("age", "birth_country"), _education),
    "marital_status": (("age", "sex"), _marital_status),
    "employment": (("age", "sex", "education"), _employment),
    "occupation": (("employment", "education", "sex"), _occupation),
    "hours_per_week": (("employment", "sex"), _hours_per_week),
    "income": (("employment", "occupation", "hours_per_week"), _income),
    "owns_home": (("age", "income"), _owns_home),
    "children": (("age", "marital_status"), _children),
    "chronic_illness": (("age", "employment"), _chronic_illness),
    "last_doctor_visit": (("chronic_illness", "sex"), _last_doctor_visit),
    "commute_km": (("employment", "region"), _commute_km),
}
