"""Forming clusters (Chen et al. 2015, section 4.2): which cliques are measured together so that least noise is added.

OptimalMerging (Definition 2): m clusters share the budget, and a clique's table is summed up from its cluster's. The
total variance is v(m)·Σ|CL|·cells(CL), where v(m) is the variance of one cell when m tables share the budget: 8m²/ε²
for Laplace noise, proportional to m for Gaussian noise. All of it is public, and so is the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from understudy.compiled import compiled
from understudy.errors import UsageError
from understudy.schema import Axis, Floats, Mask

Clusters = tuple[tuple[int, ...], ...]  # each cluster: the numbers of its cliques
CellVariance = Callable[[int], float]
Solver = Callable[["Problem", Sequence[int]], Iterator[Clusters]]  # good clusters for each of these numbers of them

EXACT = 12  # cliques that the exact solver takes: 3^12 steps
RELAXED = 20  # cliques up to which the relaxation is tried unasked: beyond, it takes minutes
THOROUGH = 60  # cliques up to which every number of clusters is tried; beyond, twelve of them and then fewer
MERGED = 300  # cliques up to which two clusters at a time are merged; beyond, only moves from one start are tried
LOG_UNIT = 2.0**36  # a logarithm is kept as a whole multiple of its inverse: cells up to 10^8 come back exactly
GREEDY = 300  # cliques up to which any merging is tried unasked


@dataclass(frozen=True, eq=False)
class Problem:
    """Cliques as sets of attributes, and the most cells that a cluster may have."""

    cliques: Sequence[frozenset[Axis]]
    sizes: Mapping[Axis, int]
    limit: int

    @cached_property
    def logs(self) -> Floats:
        return self._whole_logs / LOG_UNIT

    @cached_property
    def _whole_logs(self) -> Floats:
        """Return logarithms as whole numbers: their sums are exact below 2^53, in whatever order a matrix product adds.

        The order is that of the threads and the processor. What ties stays tied, so that every machine asks for the
        same tables.
        """
        sizes = np.fromiter(self.sizes.values(), dtype=np.float64, count=len(self.sizes))
        return np.rint(np.log(sizes) * LOG_UNIT)

    @cached_property
    def members(self) -> Mask:
        """Return which attribute (column) is in which clique (row): the paper's occurrence matrix O, transposed."""
        return np.array([[axis in clique for axis in self.sizes] for clique in self.cliques], dtype=np.bool_)

    def cells(self, members: Mask) -> Floats:
        """Return the cells of clusters given as rows of attributes; infinite above the limit."""
        cells = np.rint(np.exp(np.minimum((members @ self._whole_logs) / LOG_UNIT, 700.0)))
        return np.where(cells <= self.limit, cells, np.inf)

    @cached_property
    def shared(self) -> Floats:
        """Return the logarithm of the cells that each two cliques have in common."""
        return np.asarray((self.members * self._whole_logs) @ self.members.T.astype(np.float64)) / LOG_UNIT

    def weight(self, clusters: Clusters) -> float:
        """Return Σ|CL|·cells(CL): the total variance over v(m)."""
        joined = np.array([self.members[list(cluster)].any(axis=0) for cluster in clusters])
        return float((self.cells(joined) * [len(cluster) for cluster in clusters]).sum())

    def variance(self, clusters: Clusters, cell_variance: CellVariance) -> float:
        return cell_variance(len(clusters)) * self.weight(clusters)


@dataclass(frozen=True)
class Merging:
    """An answer, and who found it."""

    clusters: Clusters
    variance: float
    solver: str


