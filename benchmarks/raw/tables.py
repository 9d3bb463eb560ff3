"""The raw tables of this benchmark: where each file is, and its two blind schemas.

A file in `schemas/` says what the documentation of a table says: kinds, ranges and lists of values, and nothing from
its rows. An `expert` entry holds what a careful person would add from the same documentation (edges in steps of
1, 2, 5, points, the shape inside bins). Three schemas follow from it:

    drafted   as `understudy init` drafts it today: 20 equal bins for numbers, datetimes and 100 values or more
    plain     ranges and lists only, for a version that needs no bins
    expert    with the expert's entries

Only the spelling of category values was taken from the files; no number was looked at.
"""

from __future__ import annotations

import gzip
import json
import os
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from understudy.schema import Schema
from understudy.schema.files import schema_from_dict

DEFAULT_BINS, MAX_SINGLE = 20, 100  # what `init` drafted before it left bins to a noisy tree
HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ.get("UNDERSTUDY_DATA", HERE.parents[2] / "shared" / "data"))
NAMES = ("adult", "ma2019", "yrbss", "covid_testing", "HI", "SLID", "nhefs", "pbc", "census")
ORDERED = ("integer", "number", "date", "datetime")
DEMO_SEED = 16

Form = Literal["drafted", "plain", "expert"]
Neighbours = Literal["add-remove", "replace-one"]


@dataclass(frozen=True)
class RawTable:
    """A raw file, its documentation as data, and what is to be predicted from it."""

    name: str
    root: Path = ROOT

    @cached_property
    def document(self) -> dict[str, Any]:
        return tomllib.loads((HERE / "schemas" / f"{self.name}.toml").read_text())

    @property
    def about(self) -> dict[str, Any]:
        """Return the entries on the file as a whole: `file`, `rows`, `targets`, `ignore`."""
        return dict(self.document["about"])

    @property
    def path(self) -> Path:
        return self.root / str(self.about["file"])

    @property
    def available(self) -> bool:
        return self.about["file"] == "demo" or self.path.exists()

    def write_csv(self, path: Path) -> None:
        """Write the private table as the plain CSV file that a steward would have."""
        if self.about["file"] == "demo":
            from pyarrow import csv

            from understudy.demo import demo_table

            table = demo_table(int(self.about["rows"]), np.random.default_rng(DEMO_SEED))
            csv.write_csv(table, path, csv.WriteOptions(quoting_style="needed", quoting_header="needed"))
            return
        path.write_bytes(gzip.decompress(self.path.read_bytes()))

    def schema(self, form: Form, neighbours: Neighbours) -> Schema:
        """Return one of the three schemas under one of the two neighbour definitions."""
        table: dict[str, Any] = {"name": self.name, "neighbours": neighbours}
        if neighbours == "replace-one":
            table["rows"] = self.about["rows"]
        attributes = {name: self._attribute(name, body, form) for name, body in self.document["attributes"].items()}
        return schema_from_dict({"table": table, "attributes": attributes}, in_file=True)

    def _attribute(self, name: str, body: dict[str, Any], form: Form) -> dict[str, Any]:
        out = {key: value for key, value in body.items() if key != "expert"}
        if out.get("values") == "codebook":
            out["values"] = self._listed(name, out.get("missing", []))
        if form == "expert" and "expert" in body:
            return _with_expert(out, body["expert"])
        if form != "plain" and body["kind"] in ORDERED and _is_long(body):
            out["bins"] = DEFAULT_BINS
        return out

    def _listed(self, name: str, missing: list[str]) -> list[str]:
        codebook = json.loads((self.root / str(self.about["codebook"])).read_text())
        return [str(value) for value in codebook["schema"][name]["values"] if str(value) not in missing]


def _with_expert(body: dict[str, Any], expert: dict[str, Any]) -> dict[str, Any]:
    out = {key: value for key, value in body.items() if key != "range"}
    out["edges"] = expert["edges"]
    if "points" in expert:
        out["points"] = expert["points"]
    if expert.get("fine"):
        out["fine"] = "wavelet"
    return out


def _is_long(body: dict[str, Any]) -> bool:
    """Return whether `init` would cut this range into bins."""
    if body["kind"] in ("number", "datetime"):
        return True
    low, high = body["range"]
    span = (pd.Timestamp(high) - pd.Timestamp(low)).days if body["kind"] == "date" else high - low
    return bool(span >= MAX_SINGLE)


def read_texts(path: Path) -> pd.DataFrame:
    """Read every cell as the text that the file holds."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)
