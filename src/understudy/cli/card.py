"""`understudy card`: a release's privacy card in the forms that others read. Reads no row and costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from understudy.cli.output import say, say_json

FORMATS = ("text", "json", "registry", "croissant", "lawyer")


def card(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")],
    format: Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS)}.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Default: standard output.")] = None,
    curator: Annotated[str | None, typer.Option("--curator", help="Who publishes.")] = None,
    curator_type: Annotated[
        str | None, typer.Option("--curator-type", help="Registry: Government, Industry or Nonprofit.")
    ] = None,
    intended_use: Annotated[str | None, typer.Option("--intended-use", help="Registry: what it is for.")] = None,
    region: Annotated[
        str | None, typer.Option("--region", help="Registry: whom the data describe, or whose law.")
    ] = None,
    sector: Annotated[str | None, typer.Option("--sector", help="Registry: Healthcare, Government, ...")] = None,
    author: Annotated[str | None, typer.Option("--author", help="Registry: who fills in this entry.")] = None,
    date: Annotated[str | None, typer.Option("--date", help="Of publication: YYYY-MM-DD.")] = None,
    license: Annotated[str | None, typer.Option("--license", help="Croissant: an address or a name.")] = None,
    url: Annotated[str | None, typer.Option("--url", help="Croissant: where it is published.")] = None,
    data: Annotated[Path | None, typer.Option("--data", help="Croissant: a CSV of synthetic rows beside it.")] = None,
) -> None:
    """Print RELEASE's card as text, JSON, an entry for OpenDP's registry, Croissant metadata, or a page for lawyers."""
    from understudy.errors import UsageError, did_you_mean
    from understudy.release import Release

    if format not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}. {did_you_mean(format, list(FORMATS))}")
    opened = Release.open(release)
    if format == "registry":
        given = {"curator": curator, "curator-type": curator_type, "intended-use": intended_use, "region": region,
                 "date": date, "author": author}  # fmt: skip
        text = _registry(opened, _complete(given, format), sector)
    elif format == "croissant":
        needed = _complete({"license": license, "curator": curator, "url": url, "date": date}, format)
        text = _croissant(opened, release, needed, data)
    elif format == "lawyer":
        from understudy.release.lawyers_page import lawyers_page

        text = lawyers_page(opened)
    elif format == "json":
        if output is None:
            return say_json({"release": opened.hash, "card": opened.card.as_json()})
        text = _as_json({"release": opened.hash, "card": opened.card.as_json()})
    else:
        text = opened.card.text() + "\n"
    _write(text, output, release)


def _complete(given: dict[str, str | None], format: str) -> dict[str, str]:
    """Return what only the publisher knows; refuse to make any of it up."""
    from understudy.errors import UsageError

    date = given.get("date")
    if missing := [f"--{name}" for name, value in given.items() if not value]:
        raise UsageError(f"--format {format} also needs {', '.join(missing)}: a release does not say")
    import datetime

    try:
        datetime.date.fromisoformat(date or "")
    except ValueError:
        raise UsageError("--date is a day, written YYYY-MM-DD") from None
    return {name: value for name, value in given.items() if value}


def _registry(opened: Any, given: dict[str, str], sector: str | None) -> str:
    from understudy.errors import UsageError
    from understudy.release.registry_entry import CURATOR_TYPES, SECTORS, Publisher, registry_entry, yaml_text

    if given["curator-type"] not in CURATOR_TYPES:
        raise UsageError(f"--curator-type is one of {', '.join(CURATOR_TYPES)}")
    if sector is not None and sector not in SECTORS:
        raise UsageError(f"--sector is one of {', '.join(SECTORS)}")
    publisher = Publisher(
        given["curator"], given["curator-type"], given["intended-use"], given["region"], given["date"],
        given["author"], sector,
    )  # fmt: skip
    return yaml_text(registry_entry(opened, publisher))


def _croissant(opened: Any, path: Path, given: dict[str, str], data: Path | None) -> str:
    from understudy.release.croissant_metadata import croissant

    made = croissant(
        opened,
        path,
        license=given["license"],
        creator=given["curator"],
        url=given["url"],
        date=given["date"],
        data=data,
    )
    return _as_json(made)


def _as_json(document: dict[str, Any]) -> str:
    import json

    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _write(text: str, output: Path | None, release: Path) -> None:
    if output is None:
        say(text.rstrip("\n"), as_it_is=True)
        return
    from understudy.errors import UsageError
    from understudy.release.replacement import replacing

    if output.resolve() == release.resolve():
        raise UsageError("this would take the place of the release: choose another name")
    with replacing(output) as file:
        file.write(text.encode("utf-8"))
    say(f"Wrote {output.name}.")
