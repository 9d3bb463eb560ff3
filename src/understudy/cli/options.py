"""Options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.errors import UsageError

SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema.toml: all that is public about the table.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress line.")]
MethodName = Annotated[str, typer.Option("--method", help="auto, or a method's name.")]
Settings = Annotated[list[str], typer.Option("--set", help="An option of the method, as key=value; may be repeated.")]
Delta = Annotated[str, typer.Option("--delta", help="Allowed failure probability; 0 is the pure promise.")]
EngineName = Annotated[
    str | None, typer.Option("--engine", help="Where rows are counted; default: by the kind of DATA.")
]
LedgerFile = Annotated[
    Path | None, typer.Option("--ledger", help="Default: $UNDERSTUDY_LEDGER, else beside the schema.")
]
Master = Annotated[str | None, typer.Option("--master", help="With --engine spark: the cluster, spark://host:7077.")]
ColumnTypes = Annotated[
    str | None,
    typer.Option("--types", help="Of a Parquet file's columns: declared, or inferred from the rows (the default)."),
]
PriorFile = Annotated[
    Path | None, typer.Option("--prior", help="What is known before: an earlier release (.zip), or a public table.")
]
RosterFile = Annotated[Path, typer.Option("--roster", help="The roster.toml that every owner and the curator hold.")]
Certificate = Annotated[Path, typer.Option("--cert", help="One's own certificate (PEM), as in the roster.")]
Key = Annotated[Path, typer.Option("--key", help="Its private key (PEM).")]
Authority = Annotated[Path, typer.Option("--ca", help="The certificate of the authority that all trust (PEM).")]


def settings(pairs: list[str], option: str = "--set", form: str = "key=value") -> dict[str, str]:
    """Return `key=value` pairs as a table; an error speaks of the option they were given to."""
    out = {}
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key:
            raise UsageError(f"{option} takes {form}, not {pair!r}")
        out[key.strip()] = value.strip()
    return out
