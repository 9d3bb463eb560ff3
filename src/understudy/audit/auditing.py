"""The whole audit: every part, its controls, and how much processor time each took."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from importlib.metadata import version

from understudy.audit.controls import CONTROLS
from understudy.audit.enumeration import enumerate_laws
from understudy.audit.findings import PARTS, AuditReport, Control, Finding
from understudy.audit.lower_bounds import CHANCE, LEVELS, TradeOff, at_least, at_most, smallest_caught
from understudy.audit.replay import replay_all
from understudy.audit.sampler_laws import check_samplers
from understudy.audit.trials import RUNS, SHARP, try_all
from understudy.version import VERSION

_PARTS: dict[str, Callable[[bool], list[Finding]]] = {
    "enumeration": enumerate_laws,
    "trials": try_all,
    "replay": replay_all,
    "samplers": check_samplers,
}


def audit(*, long: bool = False, told: Callable[[str], None] | None = None) -> AuditReport:
    """Check this installation on made-up tables: claims, bounds and controls.

    Args:
        long: Check more worlds, methods and runs; takes some minutes instead of about one.
        told: Called with the name of each part as it begins.

    Example:
        >>> report = understudy.audit()  # doctest: +SKIP
        >>> report.holds  # doctest: +SKIP
        True
    """
    findings: list[Finding] = []
    controls: list[Control] = []
    seconds: dict[str, float] = {}
    for part in PARTS:
        if told is not None:
            told(part)
        since = time.process_time()
        findings += _PARTS[part](long)
        controls += CONTROLS[part]()
        seconds[part] = round(time.process_time() - since, 1)
    versions = {"understudy": VERSION, "python": platform.python_version()}
    versions |= {name: version(name) for name in ("numpy", "opendp")}
    return AuditReport(long, tuple(findings), tuple(controls), limits(long), seconds, versions)


def limits(long: bool) -> tuple[str, ...]:
    """Return what the trials cannot see, however broken a mechanism is."""
    runs = 10 * RUNS if long else RUNS
    epsilon = float(SHARP.setting.budget.epsilon)
    chance = CHANCE / (4 * len(LEVELS))
    most = TradeOff(at_least(runs, runs, chance), at_most(0, runs, chance)).epsilon()
    return (
        f"with 2 × {runs:,} runs at confidence 1 − {CHANCE:g} no trial can show an epsilon above {most:.2f}, and noise "
        f"on a count must be {smallest_caught(epsilon, runs):.2f} times too small to be caught 19 times of 20 at "
        f"epsilon {epsilon:g}",
        "a selection that is too sharp is not looked for in trials, which would miss it: its exact law is enumerated",
        "enumeration covers all neighbours of all tables of a few rows; that nothing is worse on larger ones is "
        "proved, not audited (PROOF.md of each method)",
    )
