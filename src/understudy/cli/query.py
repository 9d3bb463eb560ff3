"""`understudy query`: a number from a release. Post-processing: it costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Json
from understudy.cli.output import say, say_json


def query(
    release: Annotated[Path, typer.Argument(help="A release file.")],
    text: Annotated[str, typer.Argument(metavar="QUERY", help='For example "count by sex where age >= 40".')],
    json: Json = False,
) -> None:
    """Answer a question from RELEASE: count, share or mean(attribute), by up to three attributes, where conditions."""
    from understudy.release import Release

    answer = Release.open(release).query(text)
    if json:
        say_json(answer.as_json())
        return
    say(str(answer))
