"""AIM under Gaussian DP, as google/dpsynth documents it, on the API of mbi 2.0: dpsynth itself is on no registry.

(eps, 1e-9) under add-remove neighbours by the exact curve of Gaussian DP, in which every step is a Gaussian: a third of
mu^2 for one-way tables; half a round for how far every table of the workload is from independence; then rounds. A
round looks again at the 16 tables that seem worst by what was seen so far, each with a share of a tenth of its price,
measures the worst of them and fits again. A round that taught nothing makes the next ones cost four times as much.

`paper` and `short` are the settings of our driver of AIM, whose model, tables and estimation are used.
"""

from __future__ import annotations

import math

import aim
import numpy as np
from aim import Clique
from mbi import Dataset, Domain, MarkovRandomField
from task import Task, perform
from zcdp import DELTA, GENERATOR, noisy

ONE_WAY = 1 / 3  # of mu^2
SELECT = 0.1  # of a round
LOOKED_AT = 16  # tables in a round
ANNEAL = 4.0


def mu_of(epsilon: float, delta: float = DELTA) -> float:
    """The largest mu of Gaussian DP within (epsilon, delta)."""

    def normal(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    def delta_of(mu: float) -> float:
        return normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * normal(-mu / 2 - epsilon / mu)

    low, high = 0.0, 10.0 + epsilon
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) <= delta else (low, middle)
    return low


class Loop:
    """What the rounds share: the exact tables, and the last noisy error of each."""

    def __init__(self, data: Dataset, weight: dict[Clique, int], model: MarkovRandomField, price: float) -> None:
        self.weight = weight
        self.exact = {c: np.asarray(data.project(c).datavector()) for c in weight}
        self.errors: dict[Clique, float] = {}
        self.look(list(weight), model, price)

    def look(self, cliques: list[Clique], model: MarkovRandomField, price: float) -> dict[Clique, np.ndarray]:
        """Noisy L1 errors of these tables for `price` in mu^2; returns the model's tables."""
        modelled = aim.tables(model, cliques)
        sd = math.sqrt(len(cliques) / price)
        for c in cliques:
            self.errors[c] = float(np.abs(self.exact[c] - modelled[c]).sum()) + GENERATOR.normal(0, sd)
        return modelled

    def worst(self, cliques: list[Clique], sd: float, domain: Domain) -> list[Clique]:
        """By their last errors less the noise that measuring them would have, the worst first."""

        def score(c: Clique) -> float:
            return self.weight[c] * (self.errors[c] - aim.expected_noise(sd, domain.size(c)))

        return sorted(cliques, key=score, reverse=True)


def fit(task: Task) -> MarkovRandomField:
    setting = aim.SETTINGS[task.variant]
    domain = Domain(task.names, list(task.sizes.values()))
    data = Dataset(dict(zip(task.names, task.rows().T)), domain)
    weight = aim.weights(domain, setting.ways)

    whole = mu_of(float(task.epsilon)) ** 2
    sd = math.sqrt(len(task.names) / (whole * ONE_WAY))
    found = [noisy(data, (n,), sd) for n in task.names]
    model = aim.estimate(domain, found, None)

    loop_budget = left = whole * (1 - ONE_WAY)
    price = loop_budget / (setting.rounds * len(task.names))
    loop = Loop(data, weight, model, price / 2)
    left -= price / 2
    last = False
    while not last:
        if last := left < 2 * price:  # the last round takes what is left
            price = left
        left -= price
        sd = 1 / math.sqrt(price * (1 - SELECT))
        options = aim.fitting(weight, model, setting.megabytes * (loop_budget - left) / loop_budget)
        shortlist = loop.worst(options, sd, domain)[:LOOKED_AT]
        modelled = loop.look(shortlist, model, price * SELECT)
        chosen = loop.worst(shortlist, sd, domain)[0]
        found.append(noisy(data, chosen, sd))
        model = aim.estimate(domain, found, model)
        learned = np.abs(np.asarray(model.project(chosen).datavector()) - modelled[chosen]).sum()
        if learned <= aim.expected_noise(sd, domain.size(chosen)):
            price *= ANNEAL
    return model


if __name__ == "__main__":
    perform(fit, aim.sample)
