"""Other exact figures on the custodian's page: numeric columns as they were written, ranges, dependence, twins."""

from __future__ import annotations

from understudy.evaluate.evaluation import Evaluation
from understudy.evaluate.raw import QUANTILES, NumericColumn, moment
from understudy.report.markup import Markup, tag
from understudy.report.numerals import amount, percent
from understudy.report.page import Section, paragraphs
from understudy.report.parts import figures_row
from understudy.schema import Attribute

_NAMES = {0.0: "lowest", 0.5: "median", 1.0: "highest"}


def numeric_section(found: Evaluation) -> Section | None:
    if not found.numeric:
        return None
    words = (
        "Columns as they were written, before binning. Wasserstein-1 is how far a value must move on average to turn "
        "one column into the other."
    )
    cards = [_column(found.schema[name], column) for name, column in found.numeric.items()]
    return Section.of("numbers", "Numbers", paragraphs(words), tag("div", *cards, class_="cards"))


def _column(attribute: Attribute, column: NumericColumn) -> Markup:
    real, other = column.original, column.synthetic
    unit = "" if column.unit is None else f" {column.unit.split()[0]}"
    lines = [
        ("mean", _value(attribute, real.mean), _value(attribute, other.mean)),
        (f"standard deviation{unit and ',' + unit}", amount(real.sd), amount(other.sd)),
        *(
            (_NAMES.get(q, f"{100 * q:.0f} % below"), _value(attribute, a), _value(attribute, b))
            for q, a, b in zip(QUANTILES, real.quantiles, other.quantiles)
        ),
    ]
    if real.missing or other.missing:
        lines.append(("missing", percent(real.missing), percent(other.missing)))
    note = f"Wasserstein-1: {amount(column.wasserstein)}{unit}"
    head = tag("h3", attribute.name, tag("span", note, class_="kind"))
    return tag("article", head, three_columns(lines, ("", "original", "synthetic")), class_="card")


def _value(attribute: Attribute, value: float | None) -> str:
    return amount(value) if value is None else moment(attribute, value) or amount(value)


def three_columns(lines: list[tuple[str, str, str]], heads: tuple[str, str, str]) -> Markup:
    top = tag("tr", tag("th", heads[0]), *(tag("th", head, scope="col", class_="figure") for head in heads[1:]))
    return tag("table", tag("thead", top), tag("tbody", *(figures_row(*line) for line in lines)), class_="plain")


def figures_section(found: Evaluation) -> Section | None:
    """Return the section of figures that are one line long."""
    lines = [*_ranges(found), *_dependence(found), *_twins(found)]
    if not lines:
        return None
    body = tag("tbody", *(figures_row(*line) for line in lines))
    table = tag("div", tag("table", body, class_="plain"), class_="panel")
    return Section.of("more", "More figures", paragraphs(*_words(found)), table)


def _words(found: Evaluation) -> list[str]:
    """Return what the lines of the table mean, for those that are there."""
    lines = []
    if found.ranges is not None:
        lines.append(
            "A range query asks how many rows fall in a box of one to three attributes; its error is relative to the "
            f"true count, or to {percent(found.ranges.sanity)} of the rows where the count is smaller."
        )
    if found.cramers_v is not None or found.pearson is not None:
        lines.append("Cramér's V and Pearson's r say how strongly two attributes depend on each other, up to 1.")
    if found.matches_coded is not None:
        lines.append(
            "Real rows have twins too: synthetic rows that equal a row of one half of the real table far more often "
            "than the rows of its other half do would mean that rows were copied. As coded: in the bins of the schema."
        )
    return lines


def _ranges(found: Evaluation) -> list[tuple[str, str]]:
    if (r := found.ranges) is None:
        return []
    return [
        (f"Range queries ({r.queries:,}, seed {r.seed}): mean relative error", amount(r.mean_relative)),
        ("… median relative error", amount(r.median_relative)),
        ("… 95 % of the relative errors are below", amount(r.p95_relative)),
    ]


def _dependence(found: Evaluation) -> list[tuple[str, str]]:
    lines = []
    for name, part in (("Cramér's V", found.cramers_v), ("Pearson's r", found.pearson)):
        if part is not None:
            worst = f", worst for {' and '.join(part.worst)}" if part.worst else ""
            lines.append((f"{name} of {part.pairs:,} pairs: mean difference", amount(part.mean)))
            lines.append((f"{name}: largest difference{worst}", amount(part.max)))
    if found.information is not None:
        lines.append(("Information of the network, original (bits)", amount(found.information.original)))
        lines.append(("Information of the network, synthetic (bits)", amount(found.information.synthetic)))
    return lines


def _twins(found: Evaluation) -> list[tuple[str, str]]:
    lines = []
    for how, part in (("as coded", found.matches_coded), ("as written", found.matches_raw)):
        if part is not None:
            lines.append((f"Synthetic rows that equal a real row, {how}", percent(part.rate, 2)))
            lines.append((f"… that equal a row in one half of the real rows, {how}", percent(part.rate_in_half, 2)))
            lines.append((f"… and real rows of the other half that do, {how}", percent(part.expected, 2)))
    return lines
