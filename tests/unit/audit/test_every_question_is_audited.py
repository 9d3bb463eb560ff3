"""Whatever can be asked of rows is audited: a new question, score, statistic or method fails here until it is."""

from __future__ import annotations

from understudy.audit import mechanisms, replay
from understudy.audit.enumeration import enumerate_laws
from understudy.audit.mechanisms import MECHANISMS
from understudy.methods import METHODS
from understudy.privacy.questions import QUESTIONS
from understudy.privacy.questions.statistics import STATISTICS
from understudy.privacy.scores import SCORES


def asked(kind: str) -> list[object]:
    return [m.ask(m.schema("replace-one", 1)) for m in MECHANISMS if m.kind.__name__ == kind]


def test_every_question_has_a_line() -> None:
    missing = [question.__name__ for question in QUESTIONS if question not in {m.kind for m in MECHANISMS}]
    assert not missing, f"add a line for {missing} to MECHANISMS of src/understudy/audit/mechanisms.py"


def test_every_line_asks_what_it_says() -> None:
    for mechanism in MECHANISMS:
        question = mechanism.ask(mechanism.schema("replace-one", 1))
        assert type(question) is mechanism.kind
        question.check(mechanism.schema("replace-one", 1))


def test_every_score_and_statistic_is_among_them() -> None:
    assert {q.score.name for q in asked("Choice")} == set(SCORES)  # type: ignore[attr-defined]
    assert {type(q.statistic) for q in asked("StatisticQuery")} == set(STATISTICS)  # type: ignore[attr-defined]


def test_every_method_is_replayed() -> None:
    replayed = {setting.method for setting in replay.settings(long=False)}
    assert replayed - {"auto"} == set(METHODS)  # a panel takes what `auto` takes


def test_the_audit_itself_says_what_is_missing(monkeypatch) -> None:
    monkeypatch.setattr(mechanisms, "MECHANISMS", ())
    monkeypatch.setattr("understudy.audit.enumeration.MECHANISMS", ())
    found = enumerate_laws()
    assert [f.what for f in found] == [q.__name__ for q in QUESTIONS] and not any(f.holds for f in found)
