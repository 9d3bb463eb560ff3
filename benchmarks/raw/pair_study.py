"""How many cells an attribute should show to a graphical model: pairs with noise, against cells that are too wide.

    python benchmarks/raw/pair_study.py

Two columns with a Gaussian dependence, each cut into K cells of equal mass; the K × K table gets noise of standard
deviation σ and is fitted to its (known) margins. The error is the TVD between this table, spread evenly inside cells,
and the truth, on deciles; and the difference of the correlation of ranks.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from noisy_tree import Floats
from scipy.stats import norm

CELLS = (2, 4, 6, 8, 12, 16, 20, 24, 32, 40)
SIGNALS = (10, 30, 100, 300, 1_000, 3_000, 10_000)  # rows over σ
DEPENDENCE = (0.2, 0.5, 0.8)
FINE = 240  # a common multiple of most numbers of cells


def truth(correlation: float) -> Floats:
    """Return the joint probabilities of a Gaussian copula on FINE × FINE cells of equal mass."""
    middle = norm.ppf((np.arange(FINE) + 0.5) / FINE)
    x, y = np.meshgrid(middle, middle, indexing="ij")
    log = -(correlation**2 * (x**2 + y**2) - 2 * correlation * x * y) / (2 * (1 - correlation**2))
    return _fitted(np.exp(log))


def _fitted(table: Floats, rounds: int = 50) -> Floats:
    """Return the table scaled to uniform margins."""
    table = np.maximum(table, 0.0) + 1e-12 / table.size
    for _ in range(rounds):
        table = table / table.sum(axis=0) / len(table)
        table = table / table.sum(axis=1, keepdims=True) / len(table)
    return np.asarray(table)


def gathered(table: Floats, cells: int) -> Floats:
    """Return the table on cells × cells of equal mass; a fine cell that is cut goes to both sides in proportion."""
    fine = len(table)
    edges = np.arange(cells + 1) * fine / cells
    low = np.arange(fine)
    part = np.clip(np.minimum(edges[1:, None], low + 1) - np.maximum(edges[:-1, None], low), 0, 1)
    return np.asarray(part @ table @ part.T)


def errors(signal: float, cells: int, correlation: float, generator: np.random.Generator) -> tuple[float, float]:
    real = truth_of(correlation)
    coarse = gathered(real, cells)
    made = _fitted(coarse + generator.normal(0, 1 / signal, coarse.shape))
    spread = np.repeat(np.repeat(made, FINE, 0), FINE, 1).reshape(cells, FINE, cells, FINE).mean(axis=(1, 3))
    tvd = np.abs(gathered(spread, 10) - gathered(real, 10)).sum() / 2
    return float(tvd), abs(_spearman(spread) - _spearman(real))


def _spearman(table: Floats) -> float:
    rank = (np.arange(len(table)) + 0.5) / len(table) - 0.5
    return float(rank @ table @ rank / (rank**2).mean())


@lru_cache
def truth_of(correlation: float) -> Floats:
    return truth(correlation)


def main() -> None:
    generator = np.random.default_rng(17)
    print("n/σ   |" + "".join(f"{k:>15d}" for k in CELLS) + "   alone")
    for correlation in DEPENDENCE:
        alone = np.abs(gathered(truth(correlation), 10) - 0.01).sum() / 2
        for signal in SIGNALS:
            found = [np.mean([errors(signal, k, correlation, generator) for _ in range(8)], axis=0) for k in CELLS]
            best = int(np.argmin([f[0] for f in found]))
            cells = "".join(f"{f[0]:>8.3f}{'*' if i == best else ' '}{f[1]:.3f} " for i, f in enumerate(found))
            print(f"{signal:>6} | {cells} {alone:.3f}  (correlation {correlation})", flush=True)


if __name__ == "__main__":
    main()
