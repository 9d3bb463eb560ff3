"""Adapters for SDMetrics and SDGym: against the real packages where they are installed, each in an environment of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

import understudy
from clinic import CLINIC, people
from understudy.adapters import sdgym_synthesizer, sdmetrics_metadata
from understudy.demo import demo_schema
from understudy.errors import UsageError

SCHEMA = understudy.Schema.from_toml(CLINIC)


def test_metadata_follows_from_the_schema() -> None:
    columns = sdmetrics_metadata(demo_schema(rows=100))["columns"]
    assert columns["person_id"] == {"sdtype": "id"} and columns["age"] == {"sdtype": "numerical"}
    assert columns["sex"] == {"sdtype": "categorical"} and columns["owns_home"] == {"sdtype": "boolean"}
    assert columns["last_doctor_visit"] == {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}
    assert "remark" not in columns


@pytest.mark.filterwarnings("default")
def test_without_sdgym_it_says_what_to_install() -> None:
    try:
        import sdgym  # noqa: F401
    except ImportError:
        with pytest.raises(UsageError, match="pip install sdgym"):
            sdgym_synthesizer([SCHEMA])


@pytest.mark.filterwarnings("default")
def test_a_quality_report_of_sdmetrics(tmp_path: Path) -> None:
    reports = pytest.importorskip("sdmetrics.reports.single_table")
    release = understudy.publish(people(), SCHEMA, epsilon=4, ledger=tmp_path / "l.db", method="privbayes")
    report = reports.QualityReport()
    report.generate(people(), release.sample(2000), sdmetrics_metadata(SCHEMA), verbose=False)
    assert 0.8 < report.get_score() <= 1


@pytest.mark.filterwarnings("default")
def test_a_benchmark_of_sdgym(tmp_path: Path) -> None:
    pytest.importorskip("sdgym", exc_type=ImportError)
    made = sdgym_synthesizer([demo_schema(rows=500), SCHEMA], epsilon=4, ledger=tmp_path / "l.db", method="privbayes")
    frame = people()
    trained = made().get_trained_synthesizer(frame, sdmetrics_metadata(SCHEMA))
    drawn = made().sample_from_synthesizer(trained, 300)
    assert list(drawn.columns) == list(frame.columns) and len(drawn) == 300
    with understudy.Ledger(tmp_path / "l.db") as ledger:
        account = ledger.account("clinic")
    assert account is not None and account.spent_epsilon == 4 and account.cap_epsilon is None
    with pytest.raises(UsageError, match="no schema has the columns"):
        made().get_trained_synthesizer(frame.drop(columns="age"), None)
