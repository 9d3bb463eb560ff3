"""dpmm's pipelines (PrivBayes, MST, AIM) with their default settings on the public domain, without its own binning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline
from task import Task, perform

PIPELINES = {"priv-bayes": PrivBayesPipeline, "mst": MSTPipeline, "aim": AIMPipeline}
DELTA = 1e-9


def fit(task: Task) -> Any:
    pipeline = PIPELINES[task.variant](epsilon=float(task.epsilon), delta=DELTA, disable_processing=True)
    pipeline.fit(pd.DataFrame(task.rows(), columns=task.names), domain=dict(task.sizes))
    return pipeline


def sample(pipeline: Any, task: Task) -> np.ndarray:
    rows = sum(1 for _ in task.path.open()) - 1
    return pipeline.generate(n_records=rows)[task.names].to_numpy()


if __name__ == "__main__":
    perform(fit, sample)
