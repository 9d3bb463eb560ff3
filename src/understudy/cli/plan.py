"""`understudy plan`: what would be spent and what error to expect. Reads no row."""

from __future__ import annotations

from typing import Annotated

import typer

from understudy.cli.options import Delta, EngineName, Json, MethodName, SchemaFile, Settings, settings
from understudy.cli.output import say, say_json


def plan(
    schema: SchemaFile,
    epsilon: Annotated[list[str], typer.Option("--epsilon", help="May be repeated, to compare.")],
    delta: Delta = "0",
    method: MethodName = "auto",
    rows: Annotated[int | None, typer.Option("--rows", min=1, help="A guess, where the row count is private.")] = None,
    set: Settings = [],  # noqa: B006 - the name of the option; typer copies it
    engine: EngineName = None,
    json: Json = False,
) -> None:
    """Say what a publication would spend and how good it would be, from public facts alone."""
    from understudy.publishing import plan as make_plan

    plans = [make_plan(schema, epsilon=e, delta=delta, method=method, rows=rows, **settings(set)) for e in epsilon]
    if json:
        say_json({"plans": [p.as_json() for p in plans]})
        return
    say("\n\n".join(p.text() + (f"\n  {_passes(p.scans, engine)}" if engine else "") for p in plans))


def _passes(scans: int, engine: str) -> str:
    from understudy.errors import UsageError, did_you_mean
    from understudy.publishing import ENGINES

    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}. {did_you_mean(engine, list(ENGINES))}")
    if engine in ("memory", "mapped"):
        return f"engine {engine}: one pass over the data"
    return f"engine {engine}: at most {scans} passes over the rows, the first of them to code and check"
