"""Views of a release, a plan, a schema and a ledger."""

from __future__ import annotations

from fractions import Fraction

from understudy.methods.plan import Plan
from understudy.privacy.budget import show
from understudy.privacy.entries import Account, Entry
from understudy.privacy.ledger import Ledger
from understudy.release import Release
from understudy.report.bars import Bar, drawing, strip
from understudy.report.budget import budget_bar, suspicion, tone_swatch
from understudy.report.markup import Child, Markup, coded, join, shape, shortened, tag
from understudy.report.network import network_section
from understudy.report.numerals import amount, count, plural
from understudy.report.one_way import OneWay
from understudy.report.page import tiles
from understudy.schema import Attribute, Schema

MAX_DRAWN = 6  # attributes of a release
MAX_LISTED = 60  # attributes of a schema
MAX_ENTRIES = 12  # of a ledger
_TONES = 6
_LONGEST = 70


def heading(kind: str, title: str, *words: Child) -> Markup:
    """Return the top of a view: what it is of, its name, a sentence."""
    return join([
        tag("p", f"understudy · {kind}", class_="eyebrow"), tag("h1", title), *(tag("p", w) for w in words if w),
    ])  # fmt: skip


def plain_table(heads: list[str], lines: list[list[Child]], figures: int) -> Markup:
    """Return a table whose last `figures` columns are numbers."""
    from_right = len(heads) - figures
    top = [tag("th", h, scope="col", class_="figure" if i >= from_right else None) for i, h in enumerate(heads)]
    body = [
        tag("tr", *(tag("td", cell, class_="figure" if i >= from_right else None) for i, cell in enumerate(line)))
        for line in lines
    ]
    table = tag("table", tag("thead", tag("tr", *top)), tag("tbody", *body), class_="plain")
    return tag("div", table, class_="panel scroll")


def _next(*calls: str) -> Markup:
    return tag("p", "Next: ", *(part for call in calls for part in (tag("code", call), " ")), class_="next")


# -- a release ---------------------------------------------------------------------------------------------------


def release_view(release: Release) -> Markup:
    card, schema = release.card, release.schema
    figures = [
        (f"ε = {card.epsilon:.6g}", card.unit),
        *([(f"δ = {card.delta:.6g}", "failure probability")] if card.delta else []),
        (count(release.rows), "rows" if schema.rows else "rows, noisy"),
        (str(len(schema.modelled)), "attributes"),
        (card.method, "method"),
    ]
    warnings = [tag("p", warning, class_="warning") for warning in card.warnings]
    bought = tag("div", tag("h3", "What the budget bought"), budget_bar(card), class_="panel") if card.charges else None
    promise = tag("div", tag("h3", "The promise"), suspicion(card.epsilon), class_="panel")
    first, structure = schema.modelled[0].name, _structure(release)
    return join([
        heading("release", f"A stand-in for {schema.name}"), *warnings, tiles(*figures),
        tag("div", promise, bought, class_="two"), structure, _attributes(release),
        _next("release.sample(1000)", f'release.query("count by {first}")', f'release.plot("{first}")',
              *(["release.network()"] if structure else []), "release.report()", 'release.save("FILE.release.zip")'),
    ])  # fmt: skip


def _structure(release: Release) -> Markup | None:
    drawn = network_section(release)
    title = "The network" if release.facts.network else "What was modelled together"
    return None if drawn is None else tag("details", tag("summary", title), drawn)


def _attributes(release: Release) -> Markup:
    shown = release.schema.modelled[:MAX_DRAWN]
    cards = [OneWay(release, attribute).card(8) for attribute in shown]
    more = len(release.schema.modelled) - len(shown)
    rest = tag("p", f"{more:,} more: release.plot(NAME)", class_="source") if more else None
    return tag("details", tag("summary", "One attribute at a time"), tag("div", *cards, class_="cards"), rest)


# -- a plan ------------------------------------------------------------------------------------------------------


def plan_view(plan: Plan) -> Markup:
    total = float(sum((p.cost for p in plan.phases), Fraction(0))) or 1.0
    cuts, at = [], 0.0
    for i, phase in enumerate(plan.phases):
        width = 1000 * float(phase.cost) / total
        cuts.append(shape("rect", class_=f"tone{i % _TONES}", x=at, width=max(0.0, width - 2), height=20))
        at += width
    lines: list[list[Child]] = [
        [
            tag("span", tone_swatch(i), p.name, class_="key"), p.detail,
            show(p.cost), f"{p.tables:,}", f"{p.cells:,}" if p.cells else "–", f"{p.scale:,.1f}" if p.scale else "–",
            "–" if p.error is None else f"{p.error:.3f}",
        ]
        for i, p in enumerate(plan.phases)
    ]  # fmt: skip
    heads = ["phase", "", plan.accounting.unit, "tables", "cells up to", "noise in rows", "expected TVD"]
    needs = f"About {plan.memory_mb:,.0f} MB and {plan.seconds:,.1f} s. No row was read for this."
    return join([
        heading("plan", f"{plan.method} at {plan.budget}, {plan.rows:,} rows", f"In words: {plan.words()}."),
        drawing(1000, 20, *cuts, class_="stack", stretched=True), plain_table(heads, lines, 5),
        *(tag("p", coded(note), class_="note") for note in plan.notes), tag("p", needs, class_="source"),
    ])  # fmt: skip


