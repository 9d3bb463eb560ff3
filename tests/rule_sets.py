"""Random tables with random rules, each rule with a plain Python reading of it: what a synthetic row must meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from understudy.schema import Schema

Row = dict[str, Any]
DAY = date(2020, 1, 1)
ROWS = 400


@dataclass(frozen=True)
class RuleSet:
    """A schema with rules, a table (which may break them), and what the rules say of a row."""

    schema: Schema
    table: dict[str, list[Any]]
    met: dict[str, Callable[[Row], bool]]

    def broken(self, columns: dict[str, list[Any]]) -> list[str]:
        """Return the rules that some row breaks."""
        rows = [dict(zip(columns, values)) for values in zip(*columns.values())]
        return [text for text, holds in self.met.items() if not all(holds(row) for row in rows)]


def _known(*names: str) -> Callable[[Callable[[Row], bool]], Callable[[Row], bool]]:
    """A comparison with a missing value breaks nothing."""

    def wrap(holds: Callable[[Row], bool]) -> Callable[[Row], bool]:
        return lambda row: any(row[name] is None for name in names) or holds(row)

    return wrap


def _columns(rng: np.random.Generator) -> tuple[str, dict[str, list[Any]]]:
    """Four whole numbers, two amounts, two dates, two categories, a boolean: bins given, or to be found."""
    lines = ['[table]\nname = "t"\n' + f"rows = {ROWS}"]
    table: dict[str, list[Any]] = {}
    for i in range(4):
        high = int(rng.integers(8, 120))
        bins = rng.choice(["", f"bins = {int(rng.integers(2, min(12, high)))}", 'bins = "each"'])
        missing = rng.random() < 0.4
        lines.append(f'[attributes.x{i}]\nkind = "integer"\nrange = [0, {high}]\n{bins}' + "\nmissing = true" * missing)
        values: list[Any] = rng.integers(0, high + 1, ROWS).tolist()
        table[f"x{i}"] = [None if missing and rng.random() < 0.1 else v for v in values]
    for i in range(2):
        bins = rng.choice([f"bins = {int(rng.integers(2, 9))}", ""])
        lines.append(f'[attributes.n{i}]\nkind = "number"\nrange = [0, 50]\ndecimals = 2\n{bins}')
        table[f"n{i}"] = np.round(rng.random(ROWS) * 50, 2).tolist()
    for i in range(2):
        lines.append(
            f'[attributes.d{i}]\nkind = "date"\nrange = [2020-01-01, 2020-12-31]\nbins = {int(rng.integers(2, 13))}'
        )
        table[f"d{i}"] = [DAY + timedelta(int(k)) for k in rng.integers(0, 366, ROWS)]
    for i, values in enumerate((["a", "b", "c"], ["p", "q", "r", "s"])):
        lines.append(f'[attributes.c{i}]\nkind = "category"\nvalues = {values}\nmissing = [""]')
        table[f"c{i}"] = [None if rng.random() < 0.1 else str(rng.choice(values)) for _ in range(ROWS)]
    lines.append('[attributes.flag]\nkind = "boolean"')
    table["flag"] = rng.integers(0, 2, ROWS).astype(bool).tolist()
    lines.append('[attributes.total]\nkind = "number"\nrange = [0, 400]\nbins = 10\ndecimals = 2\nmissing = true')
    lines.append('[attributes.grade]\nkind = "integer"\nrange = [1, 3]\nmissing = true')
    table["total"], table["grade"] = [1.0] * ROWS, [1] * ROWS
    return "\n".join(lines), table


def _candidates(rng: np.random.Generator) -> list[tuple[str, Callable[[Row], bool], str]]:
    k, m = int(rng.integers(2, 60)), int(rng.integers(2, 40))
    a, b, c = (f"x{i}" for i in rng.permutation(4)[:3])
    n, o = (f"n{i}" for i in rng.permutation(2))
    near = 0.005 + 1e-9
    return [
        ("d0 <= d1", lambda r: r["d0"] <= r["d1"], ""),
        (f"d1 - d0 <= {30 + k}", lambda r: (r["d1"] - r["d0"]).days <= 30 + k, ""),
        (f"{a} + {b} <= {k + 30}", _known(a, b)(lambda r: r[a] + r[b] <= k + 30), ""),
        (f"{a} <= {b}", _known(a, b)(lambda r: r[a] <= r[b]), ""),
        (f"{b} < {c} + 5", _known(b, c)(lambda r: r[b] < r[c] + 5), ""),
        (f"{a} != {c}", _known(a, c)(lambda r: r[a] != r[c]), ""),
        (f"{n} >= 2 * {o} - {m}", lambda r: r[n] >= 2 * r[o] - m - 1e-9, ""),
        (f"{n} < 12.5 or {o} between 3 and {3 + m}", lambda r: r[n] < 12.5 or 3 <= r[o] <= 3 + m, ""),
        (
            "c0 == 'a' implies c1 in ('p', 'q')",
            _known("c0", "c1")(lambda r: r["c0"] != "a" or r["c1"] in ("p", "q")),
            "",
        ),
        ("c0 == 'b' implies c1 is missing", _known("c0")(lambda r: r["c0"] != "b" or r["c1"] is None), ""),
        (f"not (c1 = 's' and {b} > {m})", _known("c1", b)(lambda r: not (r["c1"] == "s" and r[b] > m)), ""),
        (f"flag = true implies {a} >= {m // 4}", _known(a)(lambda r: not r["flag"] or r[a] >= m // 4), ""),
        (f"{n} > {m} implies flag = false", lambda r: not (r[n] > m and r["flag"]), ""),
        (
            f"total == {a} + {n}",
            lambda r: (
                (r[a] is None and r["total"] is None)
                or (r[a] is not None and r["total"] is not None and abs(r["total"] - r[a] - r[n]) < near)
            ),
            "",
        ),
        (
            "grade = map(c0)",
            lambda r: r["grade"] == {"a": 3, "b": 1, "c": 2, None: None}[r["c0"]],
            "map = { a = 3, b = 1, c = 2 }",
        ),
        ("total <= 120", _known("total")(lambda r: r["total"] <= 120), ""),
        ("grade >= 2 implies flag = true", _known("grade")(lambda r: r["grade"] < 2 or r["flag"]), ""),
    ]


def random_rule_set(seed: int) -> RuleSet:
    """Return one to six rules over a random table; a schema that does not take them raises, as for a user."""
    rng = np.random.default_rng(seed)
    text, table = _columns(rng)
    candidates = _candidates(rng)
    chosen = [candidates[i] for i in rng.permutation(len(candidates))[: int(rng.integers(1, 7))]]
    for rule, _, more in chosen:
        text += f"\n[[rules]]\nrule = {rule!r}\n{more}" if '"' in rule else f'\n[[rules]]\nrule = "{rule}"\n{more}'
    return RuleSet(Schema.from_toml(text), table, {rule: holds for rule, holds, _ in chosen})
