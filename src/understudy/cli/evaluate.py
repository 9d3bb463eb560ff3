"""`understudy evaluate`: how good a synthetic table is, for the custodian's eyes, or public and bought with epsilon."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.options import ColumnTypes, Json, SchemaFile
from understudy.cli.output import answer
from understudy.errors import UsageError


def evaluate(
    original: Annotated[
        str, typer.Argument(metavar="ORIGINAL", help="The private table: CSV, TSV, Parquet or an address.")
    ],
    synthetic: Annotated[
        str, typer.Argument(metavar="SYNTHETIC", help="Its stand-in, ours or anyone's; any number of rows.")
    ],
    schema: SchemaFile,
    alpha: Annotated[
        list[int], typer.Option("--alpha", help="Attributes of a table; may be repeated. Default: 2 and 3.")
    ] = [],  # noqa: B006 - typer copies it
    classify: Annotated[
        list[str], typer.Option("--classify", help="A target: attribute, or attribute=value|value; may be repeated.")
    ] = [],  # noqa: B006
    ignore: Annotated[
        list[str], typer.Option("--ignore", help="An attribute that no classifier may use; may be repeated.")
    ] = [],  # noqa: B006
    measure: Annotated[
        list[str], typer.Option("--measure", help="Only this measure; may be repeated. Default: all that apply.")
    ] = [],  # noqa: B006
    release: Annotated[
        Path | None, typer.Option("--release", help="A release file whose network's information is measured.")
    ] = None,
    tables: Annotated[int, typer.Option("--tables", min=1, help="Compare at most so many tables, sampled.")] = 3000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of samples and splits: public.")] = 0,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Buy mean and maximum TVD and classifier errors instead.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="With --epsilon: allowed failure probability.")] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", help="With --epsilon; default: $UNDERSTUDY_LEDGER, else beside the schema."),
    ] = None,
    cap: Annotated[str | None, typer.Option("--cap", help="With --epsilon: cap of a new account, or none.")] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Also a page: FILE.custodian.html; with --epsilon a public FILE.html."),
    ] = None,
    types: ColumnTypes = None,
    json: Json = False,
) -> None:
    """Compare SYNTHETIC with ORIGINAL. Exact figures are for the custodian only; --epsilon buys public ones."""
    from understudy.release import Release
    from understudy.schema import Schema

    if (declared := Schema.open(schema)).tables:
        from understudy.evaluate.hops import refuse_other_measures

        refuse_other_measures(
            alpha=alpha, classify=classify, ignore=ignore, measure=measure, release=release, epsilon=epsilon,
            delta=delta, ledger=ledger, cap=cap, report=report,
        )  # fmt: skip
        return _hops(original, synthetic, declared, types, json)
    published = None if release is None else Release.open(release)
    if report is not None:
        _check_report(report, bought=epsilon is not None, published=published, schema=schema)
    question: dict[str, Any] = {
        "alpha": alpha or None, "classify": classify, "ignore": ignore, "measures": measure or None,
        "network": _network(published, measure), "tables": tables, "seed": seed, "types": types,
    }  # fmt: skip
    if epsilon is not None:
        from understudy.evaluate.buying import buy

        buy(
            original, synthetic, schema, epsilon=epsilon, delta=delta or 0, ledger=ledger, cap=cap,
            save=lambda figures: _give(figures, published, report, json, bought=True), **question,
        )  # fmt: skip
        return
    for option, given in (("--delta", delta), ("--ledger", ledger), ("--cap", cap)):
        if given is not None:
            raise UsageError(f"{option} goes with --epsilon: exact figures are not charged")
    from understudy.evaluate.evaluation import evaluate as run

    _give(
        run(original, synthetic, _settled(schema, published), progress=False if json else None, **question),
        published,
        report,
        json,
        bought=False,
    )


def _hops(original: str, synthetic: str, schema: Any, types: str | None, json: bool) -> None:
    """Compare two folders of tables with foreign keys."""
    from understudy.evaluate.hops import compare_tables

    found = compare_tables(original, synthetic, schema, types)
    answer(json, found.as_json(), found.text())


def _give(figures: Any, published: Any, report: Path | None, json: bool, *, bought: bool) -> None:
    """Write the page, where one is asked for, and print the figures."""
    if report is not None:
        from understudy.report import evaluation_report
        from understudy.report.file import write_report

        write_report(report, evaluation_report(figures, published))
    if report is None:
        return answer(json, figures.as_json(), figures.text())
    written = f"\nWrote {report.name}. {'It may be published.' if bought else 'It is for the custodian alone.'}"
    answer(json, figures.as_json() | {"report": str(report)}, figures.text(), written)


def _check_report(report: Path, *, bought: bool, published: Any, schema: Path) -> None:
    """Check, before anything is charged, that the page's name fits what is on it and the release fits the schema."""
    from understudy.report.file import check_custodian_file, check_public_file, check_release

    (check_public_file if bought else check_custodian_file)(report)
    if published is not None:
        check_release(published, schema)


def _settled(schema: Path, published: Any) -> Any:
    """Return the schema; the release's own where the file leaves something to be bought, which the release has."""
    from understudy.schema import Schema

    declared = Schema.open(schema)
    if published is None or not declared.undiscovered:
        return declared
    if published.schema.name != declared.name:
        raise UsageError(f"the release is of {published.schema.name!r}, and the schema is of {declared.name!r}")
    return published.schema


def _network(published: Any, measures: list[str]) -> Any:
    """Return the release's facts; refuse a release without a network where its information is asked for by name."""
    if published is None or (published.facts.network is None and "information" not in measures):
        return None
    return published.facts