def best_merging(
    problem: Problem, cell_variance: CellVariance, solver: str, accepts: Callable[[Clusters], bool]
) -> Merging:
    """Return the smallest total variance that a solver finds for any number of clusters, and that is accepted.

    Not to merge at all is always an answer.
    """
    apart = tuple((i,) for i in range(len(problem.cliques)))
    found = [Merging(apart, problem.variance(apart, cell_variance), "none")]
    for name, solve in _solvers(solver, len(problem.cliques)):
        best = min(merging.variance for merging in found)
        # Merging never lowers Σ|CL|·cells, so this number of clusters cannot win if v(m) alone is too large.
        numbers = [m for m in range(1, len(apart)) if cell_variance(m) * problem.weight(apart) < best]
        if len(apart) > THOROUGH:
            numbers = numbers[:: max(1, len(numbers) // max(3, min(12, 3600 // len(apart))))]
        found += [Merging(c, problem.variance(c, cell_variance), name) for c in solve(problem, numbers)]
    for merging in sorted(found, key=lambda m: m.variance):
        if merging.clusters == apart or (np.isfinite(merging.variance) and accepts(merging.clusters)):
            return merging
    raise AssertionError("the cliques themselves are always accepted")


def _solvers(asked: str, cliques: int) -> Iterator[tuple[str, Solver]]:
    """Yield the solvers; `auto` is the exact one if it can run, else greedy and, with cvxpy, the relaxation."""
    if asked == "exact" and cliques > EXACT:
        raise UsageError(f"merging=exact takes up to {EXACT} cliques and there are {cliques}: use merging=auto")
    if asked == "exact" or (asked == "auto" and cliques <= EXACT):
        yield "exact", exact
    if asked == "greedy" or (asked == "auto" and EXACT < cliques <= GREEDY):
        yield "greedy", greedy
    if asked == "relaxation" or (asked == "auto" and EXACT < cliques <= RELAXED and find_spec("cvxpy")):
        from understudy.methods.toolkit.relaxation import relaxation

        yield "relaxation", relaxation


# -- greedy ----------------------------------------------------------------------------------------------------


def greedy(problem: Problem, numbers: Sequence[int]) -> Iterator[Clusters]:
    """Merge the two clusters that cost least, again and again; from each stage, and from another start with as many
    clusters, move single cliques while that helps."""
    if len(problem.cliques) > MERGED:
        yield from (improved(problem, assigned(leaning(problem, m))) for m in numbers)
        return
    groups = [[i] for i in range(len(problem.cliques))]
    members = problem.members.copy()
    counts = np.ones(len(groups))
    cost = problem.cells(members) * counts
    rise = np.full((len(groups), len(groups)), np.inf)
    for i in range(len(groups) - 1):
        rise[i, i + 1 :] = _rises(problem, members, counts, cost, i)[i + 1 :]
    while len(groups) > 1 and np.isfinite(rise.min()):
        i, j = (int(x) for x in np.unravel_index(int(rise.argmin()), rise.shape))
        groups[i] += groups.pop(j)
        members[i] |= members[j]
        counts[i] += counts[j]
        members, counts, cost = np.delete(members, j, axis=0), np.delete(counts, j), np.delete(cost, j)
        rise = np.delete(np.delete(rise, j, axis=0), j, axis=1)
        cost[i] = problem.cells(members[i : i + 1])[0] * counts[i]
        fresh = _rises(problem, members, counts, cost, i)
        rise[i, i + 1 :], rise[:i, i] = fresh[i + 1 :], fresh[:i]
        if len(groups) in numbers:
            yield improved(problem, groups)
            yield improved(problem, assigned(leaning(problem, len(groups))))


def _rises(problem: Problem, members: Any, counts: Any, cost: Any, i: int) -> Floats:
    """Return by how much Σ|CL|·cells rises when cluster i is merged with each of the others."""
    return np.asarray(problem.cells(members | members[i]) * (counts + counts[i]) - cost - cost[i])


def improved(problem: Problem, groups: Sequence[Sequence[int]]) -> Clusters:
    """Move one clique at a time to the cluster where it costs least; the number of clusters stays."""
    home = np.empty(len(problem.cliques), dtype=np.int64)
    for k, group in enumerate(groups):
        home[list(group)] = k
    occurs = np.array([problem.members[list(group)].sum(axis=0) for group in groups])
    counts = np.array([len(group) for group in groups])
    for _ in range(20):
        if not sum(_move(problem, home, occurs, counts, i) for i in range(len(home))):
            break
    return tuple(tuple(int(i) for i in np.flatnonzero(home == k)) for k in range(len(groups)))


def _move(problem: Problem, home: Any, occurs: Any, counts: Any, i: int) -> bool:
    """Move clique i where that is cheaper, and return whether it went.

    `occurs` counts each cluster's cliques with each attribute.
    """
    own = int(home[i])
    if counts[own] == 1:
        return False
    occurs[own] -= problem.members[i]
    counts[own] -= 1
    before = problem.cells(occurs > 0)
    after = problem.cells((occurs > 0) | problem.members[i])
    known = np.isfinite(before)
    rise = np.where(known, after * (counts + 1) - np.where(known, before, 0.0) * counts, np.inf)
    best = int(rise.argmin())
    home[i] = best = best if rise[best] < rise[own] * (1 - 1e-9) else own
    occurs[best] += problem.members[i]
    counts[best] += 1
    return best != own


def leaning(problem: Problem, m: int) -> Floats:
    """Return how far each clique leans to each of m cliques that are far from each other, by what they share."""
    shared = problem.shared
    sizes = np.diag(shared)
    seeds = [int(sizes.argmax())]
    while len(seeds) < m:
        gain = sizes - shared[:, seeds].max(axis=1)
        gain[seeds] = -np.inf
        seeds.append(int(gain.argmax()))
    lean = np.exp(shared[:, seeds] - shared[:, seeds].max(axis=1, keepdims=True))
    lean[seeds] = np.eye(m) + 0.1
    return np.asarray(lean / lean.sum(axis=1, keepdims=True))


def assigned(z: Floats) -> Clusters:
    """Put each clique into the cluster it belongs to most."""
    home = z.argmax(axis=1)
    groups = (tuple(int(i) for i in np.flatnonzero(home == k)) for k in range(z.shape[1]))
    return tuple(group for group in groups if group)


# -- exact -----------------------------------------------------------------------------------------------------


def exact(problem: Problem, numbers: Sequence[int]) -> Iterator[Clusters]:
    """Yield the best partition for each number of clusters, by dynamic programming over sets of cliques."""
    n = len(problem.cliques)
    bits = (np.arange(1 << n)[:, None] >> np.arange(n)) & 1
    joined = np.zeros((1 << n, len(problem.sizes)), dtype=np.bool_)
    for i in range(n):
        joined |= (bits[:, i, None] == 1) & problem.members[i]
    last = _partitions(problem.cells(joined) * bits.sum(axis=1), n)
    for m in numbers:
        clusters, rest = [], (1 << n) - 1
        for left in range(m, 0, -1):
            part = int(last[left, rest])
            clusters.append(tuple(i for i in range(n) if part >> i & 1))
            rest ^= part
        if all(clusters):
            yield tuple(clusters)


@compiled
def _partitions(cost: Any, n: int) -> Any:
    """Return last[m, s]: the cluster of the first clique of s in the cheapest partition of s into m clusters.

    0: none.
    """
    full = 1 << n
    best = np.full((n + 1, full), np.inf)
    last = np.zeros((n + 1, full), dtype=np.int64)
    best[0, 0] = 0.0
    for s in range(1, full):
        first = s & -s
        rest = s ^ first
        part = rest
        while True:  # every subset of the rest joins the first clique
            other = rest ^ part
            for m in range(1, n + 1):
                total = best[m - 1, other] + cost[part | first]
                if total < best[m, s]:
                    best[m, s] = total
                    last[m, s] = part | first
            if part == 0:
                break
            part = (part - 1) & rest
    return last
