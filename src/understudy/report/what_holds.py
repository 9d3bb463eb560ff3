"""What holds: which pairs of columns were measured, which follow, and which are assumed independent. From a release."""

from __future__ import annotations

from understudy.inference.trust import MAX_COLUMNS, Trust, verdict
from understudy.release import Release
from understudy.report.heat_map import pairs_map
from understudy.report.markup import Markup, tag
from understudy.report.page import Section, paragraphs

MAX_LISTED = 40  # pairs of one status that are named


def what_holds_section(release: Release) -> Section | None:
    """Return the sheet: one line on all pairs, a map of their expected errors, and the names by status."""
    pairs = release.what_holds
    if not pairs:
        return None
    words = (
        "A relationship between two columns is as good as what it comes from. Measured pairs carry noise only; pairs "
        "that follow from others carry what the model leaves out as well; of pairs that the model has no link for, the "
        "release says nothing beyond each column alone. Expected errors are total variation distances, on average "
        "over such pairs, not promises about one."
    )
    errors = {frozenset((p.one, p.other)): p.error for p in pairs if p.error is not None}
    names = release.schema.names[:MAX_COLUMNS]
    picture = tag("div", pairs_map(errors, names), class_="panel") if errors else None
    return Section.of(
        "holds", "What holds", paragraphs(words, f"In one line: {verdict(pairs)}."), picture, _listed(pairs)
    )


def _listed(pairs: tuple[Trust, ...]) -> Markup:
    lines = []
    for status in ("measured", "inferred", "assumed independent"):
        own = [f"{p.one} × {p.other}" for p in pairs if p.status == status]
        more = f", and {len(own) - MAX_LISTED:,} more" if len(own) > MAX_LISTED else ""
        named = f": {', '.join(own[:MAX_LISTED])}{more}" if own else ""
        lines.append(tag("li", tag("b", f"{status} ({len(own):,})"), named))
    return tag("ul", *lines)
