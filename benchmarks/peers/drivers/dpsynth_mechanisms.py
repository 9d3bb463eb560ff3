"""google/dpsynth's SWIFT and AIM under Gaussian DP with their defaults, where it is installed: it is on no registry.

Written from its public interface (0.3): the coded columns are its categories, so that no bins are bought, and its
synthesizer buys the row count and one-way tables. It makes as many rows as its own noisy count says.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from dpsynth import discrete_mechanisms, domain
from dpsynth.data_generation_v3 import TabularSynthesizer
from task import Task, perform

MECHANISMS = {"swift": "SWIFTMechanism", "aim-gdp": "AIMGDPMechanism"}
DELTA = 1e-9


def fit(task: Task) -> pd.DataFrame:
    domains = {name: domain.CategoricalAttribute(list(range(size))) for name, size in task.sizes.items()}
    mechanism = getattr(discrete_mechanisms, MECHANISMS[task.variant])()
    synthesizer = TabularSynthesizer(domains=domains, discrete_mechanism=mechanism)
    calibrated = synthesizer.calibrate(epsilon=float(task.epsilon), delta=DELTA)
    rows = pd.DataFrame(task.rows(), columns=task.names)
    made: pd.DataFrame = calibrated(np.random.default_rng(), rows).synthetic_data
    return made


def sample(made: pd.DataFrame, task: Task) -> np.ndarray:
    return made[task.names].to_numpy()


if __name__ == "__main__":
    perform(fit, sample)
