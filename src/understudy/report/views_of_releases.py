"""Views of a release, a plan and a ledger."""

from __future__ import annotations

from fractions import Fraction

from understudy.methods.plan import Plan
from understudy.privacy.budget import show
from understudy.privacy.entries import Account, Entry
from understudy.privacy.ledger import Ledger
from understudy.release import Release
from understudy.report.bars import Bar, strip
from understudy.report.budget import budget_bar, phase_bar, suspicion, tone_swatch
from understudy.report.markup import Child, Markup, coded, join, shortened, tag
from understudy.report.network import network_section
from understudy.report.numerals import amount, count, plural
from understudy.report.one_way import OneWay
from understudy.report.page import tiles
from understudy.report.parts import heading, next_calls, plain_table
from understudy.report.tables import Below, modelled_in_all

MAX_DRAWN = 6  # attributes of a release
MAX_ENTRIES = 12  # of a ledger
_LONGEST = 70


# -- a release ---------------------------------------------------------------------------------------------------


def release_view(release: Release) -> Markup:
    card, schema = release.card, release.schema
    figures = [
        (f"ε = {card.epsilon:.6g}", card.unit),
        *([(f"δ = {card.delta:.6g}", "failure probability")] if card.delta else []),
        (count(release.rows), "rows" if schema.rows else "rows, noisy"),
        (
            str(modelled_in_all(schema)),
            "attributes" + (f" in {len(schema.tables) + 1} tables" if schema.tables else ""),
        ),
        (card.method, "method"),
    ]
    warnings = [tag("p", warning, class_="warning") for warning in card.warnings]
    bought = tag("div", tag("h3", "What the budget bought"), budget_bar(card), class_="panel") if card.charges else None
    promise = tag("div", tag("h3", "The promise"), suspicion(card.epsilon), class_="panel")
    first, structure = schema.modelled[0].name, _structure(release)
    return join([
        heading("release", f"A stand-in for {schema.name}"), *warnings, tiles(*figures),
        tag("div", promise, bought, class_="two"), structure, _attributes(release), _below(release),
        next_calls("release.sample(1000)", f'release.query("count by {first}")', f'release.plot("{first}")',
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


def _below(release: Release) -> Markup | None:
    below = Below.of(release)
    if below is None:
        return None
    cards = below.cards(8, MAX_DRAWN)
    more = len(below.attributes()) - len(cards)
    rest = tag("p", f'{more:,} more: release.plot("TABLE.NAME")', class_="source") if more else None
    title = f"The tables below {release.schema.name}"
    return tag("details", tag("summary", title), tag("div", *cards, class_="cards"), rest)


# -- a plan ------------------------------------------------------------------------------------------------------


def plan_view(plan: Plan) -> Markup:
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
        phase_bar([p.cost for p in plan.phases]), plain_table(heads, lines, 5),
        *(tag("p", coded(note), class_="note") for note in plan.notes), tag("p", needs, class_="source"),
    ])  # fmt: skip


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
        next_calls("ledger.verify()", 'ledger.cap(ACCOUNT, 3, "why")'),
    ])  # fmt: skip


def _account(state: Account) -> Markup:
    spent = f"epsilon {show(state.spent_epsilon)}" + (f", delta {show(state.spent_delta)}" if state.spent_delta else "")
    if state.cap_epsilon is None:
        told, share = f"{spent} spent; no cap", 1.0
    else:
        share = float(state.spent_epsilon / state.cap_epsilon) if state.cap_epsilon else 1.0
        left = state.left_epsilon or Fraction(0)
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
