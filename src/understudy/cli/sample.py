"""`understudy sample`: more rows from a release. Post-processing: it costs nothing, and a seed is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from understudy.cli.options import Json
from understudy.cli.output import answer

if TYPE_CHECKING:
    from understudy.release import Release


def sample(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help=".csv or .parquet; of several tables, a folder.")],
    rows: Annotated[int | None, typer.Option("--rows", min=0, help="Default: as many as the release has.")] = None,
    given: Annotated[list[str], typer.Option("--given", help="What rows meet: sex=Female, 'age >= 60'.")] = [],  # noqa: B006
    seed: Annotated[
        int | None,
        typer.Option("--seed", min=0, help="To draw the same rows again."),
    ] = None,
    tables: Annotated[
        int | None, typer.Option("--tables", min=2, help="So many tables for inference: OUT-01.csv and so on.")
    ] = None,
    about: Annotated[
        list[str], typer.Option("--about", help="A column of the analysis; may be repeated. With --tables.")
    ] = [],  # noqa: B006
    population: Annotated[str, typer.Option("--population", help="finite or sample. With --tables.")] = "sample",
    rows_by: Annotated[
        str, typer.Option("--rows-by", help="multinomial or systematic. With --tables.")
    ] = "multinomial",
    json: Json = False,
) -> None:
    """Draw synthetic rows from RELEASE, or several tables for one analysis."""
    from understudy.release import Release
    from understudy.release.writing import check_output

    opened = Release.open(release)
    if opened.schema.tables:
        return _linked(opened, output, rows, given, seed, tables, json)
    check_output(output)
    if tables is not None:
        return _several(opened, release, output, tables, rows, about, population, rows_by, seed, bool(given), json)
    count = opened.default_rows if rows is None else rows
    opened.write(output, count, given, seed, progress=False if json else None)
    answer(json, {"rows": count, "output": str(output)}, f"Wrote {count:,} rows to {output.name}.")


def _linked(
    opened: Release, output: Path, rows: int | None, given: list[str], seed: int | None, tables: int | None, json: bool
) -> None:
    """Write tables with foreign keys to a folder."""
    from understudy.errors import UsageError
    from understudy.release.linked_tables import output_files

    if tables is not None:
        raise UsageError("--tables draws one table several times: of tables with foreign keys, sample several folders")
    count = opened.default_rows if rows is None else rows
    opened.write(output, count, given, seed, progress=False if json else None)
    files = output_files(opened.schema)
    document = {"rows": count, "output": str(output), "outputs": [str(output / file) for file in files.values()]}
    what = f"{count:,} rows of {opened.schema.name} and all that belongs to them"
    answer(json, document, f"Wrote {what} to {output.name}: {', '.join(files.values())}.")


def _several(
    opened: Release,
    file: Path,
    output: Path,
    tables: int,
    rows: int | None,
    about: list[str],
    population: str,
    rows_by: str,
    seed: int | None,
    conditioned: bool,
    json: bool,
) -> None:
    from understudy.errors import UsageError
    from understudy.inference.kept_refits import refits_beside

    if conditioned:
        raise UsageError("--tables draws whole tables: leave --given out and filter the tables")
    opened.inference(population, refits_beside(file, population))  # type: ignore[arg-type]
    if rows_by not in ("multinomial", "systematic"):
        raise UsageError(f"--rows-by is multinomial or systematic; this is {rows_by!r:.40}")
    draws = opened.draws(
        tables, about, rows=rows, rows_by=rows_by, population=population, seed=seed,  # type: ignore[arg-type]
    )  # fmt: skip
    files = draws.write(output)
    said = f"Wrote {len(files)} tables of {draws.coded.rows:,} rows, {files[0].name} to {files[-1].name}."
    document = {"rows": draws.coded.rows, "outputs": [str(f) for f in files], "covers": draws.covers}
    answer(json, document, said, f"Their spread covers {draws.covers}.")
