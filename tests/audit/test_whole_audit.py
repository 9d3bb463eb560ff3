"""The audit as a user runs it, and every twin that needs sampling caught in 20 of 20 runs."""

from __future__ import annotations

import json

import pytest

from luck import once_more
from understudy.audit import broken_twins as twins
from understudy.audit.controls import enumeration_controls, replay_controls, sampler_controls
from understudy.audit.enumeration import enumerate_laws
from understudy.audit.replay import replay_all
from understudy.audit.sampler_laws import check_samplers
from understudy.audit.trials import SHARP, SMOOTH


def test_exact_laws_and_replay_stand() -> None:
    for finding in (*enumerate_laws(), *replay_all()):
        assert finding.holds, finding


def test_samplers_stand() -> None:
    once_more(lambda _: [_holds(f) for f in check_samplers()] and None)


def _holds(finding) -> None:
    assert finding.holds, finding


def test_exact_controls_are_caught() -> None:
    for control in (*enumeration_controls(), *replay_controls(), *sampler_controls()):
        assert control.caught, control


@pytest.mark.long
@pytest.mark.parametrize("trial", [SHARP, SMOOTH], ids=["one count", "one table"])
def test_half_the_noise_is_caught_in_20_of_20_trials(trial) -> None:
    once_more(lambda _: _holds(trial.finding(trial.runs)))
    with twins.sampler_noise_halved():
        assert not any(trial.finding(trial.runs).holds for _ in range(20))


@pytest.mark.long
def test_the_command(tmp_path, capsys) -> None:
    from understudy.cli import main

    with pytest.raises(SystemExit) as done:
        main(["audit", "--json", "-o", str(tmp_path / "audit.html")])
    report = json.loads(capsys.readouterr().out)
    assert done.value.code == 0 and report["holds"] and (tmp_path / "audit.html").read_text().startswith("<!DOCTYPE")
