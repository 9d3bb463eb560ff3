"""The process of a run: publishes as `understudy publish` does, and notes how far it is. Started by `runs`.

Run by hand it does nothing: what it needs comes through its standard input.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from understudy.errors import UnderstudyError, UsageError
from understudy.lock import ProcessLock

_STEP = 0.2  # seconds between two notes


class NotedProgress:
    """Progress as a note in the run's folder; a full disk does not stop the run."""

    def __init__(self, place: Path, total: Fraction, words: str, pure: bool) -> None:
        from understudy.progress import Spend

        self._place, self._spend = place, Spend(total, words, pure)
        self._phase, self._since, self._last = "", 0.0, 0.0

    def __call__(self, phase: str, done: int, of: int, spent: Fraction) -> None:
        from understudy.studio.runs import PROGRESS, write_note

        now = time.monotonic()
        if phase != self._phase:
            self._phase, self._since = phase, now
        elif now - self._last < _STEP:
            return
        self._last, elapsed = now, now - self._since
        left = elapsed / done * (of - done) if done and elapsed > 1 else None
        note = {"phase": phase, "done": done, "of": of, "spent": self._spend.shown(spent), "left": left}
        with suppress(OSError, UnderstudyError):
            write_note(self._place / PROGRESS, note)


def main(place: Path) -> int:
    """Take the run's lock, say so, publish, and note what came out."""
    lock = ProcessLock(place / "run.lock")
    for _ in range(50):
        if held := lock.acquire():
            break
        time.sleep(0.1)  # somebody looks whether the run is alive
    if not held:
        return 1
    secret = json.load(sys.stdin)
    os.write(1, b"ready\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    from understudy.studio.runs import RESULT, write_note

    try:
        result = publish_run(place, secret)
    except UnderstudyError as error:
        result = {"error": error.message, "kind": error.kind}
    except BaseException as error:  # its text may hold a cell
        result = {"error": f"something unexpected went wrong inside understudy ({type(error).__name__})", "kind": "bug"}
    with suppress(OSError, UnderstudyError):
        write_note(place / RESULT, result)
    lock.release()
    return 0


def publish_run(place: Path, secret: dict[str, Any]) -> dict[str, Any]:
    """Publish what the notes ask for, to files of the folder, and return what came out."""
    from understudy.privacy.accounting import total_cost
    from understudy.privacy.budget import Budget
    from understudy.publishing import ReleaseTarget, refuse_large_epsilon, run
    from understudy.release import Release
    from understudy.report import public_report
    from understudy.report.file import write_report
    from understudy.schema import Schema
    from understudy.studio.runs import REQUEST, read_note
    from understudy.studio.source import TableSource

    asked, folder = read_note(place / REQUEST), Path.cwd()
    schema = replace(Schema.from_toml(secret["schema_text"]), path=folder / asked["schema"])
    budget = Budget(asked["epsilon"], asked["delta"])
    refuse_large_epsilon(budget, False, "--accept-large-epsilon, on the command line")
    target = folder / asked["release"]

    def save(release: Release) -> None:
        release.save(target)
        release.write(folder / asked["output"])
        write_report(folder / asked["report"], public_report(Release.open(target)))

    source = TableSource(secret["source"], asked["source"], secret["is_file"])
    if source.fingerprint(bytes.fromhex(secret["key"])) != secret["fingerprint"]:
        raise UsageError("the table was changed between the agreement and the run: nothing was spent. Look again")
    told = NotedProgress(place, total_cost(budget), str(budget), not budget.delta)
    ledger = Path(asked["ledger"]) if asked["ledger_named"] else None
    made = run(
        source.place, schema, budget, asked["method"], {}, ledger=ledger, progress=told,
        target=ReleaseTarget(target, save), quiet=True,
    )  # fmt: skip
    return {"release": made.release.hash, "rows": made.release.rows, "notes": [*made.warned, *made.notes]}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
