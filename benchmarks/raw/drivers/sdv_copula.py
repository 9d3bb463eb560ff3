"""SDV's Gaussian copula with its defaults: not private at all, and told nothing but kinds."""

from __future__ import annotations

import pandas as pd
from raw_task import RawTask, perform
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer


def synthesize(task: RawTask) -> pd.DataFrame:
    kinds = {c.name: {"sdtype": "numerical" if c.ordered else "categorical"} for c in task.columns}
    metadata = Metadata.load_from_dict({"tables": {"table": {"columns": kinds}}, "relationships": []})
    synthesizer = GaussianCopulaSynthesizer(metadata)
    synthesizer.fit(task.rows)
    return synthesizer.sample(len(task.rows))


if __name__ == "__main__":
    perform(synthesize)
