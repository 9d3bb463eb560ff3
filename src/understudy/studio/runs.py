"""Runs: publications that were started from the page, each a process of its own with a folder of notes.

A run goes on when the page, the browser or the server is gone; whoever opens the folder again finds it. Its notes say
what was asked, how far it is, and what came out or why it was refused: no count, no cell and no address is among them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from understudy.errors import UnderstudyError, UsageError
from understudy.lock import ProcessLock
from understudy.release.replacement import replacing
from understudy.studio.folder import Folder
from understudy.studio.source import KEY
from understudy.studio.spending import PlannedRun

State = Literal["running", "done", "failed", "interrupted"]
REQUEST, PROGRESS, RESULT, LOCK = "request.json", "progress.json", "result.json", "run.lock"
_RUNS = "runs"
_NAME = re.compile(r"[0-9a-f]{20}")


def read_note(path: Path) -> dict[str, Any]:
    """Return a note; an empty one where it is not there or not whole."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_note(path: Path, note: Mapping[str, Any]) -> None:
    """Write a note in one piece, for its owner alone."""
    with replacing(path) as file:
        Path(file.name).chmod(0o600)
        file.write(json.dumps(note).encode())


@dataclass(frozen=True)
class Run:
    """One run, by its folder."""

    name: str
    place: Path
    folder: Folder

    @property
    def request(self) -> dict[str, Any]:
        """Return what was asked: file names and figures that were on the page."""
        return read_note(self.place / REQUEST)

    @property
    def progress(self) -> dict[str, Any]:
        """Return how far it is: phase, done, of, spent, seconds left."""
        return read_note(self.place / PROGRESS)

    @property
    def result(self) -> dict[str, Any]:
        """Return what came out: files, or an error; empty while it runs."""
        return read_note(self.place / RESULT)

    @property
    def alive(self) -> bool:
        """Return whether its process is at work."""
        if not (self.place / LOCK).exists():
            return False
        lock = ProcessLock(self.place / LOCK)
        if not lock.acquire():
            return True
        lock.release()
        return False

    @property
    def state(self) -> State:
        if self.alive:
            return "running"
        if result := self.result:
            return "failed" if "error" in result else "done"
        return "done" if self._release_is_whole() else "interrupted"

    def _release_is_whole(self) -> bool:
        """Return whether the process came as far as its last file, and only the note about it is missing."""
        from understudy.privacy.ledger import Ledger
        from understudy.release import Release

        with suppress(UnderstudyError, KeyError):
            release = Release.open(self.folder.file(self.request["release"]))
            with Ledger(Path(self.request["ledger"]), create=False) as book:
                return any(e.kind == "release" and e.body.get("release") == release.hash for e in book.entries())
        return False

    def outputs(self) -> dict[str, str]:
        """Return the names of the files that it wrote, by what they are."""
        asked = self.request
        names = {what: str(asked[what]) for what in ("output", "release", "report") if what in asked}
        return {what: name for what, name in names.items() if (self.folder.root / name).is_file()}


class Runs:
    """All runs of a folder."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    @property
    def _place(self) -> Path:
        return self._folder.state / _RUNS

    def get(self, name: str) -> Run:
        """Return the run of this name; refuse what is no run's name."""
        run = self.find(name)
        if run is None:
            raise UsageError("there is no such run in this folder")
        return run

    def find(self, name: str) -> Run | None:
        """Return the run of this name, or None."""
        if not _NAME.fullmatch(name) or not (self._place / name / REQUEST).is_file():
            return None
        return Run(name, self._place / name, self._folder)

    def every(self) -> list[Run]:
        """Return all runs, newest first."""
        places = self._place.iterdir() if self._place.is_dir() else ()
        found = [run for path in places if (run := self.find(path.name)) is not None]
        return sorted(found, key=lambda run: float(run.request.get("at", 0)), reverse=True)

    def start(self, name: str, spend: PlannedRun, ledger: Path, named: bool) -> Run:
        """Start a process for this spend; two of one account never run side by side, whichever server started them."""
        gate = ProcessLock(self._folder.make_state(_RUNS) / "starting.lock")
        if not gate.acquire():
            raise UsageError("another run is being started in this folder: wait a moment, and look again")
        try:
            busy = [run for run in self.every() if run.request.get("account") == spend.account and run.alive]
            if busy:
                raise UsageError(f"a run on account {spend.account!r} is under way: wait for its end, then look again")
            return self._start(name, spend, request_note(spend, ledger, named))
        finally:
            gate.release()

    def _start(self, name: str, spend: PlannedRun, note: dict[str, Any]) -> Run:
        place = self._place / name
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            raise UsageError("this run was started already") from None
        write_note(place / REQUEST, note)
        process = subprocess.Popen(
            [sys.executable, "-m", "understudy.studio.run_process", str(place)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
            cwd=self._folder.root, env=_environment(),
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(json.dumps(secret_note(spend)).encode())  # not in an argument: others can read those
            process.stdin.close()
        process.stdout.readline()  # the process has its lock, or is gone
        process.stdout.close()
        threading.Thread(target=process.wait, daemon=True).start()  # whoever started it hears of its end
        return Run(name, place, self._folder)


def output_names(output: str) -> dict[str, str]:
    """Return the names of all files of a run, from the name of its table."""
    stem = output
    for suffix in (".csv", ".parquet"):
        stem = stem.removesuffix(suffix)
    return {"output": output, "release": f"{stem}.release.zip", "report": f"{stem}.report.html"}


def request_note(spend: PlannedRun, ledger: Path, named: bool) -> dict[str, Any]:
    """Return what is kept about a run: what was on the page."""
    return {
        "at": time.time(),
        "schema": spend.schema_file,
        "schema_hash": spend.schema_hash,
        "source": spend.source.shown,
        "account": spend.account,
        "epsilon": str(spend.budget.epsilon),
        "delta": str(spend.budget.delta),
        "method": spend.method,
        **output_names(spend.output),
        "ledger": str(ledger),
        "ledger_named": named,
    }


def secret_note(spend: PlannedRun) -> dict[str, Any]:
    """Return what goes to the process through a pipe and is written nowhere: the address, and the schema as agreed."""
    return {
        "source": spend.source.place,
        "is_file": spend.source.is_file,
        "key": KEY.hex(),
        "fingerprint": spend.fingerprint,
        "schema_text": spend.schema_text,
    }


def _environment() -> dict[str, str]:
    """Return the environment of a run, which works in another folder than the server: its ledger is the same file."""
    named = os.environ.get("UNDERSTUDY_LEDGER")
    return {**os.environ, **({"UNDERSTUDY_LEDGER": str(Path(named).absolute())} if named else {})}
