"""An entry for OpenDP's registry of deployments: what was promised about whom, in the fields that the registry has.

All of tier 3 is filled in from the release: variant, unit, neighbours, parameters, deployment model, trust, mechanisms,
composition, what was done before and after. What a release cannot know (who publishes, what for, where, when) is
`Publisher`'s. The entry is a draft: its status says so until the registry's board has seen it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from understudy.privacy.accounting import ACCOUNTINGS, COMPOSITION_RULE, GDP, PURE, ZCDP, Accounting, accounting_of
from understudy.privacy.budget import Budget
from understudy.release.card import AccountTotal, Card, OwnersTotal, choices_not_covered, promise_text
from understudy.release.release import Release

CURATOR_TYPES = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")

_SCHEMA = (
    "Ranges, lists of values, bins and groups are public or were bought with a part of the budget; none was read from "
    "the private rows without being paid for."
)
_SEEN_SCHEMA = (
    "Ranges, lists of values, bins and groups are public or were bought with a part of the budget, but for columns "
    "that were {}."
)
_BEFORE = (
    "Which method runs, and how it splits the budget, follows from public "
    "facts alone. Rows that do not fit the schema stop the run before anything is charged, and only the custodian sees "
    "why. No hyperparameter was tuned on the private rows by this program."
)
_AFTER = (
    "Everything after the noisy answers is a function of them: estimation of a graphical model, drawing of synthetic "
    "rows, decoding of codes, queries and reports."
)
_PROTECTION = (
    "Floating point: noise is drawn on 64-bit integers by exact samplers (opendp), scales are raised until the "
    "library's own privacy map agrees, costs are exact rationals. Timing: not interactive; the run time is seen by the "
    "custodian alone, and is outside the promise. Randomness: the operating system's, without a seed. Platform: every "
    "charge is on disk before rows are counted, and a run that is killed neither pays nor draws twice."
)


@dataclass(frozen=True)
class Publisher:
    """What the registry asks and a release does not hold."""

    curator: str
    curator_type: str
    intended_use: str
    region: str
    date: str  # YYYY-MM-DD
    author: str  # of the entry
    sector: str | None = None


def registry_entry(release: Release, publisher: Publisher) -> dict[str, Any]:
    """Return the entry as plain data, in the registry's fields."""
    title = f"{release.schema.name} {publisher.curator} {publisher.date[:4]}"
    basic: dict[str, Any] = {
        "name": f"Synthetic stand-in for {release.schema.name}",
        "data_curators": [{"data_curator_name": publisher.curator, "data_curator_type": publisher.curator_type}],
        "description": _description(release),
        "intended_use": publisher.intended_use,
        "data_product_type": "Synthetic data",
        "data_product_region": publisher.region,
        "publication_date": publisher.date,
    }
    if publisher.sector is not None:
        basic["data_product_sector"] = publisher.sector
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-"),
        "deployment": {
            "basic": basic,
            "dp_variant": _variant(release),
            "privacy_loss": _privacy_loss(release),
            "deployment_model": _model(release),
            "implementation": _implementation(release),
            "administrative": {"status": "Draft", "registry_authors": [publisher.author], "tier": 3},
        },
    }


def _description(release: Release) -> str:
    rows = f"{release.rows:,} rows" if release.schema.rows else f"about {release.rows:,} rows (a noisy count)"
    return (
        f"A graphical model of {len(release.schema.modelled)} attributes, fitted to a private table of {rows} under "
        f"differential privacy, its noisy tables, and synthetic rows drawn from it. Release {release.hash}."
    )


def _variant(release: Release) -> dict[str, Any]:
    public = f"The number of rows ({release.schema.rows:,}) is public. " if release.schema.rows else ""
    return {
        "variant_name": _VARIANTS[_accounting(release.card)],
        "data_domain": f"All tables of the schema with hash {release.card.schema_hash}, which is in the release.",
        "unprotected_quantities": f"{public}The schema is public: names, ranges, lists of values, groups.",
    }


