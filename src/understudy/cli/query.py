"""`understudy query`: a number from a release. Post-processing: it costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Json
from understudy.cli.output import answer


def query(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    text: Annotated[str, typer.Argument(metavar="QUERY", help='For example "count by sex where age >= 40".')],
    confidence: Annotated[
        float | None, typer.Option("--confidence", help="Give every figure an interval: 0.95, for example.")
    ] = None,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="All intervals of the answer hold together.")
    ] = False,
    population: Annotated[
        str, typer.Option("--population", help="finite: the rows of the table; sample: what they were drawn from.")
    ] = "finite",
    json: Json = False,
) -> None:
    """Answer a question from RELEASE: count, share, rate, mean(attribute), sum, median or quantile(attribute, 0.9), by
    up to three attributes, where conditions.
    """
    from understudy.errors import UsageError
    from understudy.inference.kept_refits import refits_beside
    from understudy.release import Release

    opened = Release.open(release)
    if confidence is None:
        if simultaneous or population != "finite":
            raise UsageError("--simultaneous and --population speak of intervals: give --confidence 0.95 too")
        found = opened.query(text)
    else:
        inference = opened.inference(population, refits_beside(release, population))  # type: ignore[arg-type]
        found = opened.answer(text, inference, confidence, simultaneous)
    answer(json, found.as_json(), str(found))
