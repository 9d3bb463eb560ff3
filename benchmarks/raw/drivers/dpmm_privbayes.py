"""dpmm's PrivBayes with its default PrivTree bins; a tenth of epsilon for the bins, as its own default has it."""

from __future__ import annotations

import pandas as pd
from dpmm.pipelines import PrivBayesPipeline
from raw_task import RawTask, perform


def synthesize(task: RawTask) -> pd.DataFrame:
    frame, domain = task.rows.copy(), {}
    for column in task.columns:
        if column.ordered:
            domain[column.name] = {"lower": column.low, "upper": column.high}
        else:
            domain[column.name] = {"categories": column.listed}
            frame[column.name] = pd.Categorical(frame[column.name], column.listed)
    pipeline = PrivBayesPipeline(
        epsilon=0.9 * task.epsilon, delta=task.delta, proc_epsilon=0.1 * task.epsilon, n_jobs=1
    )
    pipeline.fit(frame, domain=domain)
    return pipeline.generate(n_records=len(frame))


if __name__ == "__main__":
    perform(synthesize)
