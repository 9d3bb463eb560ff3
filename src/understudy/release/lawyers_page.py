"""A release in plain words, for lawyers: the questions of NIST SP 800-226, and what epsilon means as odds.

The odds are exact consequences of the promise (Bayes' rule). The comparison with suppression is a translation, and says
so: differential privacy suppresses nothing, it drowns small counts in noise.
"""

from __future__ import annotations

import math

from understudy.release.card import AccountTotal, OwnersTotal, at_most, promise_text
from understudy.release.release import Release

_LARGEST = 700.0  # beyond it e^x is not a floating-point number


def lawyers_page(release: Release) -> str:
    """Return one page of Markdown."""
    card = release.card
    delta = f" and delta {card.delta:.6g}" if card.delta else ""
    lines = [
        f"# {release.schema.name}: what is promised, in plain words", "",
        f"Release {release.hash}. Epsilon {card.epsilon:.6g}{delta}, for {card.unit}.", "",
        *([f"**{warning}**", ""] if (warning := "; ".join(card.warnings)) else []),
        "## Three questions about one person", "", *_odds(release), "",
        "## As a suppression threshold", "", _threshold(release), "",
        "## The questions of NIST SP 800-226", "", *_questions(release), "",
        "## What is not promised", "", *(f"- {text}" for text in card.not_promised), "",
    ]  # fmt: skip
    return "\n".join(lines)


def posterior(prior: float, loss: float) -> float:
    """Return the most that a suspicion can become: odds grow by at most e^loss."""
    grown = prior * math.exp(min(loss, _LARGEST))
    return grown / (1 - prior + grown)


def _odds(release: Release) -> list[str]:
    card = release.card
    epsilon, replaced = float(card.epsilon), card.neighbours == "replace-one"
    value = epsilon if replaced else 2 * epsilon  # a changed row is one removed and one added
    crowd = 1 / max(2, release.rows)
    factor = posterior(crowd, value) / crowd
    often = f"{factor:.3g} times" if factor < 1e6 else "very many times"
    but = f" But for a failure of probability {card.delta:.6g}." if card.delta else ""
    there = (
        "That a person is in the table at all is not hidden: the number of rows is public. What their row says is."
        if replaced
        else f"Whether a person is in the table at all: a suspicion of 50 % becomes at most {_grown(0.5, epsilon)}."
    )
    return [
        f"- **Singling out.** A guess that one of the {release.rows:,} rows is a certain person's, right once in "
        f"{round(1 / crowd):,} by chance, is right at most {often} as often for whoever has the release; synthetic "
        f"rows are about nobody.{but}",
        f"- **Linkage.** {there} Data from elsewhere, however much, does not change these bounds.{but}",
        f"- **Inference.** What a person's row says: a suspicion of 1 % becomes at most {_grown(0.01, value)}, one of "
        f"10 % at most {_grown(0.1, value)}, one of 50 % at most {_grown(0.5, value)}. What holds for people like them "
        f"may be learned, with or without their row.{but}",
    ]


def _grown(prior: float, loss: float) -> str:
    return at_most(posterior(prior, loss))


def _threshold(release: Release) -> str:
    if not release.measurements:
        return "This release holds no tables of noisy counts, so there is no count to compare a threshold with."
    margins = sorted({m.noise.margin(0.95) for m in release.measurements})
    least, most = f"{margins[0]:,}", f"{margins[-1]:,}"
    reach = least if least == most else f"{least} (in some tables {most})"
    return (
        f"Nothing is suppressed here. But a count below {reach} cannot be told from no one at all: noise alone is as "
        "large once in twenty. A reader learns about as much of such a cell as under a rule that suppresses counts "
        "below that threshold; and unlike under such a rule, also where tables overlap or others know all rows but one."
    )


def _questions(release: Release) -> list[str]:
    card, payer = release.card, release.card.payer
    versions = ", ".join(f"{name} {number}" for name, number in card.versions.items())
    trusted = (
        f"Several owners, each with its own rows; the promise holds against {payer.against}."
        if isinstance(payer, OwnersTotal)
        else "The custodian, who holds the rows anyway (central model). No reader of the release is trusted."
    )
    exact = "The number of rows, which is public." if release.schema.rows else "None; the number of rows is noisy too."
    answers = [
        ("How strong is the promise?", f"{card.in_words[0].upper()}{card.in_words[1:]}."),
        ("Who is protected (the unit)?", f"{card.unit}; {card.neighbours_in_words}."),
        ("Which definition?", "Zero-concentrated, stated as (epsilon, delta)." if card.delta else "Pure epsilon."),
        ("What about several releases?", _several(release)),
        ("Who must be trusted?", trusted),
        ("By which algorithm?", f"{card.method}; its proof is beside it in the program (PROOF.md)."),
        ("Is it implemented correctly?", "`understudy audit` checks it, with deliberate mistakes as controls."),
        ("Floating-point numbers?", "Noise is added to whole numbers by exact samplers; budgets are exact fractions."),
        ("Timing and other side channels?", "Only the custodian sees the run; its time is outside the promise."),
        ("Was anything tuned on the rows?", "Not without being charged: settings follow from public facts."),
        ("Are there exact figures in it?", exact),
        ("How good is it?", "Queries and the report state the noise of what was measured; rare values may be wrong."),
        ("How is the original kept?", "That is the custodian's own matter: this program neither copies nor keeps it."),
        ("Which program?", f"{versions}."),
    ]  # fmt: skip
    return [f"- **{question}** {answer}" for question, answer in answers]


def _several(release: Release) -> str:
    payer = release.card.payer
    if isinstance(payer, OwnersTotal):
        return "Each owner's ledger adds up what is spent on its people, and refuses what goes over its cap."
    if not isinstance(payer, AccountTotal):
        return "They add up; the noisy tables came from elsewhere, and what else was spent is not known here."
    return (
        f"They add up: {promise_text(payer.epsilon, payer.delta)} was spent on these people when this was made. A "
        "ledger refuses what goes over its cap."
    )
