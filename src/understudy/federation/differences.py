"""What two rosters differ in, by name: for the people who have to find out which file is the right one."""

from __future__ import annotations

from typing import Any

from understudy.federation.wire import shown

_WORDS = {"colluding": "t (colluding)", "dropping": "u (dropping)", "schema": "the schema's hash"}


def differences(ours: dict[str, Any], theirs: Any, we: str, they: str) -> list[str]:
    """Return one phrase for each difference; empty when they are the same."""
    if not isinstance(theirs, dict):
        return ["the roster, which was not sent"]
    found = [
        f"{_WORDS.get(key, key)} ({_short(ours.get(key))} at {we}, {_short(theirs.get(key))} at {they})"
        for key in ours
        if key not in ("owners", "curator") and ours[key] != theirs.get(key)
    ]
    found += _parties([ours["curator"]], [theirs.get("curator")], "the curator")
    their_owners = theirs.get("owners")
    found += _parties(ours["owners"], their_owners if isinstance(their_owners, list) else [], "the owners")
    return found or ([] if ours == theirs else ["keys this version does not know"])


def _parties(ours: list[dict[str, Any]], theirs: list[Any], what: str) -> list[str]:
    if len(ours) != len(theirs) or any(
        not isinstance(t, dict) or o["name"] != t.get("name") for o, t in zip(ours, theirs)
    ):
        return [f"who {what} {'is' if what == 'the curator' else 'are'}"]
    keys = [
        (o["name"], key) for o, t in zip(ours, theirs) for key in sorted({*o, *t}, key=str) if o.get(key) != t.get(key)
    ]
    return [f"{shown(key, 40)} of {name}" for name, key in keys]


def _short(value: Any) -> str:
    texts = isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    text = shown(" ".join(f"{key}={value[key]}" for key in value) or "none" if texts else value)
    return text if len(text) <= 24 else text[:16] + "…"
