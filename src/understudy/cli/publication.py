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
from understudy.privacy.run_ledger import default_ledger
from understudy.publishing import Publication, ReleaseTarget, progress_bar, refuse_large_epsilon, run
from understudy.release import Release
from understudy.release.linked_tables import check_folder
from understudy.release.writing import check_output
from understudy.schema import Schema


@dataclass(frozen=True)
class OutputFiles:
    """Where a publication goes: a table of `rows` rows (None: as many as there are), a release, perhaps a report."""

    table: Path
    release: Path
    report: Path | None
    rows: int | None

    def save(self, release: Release) -> None:
        """Write all of them; the report from the release file itself, as `understudy report` would."""
        release.save(self.release)
        release.write(self.table, self.row_count(release))
        if self.report is not None:
            from understudy.report import public_report
            from understudy.report.file import write_report

            write_report(self.report, public_report(Release.open(self.release)))

    def row_count(self, release: Release) -> int:
        """Return how many rows are written."""
        return release.default_rows if self.rows is None else self.rows

    @property
    def names(self) -> str:
        """Return the files' names, for a sentence."""
        *first, last = (path.name for path in (self.table, self.release, self.report) if path is not None)
        return f"{', '.join(first)} and {last}"

    def as_json(
        self, release: Release, seconds: dict[str, float], charges: list[dict[str, Any]], resumed: bool, **more: Any
    ) -> dict[str, Any]:
        """Return what `--json` says of a publication."""
        card = release.card
        return {
            "method": card.method,
            "epsilon": card.epsilon,
            "delta": card.delta,
            "neighbours": card.neighbours,
            "rows": self.row_count(release),
            "seconds": seconds,
            "charges": charges,
            "options": card.options,
            "warnings": list(card.warnings),
            "resumed": resumed,
            "output": str(self.table),
            "release": str(self.release),
            **more,
        } | ({} if self.report is None else {"report": str(self.report)})


@dataclass(frozen=True)
class Published:
    """What the run left behind."""

    made: Publication
    files: OutputFiles
    ledger: Path

    def as_json(self) -> dict[str, Any]:
        """Return what `publish --json` prints."""
        made = self.made
        return self.files.as_json(
            made.release, made.seconds, [charge.shown() for charge in made.charges], made.resumed,
            notes=[*made.warned, *made.notes], ledger=str(self.ledger),
        )  # fmt: skip


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
    inputs = {"the data": Path(data), "the schema": schema_path} | ({} if prior is None else {"the prior": prior})
    files = output_files(inputs, output, release_path, report, rows)
    with progress_bar(progress, budget) as bar, telling(bar.compiling):
        made = run(
            data, schema, budget, method, options, ledger=ledger, cap=cap, progress=bar,
            target=ReleaseTarget(files.release, files.save, force), engine=engine, master=master, types=types,
            resume=resume, register=register, prior=prior, quiet=quiet,
        )  # fmt: skip
    return Published(made, files, ledger or default_ledger(schema))


def output_files(
    inputs: Mapping[str, Path], output: Path, release: Path | None, report: Path | None, rows: int | None
) -> OutputFiles:
    """Check, before anything is spent, that the outputs have somewhere to go and none replaces another file."""
    release = release or release_beside(output)
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
    return OutputFiles(output, release, report, rows)


def release_beside(output: Path) -> Path:
    """Return the release's name beside an output: people.csv.gz becomes people.release.zip."""
    name = output.name
    for suffix in (".gz", ".csv", ".tsv", ".parquet"):
        name = name.removesuffix(suffix)
    return output.with_name(f"{name}.release.zip")