def _privacy_loss(release: Release) -> dict[str, Any]:
    card = release.card
    parameters = {"epsilon": card.epsilon}
    words = f"{card.in_words}."
    if card.delta:
        kept, lists = _accounting(card), 0.0 if card.bought is None else card.bought.value_lists
        whole = float(kept.whole(Budget(card.epsilon, card.bought.conversion if card.bought and lists else card.delta)))
        parameters |= {"delta": card.delta} | ({"rho": whole} if kept == ZCDP else {})
        words += f" Charges are kept in {_KEPT_IN[kept]}, of which there are {whole:.6g}, converted once."
        words += f" Of delta {lists:.6g} is not converted: lists of values were bought with it." * bool(lists)
    found: dict[str, Any] = {
        "privacy_unit": card.unit,
        "privacy_unit_details": card.neighbours_in_words,
        "privacy_parameters": parameters,
        "privacy_parameters_details": words[0].upper() + words[1:],
    }
    if release.schema.rows and card.rows_per_person == 1:
        found["number_of_privacy_units"] = release.schema.rows
    return found


def _accounting(card: Card) -> Accounting:
    """Return the accounting that the release's charges were kept in."""
    return ACCOUNTINGS[card.charges[0].unit] if card.charges else accounting_of(Budget(card.epsilon, card.delta))


_VARIANTS: dict[Accounting, str] = {PURE: "Pure DP", ZCDP: "Zero-concentrated DP", GDP: "Approximate DP"}
_KEPT_IN: dict[Accounting, str] = {
    ZCDP: "rho of zero-concentrated DP (Bun & Steinke 2016; Canonne, Kamath & Steinke 2020)",
    GDP: "mu squared of Gaussian DP (Dong, Roth & Su 2022)",
}


def _model(release: Release) -> dict[str, Any]:
    payer = release.card.payer
    trust = (
        "The custodian holds the rows, runs the program and is trusted with them. Everyone else, with whatever they "
        "know already, is not."
    )
    if isinstance(payer, OwnersTotal):
        trust = f"No owner's rows leave it. The promise holds against {payer.against}."
    return {
        "model_name": "Federated" if isinstance(payer, OwnersTotal) else "Central",
        "model_name_details": trust,
        "trust_assumptions": trust,
        "release_type": "One release",
        "release_type_details": _payer(release),
        "data_source_type": "Static",
        "access_type": "Non-interactive",
        "access_type_details": "The release is a file. Queries and more rows are answered from it and cost nothing.",
    }


def _payer(release: Release) -> str:
    payer = release.card.payer
    if isinstance(payer, OwnersTotal):
        return "Each owner keeps a ledger of its own, with a cap on what may be spent on the same people."
    if not isinstance(payer, AccountTotal):
        return "The noisy tables came from elsewhere; what else was spent on the same people is not known here."
    total = promise_text(payer.epsilon, payer.delta)
    return f"A ledger with a cap adds up what is spent on the same people: {total} when this release was made."


def _implementation(release: Release) -> dict[str, Any]:
    card = release.card
    usual = _accounting(card).noise.name
    kinds = sorted({m.noise.name for m in release.measurements}) or [usual]
    choice = "the exponential mechanism" if card.delta else "permute-and-flip"
    versions = ", ".join(f"{name} {number}" for name, number in card.versions.items())
    charges = "; ".join(map(str, card.charges))
    return {
        "preprocessing_and_hyperparameter_tuning": _before(release),
        "mechanisms": (
            f"Method {card.method}. Noise: discrete {' and '.join(k.capitalize() for k in kinds)} (opendp). "
            f"Selections: {choice} (opendp). {_PROTECTION} Code: {versions}."
        ),
        "composition": f"{COMPOSITION_RULE} This release: {charges}.",
        "post_processing": _AFTER,
        "justification": (
            "The proofs are beside the methods (PROOF.md); `understudy audit` checks the laws of all mechanisms, whole "
            "runs and the samplers on the reader's own machine, with broken twins as controls."
        ),
    }


def _before(release: Release) -> str:
    """Return what was done with rows before noise; a schema written by somebody who had seen some is no public one."""
    seen = " ".join(choices_not_covered(release.schema))
    return f"{_SEEN_SCHEMA.format(seen) if seen else _SCHEMA} {_BEFORE}"


def yaml_text(document: Any, indent: int = 0) -> str:
    """Return plain data as YAML: maps and lists in blocks, every text in double quotes, as JSON writes it."""
    pad = "  " * indent
    if isinstance(document, dict):
        return "".join(f"{pad}{key}:{_value(value, indent)}" for key, value in document.items())
    return "".join(f"{pad}-{_value(value, indent)}" for value in document)


def _value(value: Any, indent: int) -> str:
    if isinstance(value, dict | list) and value:
        return "\n" + yaml_text(value, indent + 1)
    text = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and "e" in text and "." not in text:
        text = text.replace("e", ".0e")  # without a point, readers of YAML 1.1 take it for a text
    return f" {text}\n"
