"""`understudy demo`: a built-in table, published and summarised in one go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import Json, Quiet
from understudy.cli.output import answer


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for everything.")] = Path("demo-output"),
    epsilon: Annotated[str, typer.Option("--epsilon", help="The privacy budget, for everything; default: 1.")] = "1",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish a made-up census of 50,000 people and leave the results in a folder. Starts a fresh ledger every time."""
    from understudy.cli.publication import publish_to_files
    from understudy.demo import write_demo
    from understudy.privacy.random_source import SystemSource

    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("understudy-ledger.db*"):
        old.unlink()
    table, schema = write_demo(output, SystemSource().generator())
    result = publish_to_files(
        str(table), schema, epsilon, "0", "auto", {}, output / "synthetic.csv",
        ledger=output / "understudy-ledger.db", force=True, accept_large_epsilon=True, register=False, quiet=True,
        progress=False if quiet or json else None,
    )  # fmt: skip
    answer(
        json, result.as_json(), result.made.release.summary(),
        f"\nIn {output}/: {table.name} (the made-up private table), {schema.name}, {result.files.table.name},",
        f"{result.files.release.name} and {result.ledger.name}. {sum(result.made.seconds.values()):.1f} s in all.",
    )  # fmt: skip
