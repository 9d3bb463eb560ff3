"""Writing a roster from certificates, a schema and the owners' public row counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from understudy.errors import UsageError
from understudy.federation.certificates import certificate_facts
from understudy.federation.curator import agreed_plan
from understudy.federation.roster import Curator, Owner, Roster, schema_hash
from understudy.privacy.budget import Amount, Budget
from understudy.schema import Schema
from understudy.schema.open_points import check_confirmed


def write_roster(
    path: Path,
    schema: Schema,
    name: str,
    certificates: Path,
    curator: str,
    rows: Mapping[str, int | None],
    epsilon: Amount,
    delta: Amount,
    colluding: int,
    dropping: int,
    method: str,
    options: Mapping[str, str],
) -> Roster:
    """Write the roster, checked against the schema and the method before anyone is asked to agree to it."""
    check_confirmed(schema)
    counted = all(count is not None for count in rows.values())
    if counted != (schema.neighbours == "replace-one"):
        raise UsageError(
            f"under {schema.neighbours} neighbours the owners' row counts are "
            + ("public: write NAME=ROWS" if schema.neighbours == "replace-one" else "private: write NAME alone")
        )
    if schema.person is not None:
        raise UsageError(
            "several owners cannot publish people with many rows ([person]): a person's rows may be at several of "
            "them, and nobody sees them together to put them in order. Leave [person] out and declare "
            "rows_per_person, or let each owner publish by itself: who is at two of them has the sum of both epsilons"
        )
    if schema.tables:
        raise UsageError(
            "several owners cannot publish tables with foreign keys: rows that belong together may be at several of "
            "them, and nobody sees them together to join them. Let each owner publish by itself, or leave [tables] out"
        )
    whole = replace(schema, rows=sum(n for n in rows.values() if n is not None) if counted else None, text=None)
    roster = Roster(
        owners=tuple(Owner(n, count, *certificate_facts(certificates / f"{n}.pem")) for n, count in rows.items()),
        schema_hash=schema_hash(schema),
        budget=Budget(epsilon, delta),
        method=method,
        options=tuple(sorted((key, str(value)) for key, value in options.items())),
        colluding=colluding,
        dropping=dropping,
        curator=Curator(curator, *certificate_facts(certificates / f"{curator}.pem")),
        name=name,
    )
    roster = replace(roster, method=agreed_plan(whole, roster).name)
    roster.save(path)
    return roster
