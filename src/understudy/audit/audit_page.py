"""The audit as one self-contained page: claim, bound and control, part by part."""

from __future__ import annotations

from understudy.audit.findings import PARTS, AuditReport
from understudy.report.markup import Markup, tag
from understudy.report.page import Section, page, paragraphs, top

_WORDS = {
    "enumeration": (
        "Every question that the kernel answers is asked of every small table. What it hands to its samplers, exact "
        "integers and a scale, gives the law of the answer without sampling; the largest loss over all neighbours must "
        "be within what was paid."
    ),
    "trials": (
        "Publish is run many times on two tables that differ by one person. The best test of which table it was gives "
        "a lower bound of epsilon, and of mu: it must be below the claim, and above it where noise is too small."
    ),
    "replay": (
        "A run is repeated on a neighbouring table with the outputs of all mechanisms frozen. It must ask the same "
        "questions at the same price and end in the same release, and every count must be paid for on disk first."
    ),
    "samplers": "The random source is compared with the laws that the other parts take for granted.",
}


def audit_page(report: AuditReport) -> str:
    """Return the page; it holds made-up tables' figures only, so it is public."""
    sections = [_section(part, title, report) for part, title in PARTS.items()]
    sections.append(
        Section.of("limits", "What this cannot see", tag("ul", *(tag("li", text) for text in report.limits)))
    )
    caught = sum(control.caught for control in report.controls)
    header = top(
        "audit", "Every claim stands" if report.holds else "A claim does not stand",
        "Made-up tables only; no private data was read.",
        (f"{sum(f.holds for f in report.findings)} of {len(report.findings)}", "claims stand"),
        (f"{caught} of {len(report.controls)}", "broken twins caught"),
        (f"{sum(report.seconds.values()):.0f} s of CPU", "long audit" if report.long else "quick audit"),
    )  # fmt: skip
    made = "Versions: " + ", ".join(f"{name} {version}" for name, version in report.versions.items()) + "."
    return page("understudy · audit", header, sections, "public", made)


def _section(part: str, title: str, report: AuditReport) -> Section | None:
    findings = [f for f in report.findings if f.part == part]
    controls = [c for c in report.controls if c.part == part]
    if not findings and not controls:
        return None
    rows = [
        _row(f.what, _figure(f.claim), _figure(f.bound), f.says, "stands" if f.holds else "DOES NOT STAND")
        for f in findings
    ]
    twins = [_row(c.twin, "", "", c.says, "caught" if c.caught else "MISSED") for c in controls]
    return Section.of(
        part, title, paragraphs(_WORDS[part]), _table(("Claim", "claimed", "found", "", ""), rows),
        tag("h3", "Controls: twins broken on purpose"), _table(("Twin", "", "", "", ""), twins),
    )  # fmt: skip


def _table(heads: tuple[str, ...], rows: list[Markup]) -> Markup:
    head = tag("thead", tag("tr", *(tag("th", text, scope="col") for text in heads)))
    return tag("div", tag("table", head, tag("tbody", *rows), class_="plain"), class_="scroll")


def _row(what: str, claim: str, bound: str, says: str, verdict: str) -> Markup:
    figures = [tag("td", text, class_="figure") for text in (claim, bound)]
    return tag("tr", tag("th", what, scope="row"), *figures, tag("td", says), tag("td", verdict))


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
