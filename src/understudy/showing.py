"""Showing: how an object draws itself in a notebook. The drawings are the report's, imported when one is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.report.views import View


def html_of(thing: object) -> str:
    """Return what a notebook shows in the place of a Release, Plan, Schema, Ledger, Evaluation or Answer."""
    from understudy.report.views import view_of

    return view_of(thing).html


def figure_of(thing: Any, figure: str, *names: str) -> View:
    """Return one figure of an object: "report", "network", "plot"; `names` says of which attribute."""
    from understudy.report import views

    return views.figure_of(thing, figure, *names)
