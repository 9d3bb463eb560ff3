"""OptimalMerging by integer relaxation and the concave–convex procedure (Chen et al. 2015, problems 6 to 8).

z[i,k] in [0,1] says how far clique i belongs to cluster k, and exp(t[k]) bounds |CL|·cells(CL):

    minimise  ln Σ exp(t) − λr   where  Σ_k z[i,k] = 1,  Σ_i z[i,k] ≥ 1,  r ≤ ‖z_k − z_l‖²,
                                        ln Σ_i z[i,k] + Σ_a ln c_a · occurs_a(z_k) ≤ t[k].

One correction. The paper counts an attribute's cells as c^(Σ_i z o − (Σ_i z o − 1)), which is c even for an attribute
that is not in the cluster at all: with it every cluster costs the same and the program does not see the domains. What
is meant is min(1, Σ_i z o). It is concave; we use the concave 1 − e^(−κx), scaled to 1 at x = 1, which has a slope
everywhere. Concave parts are replaced by their tangents at the last solution until no clique changes its cluster.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from understudy.errors import UsageError
from understudy.methods.toolkit.clusters import Clusters, Problem, assigned, leaning
from understudy.schema import Floats

SPREAD = 0.1  # λ
BEND = 3.0  # κ
STEPS = 10


def relaxation(problem: Problem, numbers: Iterable[int]) -> Iterator[Clusters]:
    """Yield, for each number of clusters, every clique in the cluster with its largest z."""
    cvxpy = _cvxpy()
    for m in numbers:
        start = leaning(problem, m)
        yield assigned(_procedure(cvxpy, problem, start) if m > 1 else start)


def _cvxpy() -> Any:
    try:
        import cvxpy
    except ImportError:
        raise UsageError(
            "merging=relaxation needs cvxpy: pip install 'understudy[jtree]', or use merging=auto"
        ) from None
    return cvxpy


def _procedure(cvxpy: Any, problem: Problem, start: Floats) -> Floats:
    """Solve Problem 8 again and again, compiled once: tangents are its parameters."""
    n, m = start.shape
    z, t, r = cvxpy.Variable((n, m), nonneg=True), cvxpy.Variable(m), cvxpy.Variable(nonneg=True)
    slope, height = cvxpy.Parameter((n, m)), cvxpy.Parameter(m)
    left, right = (list(side) for side in zip(*combinations(range(m), 2)))
    apart, distance = cvxpy.Parameter((n, len(left))), cvxpy.Parameter(len(left))
    rules = [
        cvxpy.sum(z, axis=1) == 1,
        cvxpy.sum(z, axis=0) >= 1,
        cvxpy.sum(cvxpy.multiply(slope, z), axis=0) + height <= t,
        2 * cvxpy.sum(cvxpy.multiply(apart, z[:, left] - z[:, right]), axis=0) - distance >= r,
    ]
    program = cvxpy.Problem(cvxpy.Minimize(cvxpy.log_sum_exp(t) - SPREAD * r), rules)
    now = start
    for _ in range(STEPS):
        slope.value, height.value = _tangents(problem, now)
        apart.value = now[:, left] - now[:, right]
        distance.value = (apart.value**2).sum(axis=0)
        if not _solved(cvxpy, program):
            break
        before, now = now, np.asarray(z.value)
        if np.abs(now - before).max() < 1e-2:
            break
    return now


def _solved(cvxpy: Any, program: Any) -> bool:
    """Return whether the solver came to an end; a rough end will do, since z is rounded afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program.solve(solver=cvxpy.CLARABEL)
        except cvxpy.SolverError:
            return False
    return program.status in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE)


def _tangents(problem: Problem, z: Floats) -> tuple[Floats, Floats]:
    """Return ln Σz + Σ ln c · (1 − e^(−κx))/(1 − e^(−κ)) at z, as slopes for z[i,k] and a constant for each k."""
    members = problem.members.astype(np.float64)
    occurs = np.einsum("ia,ik->ak", members, z)  # not a matrix product, whose last digits are the threads' own
    scale = 1 - np.exp(-BEND)
    bend = BEND * np.exp(-BEND * occurs) / scale * problem.logs[:, None]
    total = np.maximum(z.sum(axis=0), 1e-6)
    slope = np.einsum("ia,ak->ik", members, bend) + 1 / total
    value = np.log(total) + ((1 - np.exp(-BEND * occurs)) / scale * problem.logs[:, None]).sum(axis=0)
    return slope, value - (slope * z).sum(axis=0)