# -- a schema ----------------------------------------------------------------------------------------------------


def schema_view(schema: Schema) -> Markup:
    rows = count(schema.rows) if schema.rows else "private"
    unit = "row" if schema.rows_per_person == 1 else f"person, up to {schema.rows_per_person} rows"
    figures = [
        (str(len(schema.modelled)), "attributes modelled"), (rows, "rows"), (schema.neighbours, "neighbours"),
        (unit, "unit of protection"), (schema.account, "account"),
    ]  # fmt: skip
    shown = schema.attributes[:MAX_LISTED]
    lines: list[list[Child]] = [
        [
            tag("b", a.name),
            a.kind,
            shortened(_values(a), _LONGEST),
            _marks(a, schema),
            f"{a.size:,}" if a.modelled else "–",
        ]
        for a in shown
    ]
    more = len(schema.attributes) - len(shown)
    open_points = [f"{key} of {name}" for name, key in schema.unconfirmed]
    confirm = tag("p", f"Still to confirm: {', '.join(open_points[:12])}", class_="warning") if open_points else None
    return join([
        heading("schema", schema.name, "All of this is public: nothing here was read from the rows."),
        tiles(*figures), confirm, plain_table(["attribute", "kind", "values", "", "codes"], lines, 1),
        tag("p", f"{plural(more, 'more attribute')}", class_="source") if more > 0 else None,
    ])  # fmt: skip


def _values(attribute: Attribute) -> str:
    if not attribute.modelled:
        return "fresh numbers on output" if attribute.published else "not published"
    labels = attribute.labels
    if len(labels) <= 6:
        return ", ".join(labels)
    ways = (f"{', '.join(labels[:first])}, … {labels[-1]}" for first in (3, 2, 1))
    return next((words for words in ways if len(words) <= _LONGEST), f"{labels[0]}, …")


def _marks(attribute: Attribute, schema: Schema) -> str:
    levels = attribute.levels - 1 if attribute.modelled else 0
    marks = [f"taxonomy, {plural(levels, 'level')}"] if levels > 0 else []
    marks += ["bins by a noisy tree"] if attribute.name in {a.name for a in schema.unbinned} else []
    return ", ".join(marks + (["may be missing"] if attribute.modelled and attribute.has_missing else []))


# -- a ledger ----------------------------------------------------------------------------------------------------


def ledger_view(ledger: Ledger) -> Markup:
    accounts = [state for name in ledger.accounts() if (state := ledger.account(name)) is not None]
    entries = ledger.entries()
    lines: list[list[Child]] = [
        [
            f"{entry.seq}",
            entry.at.replace("T", " ")[:16],
            entry.account,
            entry.kind,
            shortened(entry_words(entry), _LONGEST),
        ]
        for entry in entries[-MAX_ENTRIES:][::-1]
    ]
    words = "What was promised about whom. Runs on one account add up; over its cap nothing is read."
    last = plain_table(["", "at", "account", "entry", ""], lines, 0)
    listing = tag("details", tag("summary", f"The last of {plural(len(entries), 'entry', 'entries')}"), last)
    return join([
        heading("ledger", ledger.path.name, words), *map(_account, accounts),
        tag("p", "No account yet.") if not accounts else listing,
        _next("ledger.verify()", 'ledger.cap(ACCOUNT, 3, "why")'),
    ])  # fmt: skip


def _account(state: Account) -> Markup:
    spent = f"epsilon {show(state.spent_epsilon)}" + (f", delta {show(state.spent_delta)}" if state.spent_delta else "")
    if state.cap_epsilon is None:
        told, share = f"{spent} spent; no cap", 1.0
    else:
        share = float(state.spent_epsilon / state.cap_epsilon) if state.cap_epsilon else 1.0
        left = max(Fraction(0), state.cap_epsilon - state.spent_epsilon)
        told = f"{spent} of {show(state.cap_epsilon)} spent, {amount(float(left))} left"
    bar = strip(Bar(state.name, min(1.0, share), (), kind="share" if share < 1 else "gain"), 1.0)
    stamp = None if state.private else tag("p", "NOT PRIVATE: drawn from a seed, for tests", class_="warning")
    unit = f"{state.neighbours}, {plural(state.rows_per_person or 1, 'row')} per person"
    head = tag("h3", state.name, tag("span", unit, class_="kind"))
    return tag("div", head, bar, tag("p", told), stamp, class_="panel card")


def entry_words(entry: Entry) -> str:
    """Return what an entry says, in a line."""
    body = entry.body
    match entry.kind:
        case "open":
            return f"{body['neighbours']}, cap {_shown(body['epsilon'])}"
        case "cap":
            return f"cap {_shown(body['epsilon'])}: {body['reason']}"
        case "reserve":
            return f"epsilon {_shown(body['epsilon'])}, delta {_shown(body['delta'])}"
        case "charge":
            return f"{body['purpose']}: {body['unit']} {_shown(body['cost'])}"
        case "release":
            return f"{body['release'][:16]}…"
    return str(body.get("reason", ""))


def _shown(value: str | None) -> str:
    return "none" if value is None else show(Fraction(value))
