"""MST (McKenna, Miklau and Sheldon 2021, "Winning the NIST contest") on the API of mbi 2.0.

Its wheel has no mechanisms, so the steps of the paper are written here.

(eps, 1e-9) under add-remove neighbours, through zCDP: a third of rho for one-way tables, a third for choosing a tree by
the exponential mechanism, a third for its two-way tables. Rare values are merged while the model is estimated.
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
from zcdp import draw, noisy, rho_of  # noqa: E402

RARE = 3.0  # standard deviations below which a value is merged with the other rare ones
ITERATIONS = 5_000


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
        a, b = draw(open_pairs, [float(error[pair]) for pair in open_pairs], epsilon)
        old = part[b]
        part = {n: part[a] if p == old else p for n, p in part.items()}
        tree.append((a, b))
    return tree


def estimate(domain: Domain, found: list[LinearMeasurement], total: float) -> MarkovRandomField:
    return MirrorDescent().estimate(domain, found, known_total=total, iters=ITERATIONS, tol=1e-6)


def fit(task: Task) -> tuple[MarkovRandomField, dict[str, np.ndarray]]:
    domain = Domain(task.names, list(task.sizes.values()))
    whole = Dataset(dict(zip(task.names, task.rows().T)), domain)
    third = rho_of(float(task.epsilon)) / 3
    first = [noisy(whole, (n,), math.sqrt(len(task.names) / (2 * third))) for n in task.names]
    total = float(minimum_variance_unbiased_total(first))  # merged tables do not count for mbi's own estimate of it
    mapping = {found.clique[0]: merge_rare(found) for found in first}
    first = [found.compress(mapping, domain) for found in first]
    data = whole.compress(mapping)
    tree = choose_tree(data, estimate(data.domain, first, total), third)
    second = [noisy(data, pair, math.sqrt(len(tree) / (2 * third))) for pair in tree]
    return estimate(data.domain, first + second, total), mapping


def sample(fitted: tuple[MarkovRandomField, dict[str, np.ndarray]], task: Task) -> np.ndarray:
    model, mapping = fitted
    rows = sum(1 for _ in task.path.open()) - 1
    made = model.synthetic_data(rows).decompress(mapping).to_dict()
    return np.stack([np.asarray(made[n]) for n in task.names], axis=1)


if __name__ == "__main__":
    perform(fit, sample)
