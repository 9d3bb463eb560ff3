"""AIM (McKenna, Mullins, Sheldon and Miklau 2022) on the API of mbi 2.0.

Its wheel has no mechanisms, so the steps of the paper are written here.

(eps, 1e-9) under add-remove neighbours, through zCDP: one-way tables; then rounds that draw the table which the model
gets most wrong, measure it and fit again; a round that taught nothing doubles the price of the next one.

`paper`: all three-way tables as the workload, 16 rounds an attribute to start with, models up to 80 MB.
`short`: all pairs, 3 rounds an attribute, models up to 4 MB, so that it ends within the cap.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from mbi import Dataset, Domain, LinearMeasurement, MarkovRandomField  # noqa: E402
from mbi.estimation import MirrorDescent  # noqa: E402
from mbi.junction_tree import hypothetical_model_size  # noqa: E402
from opt_einsum import contract  # noqa: E402
from task import Task, perform  # noqa: E402
from zcdp import draw, noisy, rho_of  # noqa: E402

TABLES = 0.9  # of a round's rho; the rest is for its choice
ITERATIONS = 1_000
MAX_CELLS = 100_000  # of a table of the workload

Clique = tuple[str, ...]


@dataclass(frozen=True)
class Setting:
    ways: int
    rounds: int  # for each attribute
    megabytes: float


SETTINGS = {"paper": Setting(3, 16, 80.0), "short": Setting(2, 3, 4.0)}


def weights(domain: Domain, ways: int) -> dict[Clique, int]:
    """All parts of the workload's tables, each by how many attributes it shares with all of them."""
    workload = [w for w in itertools.combinations(domain, ways) if domain.size(w) <= MAX_CELLS]
    parts = {p for w in workload for k in range(1, ways + 1) for p in itertools.combinations(w, k)}
    return {p: sum(len(set(p) & set(w)) for w in workload) for p in sorted(parts, key=lambda p: (len(p), p))}


def fitting(weight: dict[Clique, int], model: MarkovRandomField, megabytes: float) -> list[Clique]:
    """The tables that the model holds already, or that leave it within the limit."""
    return [
        c
        for c in weight
        if model.marginals.supports(c) or hypothetical_model_size(model.domain, [*model.cliques, c]) <= megabytes
    ]


def tables(model: MarkovRandomField, cliques: list[Clique]) -> dict[Clique, np.ndarray]:
    """Of the model. By einsum over its factors: mbi compiles a program for each query, half a minute in every round."""
    number = {name: i for i, name in enumerate(model.domain)}
    factors: list[object] = []
    for clique, potential in model.potentials.tables.items():
        values = np.asarray(potential.values)
        factors += [np.exp(values - values.max()), [number[n] for n in clique]]
    free = [np.ones(size) for size in model.domain.shape]
    factors += [part for i, ones in enumerate(free) for part in (ones, [i])]

    def table(clique: Clique) -> np.ndarray:
        held = contract(*factors, [number[n] for n in clique], optimize="greedy")
        return (held * (float(model.total) / held.sum())).ravel()

    return {c: table(c) for c in cliques}


def expected_noise(sd: float, cells: int) -> float:
    return math.sqrt(2 / math.pi) * sd * cells


def fit(task: Task) -> MarkovRandomField:
    setting = SETTINGS[task.variant]
    domain = Domain(task.names, list(task.sizes.values()))
    data = Dataset(dict(zip(task.names, task.rows().T)), domain)
    weight = weights(domain, setting.ways)
    exact = {c: np.asarray(data.project(c).datavector()) for c in weight}

    rho = rho_of(float(task.epsilon))
    rounds = setting.rounds * len(task.names)
    sd, epsilon = math.sqrt(rounds / (2 * TABLES * rho)), math.sqrt(8 * (1 - TABLES) * rho / rounds)
    found = [noisy(data, (n,), sd) for n in task.names]
    left = rho - len(found) / (2 * sd**2)
    model = estimate(domain, found, None)
    last = False
    while not last:
        if last := left <= 2 * price(sd, epsilon):  # not enough for two such rounds: one that takes what is left
            sd, epsilon = math.sqrt(1 / (2 * TABLES * left)), math.sqrt(8 * (1 - TABLES) * left)
        left -= price(sd, epsilon)
        options = fitting(weight, model, setting.megabytes * (rho - left) / rho)
        modelled = tables(model, options)
        scores = [
            weight[c] * (np.abs(exact[c] - modelled[c]).sum() - expected_noise(sd, domain.size(c))) for c in options
        ]
        chosen = draw(options, scores, epsilon, max(weight[c] for c in options))
        found.append(noisy(data, chosen, sd))
        model = estimate(domain, found, model)
        learned = np.abs(np.asarray(model.project(chosen).datavector()) - modelled[chosen]).sum()
        if learned <= expected_noise(sd, domain.size(chosen)):
            sd, epsilon = sd / 2, epsilon * 2
    return model


def price(sd: float, epsilon: float) -> float:
    return 1 / (2 * sd**2) + epsilon**2 / 8


def estimate(domain: Domain, found: list[LinearMeasurement], warm: MarkovRandomField | None) -> MarkovRandomField:
    return MirrorDescent().estimate(domain, found, iters=ITERATIONS, warm_start=warm, tol=1e-6)


def sample(model: MarkovRandomField, task: Task) -> np.ndarray:
    made = model.synthetic_data(sum(1 for _ in task.path.open()) - 1).to_dict()
    return np.stack([np.asarray(made[n]) for n in task.names], axis=1)


if __name__ == "__main__":
    perform(fit, sample)
