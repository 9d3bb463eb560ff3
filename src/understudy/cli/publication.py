"""Publishing to files, as `publish` and `demo` do it: outputs are safe on disk before the ledger closes the run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.compiled import telling
from understudy.errors import UsageError
from understudy.privacy.budget import Budget
from understudy.privacy.entries import ChargeEntry
from understudy.privacy.run_ledger import default_ledger
from understudy.publishing import ReleaseTarget, progress_bar, refuse_large_epsilon, run
from understudy.release import Release
from understudy.release.linked_tables import check_folder
from understudy.release.writing import check_output
from understudy.schema import Schema


@dataclass(frozen=True)
class Published:
    """What the run left behind."""

    release: Release
    seconds: dict[str, float]
    charges: list[ChargeEntry]
    resumed: bool
    rows: int
    output: Path
    release_path: Path
    ledger_path: Path
    report_path: Path | None = None
    notes: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        card = self.release.card
        return {
            "method": card.method,
            "epsilon": card.epsilon,
            "delta": card.delta,
            "neighbours": card.neighbours,
            "rows": self.rows,
            "seconds": self.seconds,
            "charges": [charge.shown() for charge in self.charges],
            "options": card.options,
            "warnings": list(card.warnings),
            "resumed": self.resumed,
            "notes": [*self.warned, *self.notes],
            "output": str(self.output),
            "release": str(self.release_path),
            "ledger": str(self.ledger_path),
        } | ({} if self.report_path is None else {"report": str(self.report_path)})


def publish_to_files(
    data: str,
    schema_path: Path,
    epsilon: str,
    delta: str,
    method: str,
    options: Mapping[str, Any],
    output: Path,
    *,
    release_path: Path | None = None,
    rows: int | None = None,
    ledger: Path | None = None,
    cap: str | None = None,
    report: Path | None = None,
    engine: str | None = None,
    master: str | None = None,
    force: bool = False,
    resume: bool = False,
    accept_large_epsilon: bool = False,
    register: bool = True,
    types: str | None = None,
    prior: Path | None = None,
    quiet: bool = False,
    progress: bool | None,
) -> Published:
    """Publish to a release file, a table and, if asked for, a report; all are on disk before the run is closed."""
    schema = Schema.open(schema_path)
    budget = Budget(epsilon, delta)
    refuse_large_epsilon(budget, accept_large_epsilon, "--accept-large-epsilon")
    if schema.tables:
        check_folder(output, schema)
    else:
        check_output(output)
    for name, pattern in schema.id_patterns.items():
        pattern.check((rows or 0) if schema.person is None else 0, name)
    target = release_path or release_beside(output)
    inputs = {"the data": Path(data), "the schema": schema_path} | ({} if prior is None else {"the prior": prior})
    check_targets(inputs, output, target, report)
    count = [0]

    def save(release: Release) -> None:
        count[0] = release.default_rows if rows is None else rows
        release.save(target)
        release.write(output, count[0])
        if report is not None:
            write_report_of(report, target)

    with progress_bar(progress, budget) as bar, telling(bar.compiling):
        publication = run(
            data, schema, budget, method, options, ledger=ledger, cap=cap, progress=bar,
            target=ReleaseTarget(target, save, force), engine=engine, master=master, resume=resume, register=register,
            types=types, prior=prior, quiet=quiet,
        )  # fmt: skip
    return Published(
        publication.release, publication.seconds, publication.charges, publication.resumed, count[0], output, target,
        ledger or default_ledger(schema), report, publication.notes, publication.warned,
    )  # fmt: skip


def write_report_of(report: Path, release: Path) -> None:
    """Write the report from the release file itself, so that `understudy report` would write the same bytes."""
    from understudy.report import public_report
    from understudy.report.file import write_report

    write_report(report, public_report(Release.open(release)))


def check_targets(inputs: Mapping[str, Path], output: Path, release: Path, report: Path | None) -> None:
    """Check, before anything is spent, that the outputs have somewhere to go and none replaces another file."""
    folder = release.absolute().parent
    if release.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"the release file cannot be written to {str(release)!r}: choose another with --release")
    outputs = {"the output": output, "the release file": release}
    if report is not None:
        from understudy.report.file import check_public_file

        check_public_file(report)
        outputs["the report"] = report
    files = {**inputs, **outputs}
    for what, path in outputs.items():
        for other, taken in files.items():
            if what != other and path.resolve() == taken.resolve():
                raise UsageError(f"{what} would take the place of {other}, {taken.name!r}: choose another name")


def release_beside(output: Path) -> Path:
    """Return the release's name beside an output: people.csv.gz becomes people.release.zip."""
    name = output.name
    for suffix in (".gz", ".csv", ".tsv", ".parquet"):
        name = name.removesuffix(suffix)
    return output.with_name(f"{name}.release.zip")
