"""The papers' data sets as schemas and files, from $UNDERSTUDY_DATA (default: ../shared/data beside the checkout)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from understudy.evaluate.targets import Target
from understudy.schema import Attribute, Categories, Intervals, Schema, Taxonomy
from understudy.schema.scales import ordered_scale
from understudy.schema.scales.identifiers import Dropped
from understudy.schema.steps import equal_edges

ROOT = Path(os.environ.get("UNDERSTUDY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
ROWS = {
    "adult": 45_222, "nltcs": 21_574, "acs": 47_461, "tpce": 40_000, "retail": 88_162,
    "fire": 305_119, "loans": 42_535, "salary": 135_727,
}  # fmt: skip
POST_SECONDARY = ("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")
FILES = {"retail": "retail_top50"}
DROPPED = {"fire": ("Box", "Address")}  # columns that the list of sizes leaves out
# The papers' four classification tasks per data set (Zhang et al. 2017, Section 6.1; the overview of `shared/data`).
TARGETS = {
    "adult": (
        Target("sex", ("Female",)),
        Target("income", (">50K",)),
        Target("education", POST_SECONDARY, ignore=("education-num",)),  # the number gives the degree away
        Target("marital-status", ("Never-married",)),
    ),
    "nltcs": tuple(Target(n, ("1",)) for n in ("getting_about_outside", "managing_money", "bathing", "traveling")),
    "acs": tuple(
        Target(n, ("1",)) for n in ("a03_owns_dwelling", "a04_has_mortgage", "a09_multigeneration", "a18_school")
    ),
}


def available(name: str) -> bool:
    return path(name).exists()


def path(name: str) -> Path:
    return ROOT / name / f"{FILES.get(name, name)}.csv.gz"


def schema(name: str, neighbours: str = "replace-one") -> Schema:
    domain = json.loads((ROOT / name / "domain.json").read_text())
    groups = _adult_taxonomies(list(domain)) if name == "adult" else {}
    attributes = tuple(_attribute(key, body, groups.get(key)) for key, body in domain.items())
    attributes += tuple(Attribute(left_out, Dropped()) for left_out in DROPPED.get(name, ()))
    rows = ROWS[name] if neighbours == "replace-one" else None
    return Schema(name, attributes, rows=rows, neighbours=neighbours)  # type: ignore[arg-type]


def _attribute(name: str, body: Any, tree: dict[str, Any] | None) -> Attribute:
    if isinstance(body, int):
        return Attribute(name, Categories(tuple(str(v) for v in range(body))))
    if body["type"] == "continuous":
        bins = body.get("privbayes_bins", body.get("bins", 16))
        edges = equal_edges(ordered_scale("number"), float(body["min"]), float(body["max"]), bins)
        return Attribute(name, Intervals("number", edges))
    values = Categories(tuple(str(v) for v in body["values"]))
    return Attribute(name, values, Taxonomy.of_groups(tree, values) if tree else None)


def _adult_taxonomies(names: list[str]) -> dict[str, dict[str, Any]]:
    lines = (ROOT / "adult" / "taxonomy.domain").read_text().splitlines()
    return {name: _tree(line[2:]) for name, line in zip(names, lines) if line.startswith("D") and "{" in line}


def _tree(line: str) -> dict[str, Any]:
    """Nested {a b {c d}} as nested tables; groups are named by number."""
    tokens = re.findall(r"[{}]|[^\s{}]+", line)
    at = 0

    def read() -> dict[str, Any]:
        nonlocal at
        out: dict[str, Any] = {}
        while at < len(tokens):
            token = tokens[at]
            at += 1
            if token == "{":
                out[f"group {at}"] = read()
            elif token == "}":
                return out
            else:
                out[token] = token
        return out

    return {k: v for k, v in read().items() if isinstance(v, dict)}
