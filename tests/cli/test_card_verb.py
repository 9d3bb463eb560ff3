"""A release's card in the forms that others read: registry entry, Croissant, a page for lawyers, JSON, text."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import run

from conftest import columns_of, schema_of
from understudy.privacy.accounting import total_cost
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.release.bought import BoughtFacts
from understudy.release.lawyers_page import posterior
from understudy.release.registry_entry import Publisher, registry_entry, yaml_text
from understudy.release.release import Release
from understudy.schema.rows_seen import AFTER_SEEING_ROWS
from understudy.testing import publish_seeded

WHO = (
    "--curator", "A hospital", "--curator-type", "Nonprofit", "--intended-use", "Teaching: \"stand-in\" rows",
    "--region", "Nowhere", "--author", "The steward", "--date", "2026-11-18",
)  # fmt: skip
CROISSANT = (
    "--curator",
    "A hospital",
    "--license",
    "CC-BY-4.0",
    "--url",
    "https://example.org/people",
    "--date",
    "2026-11-18",
)

# The registry's fields as its schema has them (2026-09): required ones, those it knows, and the words it takes.
TEXT, NUMBER, WHOLE = str, (int, float), int
REGISTRY: dict[str, Any] = {
    "url_slug!": TEXT,
    "deployment!": {
        "basic!": {
            "name!": TEXT, "description!": TEXT, "intended_use!": TEXT, "data_product_region!": TEXT,
            "data_curators!": [{
                "data_curator_name!": TEXT, "data_curator_type!": {"Government", "Industry", "Nonprofit"},
            }],
            "data_product_type!": {
                "Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API",
                "SQL queries",
            },
            "data_product_sector": {"Technology", "Healthcare", "Education", "Government", "Energy", "Finance"},
            "publication_date!": datetime.date,
        },
        "dp_variant": {
            "variant_name": {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
            "data_domain": TEXT, "unprotected_quantities": TEXT,
        },
        "privacy_loss": {
            "privacy_unit": TEXT, "privacy_unit_details": TEXT, "number_of_privacy_units": WHOLE,
            "privacy_parameters": {"epsilon": NUMBER, "delta": NUMBER, "rho": NUMBER},
            "privacy_parameters_details": TEXT,
        },
        "deployment_model": {
            "model_name": {"Local", "Central", "Shuffle", "Federated", "Varies"}, "model_name_details": TEXT,
            "trust_assumptions": TEXT, "actors": TEXT, "release_type": {"One release", "Many releases"},
            "release_type_details": TEXT, "data_source_type": {"Static", "Dynamic"}, "data_source_type_details": TEXT,
            "access_type": {"Interactive", "Non-interactive"}, "access_type_details": TEXT,
        },
        "implementation": {
            "preprocessing_and_hyperparameter_tuning": TEXT, "mechanisms": TEXT, "composition": TEXT,
            "post_processing": TEXT, "justification": TEXT, "utility": TEXT, "additional_information": TEXT,
        },
        "administrative!": {
            "status!": {
                "Converted", "Draft", "Pending", "Changes Required", "Approved", "Approved (Update Requested)",
                "Approved (Pending)",
            },
            "registry_authors!": [TEXT], "tier!": {1, 2, 3}, "evidence_sources": dict,
        },
    },
}  # fmt: skip


def complaints(value: Any, rule: Any, where: str = "") -> list[str]:
    """What the registry would say about an entry."""
    if isinstance(rule, dict):
        known = {key.rstrip("!"): sub for key, sub in rule.items()}
        found = [f"{where}/{key} is missing" for key in rule if key.endswith("!") and key[:-1] not in value]
        found += [f"{where}/{key} is unknown" for key in value if key not in known]
        return found + [
            c for key in value if key in known for c in complaints(value[key], known[key], f"{where}/{key}")
        ]
    if isinstance(rule, list):
        return [] if value and isinstance(value, list) and not any(complaints(v, rule[0]) for v in value) else [where]
    if isinstance(rule, set):
        return [] if value in rule else [f"{where}: {value!r}"]
    if rule is datetime.date:
        return [] if datetime.date.fromisoformat(value) else [where]
    return [] if isinstance(value, rule) and not isinstance(value, bool) and value != "" else [f"{where}: {value!r}"]


@pytest.fixture(scope="module", params=[(0, "replace-one"), ("1e-6", "add-remove")], ids=["pure", "zcdp"])
def release(request, tmp_path_factory) -> Path:
    import pyarrow as pa

    delta, neighbours = request.param
    folder = tmp_path_factory.mktemp("card")
    sizes = {"a": 2, "b": 3}
    rows = {name: [str(v) for v in column] for name, column in columns_of(sizes, 400).items()}
    schema = schema_of(sizes, 400 if neighbours == "replace-one" else None, neighbours)
    with Ledger(folder / "ledger.db") as ledger:
        made = publish_seeded(pa.table(rows), schema, seed=1, epsilon=1, delta=delta, ledger=ledger, cap="none").release
    made.save(folder / "people.release.zip")
    made.write(folder / "rows.csv", seed=1)
    return folder / "people.release.zip"


def test_a_registry_entry_is_what_the_registry_takes(release: Path) -> None:
    yaml = pytest.importorskip("yaml")
    done = run("card", release, "--format", "registry", *WHO, "--sector", "Healthcare")
    assert done.code == 0
    entry = yaml.safe_load(done.out)
    assert complaints(entry, REGISTRY) == []
    deployment = entry["deployment"]
    pure = deployment["dp_variant"]["variant_name"] == "Pure DP"
    assert set(deployment["privacy_loss"]["privacy_parameters"]) == ({"epsilon"} if pure else {"epsilon", "delta"})
    assert ("permute-and-flip" in deployment["implementation"]["mechanisms"]) == pure
    for words in ("Floating point", "Timing", "opendp", "understudy 0."):
        assert words in deployment["implementation"]["mechanisms"]
    assert (
        "charge" in deployment["implementation"]["composition"]
        or "add up" in deployment["implementation"]["composition"]
    )
    assert deployment["basic"]["intended_use"] == 'Teaching: "stand-in" rows'
    assert deployment["deployment_model"]["model_name"] == "Central"


def test_an_entry_says_that_rows_were_seen(release: Path) -> None:
    """A schema that was changed after `check --show` is not called public."""
    made = Release.open(release)
    attributes = tuple(replace(a, provenance=AFTER_SEEING_ROWS) for a in made.schema.attributes)
    seen = replace(made, schema=replace(made.schema, attributes=attributes, text=None))
    texts = [
        registry_entry(r, Publisher("x", "Industry", "use", "EU", "2026-11-18", "y"))["deployment"]["implementation"][
            "preprocessing_and_hyperparameter_tuning"
        ]
        for r in (made, seen)
    ]
    assert "none was read" in texts[0] and "none was read" not in texts[1]
    assert "after rows were seen (`check --show`): a, b" in texts[1]


def test_an_entry_converts_no_delta_that_paid_for_lists(release: Path) -> None:
    made = Release.open(release)
    if not made.card.delta:
        return
    split = replace(made.card, bought=BoughtFacts((), (), {"a": "values"}, None, 2.5e-7, 7.5e-7))
    who = Publisher("x", "Industry", "use", "EU", "2026-11-18", "y")
    said = [
        registry_entry(replace(made, card=card), who)["deployment"]["privacy_loss"]["privacy_parameters_details"]
        for card in (made.card, split)
    ]
    for words, delta in zip(said, ("1e-6", "2.5e-7")):
        assert f"there are {float(total_cost(Budget(1, delta))):.6g}, converted" in words
    assert "lists" not in said[0] and "Of delta 7.5e-07 is not converted" in said[1]


def test_an_entry_with_a_mistake_is_not(release: Path) -> None:
    yaml = pytest.importorskip("yaml")
    entry = yaml.safe_load(run("card", release, "--format", "registry", *WHO).out)
    entry["deployment"]["dp_variant"]["variant_name"] = "Very private"
    del entry["deployment"]["basic"]["name"]
    entry["deployment"]["surprise"] = 1
    assert len(complaints(entry, REGISTRY)) == 3


def test_what_a_release_does_not_know_is_asked_for(release: Path) -> None:
    done = run("card", release, "--format", "registry")
    assert done.code == 2 and "--curator, --curator-type, --intended-use" in done.err
    assert run("card", release, "--format", "registry", *WHO[:-1], "18.11.2026").code == 2
    assert run("card", release, "--format", "registry", *WHO, "--curator-type", "Secret").code == 2
    assert run("card", release, "--format", "registry", *WHO, "--sector", "Secret").code == 2
    assert run("card", release, "--format", "croissant").code == 2
    assert run("card", release, "--format", "pdf").code == 2


def test_croissant(release: Path) -> None:
    data = release.with_name("rows.csv")
    done = run("card", release, "--format", "croissant", *CROISSANT, "--data", data)
    made = json.loads(done.out)
    files = {f["@id"]: f for f in made["distribution"]}
    assert files["release"]["sha256"] == hashlib.sha256(release.read_bytes()).hexdigest()
    assert files["rows"]["sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    columns = [f["source"]["extract"]["column"] for f in made["recordSet"][0]["field"]]
    assert columns == data.read_text().splitlines()[0].split(",")
    assert "epsilon 1" in made["rai:personalSensitiveInformation"]
    assert "recordSet" not in json.loads(run("card", release, "--format", "croissant", *CROISSANT).out)


def test_croissant_by_its_own_library(release: Path, tmp_path: Path) -> None:
    croissant = pytest.importorskip("mlcroissant")
    file = release.with_name("croissant.json")
    run("card", release, "--format", "croissant", *CROISSANT, "--data", release.with_name("rows.csv"), "-o", file)
    croissant.Dataset(jsonld=str(file))


def test_a_page_for_lawyers(release: Path) -> None:
    page = run("card", release, "--format", "lawyer").out
    for words in (
        "Singling out",
        "Linkage",
        "Inference",
        "suppression threshold",
        "NIST SP 800-226",
        "Who must be trusted",
    ):
        assert words in page
    replaced = "the number of rows is public" in page
    assert ("a suspicion of 50 % becomes at most 73 %" in page or "one of 50 % at most 73 %" in page) == replaced or (
        "one of 50 % at most 88 %" in page  # a changed row is two steps under add-remove
    )


def test_odds_are_bayes_rule() -> None:
    assert posterior(0.5, 1.0) == pytest.approx(1 / (1 + math.exp(-1)))
    assert posterior(0.01, 0.0) == pytest.approx(0.01)
    before, after = 0.2, posterior(0.2, 1.5)
    assert after / (1 - after) == pytest.approx(math.exp(1.5) * before / (1 - before))


def test_text_and_json(release: Path, tmp_path: Path) -> None:
    assert run("card", release).out.startswith("!! NOT PRIVATE")
    made = json.loads(run("card", release, "--format", "json").out)
    assert made["card"]["epsilon"] == 1 and len(made["release"]) == 64
    assert run("card", release, "-o", tmp_path / "card.txt").code == 0 and (tmp_path / "card.txt").exists()
    assert run("card", release, "-o", release).code == 2


def test_yaml_is_read_back() -> None:
    yaml = pytest.importorskip("yaml")
    document = {
        "a": 'quo"te: # no comment',
        "b": [{"c": 1.5e-09}, {"d": ["x", "y\nz"]}],
        "e": True,
        "f": 10,
        "ä": "é – ✓",
    }
    assert yaml.safe_load(yaml_text(document)) == {**document, "b": [{"c": 1.5e-09}, {"d": ["x", "y\nz"]}]}
