"""The command reference, written from the command line itself: `python docs/command_reference.py` makes it again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from understudy.cli import app

PAGE = Path(__file__).with_name("reference") / "commands.md"
HEAD = """# Commands

Written from the program itself; `understudy VERB --help` says the same. Every verb has `--help`; those with `--json`
print one JSON object and nothing else. Exit codes: 0 done, 1 failed, 2 usage, 3 refused by the budget, 4 the data does
not fit the schema ([pipelines](../guide/pipelines.md)).
"""


def reference() -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *(section(path, command) for path, command in verbs(get_command(app), ("understudy",)))])


def verbs(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every verb with its words, in the order of the program."""
    for name, inner in getattr(command, "commands", {}).items():
        if getattr(inner, "commands", None):
            yield from verbs(inner, (*path, name))
        else:
            yield (*path, name), inner


def section(path: tuple[str, ...], command: Any) -> str:
    """Return the section of one verb: its line, what it does, its arguments and options."""
    given = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and "--help" not in p.opts]
    words = " ".join([*path, *map(place, given)])
    text = [f"## {' '.join(path[1:])}", "", f"```text\n{words} [OPTIONS]\n```", "", told(command.help), ""]
    lines = [f"| `{place(p)}` | {told(getattr(p, 'help', ''))} |" for p in given]
    lines += [f"| {names(p)} | {told(p.help)}{required(p)} |" for p in options]
    return "\n".join([*text, *(["| | |", "|---|---|", *lines, ""] if lines else [])])


def names(option: Any) -> str:
    """Return an option's names as code."""
    return ", ".join(f"`{name}`" for name in sorted(option.opts, key=len))


def place(argument: Any) -> str:
    """Return the word that stands for an argument."""
    return str(argument.metavar or argument.name).upper()


def required(option: Any) -> str:
    return " *Needed.*" if option.required else ""


def told(text: str | None) -> str:
    """Return a help text on one line, safe in a table."""
    line = re.sub(r"\s+", " ", text or "").strip().replace("|", "\\|").replace("<", "&lt;")
    parts = line.split("`")  # options in plain words become code: else the site would make a dash of their hyphens
    parts[::2] = [re.sub(r"(?<![\w-])--?[a-z][\w-]*", r"`\g<0>`", part) for part in parts[::2]]
    return "`".join(parts)


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(reference(), encoding="utf-8", newline="\n")
