"""Tables with foreign keys: linked tables against per-table synthesis with relinking by random keys.

    python benchmarks/relations.py [berka generated] [--epsilon 0.8 2 8] [--delta 1e-6] [--runs 3]

add-remove of a row of the root with all that belongs to it. Berka: account → disp (with its client) → card; account →
order; account → loan; the district is a public table, of which the accounts and clients have the number: its columns
can be joined to any output. Generated: shops → baskets → items, with known dependence over one and over two hops.

    1-hop, 2-hop   median relative error of counts by a value of each of two tables, of those with at least 1 % of the
                   joined rows (`understudy.evaluate.hops`); 2-hop: over a table between, or of two rows of one parent
    fan-out        mean total variation distance of the number of rows that belong to one row
    tvd1, tvd2     mean total variation distance of those two-way tables
    columns        mean total variation distance of a column
    integrity      share of child rows whose key is that of a row of the parent
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import datasets
from rivals.relinked_tables import relinked
from understudy.evaluate.hops import HopFigures, compare_counts
from understudy.privacy.budget import Budget
from understudy.publishing import run
from understudy.relations.hop_counts import MemoryHops
from understudy.relations.linking import CodedRows
from understudy.relations.table_reading import coded_tables
from understudy.relations.table_tree import TableTree
from understudy.schema import Schema

ID = {"kind": "id"}


def listed(*values: Any) -> dict[str, Any]:
    return {"kind": "category", "values": [str(v) for v in values]}


def number(low: float, high: float, bins: int, kind: str = "number") -> dict[str, Any]:
    return {"kind": kind, "range": [low, high], "bins": bins}


def _schema(root: str, attributes: dict[str, Any], tables: dict[str, Any]) -> Schema:
    table = {"name": root, "neighbours": "add-remove"}
    return Schema.from_dict({"table": table, "attributes": attributes, "tables": tables})


def berka() -> tuple[Schema, dict[str, Any]]:
    import pandas as pd

    def read(name: str) -> Any:
        return pd.read_csv(datasets.ROOT / "berka" / f"{name}.asc.gz", sep=";", dtype=str, keep_default_na=False)

    account, client, disp = read("account"), read("client"), read("disp")
    born = client["birth_number"].astype(int)
    client["sex"] = np.where(born // 100 % 100 > 50, "F", "M")
    client["born"] = (1900 + born // 10000).astype(str)
    disp = disp.merge(client[["client_id", "sex", "born", "district_id"]], on="client_id")
    account["year"], account["district"] = "19" + account["date"].str[:2], account["district_id"]
    disp["district"] = disp["district_id"]
    card, order, loan = read("card"), read("order"), read("loan")
    card["year"], loan["year"] = "19" + card["issued"].str[:2], "19" + loan["date"].str[:2]
    order["k_symbol"] = order["k_symbol"].str.strip().replace("", "none")
    districts = {"kind": "integer", "range": [1, 77], "bins": "each"}
    years = listed(*range(1993, 1999))
    columns = {
        "account": (account, {"account_id": ID, "district": districts, "year": years,
                              "frequency": listed(*sorted(set(account["frequency"])))}),
        "disp": (disp, {"disp_id": ID, "account_id": ID, "type": listed("OWNER", "DISPONENT"), "sex": listed("F", "M"),
                        "born": number(1910, 1990, 8, "integer"), "district": districts}),
        "card": (card, {"disp_id": ID, "type": listed("junior", "classic", "gold"), "year": years}),
        "order": (order, {"account_id": ID, "bank_to": listed(*sorted(set(order["bank_to"]))),
                          "amount": {"kind": "number", "edges": [0, 500, 1000, 2000, 4000, 6000, 9000, 15000]},
                          "k_symbol": listed("SIPO", "UVER", "POJISTNE", "LEASING", "none")}),
        "loan": (loan, {"account_id": ID, "year": years, "amount": number(0, 600000, 8, "integer"),
                        "duration": listed(12, 24, 36, 48, 60), "payments": number(0, 10000, 8),
                        "status": listed("A", "B", "C", "D")}),
    }  # fmt: skip
    links = {"disp": ("account", "account_id", 2), "card": ("disp", "disp_id", 1),
             "order": ("account", "account_id", 5), "loan": ("account", "account_id", 1)}  # fmt: skip
    tables = {
        name: {"parent": parent, "key": key, "at_most": most, "attributes": columns[name][1]}
        for name, (parent, key, most) in links.items()
    }
    frames = {name: pa.Table.from_pandas(f[list(own)], preserve_index=False) for name, (f, own) in columns.items()}
    return _schema("account", columns["account"][1], tables), frames


def generated(shops: int = 20_000) -> tuple[Schema, dict[str, Any]]:
    """Three levels: what a basket holds depends on its shop's region, and an item's price on the shop's size too."""
    draw = np.random.default_rng(21)
    region, size = draw.choice(4, shops, p=[0.4, 0.3, 0.2, 0.1]), draw.choice(3, shops, p=[0.5, 0.3, 0.2])
    baskets = np.repeat(np.arange(shops), np.minimum(draw.poisson(0.6 + 0.8 * size), 4))
    day = (draw.random(len(baskets)) < np.where(region[baskets] < 2, 0.3, 0.7)).astype(int)
    pay = draw.integers(3, size=len(baskets))
    items = np.repeat(np.arange(len(baskets)), np.minimum(1 + draw.poisson(0.5 + day), 3))
    kind = (draw.random(len(items))[:, None] > np.cumsum(np.array([[0.5, 0.3, 0.15], [0.1, 0.2, 0.3]])[day[items]],
                                                         axis=1)).sum(axis=1)  # fmt: skip
    price = np.clip(draw.normal(20 + 15 * size[baskets[items]] + 5 * kind, 8), 0, 99)
    frames = {
        "shops": pa.table({"id": np.arange(shops), "region": region.astype(str), "size": size.astype(str)}),
        "baskets": pa.table({"id": np.arange(len(baskets)), "shop": baskets, "day": day.astype(str),
                             "pay": pay.astype(str)}),
        "items": pa.table({"basket": items, "kind": kind.astype(str), "price": np.round(price, 2)}),
    }  # fmt: skip
    tables = {
        "baskets": {"parent": "shops", "key": "shop", "references": "id", "at_most": 4,
                    "attributes": {"id": ID, "shop": ID, "day": listed(0, 1), "pay": listed(0, 1, 2)}},
        "items": {"parent": "baskets", "key": "basket", "references": "id", "at_most": 3,
                  "attributes": {"basket": ID, "kind": listed(0, 1, 2, 3), "price": number(0, 100, 10)}},
    }  # fmt: skip
    attributes = {"id": ID, "region": listed(0, 1, 2, 3), "size": listed(0, 1, 2)}
    return _schema("shops", attributes, tables), frames


