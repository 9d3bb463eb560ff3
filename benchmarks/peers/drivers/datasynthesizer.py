"""DataSynthesizer in its correlated attribute mode, of the degree that the variant names, with fresh seeds."""

from __future__ import annotations

import json
import secrets
import tempfile
from pathlib import Path

import numpy as np
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from task import Task, perform


def fit(task: Task) -> Path:
    """The description file: its model. The public domain is given, so that it is not read from rows."""
    folder = Path(tempfile.mkdtemp(dir=task.out.parent))  # goes with the output's folder
    domain, description = folder / "domain.json", folder / "description.json"
    domain.write_text(json.dumps({n: list(range(k)) for n, k in task.sizes.items()}))
    describer = DataDescriber(category_threshold=max(task.sizes.values()))
    describer.describe_dataset_in_correlated_attribute_mode(
        str(task.path),
        k=int(task.variant),
        epsilon=float(task.epsilon),
        attribute_to_datatype=dict.fromkeys(task.names, "Integer"),
        attribute_to_is_categorical=dict.fromkeys(task.names, True),
        attribute_to_is_candidate_key=dict.fromkeys(task.names, False),
        categorical_attribute_domain_file=str(domain),
        seed=secrets.randbits(31),
    )
    describer.save_dataset_description_to_file(str(description))
    return description


def sample(description: Path, task: Task) -> np.ndarray:
    rows = sum(1 for _ in task.path.open()) - 1
    generator = DataGenerator()
    generator.generate_dataset_in_correlated_attribute_mode(rows, str(description), seed=secrets.randbits(31))
    return generator.synthetic_dataset[task.names].to_numpy()


if __name__ == "__main__":
    perform(fit, sample)
