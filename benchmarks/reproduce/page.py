"""Writes docs/reproduction.md from the records: every number and every verdict on it comes from runs.csv.

python benchmarks/reproduce/page.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import jtree
import jtree_claims
import privabn
import privabn_claims
import privbayes
import privbayes_claims
from battery import HERE, Grid
from charts import Figure, write
from claims import Claim, judge
from records import Records

LEAST = 10  # repetitions; a point with fewer is not shown
PAGE = HERE.parents[1] / "docs" / "reproduction.md"
HEAD = """# The papers' figures, again

Written by `python benchmarks/reproduce/page.py` from the runs in `benchmarks/reproduce/*/runs.csv`; no figure and no
verdict on this page was typed by hand. To run it again:

```sh
python benchmarks/reproduce/privbayes.py          # a quick look, 3 repetitions; also jtree.py, privabn.py
python benchmarks/reproduce/privbayes.py --page   # what this page shows; continues where it was interrupted
python benchmarks/reproduce/page.py
```

- **Promise**: pure ε, replace-one neighbours, row count public, as in the papers. Noise is drawn from a seeded source
  (the seed is a checksum of the trial's name): the runs can be repeated, are not private, and are of public data.
- **Tables** are of as many synthetic rows as there are real ones, fitted on all rows. **SVMs** (linear, C = 1, hinge
  loss) are trained on synthetic rows fitted on 80 % of the real ones and tested on the other 20 %: a new split in each
  repetition, the same one for every method.
- **Verdicts**: a setting (one data set, ε and measure) *holds* where the 95 % t interval of the paired difference over
  repetitions is on the claimed side of zero, is *reversed* where it is on the other, and is *open* otherwise. A claim
  about every setting is agreed with where all hold, and disagreed with where at least one is reversed even by
  simultaneous intervals (Bonferroni over its settings); a claim about most settings needs more than half. "Almost the
  same" and "near the best" mean within a tenth.
- Bars in the drawings are 95 % t intervals of means. Dashed curves are **not private**.
- DP-SUBN and its rivals, several owners: [federation-results.md](federation-results.md).
"""


@dataclass(frozen=True)
class Paper:
    key: str
    title: str
    module: ModuleType
    claims: Callable[[Records], Sequence[Claim]]
    notes: str
    extra: Callable[[Records], str] | None = None
    shared: tuple[str, ...] = ()


PAPERS = (
    Paper("privbayes", "PrivBayes (Zhang et al., TODS 2017)", privbayes, privbayes_claims.claims,
          privbayes_claims.NOTES, privbayes_claims.extra),
    Paper("jtree", "JTree (Chen et al., KDD 2015)", jtree, jtree_claims.claims, jtree_claims.NOTES),
    Paper("privabn", "PrivABN (Lan et al., 2021)", privabn, privabn_claims.claims, privabn_claims.NOTES,
          privabn_claims.extra, ("jtree",)),
)  # fmt: skip


def section(paper: Paper) -> str:
    folder = HERE / paper.key
    records = Records.open(folder / "runs.csv", *(HERE / other / "runs.csv" for other in paper.shared))
    records.values = {point: line for point, line in records.values.items() if len(line) >= LEAST}
    figures = sorted(paper.module.figures(Grid()), key=lambda f: f.key)
    parts = [
        f"## {paper.title}",
        measured(folder, records),
        paper.notes.strip(),
        verdicts(paper.claims(records), records),
    ]
    if paper.extra is not None:
        parts.append(paper.extra(records))
    for figure in figures:
        write(figure, records, folder)
        parts.append(drawing(figure, records, paper.key))
    return "\n\n".join(part for part in parts if part)


def measured(folder: Path, records: Records) -> str:
    facts = folder / "machine.json"
    known = json.loads(facts.read_text()) if facts.exists() else {}
    trials = {(p[:4], r) for p, line in records.values.items() for r in line}
    words = f"{len(trials):,} trials"
    if known:
        words += f", measured {known['date']} at commit {known['commit']} on {known['machine']}, one core, busy machine"
    return words + "."


def verdicts(claims: Sequence[Claim], records: Records) -> str:
    lines = [
        "| figure | claim | our runs | holds | open | reversed | repetitions |",
        "|---|---|---|---|---|---|---|",
    ]
    for claim in claims:
        verdict = judge(claim, records)
        if verdict.word == "not measured":
            lines.append(f"| {claim.figure} | {claim.words} | not measured | – | – | – | – |")
            continue
        low, high = verdict.runs
        runs = f"{low}" if low == high else f"{low}–{high}"
        where = f": {'; '.join(verdict.exceptions[:4])}" if verdict.exceptions else ""
        more = f"; {len(verdict.exceptions) - 4} more" if len(verdict.exceptions) > 4 else ""
        missing = f" ({verdict.missing} settings not run)" if verdict.missing else ""
        lines.append(
            f"| {claim.figure} | {claim.words} | **{verdict.word}** | {verdict.holds}{missing} | {verdict.undecided} "
            f"| {verdict.reversed}{where}{more} | {runs} |"
        )
    return "\n".join(lines)


def drawing(figure: Figure, records: Records, paper: str) -> str:
    runs = sorted({found.runs for p in figure.points if (found := records.mean(p)) is not None})
    if not runs:
        return f"### {figure.title}\n\nNot measured yet."
    missing = sum(1 for p in figure.points if p not in records.values)
    said = f"{runs[0]}" if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    note = (
        f"{said} repetitions a point; figures in [{figure.key}.csv](../benchmarks/reproduce/{paper}/{figure.key}.csv)."
    )
    if missing:
        note += f" {missing} of {len(figure.points)} points were not run."
    return f"### {figure.title}\n\n![{figure.title}](../benchmarks/reproduce/{paper}/{figure.key}.svg)\n\n{note}"


def main() -> None:
    PAGE.write_text("\n\n".join([HEAD.strip(), *map(section, PAPERS)]) + "\n", encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()
