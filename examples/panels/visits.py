"""Write a made-up panel: visits of patients, in no order. The same rows every time."""

import sys
from pathlib import Path

import numpy as np

STATES = ("well", "ill", "chronic")
MOVES = np.cumsum([[0.80, 0.18, 0.02], [0.45, 0.40, 0.15], [0.02, 0.08, 0.90]], axis=1)

draw = np.random.default_rng(7)
lines = []
for patient in range(3000):
    born, sex, year = draw.integers(1930, 2000), "fm"[draw.integers(2)], int(draw.integers(2008, 2016))
    state, weight = int(draw.choice(3, p=[0.6, 0.3, 0.1])), draw.normal(70 + 8 * (sex == "m"), 11)
    for _ in range(min(12, 1 + draw.poisson(3))):
        lines.append(f"P{patient:04d},{year},{born},{sex},{STATES[state]},{min(max(weight, 40), 140):.0f}")
        year += int(draw.choice([1, 2], p=[0.8, 0.2]))
        weight += draw.normal(0.3, 2)
        state = int((draw.random() > MOVES[state]).sum())
rows = "\n".join(lines[i] for i in draw.permutation(len(lines)))
Path(sys.argv[1]).write_text("patient,year,born,sex,state,weight\n" + rows + "\n", encoding="utf-8")
