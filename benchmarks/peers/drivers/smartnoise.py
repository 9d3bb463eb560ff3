"""smartnoise-synth's MST as shipped, on the mbi 1.1.0 that it pins; it reads categories and row count from the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from snsynth.mst import MSTSynthesizer
from task import Task, perform

DELTA = 1e-9


def fit(task: Task) -> Any:
    synthesizer = MSTSynthesizer(epsilon=float(task.epsilon), delta=DELTA)
    frame = pd.DataFrame(task.rows(), columns=task.names)
    synthesizer.fit(frame, categorical_columns=task.names, preprocessor_eps=0.0)
    return synthesizer


def sample(synthesizer: Any, task: Task) -> np.ndarray:
    rows = sum(1 for _ in task.path.open()) - 1
    return synthesizer.sample(rows)[task.names].to_numpy()


if __name__ == "__main__":
    perform(fit, sample)
