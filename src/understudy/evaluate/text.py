"""An evaluation on a terminal page, under its stamp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.evaluate.raw import moment
from understudy.privacy.custodian import STAMP

if TYPE_CHECKING:
    from understudy.evaluate.dependence import Dependence
    from understudy.evaluate.evaluation import Evaluation
    from understudy.evaluate.raw import Matches
    from understudy.schema import Attribute


def evaluation_text(found: Evaluation) -> str:
    real, other = found.rows
    lines = [STAMP, f"{found.schema.name}: {other:,} synthetic rows against {real:,} real ones"]
    for part in (_tables, _ranges, _dependence, _numeric, _matches, _classification):
        lines += part(found)
    return "\n".join([*lines, "", STAMP])


def _tables(found: Evaluation) -> list[str]:
    if not found.tables:
        return []
    lines = ["", "Tables        mean TVD   max TVD   mean L2   k-marginal   tables"]
    for alpha, errors in found.tables.items():
        many = f"{len(errors.each):,}" + ("" if errors.seed is None else f" of {errors.of:,}, seed {errors.seed}")
        lines.append(
            f"  {alpha}-way       {errors.mean:8.4f}  {errors.max:8.4f}  {errors.l2:8.4f}   "
            f"{errors.k_marginal:10.1f}   {many}"
        )
    widest = found.tables[max(found.tables)]
    worst = [f"{', '.join(t.attributes)} {t.tvd:.4f}" for t in widest.worst[:3]]
    words = (
        "  TVD: the share of rows that would have to move to another cell; 0 is a perfect copy, 1 has nothing in common"
    )
    return [*lines, f"  worst {widest.alpha}-way: " + "; ".join(worst), words]


def _ranges(found: Evaluation) -> list[str]:
    if found.ranges is None:
        return []
    r = found.ranges
    return [
        "",
        f"Ranges        relative error: mean {r.mean_relative:.4f}, median {r.median_relative:.4f}, "
        f"95 % below {r.p95_relative:.4f} ({r.queries:,} queries, seed {r.seed}, sanity bound {r.sanity:.1%} of rows)",
    ]


def _dependence(found: Evaluation) -> list[str]:
    lines = [_difference("Cramér's V", found.cramers_v), _difference("Pearson's r", found.pearson)]
    if found.information:
        both = f"{found.information.original:.4f} in the original, {found.information.synthetic:.4f} in the stand-in"
        lines.append(f"Information   Σ I(X; Π) of the network in bits: {both}")
    shown = [line for line in lines if line]
    return ["", *shown] if shown else []


def _difference(name: str, part: Dependence | None) -> str:
    if part is None:
        return ""
    worst = f" ({' and '.join(part.worst)})" if part.worst else ""
    return f"{name:<12}  difference over {part.pairs:,} pairs: mean {part.mean:.4f}, max {part.max:.4f}{worst}"


def _numeric(found: Evaluation) -> list[str]:
    if not found.numeric:
        return []
    lines = [("Numbers", "", "mean", "sd", "median", "Wasserstein-1")]
    for name, column in found.numeric.items():
        attribute, unit = found.schema[name], "" if column.unit is None else f" {column.unit.split()[0]}"
        for side, spread in (("original", column.original), ("synthetic", column.synthetic)):
            middle = spread.quantiles[3] if spread.quantiles else None
            cells = (_value(attribute, spread.mean), _figure(spread.sd, unit), _value(attribute, middle))
            last = _figure(column.wasserstein, unit) if side == "synthetic" else ""
            lines.append((name if side == "original" else "", side, *cells, last))
    first, second, *rest = (max(map(len, column)) for column in zip(*lines))
    shown = [
        f"{name:<{first}}  {side:<{second}}  " + "  ".join(f"{c:>{w}}" for c, w in zip(cells, rest))
        for name, side, *cells in lines
    ]
    return ["", *(line.rstrip() for line in shown)]


def _value(attribute: Attribute, value: float | None) -> str:
    """Return a date as a date, a number as a number."""
    return _figure(value) if value is None else moment(attribute, value) or _figure(value)


def _figure(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:.6g}{unit}"


def _matches(found: Evaluation) -> list[str]:
    lines = [_twins("as coded", found.matches_coded), _twins("as written", found.matches_raw)]
    shown = [line for line in lines if line]
    words = (
        "  Compare the last two rates of a line: synthetic rows far above real ones would mean that rows were copied"
    )
    return ["", *shown, words] if shown else []


def _twins(how: str, part: Matches | None) -> str:
    if part is None:
        return ""
    return (
        f"Twins         {how}: {part.rate:.2%} of synthetic rows equal a real row; in one half of the real rows "
        f"{part.rate_in_half:.2%} do, and {part.expected:.2%} of the other half's rows"
    )


def _classification(found: Evaluation) -> list[str]:
    lines: list[str] = []
    for task in found.classification:
        lines += [
            "",
            f"Classifier of {task.target}: error on {task.test_rows:,} real rows; majority {task.majority:.4f}",
        ]
        for model, rate in task.synthetic.items():
            lines.append(f"  {model:<10}  trained on synthetic {rate:.4f}   on real {task.real[model]:.4f}")
    return lines
