"""Reports: one self-contained HTML file. PUBLIC from a release alone; CUSTODIAN from exact figures, stamped."""

from __future__ import annotations

from understudy.evaluate.buying import BoughtFigures
from understudy.evaluate.evaluation import Evaluation
from understudy.release import Release
from understudy.report.custodian import custodian_report
from understudy.report.public import bought_report, public_report

__all__ = ["bought_report", "custodian_report", "evaluation_report", "public_report"]


def evaluation_report(figures: Evaluation | BoughtFigures, release: Release | None = None) -> str:
    """Return the page of figures: CUSTODIAN for exact ones, PUBLIC for bought ones; the type decides."""
    if isinstance(figures, Evaluation):
        return custodian_report(figures, release)
    return bought_report(figures) if release is None else public_report(release, (figures,))
