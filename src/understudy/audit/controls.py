"""Controls: each part of the audit on the twins that are broken for it. A part that misses one proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from understudy.audit import broken_twins as twins
from understudy.audit.enumeration import World
from understudy.audit.findings import Control, Finding
from understudy.audit.mechanisms import MECHANISMS, Mechanism
from understudy.audit.replay import replayed, settings
from understudy.audit.sampler_laws import check_noise, check_selections
from understudy.audit.trials import SHARP, SMOOTH, Trial
from understudy.audit.whole_runs import fresh_ledgers
from understudy.privacy.accounting import PURE, ZCDP, Accounting
from understudy.privacy.questions import Marginals, Selection


def enumeration_controls() -> list[Control]:
    """Return whether exact losses show noise, selections and sensitivities that are too small, in every question."""
    selections = [m for m in MECHANISMS if issubclass(m.kind, Selection)]
    queries = [m for m in MECHANISMS if not issubclass(m.kind, Selection)]
    tables = [m for m in MECHANISMS if m.kind is Marginals]
    several = [*tables, *(m for m in selections if m.what.endswith("binary"))]
    return [
        _all_above("noise halved", twins.noise_halved, queries, 1, (PURE, ZCDP)),
        _all_above("selection scale quartered", twins.selection_quartered, selections, 1, (PURE, ZCDP)),
        _all_above("a replaced row counted once", twins.replaced_row_counted_once, tables, 1, (PURE,)),
        _all_above("rows of a person ignored", twins.rows_of_a_person_ignored, several, 2, (PURE,)),
        _all_above("a distance counted once", twins.distance_counted_once, _called("distance"), 1, (PURE, ZCDP)),
        _all_above("a sum taken for one pair", twins.sum_taken_for_one_pair, _called("sum of all"), 1, (PURE, ZCDP)),
        _all_above("distances taken for one", twins.distances_taken_for_one, _called("distances of"), 1, (PURE, ZCDP)),
        _all_above("the rest of a list not paid for", twins.rest_of_a_list_free, _called("value lists"), 1, (ZCDP,)),
        _all_above("a text of one person shown", twins.threshold_too_low, _called("value lists"), 2, (ZCDP,)),
    ]


def _called(words: str) -> list[Mechanism]:
    return [m for m in MECHANISMS if words in m.what]


def _all_above(
    name: str, twin: twins.Twin, mechanisms: Sequence[Mechanism], person: int, accountings: Sequence[Accounting]
) -> Control:
    """Return whether the twin is above its claim in all of these worlds, under replace-one neighbours."""
    with twin():
        found = [World(m, "replace-one", person, a).finding() for m in mechanisms for a in accountings]
    found = [f for f in found if f.bound is not None or not f.holds]  # not what is refused
    missed = [f.what for f in found if f.holds]
    ratios = [f.bound / f.claim for f in found if f.bound and f.claim]
    says = f"found in {len(found) - len(missed)} of {len(found)} laws"
    says += f", at {min(ratios):.2f} to {max(ratios):.2f} times the claim" if ratios else ""
    return Control("enumeration", name, not missed, says + (f"; missed in {missed[0]}" if missed else ""))


def trial_controls() -> list[Control]:
    """Return whether whole runs show a sampler with half the noise."""
    return [
        _trial("noise halved in the sampler", SHARP),
        _trial("Gaussian noise halved in the sampler", SMOOTH),
    ]


def _trial(name: str, trial: Trial) -> Control:
    with twins.sampler_noise_halved():
        found = trial.finding(trial.runs)
    return Control("trials", name, not found.holds, found.says)


def replay_controls() -> list[Control]:
    """Return whether replay shows what depends on the rows, and what is paid for too late."""
    return [
        _replay("charged after counting", twins.charged_after_counting),
        _replay("a question that depends on the rows", twins.question_from_the_rows),
        _replay("a price that depends on the rows", twins.price_from_the_rows),
        _replay("a published figure that was not paid for", twins.figure_from_the_rows),
        _replay("noise halved", twins.noise_halved),
        _replay("a price that depends on the rows, of a schema", twins.price_from_the_rows, "bought first"),
        _replay("a figure that was not paid for, under rules", twins.figure_from_the_rows, "rules"),
        _replay("a price that depends on the rows, of people with many", twins.price_from_the_rows, "people with many"),
        _replay("charged after counting, people with many rows", twins.charged_after_counting, "people with many"),
        _replay("one row of a history ignored", twins.one_row_of_a_history_ignored, "people with many"),
        _replay("histories that are not cut", twins.histories_not_cut, "people with many"),
        _replay("one level of tables charged", twins.one_level_of_tables_charged, "foreign keys"),
        _replay("tables cut by the rows of others", twins.tables_cut_by_the_rows_of_others, "foreign keys"),
        _replay("charged after counting, tables", twins.charged_after_counting, "foreign keys"),
        _replay("a price that depends on the rows, of tables", twins.price_from_the_rows, "foreign keys"),
    ]


def _replay(name: str, twin: twins.Twin, words: str = "privbayes") -> Control:
    setting = next(s for s in settings(long=False) if words in s.what)
    with twin(), fresh_ledgers() as ledgers:
        found = replayed(setting, ledgers)
    return Control("replay", name, not found.holds, found.says)


def sampler_controls() -> list[Control]:
    """Return whether every sampler's test shows a scale that is too small."""
    return [
        _samplers("noise a tenth too small", twins.sampler_noise_a_tenth_too_small, check_noise),
        _samplers("selection scale quartered", twins.sampler_selection_quartered, check_selections),
    ]


def _samplers(name: str, twin: twins.Twin, check: Callable[[], list[Finding]]) -> Control:
    with twin():
        found = [f for f in check() if not f.what.startswith("shares")]  # which are drawn from uniform words
    missed = [f.what for f in found if f.holds]
    says = f"found in {len(found) - len(missed)} of {len(found)} samplers"
    return Control("samplers", name, not missed, says + (f"; missed in {missed[0]}" if missed else ""))


CONTROLS: dict[str, Callable[[], list[Control]]] = {
    "enumeration": enumeration_controls,
    "trials": trial_controls,
    "replay": replay_controls,
    "samplers": sampler_controls,
}
