"""What a federation sends (Su et al. 2016, Fig. 8): bytes and exchanges of one owner, beside the paper's formulas.

    python benchmarks/reproduce/dp_subn_cost.py [K …]

DP-SUBN is run over the wire (real protocol, owners in this process) on all of Adult at ε = 0.2. DP-CCBN is reckoned
from its questions. Results in dp_subn/cost.csv; figure-08.svg is drawn from it.
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from battery import HERE
from charts import Curve, Figure, Panel, draw
from records import Point, Records
from trials import Data

from federation import Traffic, ccbn_traffic, over_the_wire, parts_of, surroundings
from rivals.paillier import Paillier, seconds_each
from understudy.methods.dp_subn.binary import binary_variables
from understudy.methods.dp_subn.nocd import best_design

OWNERS = (2, 3, 4, 6, 8, 10)
VARIANTS = ("adaptive", "sequential")
BITS = 1024  # t1: of a ciphertext, in the paper
FILE = HERE / "dp_subn" / "cost.csv"
COLUMNS = ("owners", "what", "sent", "received", "exchanges")


def paper_ccbn(d: int, k: int) -> float:
    """Bytes of one owner: d·t1·C(d, k+1)·2^(k+2) bits for the structure, (d − k)·t1·2^(k+2) for the tables."""
    return BITS / 8 * 2 ** (k + 2) * (d * math.comb(d, k + 1) + d - k)


def paper_subn(d: int, k: int, frontier: int, views: int, width: float) -> float:
    return BITS / 8 * ((d - 1) * 2 ** (frontier + 2) + views * 2 ** (width + 2) + (d - k) * 2 ** (k + 2))


def measure(owners: int, variant: str) -> Traffic:
    data = Data.named("adult").whole
    return over_the_wire(data, parts_of(data, owners, seed=0), "dp-subn", {"variant": variant}, "0.2", owners)[1]


def reckoned(owners: int) -> dict[str, Traffic]:
    data = Data.named("adult").whole
    parts = parts_of(data, owners, seed=0)
    around, variables = surroundings(data, parts), binary_variables(data.schema)
    d = len(variables)
    design = best_design(d, "views")
    width = sum(map(len, design.grid.views())) / design.views
    return {
        "DP-CCBN, k = 1": ccbn_traffic(variables, 1, around),
        "DP-CCBN, k = 2": ccbn_traffic(variables, 2, around),
        "the paper's formula, DP-SUBN, k = 2, k′ = 3": Traffic(paper_subn(d, 2, 3, design.views, width), 0, 0),
        "the paper's formula, DP-CCBN, k = 2": Traffic(paper_ccbn(d, 2), 0, 0),
    }


def main(asked: list[str]) -> None:
    known = _read()
    for owners in map(int, asked or map(str, OWNERS)):
        done = {row[1] for row in known if row[0] == str(owners)}
        found = {f"DP-SUBN, {v}": measure(owners, v) for v in VARIANTS if f"DP-SUBN, {v}" not in done}
        if "DP-CCBN, k = 1" not in done:
            found |= reckoned(owners)
        for what, traffic in found.items():
            known.append([str(owners), what, f"{traffic.sent:.0f}", f"{traffic.received:.0f}", str(traffic.exchanges)])
        _write(known)
        print(owners, *found, flush=True)
    if not any(row[1].startswith("Paillier") for row in known):
        for bits in (1024, 2048):
            key = Paillier.fresh(bits)
            each = seconds_each(key)
            what = f"Paillier, {key.modulus.bit_length()}-bit modulus, {1000 * each:.2f} ms a counter"
            known.append(["1", what, str(key.bytes_each), "0", "0"])
        _write(known)
    (HERE / "dp_subn" / "figure-08.svg").write_text(drawing(known), encoding="utf-8")


def drawing(rows: list[list[str]]) -> str:
    records = Records(FILE)
    lines: dict[str, list[tuple[float, Point]]] = {}
    for owners, what, sent, received, _ in rows:
        if not what.startswith("Paillier"):
            point = Point("adult", owners, what, "0.2", "bytes")
            records.values[point] = {0: (float(sent) + float(received)) / 1e6}
            lines.setdefault(what, []).append((float(owners), point))
    curves = tuple(Curve(what, tuple(sorted(points))) for what, points in lines.items())
    panel = Panel("Adult, 52 bits, ε = 0.2", curves, "K, owners", "MB of one owner", log_x=False, log_y=True)
    return draw(Figure("figure-08", "DP-SUBN Fig. 8: what one owner sends and receives", (panel,)), records)


def _read() -> list[list[str]]:
    if not FILE.exists():
        return []
    with FILE.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))[1:]


def _write(rows: list[list[str]]) -> None:
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with FILE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(rows, key=lambda row: (int(row[0]), row[1])))


if __name__ == "__main__":
    main(sys.argv[1:])
