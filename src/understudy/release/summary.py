"""The summary of a release: one page of text about what was modelled, and the card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from understudy.relations.panel import spoken
from understudy.relations.table_tree import spoken_column

if TYPE_CHECKING:
    from understudy.release.release import Release


def summary_of(release: Release) -> str:
    """Return one page of text: what was published, the network, and the card."""
    schema = release.schema
    modelled = len(schema.modelled) + sum(len(child.schema.modelled) for child in schema.tables)
    where = f" in {len(schema.tables) + 1} tables" if schema.tables else ""
    lines = [f"{schema.name}: {release.rows:,} rows, {modelled} attributes modelled{where}", ""]
    if network := release.facts.network:
        width = max(len(line.attribute) for line in network)
        lines += ["Network"] + [
            f"  {line.attribute:<{width}}  {'← ' + ', '.join(line.parents) if line.parents else ''}".rstrip()
            for line in network
        ]
        lines.append("")
    if tables := list(dict.fromkeys(" × ".join(names) for names in release.facts.tables or ())):
        more = [f"  and {len(tables) - 20} more"] if len(tables) > 20 else []
        lines += ["Measured together, in this order", *(f"  {table}" for table in tables[:20]), *more, ""]
    for own in release.facts.more.get("linked") or []:
        title = f"{own['table']}, each row given the rows that it belongs to"
        lines += [title, *_given(own["network"], spoken_column), ""]
    if steps := release.facts.more.get("steps"):
        title = f"{release.facts.more['persons']:,} people; each further row of a person, given the row before"
        ties = [f"  {one}, this row, tied to {other}" for one, other in release.facts.more.get("ties") or []]
        lines += [title, *_given(steps, spoken), *ties, ""]
    if schema.rules:
        lines += ["Rules that every row meets", *(f"  {rule.text}" for rule in schema.rules), ""]
    return "\n".join([*lines, release.card.text()])


def _given(network: list[dict[str, Any]], spoken: Callable[[str], str]) -> Iterator[str]:
    """Yield a line for each attribute of a network with its parents, as names are spoken."""
    for line in network:
        parents = " and ".join(f"({spoken(parent)})" for parent in line["parents"])
        yield f"  {spoken(line['attribute'])} ← {parents}".rstrip(" ←")
