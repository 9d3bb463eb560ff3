"""What holds: which pairs of columns were measured, which follow, and which are assumed independent. From a release."""

from __future__ import annotations

from understudy.inference.trust import FIRST_ROW, MAX_COLUMNS, NEXT_ROW, Trust, verdict
from understudy.relations.history_model import HistoryModel
from understudy.release import Release
from understudy.release.history_links import own_links
from understudy.report.heat_map import pairs_map
from understudy.report.markup import Markup, tag
from understudy.report.page import Section, paragraphs

MAX_LISTED = 40  # pairs of one status that are named


def what_holds_section(release: Release) -> Section | None:
    """Return the sheet: one line on all pairs, a map of their expected errors, and the names by status."""
    pairs = release.what_holds
    if not pairs:
        return None
    if isinstance(release.model, HistoryModel):
        return _of_histories(release.model, pairs)
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


def _of_histories(model: HistoryModel, pairs: tuple[Trust, ...]) -> Section | None:
    """Return the sheet of people with many rows: which links were measured. Errors are not known."""
    words = (
        "People have several rows here, and no table of all rows was measured: first rows were, and steps from a row "
        "to the next. Histories are drawn from these, so a relationship between two columns of a row is as good as the "
        "links it comes from. How far off it is after several steps is not known, and no error is shown."
    )
    named = [
        _line("a column with its own value in the row before", list(own_links(model))),
        *(
            _line(f"measured {link}", [_pair(p) for p in pairs if link in (p.links or ())])
            for link in (FIRST_ROW, NEXT_ROW)
        ),
        _line("measured in neither", [_pair(p) for p in pairs if not p.links]),
    ]  # fmt: skip
    return Section.of("holds", "What holds", paragraphs(words, f"In one line: {verdict(pairs)}."), tag("ul", *named))


def _listed(pairs: tuple[Trust, ...]) -> Markup:
    statuses = ("measured", "inferred", "assumed independent")
    return tag("ul", *(_line(status, [_pair(p) for p in pairs if p.status == status]) for status in statuses))


def _pair(pair: Trust) -> str:
    return f"{pair.one} × {pair.other}"


def _line(title: str, own: list[str]) -> Markup:
    more = f", and {len(own) - MAX_LISTED:,} more" if len(own) > MAX_LISTED else ""
    named = f": {', '.join(own[:MAX_LISTED])}{more}" if own else ""
    return tag("li", tag("b", f"{title} ({len(own):,})"), named)
