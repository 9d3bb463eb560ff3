"""The progress bar: says phase, spend and time; is silent when nobody looks; leaves nothing behind."""

from __future__ import annotations

import io
import sys
import types
from fractions import Fraction
from typing import Any

import pytest

from understudy import progress
from understudy.privacy.budget import Budget
from understudy.progress import ProgressBar, Spend
from understudy.publishing import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_phase_spend_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 2.0, 4.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    out = Terminal()
    with ProgressBar(spend=Spend(Fraction(1), "epsilon 1", True), stream=out) as bar:
        bar("tables", 0, 4, Fraction(0))
        bar("tables", 1, 4, Fraction(1, 4))
        bar("tables", 2, 4, Fraction(1, 2))
    lines = out.getvalue().split("\r")
    assert lines[1].startswith("[" + "-" * 24 + "] tables 0/4, epsilon 0 of 1 spent")
    assert lines[3].rstrip() == "[" + "#" * 12 + "-" * 12 + "] tables 2/4, epsilon 0.5 of 1 spent, about 4 s left"
    assert lines[-1] == "" and lines[-2].strip() == ""  # taken away


def test_nobody_looking_nothing_said() -> None:
    out = io.StringIO()
    with ProgressBar(stream=out) as bar:
        bar("tables", 1, 2, Fraction(0))
    with ProgressBar(wanted=False, stream=Terminal()) as bar:
        bar("tables", 1, 2, Fraction(0))
    assert out.getvalue() == ""


def test_a_delta_is_told_as_a_share() -> None:
    bar = progress_bar(False, Budget(1, "1e-9"))
    spend = bar._spend
    assert spend is not None and spend.shown(spend.total / 4) == "25 % of epsilon 1, delta 1e-09 spent".replace(
        " %", "%"
    )
    pure = progress_bar(False, Budget(2))._spend
    assert pure is not None and pure.shown(Fraction(1, 2)) == "epsilon 0.5 of 2 spent"


def test_a_notebook_gets_a_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, html: str) -> None:
            shown.append(html)

    def display(html: str, display_id: bool) -> Handle:
        shown.append(html)
        return Handle()

    shell = type("ZMQInteractiveShell", (), {})()
    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    drawing: Any = types.ModuleType("IPython.display")
    drawing.HTML, drawing.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", drawing)
    with ProgressBar() as bar:
        bar("<tables>", 1, 2, Fraction(0))
    assert "width:50.0%" in shown[0] and "&lt;tables&gt; 1/2" in shown[0] and shown[-1] == ""
