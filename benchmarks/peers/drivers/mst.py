"""MST (McKenna, Miklau and Sheldon 2021, "Winning the NIST contest") on the API of mbi 2.0.

Its wheel has no mechanisms, so the steps of the paper are written here.

(eps, 1e-9) under add-remove neighbours, through zCDP: a third of rho for one-way tables, a third for choosing a tree by
the exponential mechanism, a third for its two-way tables. Rare values are merged while the model is estimated.
Floating-point noise, as in the peers: private on paper.
"""

from __future__ import annotations

import itertools
import math

import jax

jax.config.update("jax_enable_x64", True)

import numpy as np  # noqa: E402
from mbi import Dataset, Domain, LinearMeasurement, MarkovRandomField  # noqa: E402
from mbi.estimation import MirrorDescent, minimum_variance_unbiased_total  # noqa: E402
from task import Task, perform  # noqa: E402

DELTA = 1e-9
RARE = 3.0  # standard deviations below which a value is merged with the other rare ones
ITERATIONS = 5_000
GENERATOR = np.random.default_rng()


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho whose zCDP implies (epsilon, delta) (Canonne, Kamath and Steinke 2020, Corollary 13)."""
    alphas = 1 + np.logspace(-3, 5, 4_000)

    def log_delta(rho: float) -> float:
        terms = (alphas - 1) * (alphas * rho - epsilon) + alphas * np.log1p(-1 / alphas) - np.log(alphas - 1)
        return float(terms.min())

    low, high = 0.0, epsilon
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) <= math.log(delta) else (low, middle)
    return low


def noisy(data: Dataset, cliques: list[tuple[str, ...]], rho: float) -> list[LinearMeasurement]:
    """Gaussian counts of all these tables for rho together: one row moves each by one."""
    sd = math.sqrt(len(cliques) / (2 * rho))
    return [
        LinearMeasurement(
            np.asarray(data.project(c).datavector()) + GENERATOR.normal(0, sd, data.domain.size(c)), c, stddev=sd
        )
        for c in cliques
    ]


def merge_rare(found: LinearMeasurement) -> np.ndarray:
    """Old code to new: common values keep their order, rare ones share the last."""
    common = np.asarray(found.noisy_measurement) >= RARE * found.stddev
    return np.where(common, np.cumsum(common) - 1, common.sum()).astype(np.int64)


def choose_tree(data: Dataset, model: MarkovRandomField, rho: float) -> list[tuple[str, str]]:
    """A spanning tree, edge by edge, by the L1 error that independence leaves in a pair's table (sensitivity 1)."""
    names = list(data.domain)
    share = {n: np.asarray(model.project((n,)).datavector()) for n in names}
    total = float(model.total)
    error = {
        (a, b): np.abs(data.project((a, b)).datavector() - np.outer(share[a], share[b]).ravel() / total).sum()
        for a, b in itertools.combinations(names, 2)
    }
    epsilon = math.sqrt(8 * rho / (len(names) - 1))  # each draw is epsilon^2 / 8 zCDP
    part = {n: n for n in names}
    tree: list[tuple[str, str]] = []
    while len(tree) < len(names) - 1:
        open_pairs = [pair for pair in error if part[pair[0]] != part[pair[1]]]
        scores = np.array([float(error[pair]) for pair in open_pairs])
        a, b = open_pairs[int(np.argmax(epsilon / 2 * scores + GENERATOR.gumbel(size=len(scores))))]
        old = part[b]
        part = {n: part[a] if p == old else p for n, p in part.items()}
        tree.append((a, b))
    return tree


def estimate(domain: Domain, found: list[LinearMeasurement], total: float) -> MarkovRandomField:
    return MirrorDescent().estimate(domain, found, known_total=total, iters=ITERATIONS, tol=1e-6)


def fit(task: Task) -> tuple[MarkovRandomField, dict[str, np.ndarray]]:
    domain = Domain(task.names, list(task.sizes.values()))
    whole = Dataset(dict(zip(task.names, task.rows().T)), domain)
    third = rho_of(float(task.epsilon), DELTA) / 3
    first = noisy(whole, [(n,) for n in task.names], third)
    total = float(minimum_variance_unbiased_total(first))  # merged tables do not count for mbi's own estimate of it
    mapping = {found.clique[0]: merge_rare(found) for found in first}
    first = [found.compress(mapping, domain) for found in first]
    data = whole.compress(mapping)
    tree = choose_tree(data, estimate(data.domain, first, total), third)
    return estimate(data.domain, first + noisy(data, list(tree), third), total), mapping


def sample(fitted: tuple[MarkovRandomField, dict[str, np.ndarray]], task: Task) -> np.ndarray:
    model, mapping = fitted
    rows = sum(1 for _ in task.path.open()) - 1
    made = model.synthetic_data(rows).decompress(mapping).to_dict()
    return np.stack([np.asarray(made[n]) for n in task.names], axis=1)


if __name__ == "__main__":
    perform(fit, sample)
