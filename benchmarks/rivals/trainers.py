"""Rivals that need each row's gradient or fitness. PRIVATE ON PAPER, FLOATING-POINT NOISE: never part of the product.

Each proves its epsilon for real numbers and draws its noise in doubles, which is not private as implemented
(PRIVACY.md h); none is charged to a ledger. All of them assume replace-one neighbours, n public, and rows of norm 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rivals.erm import private_erm
from rivals.gene import priv_gene
from rivals.rows import Floats, UnitRows
from rivals.svm import no_privacy, private_svm

STAMP = "private on paper, floating-point noise"
Trainer = Callable[[UnitRows, float, np.random.Generator], Floats]

# name -> how it is trained, and whether its budget is divided by the number of targets (Zhang et al. 2017, Section 6.6)
TRAINERS: dict[str, tuple[Trainer, bool]] = {
    "PrivateERM": (private_erm, True),
    "PrivateERM (Single)": (private_erm, False),
    "PrivateSVM": (private_svm, True),
    "PrivGene": (priv_gene, True),
    "NoPrivacy": (no_privacy, False),
}


def errors(
    name: str, tasks: Sequence[tuple[UnitRows, UnitRows]], epsilon: float, generator: np.random.Generator
) -> list[float]:
    """Misclassification rates on the second rows of each task, of classifiers trained on the first."""
    train, divided = TRAINERS[name]
    own = epsilon / len(tasks) if divided else epsilon
    return [check.error(train(learn, own, generator)) for learn, check in tasks]
