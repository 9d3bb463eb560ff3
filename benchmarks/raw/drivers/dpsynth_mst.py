"""google/dpsynth with its defaults (MST on 32 private quantile bins), where it is installed: it is on no registry.

Written from its public interface; a NaN of a column with missing cells is its one value outside the range.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from dpsynth import domain
from dpsynth.data_generation_v3 import TabularSynthesizer
from raw_task import Column, RawTask, perform


def synthesize(task: RawTask) -> pd.DataFrame:
    domains = {column.name: _attribute(column) for column in task.columns}
    synthesizer = TabularSynthesizer(domains=domains).calibrate(epsilon=task.epsilon, delta=task.delta)
    return synthesizer(np.random.default_rng(), task.rows).synthetic_data


def _attribute(column: Column) -> domain.AttributeType:
    if not column.ordered:
        return domain.CategoricalAttribute(column.listed)
    return domain.NumericalAttribute(
        column.low, column.high, clip_to_range=not column.missing, dtype="float", interval_handling="sample"
    )


if __name__ == "__main__":
    perform(synthesize)
