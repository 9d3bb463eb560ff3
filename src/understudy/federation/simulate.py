"""A trial of a federation on one machine: rows are dealt out, and the public commands run as processes on loopback.

Nothing here speaks the protocol: it writes certificates, a roster, a schema and a file of rows for each owner, starts
`understudy curator` and `understudy party`, and waits.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from understudy.errors import FederationError, UsageError
from understudy.federation.certificates import make_certificates
from understudy.federation.dealing import deal
from understudy.federation.writing import write_roster
from understudy.schema import Schema

CURATOR = "curator"
_POLL_S = 0.05


@dataclass(frozen=True)
class TrialOutcome:
    """What the curator's process said, and how long everything took."""

    document: dict[str, Any]
    summary: str


@dataclass(frozen=True)
class FederationTrial:
    """`run` leaves no process and, unless `keep` names a folder, no private file behind."""

    data: str
    schema: Schema
    epsilon: str
    delta: str
    output: Path
    parties: int
    split: str
    colluding: int
    dropping: int
    method: str
    options: Mapping[str, str]
    release: Path | None
    report: Path | None
    keep: Path | None
    timeout: float
    told: Callable[[str], None]

    def run(self) -> TrialOutcome:
        if self.keep is not None and self.keep.exists():
            raise UsageError(f"{self.keep.name!r} is there already: --keep takes a folder that is not")
        folder = Path(tempfile.mkdtemp(prefix="understudy-federation-"))
        try:
            if self.keep is not None:
                folder.rmdir()
                folder = self.keep
                folder.mkdir(mode=0o700, parents=True)
            return self._run(folder)
        finally:
            if self.keep is None:
                shutil.rmtree(folder, ignore_errors=True)

    def _run(self, folder: Path) -> TrialOutcome:
        started = time.monotonic()
        names = [f"owner{number}" for number in range(1, self.parties + 1)]
        self.told(f"dealing rows to {self.parties} owners")
        files, rows = deal(self.data, self.schema, folder, names, self.split)
        make_certificates(folder / "certs", names, CURATOR)
        counts = rows if self.schema.rows is not None else dict.fromkeys(names)
        write_roster(
            folder / "roster.toml", self.schema, "trial", folder / "certs", CURATOR, counts, self.epsilon, self.delta,
            self.colluding, self.dropping, self.method, self.options,
        )  # fmt: skip
        for name in names:
            own = replace(self.schema, rows=counts[name], text=None)
            own.save(folder / name / "schema.toml")
        self.schema.save(folder / "schema.toml")
        processes = {CURATOR: _start(folder, CURATOR, self._curator(folder))}
        try:
            port = self._port(folder, processes[CURATOR])
            for name in names if port else ():
                processes[name] = _start(folder, name, self._party(folder, name, files[name], port))
            self._watch(folder, processes)
        finally:
            for process in processes.values():
                _end(process)
        document = self._read(folder, processes)
        document["seconds"] = {**document["seconds"], "trial": round(time.monotonic() - started, 3)}
        return TrialOutcome(document, self._summary(document))

    def _port(self, folder: Path, curator: subprocess.Popen[bytes]) -> int:
        """Return where the curator listens, as it says on its first line; 0 if it ends before that."""
        deadline = time.monotonic() + self.timeout
        while curator.poll() is None and time.monotonic() < deadline:
            log = (folder / CURATOR / "log").read_text(encoding="utf-8", errors="replace")
            if found := re.search(r"listens at https://127\.0\.0\.1:(\d+)\n", log):
                return int(found[1])
            time.sleep(_POLL_S)
        return 0

    def _curator(self, folder: Path) -> list[str]:
        given = [
            "curator", "--schema", folder / "schema.toml", "--epsilon", self.epsilon, "--roster",
            folder / "roster.toml", "--listen", "127.0.0.1:0", *_identity(folder, CURATOR), "-o", self.output,
            "--timeout", self.timeout, "--wait", self.timeout, "--json",
        ]  # fmt: skip
        given += ["--release", self.release] if self.release is not None else []
        given += ["--report", self.report] if self.report is not None else []
        return [str(part) for part in given]

    def _party(self, folder: Path, name: str, data: Path, port: int) -> list[str]:
        given = [
            "party", data, "--schema", folder / name / "schema.toml", "--roster", folder / "roster.toml", "--curator",
            f"https://127.0.0.1:{port}", *_identity(folder, name), "--ledger", folder / name / "ledger.db",
            "--approve", "--patience", self.timeout,
        ]  # fmt: skip
        return [str(part) for part in given]

    def _watch(self, folder: Path, processes: Mapping[str, subprocess.Popen[bytes]]) -> None:
        """Wait until the curator is done, and for as long as its owners then take to hear of it."""
        parties = [process for name, process in processes.items() if name != CURATOR]
        while processes[CURATOR].poll() is None and any(party.poll() is None for party in parties):
            self.told(_last_line(folder / "owner1" / "log") or "starting")
            time.sleep(_POLL_S)
        deadline = time.monotonic() + self.timeout
        while any(p.poll() is None for p in processes.values()) and time.monotonic() < deadline:
            time.sleep(_POLL_S)

    def _read(self, folder: Path, processes: Mapping[str, subprocess.Popen[bytes]]) -> dict[str, Any]:
        said = (folder / CURATOR / "out").read_text(encoding="utf-8", errors="replace").strip()
        try:
            document: dict[str, Any] = json.loads(said)
        except ValueError:
            raise FederationError("the curator's process ended without a word") from None
        if "error" in document:
            failed = [name for name, p in processes.items() if name != CURATOR and p.returncode]
            own = "".join(f"\n  {n}: {_last_line(folder / n / 'log')}" for n in failed)
            raise FederationError(f"{document['error']['message']}{own}")
        return document

    def _summary(self, document: Mapping[str, Any]) -> str:
        from understudy.release import Release

        lines = [Release.open(document["release"]).summary(), ""]
        most = max(both["received"] + both["sent"] for both in document["bytes"].values())
        files = f"{Path(document['output']).name} and {Path(document['release']).name}"
        took = f"{len(document['owners'])} owners in {document['seconds']['trial']:.1f} s"
        lines.append(f"{took}: {document['rounds']} rounds, at most {most / 1e6:.2f} MB with one owner. Wrote {files}.")
        if self.split != "random" and self.schema.rows is not None:
            lines.append("The owners' row counts were read off the rows: a trial, not to be published.")
        if self.keep is not None:
            lines.append(f"{self.keep.name}/ holds every owner's rows and keys: it is private.")
        return "\n".join(lines)


def _identity(folder: Path, name: str) -> list[Path | str]:
    certs = folder / "certs"
    return ["--cert", certs / f"{name}.pem", "--key", certs / f"{name}.key", "--ca", certs / "ca.pem"]


def _start(folder: Path, name: str, arguments: list[str]) -> subprocess.Popen[bytes]:
    own = folder / name
    own.mkdir(mode=0o700, exist_ok=True)
    with (own / "out").open("wb") as out, (own / "log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "understudy", *arguments],
            stdin=subprocess.DEVNULL, stdout=out, stderr=log, env={**os.environ, "PYTHONUTF8": "1"},
        )  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def _last_line(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 2000))
            lines = file.read().decode("utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""
