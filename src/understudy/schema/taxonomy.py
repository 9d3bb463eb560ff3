"""A taxonomy: ever coarser groupings of a domain's values (Zhang et al. 2017, hierarchical encoding).

Level 0 is the domain itself; level i cuts the tree i steps above its deepest leaves. Each level nests in the next.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SchemaError
from understudy.schema.domain import Domain
from understudy.schema.intervals import Intervals


@dataclass(frozen=True)
class Level:
    """One grouping: the group's labels, and the group of each base code."""

    labels: tuple[str, ...]
    group: tuple[int, ...]


@dataclass(frozen=True)
class Taxonomy:
    """Groups of an attribute's values, and groups of groups: the levels above the domain, finest first.

    In a schema.toml it is a table `[attributes.NAME.taxonomy]`; numbers and dates get one from their order. The root,
    everything in one group, is left out.

    Args:
        levels: groupings of the values, finest first: the labels of the groups, and the group of each code.
        tree: the groups as the schema file has them; None where they follow from the order.

    >>> from understudy.schema import Categories
    >>> towns = Categories(("Aby", "Bly", "Cray"))
    >>> understudy.Taxonomy.of_groups({"North": ["Aby", "Bly"], "South": ["Cray"]}, towns).levels[0].labels
    ('North', 'South')
    """

    levels: Sequence[Level]
    tree: Any = None  # the groups, or the prefixes, as written in the schema file; None when they follow from the order

    @staticmethod
    def of_groups(tree: Mapping[str, Any], domain: Domain) -> Taxonomy:
        """Build a taxonomy of nested groups: a list of values or a table of groups.

        Other values stand for themselves.
        """
        code = {value: i for i, value in enumerate(domain.texts)}
        paths: dict[int, tuple[str, ...]] = {}
        for path, value in _leaves(tree, ()):
            if value not in code:
                raise SchemaError(f"the taxonomy names {value!r}, which is not in `values`")
            if code[value] in paths:
                raise SchemaError(f"the taxonomy names {value!r} twice")
            paths[code[value]] = (*path, value)
        for value, i in code.items():
            if i not in paths and value in tree:
                raise SchemaError(f"{value!r} is a group of the taxonomy and a value outside it; rename one of them")
            paths.setdefault(i, (value,))
        height = max(len(path) for path in paths.values())
        levels = [_cut([paths[i] for i in range(domain.size)], depth) for depth in range(height - 1, 0, -1)]
        return Taxonomy(_useful(levels, domain.size), tree)

    @staticmethod
    def of_prefixes(text: str, domain: Domain) -> Taxonomy:
        """Build a taxonomy from "prefix:1,3": values that begin alike are a group, by three characters, then by one."""
        found = re.fullmatch(r"prefix:\s*([1-9][0-9]{0,2}(\s*,\s*[1-9][0-9]{0,2})*)", text)
        if found is None:
            raise SchemaError('`taxonomy` by prefix is written "prefix:1,3": how many first characters make a group')
        lengths = sorted({int(length) for length in found[1].split(",")}, reverse=True)
        levels = _useful([_prefix_level(length, domain) for length in lengths], domain.size)
        if not levels:
            raise SchemaError("no group of the `taxonomy` holds some but not all values: choose other lengths")
        return Taxonomy(levels, text)

    @property
    def explained(self) -> str | None:
        """Return what the groups by prefix came to, in words; None for groups that the schema lists."""
        if not isinstance(self.tree, str):
            return None
        shown = [f"{len(level.labels):,} groups ({_shown(level.labels)})" for level in self.levels]
        return f"{len(self.levels[0].group):,} values in {', then '.join(shown)}"

    @staticmethod
    def of_order(domain: Intervals) -> Taxonomy:
        """Build a binary tree over the bins, as in the paper; a declared point stands for itself."""
        return Taxonomy(OrderLevels(domain))


