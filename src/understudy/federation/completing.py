"""A schema that owners buy together: what travels of it, and how each side reads what the other one wrote.

The roster has the hash of the declared schema. What is bought of it is worked out by the curator from sums and lists
that are in its journal, and is told to the owners with every question. An owner believes nothing of it: any public
coding of its rows is as good as any other to the proof, as long as every cell has a code whatever it holds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from understudy.errors import FederationError, UsageError
from understudy.federation.roster import Roster
from understudy.federation.secure_sum import LARGEST_SUM
from understudy.methods.discovered_attributes import completed_schema
from understudy.methods.discovery import Among, Discovery
from understudy.methods.discovery_probes import left_open
from understudy.privacy.noise import Gaussian
from understudy.privacy.question_json import is_text
from understudy.privacy.questions import ValueList, ValueLists
from understudy.privacy.questions.value_lists import MAX_LISTED, Grouping, listable
from understudy.schema import Schema
from understudy.schema.scales import DISCOVERABLE_KINDS, FLAG_KINDS, LISTED_KINDS, UNREAD_KINDS
from understudy.schema.undiscovered import asks_for

Found = Mapping[str, Mapping[str, Any]]  # attribute -> its body, as a schema file has it
MAX_CODES: Final = 1_000_000  # of all attributes that were completed
_SHARED: Final = ("kind", "missing", "other", "provenance", "confirm")
_KEYS: Final = frozenset((*_SHARED, "range", "values", "format", "step", "decimals", "bins", "true", "false"))
_KINDS: Final = frozenset((*DISCOVERABLE_KINDS, *FLAG_KINDS, *LISTED_KINDS, *UNREAD_KINDS))
_PER_VALUE: Final = 12 * 200 + 32  # bytes of a listed text and its count, in JSON
_FIXED: Final = 4096


def discovery_of(schema: Schema, roster: Roster) -> Discovery | None:
    """Return what the owners of a roster buy together before the method begins; None where all is declared."""
    if not schema.undiscovered:
        return None
    rows = tuple(owner.rows for owner in roster.owners if owner.rows is not None)
    return Discovery.of(schema, roster.budget, Among(len(roster.owners), roster.honest, rows))


def losses(schema: Schema, roster: Roster) -> tuple[str, ...]:
    """Return what to say of a roster whose owners buy a part of their schema: what is seen, and what is lost."""
    bought = discovery_of(schema, roster)
    return () if bought is None else bought.notes()


def completed_by(declared: Schema, found: Any) -> Schema:
    """Return the schema that a curator completed; refuse one in which a cell, whatever it holds, might have no code.

    Everything that was declared is as it was: only attributes that were left open have a body here, and all of them.
    """
    names = {a.name for a in declared.undiscovered}
    if type(found) is not dict or not names or found.keys() != names:
        raise FederationError("the attributes that were bought are not those that the schema leaves open")
    for name, body in found.items():
        if type(body) is not dict or not _KEYS.issuperset(body) or body.get("kind") not in _KINDS or asks_for(body):
            raise FederationError(f"what was bought of {name!r} is none of what can be bought")
    for attribute in declared.undiscovered:
        kind, stated = found[attribute.name]["kind"], left_open(attribute).declared_kind
        if stated is not None and kind not in (stated, *UNREAD_KINDS):
            raise FederationError(f"what was bought of {attribute.name!r} is of another kind than was declared")
    schema = completed_schema(declared, found)
    total = 0
    for attribute in (schema[name] for name in found):
        if attribute.modelled and attribute.other is None:
            raise FederationError(f"what was bought of {attribute.name!r} leaves cells without a code")
        total += attribute.size
    if total > MAX_CODES:
        raise FederationError(f"what was bought has more than {MAX_CODES:,} values")
    return schema


def listed_columns(declared: Schema) -> frozenset[str]:
    """Return the columns of which a curator may ask for value lists."""
    return frozenset(a.column for a in declared.undiscovered if left_open(a).what in ("values", "kind"))


# -- value lists -----------------------------------------------------------------------------------------------------


def lists_limit(columns: int) -> int:
    """Return the most bytes of an owner's value lists of so many columns."""
    return _FIXED + columns * (MAX_LISTED + 2) * _PER_VALUE


def lists_as_json(lists: Sequence[ValueList]) -> list[Any]:
    """Return an owner's lists as they travel."""
    return [[list(found.values), found.counts.tolist()] for found in lists]


def lists_from_json(data: Any, question: ValueLists, noise: Gaussian) -> list[ValueList]:
    """Return one owner's lists, read strictly: whoever sends something odd counts as one that did not answer."""
    if type(data) is not list or len(data) != len(question.groupings):
        raise FederationError("value lists of other columns than were asked for")
    return [_list_of(part, grouping, noise) for part, grouping in zip(data, question.groupings)]


def _list_of(data: Any, grouping: Grouping, noise: Gaussian) -> ValueList:
    if type(data) is not list or len(data) != 2 or not all(type(part) is list for part in data):
        raise FederationError("a value list cannot be read")
    values, counts = data
    if not all(type(text) is str and listable(text) and is_text(text) for text in values) or len(values) > MAX_LISTED:
        raise FederationError("a value list holds something that is no value")
    if len(set(values)) != len(values) or {*grouping.missing, *grouping.unlisted} & {*values}:
        raise FederationError("a value list holds a text twice, or one that is never a value")
    if len(counts) != len(values) + 1 + grouping.counts_missing:
        raise FederationError("a value list does not have a count for each of its values")
    if not all(type(count) is int and abs(count) < LARGEST_SUM for count in counts):
        raise FederationError("a value list has a count that no table has")
    return ValueList(grouping.column, tuple(values), np.asarray(counts, dtype=np.int64), noise)


def united(parts: Sequence[Sequence[ValueList]], everyone: bool) -> list[ValueList]:
    """Return the union of the owners' lists, column by column: the values with the largest sums of noisy counts.

    The sums are a one-way table where all owners listed the same values, and everyone answered. Elsewhere a value that
    one owner lists is a part of another one's rest, and the sums only say which values are the largest.
    """
    if not parts:
        raise UsageError("there are no lists to unite")
    return [_united(column, everyone) for column in zip(*parts)]


def _united(lists: Sequence[ValueList], everyone: bool) -> ValueList:
    sums: Counter[str] = Counter()
    for found in lists:
        sums.update(dict(zip(found.values, found.counts.tolist())))
    largest = sorted(sums, key=lambda text: (-sums[text], text.encode()))[:MAX_LISTED]
    values = tuple(sorted(largest, key=str.encode))
    tails = np.sum([found.counts[len(found.values) :] for found in lists], axis=0, dtype=np.int64)
    counts = np.append(np.asarray([sums[text] for text in values], dtype=np.int64), tails)
    noise = Gaussian(lists[0].noise.scale * len(lists) ** 0.5)
    same = everyone and all(set(found.values) == set(values) for found in lists)
    return ValueList(lists[0].column, values, counts, noise, is_table=same)
