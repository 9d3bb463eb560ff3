"""PrivGene: a genetic algorithm whose selections are private (Zhang, Xiao, Yang, Zhang, Winslett 2013), for SVM.

Candidates are weight vectors; fitness is −Σ max(0, 1 − y·wx) − ½‖w‖²/C. Each generation selects parents by the enhanced
exponential mechanism, weights e^(ε f/S), and fills up with their offspring: one-point crossover and a mutation that
shrinks. Sensitivity (replace-one; the candidates are earlier outputs): a replaced row t → t' changes f by Δ(w), and the
odds of w against v by Δ(w) − Δ(v) = [f_w − f_v](t') − [f_w − f_v](t) ≤ 2 max_t |(w − v)·x_t|, for the hinge is
1-Lipschitz and ‖w‖² holds no row. So S = 2 max over w, v and all possible rows of |(w − v)·x|, public and computed: one
column of each group is set in a row, so the maximum adds up over groups. Candidates that are near each other are told
apart at little cost, which is the enhancement. PRIVATE ON PAPER, FLOATING-POINT NOISE.
"""

from __future__ import annotations

import numpy as np

from rivals.rows import Floats, UnitRows

CANDIDATES, PARENTS, MIN_ROUNDS, RATE = 200, 10, 8, 1.25e-3  # the authors' settings (from memory)
MAX_ROUNDS = 100
START = 2.0  # candidates start in this box on scaled columns, wide enough for margins of 1


def priv_gene(rows: UnitRows, epsilon: float, generator: np.random.Generator, rounds: int | None = None) -> Floats:
    """Weights. Every selection of a parent costs the same, the last round selects one."""
    rounds = rounds or min(MAX_ROUNDS, max(MIN_ROUNDS, round(RATE * rows.rows * epsilon)))
    own = epsilon / ((rounds - 1) * PARENTS + 1)
    pool = generator.uniform(-START, START, (CANDIDATES, rows.columns))
    for i in range(rounds - 1):
        parents = pool[select(rows, pool, PARENTS, own, generator)]
        pool = offspring(parents, START * (1 - i / rounds), generator)
    best: Floats = pool[select(rows, pool, 1, own, generator)[0]]
    return best


def select(rows: UnitRows, pool: Floats, count: int, epsilon: float, generator: np.random.Generator) -> list[int]:
    """Different candidates one after the other, epsilon each: the largest of fitness plus Gumbel noise."""
    score = fitness(rows, pool) * (epsilon / max(enhanced_sensitivity(pool, rows), 1e-12))
    left = np.ones(len(pool), dtype=bool)
    chosen = []
    for _ in range(count):
        noisy = np.where(left, score + generator.gumbel(size=len(pool)), -np.inf)
        chosen.append(int(noisy.argmax()))
        left[chosen[-1]] = False
    return chosen


def fitness(rows: UnitRows, pool: Floats) -> Floats:
    """C = 1 on unscaled rows: their weights are `height` times these."""
    hinge = np.maximum(0, 1 - rows.y[:, None] * (rows.x @ pool.T)).sum(axis=0)
    found: Floats = -hinge - 0.5 * rows.height**2 * (pool**2).sum(axis=1)
    return found


def enhanced_sensitivity(pool: Floats, rows: UnitRows) -> float:
    """S = 2 max |(w − v)·x| over pairs of candidates and all rows that the groups allow."""
    most = np.zeros((len(pool), len(pool)))
    for group in rows.groups:
        part = pool[:, group]
        most += np.max(part[:, None, :] - part[None, :, :], axis=2)
    return 2 * rows.height * float(most.max())  # the smallest (w − v)·x is the largest of (v − w)·x


def offspring(parents: Floats, step: float, generator: np.random.Generator) -> Floats:
    """The parents stay; each child takes a head from one, a tail from another, and one weight is moved."""
    pool = [*parents]
    while len(pool) < CANDIDATES:
        first, second = parents[generator.choice(len(parents), 2, replace=False)]
        cut = int(generator.integers(1, max(2, len(first))))
        child = np.concatenate([first[:cut], second[cut:]])
        child[generator.integers(len(child))] += generator.uniform(-step, step)
        pool.append(child)
    return np.array(pool)