class LazyLevels(Sequence[Level], ABC):
    """Levels that are laid out when they are looked at, since few of them ever are."""

    @overload
    def __getitem__(self, index: int) -> Level: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Level, ...]: ...

    def __getitem__(self, index: int | slice) -> Level | tuple[Level, ...]:
        places = range(len(self))[index]
        return self._level(places) if isinstance(places, int) else tuple(map(self._level, places))

    @abstractmethod
    def _level(self, place: int) -> Level:
        """Return the level at this place, the finest first."""


@dataclass(frozen=True)
class OrderLevels(LazyLevels):
    """The levels of a binary tree over bins: each joins neighbours of the one below; there may be 65,535."""

    domain: Intervals

    def __len__(self) -> int:
        return max(0, (self.domain.bins - 1).bit_length() - 1)  # groups of 2, 4, … bins, until one has them all

    def _level(self, place: int) -> Level:
        if place not in self._made:
            self._made[place] = _joined(self.domain, 2 << place)
        return self._made[place]

    @cached_property
    def _made(self) -> dict[int, Level]:
        return {}


def _joined(domain: Intervals, width: int) -> Level:
    """Return the level at which so many neighbouring bins are one group."""
    labels, codes = domain.labels, domain.bin_codes
    group = np.arange(domain.size) + domain.bins  # a point is a group of its own
    group[codes] = np.arange(domain.bins) // width
    first = np.arange(0, domain.bins, width)
    last = np.minimum(first + width, domain.bins) - 1
    names = dict(enumerate(_span(labels[a], labels[b]) for a, b in zip(codes[first], codes[last])))
    return _numbered(group, names, domain)


def _numbered(group: NDArray[np.int64], names: Mapping[int, str], domain: Intervals) -> Level:
    """Number the groups in the order in which their first code comes; one without a name is a point."""
    found, first, place = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.empty(len(found), dtype=object)  # objects, so that the codes of a group share its number
    numbers[order] = range(len(found))
    labels = tuple(names.get(int(found[i]), domain.labels[first[i]]) for i in order)
    return Level(labels, tuple(numbers[place].tolist()))


def taxonomy_of(domain: Intervals | None) -> Taxonomy | None:
    """Return the taxonomy that follows from an ordered domain."""
    return Taxonomy.of_order(domain) if domain is not None and domain.bins > 2 else None


def _leaves(tree: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            yield from _leaves(below, (*path, str(name)))
        return
    values = [tree] if isinstance(tree, str) else tree
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise SchemaError("a taxonomy group is a list of values or a table of groups")
    yield from ((path, value) for value in values)


def _prefix_level(length: int, domain: Domain) -> Level:
    """Group values by their first characters. A group of several that is called like one of them gets a *."""
    keys = [value[:length] for value in domain.texts]
    held = Counter(keys)
    values = frozenset(domain.texts)
    return _level(keys, [f"{key}*" if key in values and held[key] > 1 else key for key in dict.fromkeys(keys)])


def _cut(paths: list[tuple[str, ...]], depth: int) -> Level:
    keys = [path[:depth] for path in paths]
    return _level(keys, [key[-1] for key in dict.fromkeys(keys)])


def _level(keys: Sequence[Hashable], labels: Sequence[str]) -> Level:
    """Return groups numbered in the order in which their first code comes; `labels` are in that order too."""
    place = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    return Level(tuple(labels), tuple(place[key] for key in keys))


def _useful(levels: list[Level], size: int) -> tuple[Level, ...]:
    """Return only the levels that are coarser than the one below and not yet the root."""
    kept: list[Level] = []
    for level in levels:
        if 1 < len(level.labels) < (len(kept[-1].labels) if kept else size):
            kept.append(level)
    return tuple(kept)


def _shown(labels: Sequence[str]) -> str:
    return ", ".join(labels[:3]) + (", …" if len(labels) > 3 else "")


def _span(first: str, last: str) -> str:
    if first == last:
        return first
    if first.startswith("[") and ", " in first:
        return f"{first.split(', ')[0]}, {last.split(', ')[1]}"
    return f"{first.split('..')[0]}..{last.split('..')[-1]}"
