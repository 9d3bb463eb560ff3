"""The privacy card on paper: every line of it, what is not promised, and a place to sign."""

from __future__ import annotations

from understudy.release import Release
from understudy.release.card import Card
from understudy.report.markup import Child, Markup, coded, join, tag
from understudy.report.numerals import amount, count

SIGNATURES = ("Name", "Role", "Date", "Signature")


def card_section(release: Release, signature: str | None = None) -> Markup:
    return tag("div", _lines(release, signature), _signatures(), class_="signed")


def _lines(release: Release, signature: str | None) -> Markup:
    card = release.card
    lines: list[tuple[str, Child]] = [
        ("Table", f"{release.schema.name}, {count(release.rows)} rows"),
        ("Promise", f"{promise(card)} for {card.unit}"),
        ("In words", card.in_words),
        ("Neighbours", card.neighbours_in_words),
        *card.payer_lines(),
        ("Charges", "; ".join(map(str, card.charges))),
        ("Method", " ".join([card.method, *(f"{k}={v}" for k, v in card.options.items())])),
        ("Versions", ", ".join(f"{name} {v}" for name, v in card.versions.items())),
        ("Schema", tag("code", card.schema_hash)),
        ("Release", tag("code", release.hash)),
    ]
    if release.head.seq:  # of a federation, every owner has its own
        lines.append(("Ledger", join([f"entry {release.head.seq}, ", tag("code", release.head.hash)])))
    if signature is not None:
        lines.append(("Signature", signature))
    lines += [("Note", coded(note)) for note in card.notes]
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in lines))


def promise(card: Card) -> str:
    """Return "epsilon 1, delta 1e-06" for example."""
    delta = f", delta {amount(card.delta)}" if card.delta else ""
    return f"epsilon {card.epsilon:.6g}{delta}"


def _signatures() -> Markup:
    lines = [tag("div", tag("span", name), class_="line") for name in SIGNATURES]
    words = "I have read this card and approve the release under this promise."
    return tag("div", tag("p", words), tag("div", *lines, class_="lines"), class_="signatures")


def not_promised(card: Card) -> Markup:
    return tag("ul", *(tag("li", coded(text)) for text in card.not_promised), class_="limits")