SETS = {"berka": berka, "generated": generated}


def published(data: dict[str, Any], schema: Schema, budget: Budget, folder: Path) -> dict[str, CodedRows]:
    """Publish, write, read again: what a user gets."""
    made = run(data, schema, budget, "auto", {}, ledger=folder / "ledger.db", cap="none", register=False,
               types="declared", quiet=True)  # fmt: skip
    made.release.write(folder / "out")
    return coded_tables(str(folder / "out"), TableTree.of(schema))[0]


def columns_distance(tree: TableTree, real: dict[str, CodedRows], other: dict[str, CodedRows]) -> float:
    found = []
    for name, branch in tree.branches.items():
        for column in branch.schema.names:
            counts = [np.bincount(coded[name].columns[column], minlength=branch.schema[column].size)
                      for coded in (real, other)]  # fmt: skip
            shares = [c / max(1, c.sum()) for c in counts]
            found.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(found))


def integrity(tree: TableTree, other: dict[str, CodedRows]) -> float:
    fits = [((t.parent >= 0) & (t.parent < other[tree.ancestors(n)[0]].rows)).mean()
            for n, t in other.items() if t.parent is not None and t.rows]  # fmt: skip
    return float(np.min(fits))


def measures(tree: TableTree, real: dict[str, CodedRows], other: dict[str, CodedRows]) -> dict[str, float]:
    found: HopFigures = compare_counts(tree, MemoryHops(tree, real), MemoryHops(tree, other))
    tvd = {hops: float(np.mean([h.tvd for h in found.hops if h.hops == hops])) for hops in (1, 2)}
    return {
        "1-hop": float(found.median[1]), "2-hop": float(found.median[2]),
        "fan-out": float(np.mean(list(found.fan_out.values()))), "tvd1": tvd[1], "tvd2": tvd[2],
        "columns": columns_distance(tree, real, other), "integrity": integrity(tree, other),
    }  # fmt: skip


WAYS = {"linked": published, "relinked": relinked}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--epsilon", type=float, nargs="*", default=[0.8, 2.0, 8.0])
    parser.add_argument("--delta", default="1e-6")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--hops", action="store_true", help="print the page of each run")
    asked = parser.parse_args()
    for name in asked.sets:
        schema, data = SETS[name]()
        tree = TableTree.of(schema)
        real, _ = coded_tables(data, tree, types="declared")
        for epsilon in asked.epsilon:
            for way in asked.ways:
                found, start = [], time.process_time()
                for _ in range(asked.runs):
                    with tempfile.TemporaryDirectory() as folder:
                        other = WAYS[way](data, schema, Budget(epsilon, asked.delta), Path(folder))
                    found.append(measures(tree, real, other))
                    if asked.hops:
                        print(compare_counts(tree, MemoryHops(tree, real), MemoryHops(tree, other)).text())
                cpu = (time.process_time() - start) / asked.runs
                line = " ".join(
                    f"{key} {np.mean([f[key] for f in found]):.3f}±"
                    f"{np.std([f[key] for f in found], ddof=1) / len(found) ** 0.5 if len(found) > 1 else 0:.3f}"
                    for key in found[0]
                )
                print(f"{name} epsilon {epsilon:g} {way:<8} {line} cpu {cpu:.1f}", flush=True)


if __name__ == "__main__":
    main()
