"""Rules hold in every row, whatever the rules, the table and the method: drawn rows are read by plain Python."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from rule_sets import RuleSet, random_rule_set
from understudy import Release
from understudy.errors import UnderstudyError
from understudy.testing import publish_seeded

METHODS = ("aim", "privbayes", "jtree", "privabn", "independent")


def accepted(first: int, count: int) -> list[tuple[int, RuleSet]]:
    """Return so many rule sets that are not refused as impossible or too large, from this seed on."""
    found: list[tuple[int, RuleSet]] = []
    seed = first
    while len(found) < count:
        try:
            found.append((seed, random_rule_set(seed)))
        except UnderstudyError:
            assert seed - first < 3 * count + 10, "most rule sets are refused"
        seed += 1
    return found


def published(seed: int, rules: RuleSet, folder: Path) -> Release | None:
    """Return the release, or None where the rules are refused before anything is spent."""
    method = METHODS[seed % len(METHODS)]
    ledger = folder / f"{seed}.db"
    try:
        made = publish_seeded(
            pa.table(rules.table), rules.schema, epsilon=3, seed=seed, method=method, ledger=ledger, cap="none",
            types="declared",
        )  # fmt: skip
    except UnderstudyError as refusal:
        assert "rule" in refusal.message and not ledger.exists()
        return None
    made.release.save(folder / f"{seed}.zip")
    return Release.open(folder / f"{seed}.zip")


def check(first: int, count: int, rows: int, folder: Path) -> None:
    refused = 0
    for seed, rules in accepted(first, count):
        release = published(seed, rules, folder)
        if release is None:
            refused += 1
            continue
        object.__setattr__(release, "library", "pyarrow")
        drawn = release.sample(rows, seed=seed).to_pydict()
        assert rules.broken(drawn) == [], f"seed {seed}"
    assert refused <= count // 3


def test_a_broken_rule_is_seen() -> None:
    """The reading of the rules by plain Python sees what a table without any model breaks."""
    assert any(random_rule_set(seed).broken(random_rule_set(seed).table) for seed in range(3, 6))


def test_random_rules_hold_in_every_row(tmp_path: Path) -> None:
    check(100, 10, 1000, tmp_path)


@pytest.mark.long
def test_a_thousand_random_rule_sets_hold_in_a_million_rows(tmp_path: Path) -> None:
    check(10_000, 1000, 1000, tmp_path)
