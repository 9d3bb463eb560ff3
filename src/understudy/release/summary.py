"""The summary of a release: one page of text about what was modelled, and the card."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
        lines += [f"{own['table']}, each row given the rows that it belongs to"]
        for line in own["network"]:
            given = " and ".join(f"({spoken_column(parent)})" for parent in line["parents"])
            lines.append(f"  {spoken_column(line['attribute'])} ← {given}".rstrip(" ←"))
        lines.append("")
    if steps := release.facts.more.get("steps"):
        lines += [f"{release.facts.more['persons']:,} people; each further row of a person, given the row before"]
        for line in steps:
            given = " and ".join(f"({spoken(parent)})" for parent in line["parents"])
            lines.append(f"  {spoken(line['attribute'])} ← {given}".rstrip(" ←"))
        lines += [f"  {one}, this row, tied to {other}" for one, other in release.facts.more.get("ties") or []]
        lines.append("")
    if release.schema.rules:
        lines += ["Rules that every row meets", *(f"  {rule.text}" for rule in release.schema.rules), ""]
    return "\n".join([*lines, release.card.text()])
