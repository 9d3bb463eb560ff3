"""Facts: what one public source says about an attribute or the table. What it does not say is None."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.schema.domain import Kind
from understudy.schema.scales import MOMENT_SCALES, WHOLE_KINDS, takes


@dataclass(frozen=True)
class Facts:
    """Numbers and dates stay the texts that the source wrote; the writer of the draft reads them by kind and format."""

    kind: Kind | None = None
    values: tuple[str, ...] | None = None
    groups: Mapping[str, Any] | str | None = None  # a text is a taxonomy by prefix
    low: str | None = None
    high: str | None = None
    bins: int | None = None
    edges: tuple[str, ...] | None = None
    points: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    other: str | None = None
    format: str | None = None
    step: str | None = None
    decimals: int | None = None
    pattern: str | None = None
    true: tuple[str, ...] | None = None
    false: tuple[str, ...] | None = None
    label: str | None = None
    declared_type: str | None = None  # a type that means a public domain, such as MySQL's YEAR
    source: str | None = None  # what the draft says in `provenance`; None: declared, as in a codebook of our own

    def over(self, weaker: Facts) -> Facts:
        """Return these facts, completed by those of a weaker source."""
        return replace(weaker, **{name: fact for name, fact in vars(self).items() if fact is not None})

    def takes(self, key: str) -> bool:
        """Return whether the schema file may have this key in an attribute of the kind."""
        return takes(self.kind, key)

    @property
    def has_range(self) -> bool:
        return self.edges is not None or (self.low is not None and self.high is not None)

    def with_kind(self) -> Facts:
        """Return the kind that follows from the other facts, where the source names none."""
        if self.kind is not None:
            return self
        if self.true is not None or self.false is not None:
            return replace(self, kind="boolean")
        if self.values is not None:
            return replace(self, kind="category")
        if self.pattern is not None:
            return replace(self, kind="id")
        if self.format is not None:
            return replace(self, kind=next(scale.kind for scale in MOMENT_SCALES if scale.is_format(self.format)))
        if self.has_range:
            kind = kind_of_ends(self.edges or (self.low or "", self.high or ""))
            return replace(self, kind="number" if kind in WHOLE_KINDS and self.is_fractional else kind)
        return self

    @property
    def is_fractional(self) -> bool:
        """Return whether the source says that values have decimals."""
        return bool(self.decimals) or (self.step is not None and number_of(self.step) % 1 != 0)


@dataclass(frozen=True)
class Source:
    """All that one source says: attributes by name, settings of the table, and remarks for the reader of the draft.

    `points` are questions about the source as a whole, which stay open until a person has answered them.
    """

    attributes: Mapping[str, Facts] = field(default_factory=dict)
    table: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    points: tuple[str, ...] = ()

    def about(self, name: str) -> Facts:
        """Return the facts about a column, by its exact name, else regardless of case, else by letters and digits."""
        if name in self.attributes:
            return self.attributes[name]
        for plain in (_folded, _letters):
            near = [facts for known, facts in self.attributes.items() if plain(known) == plain(name)]
            if near:
                return near[0] if len(near) == 1 else Facts()
        return _NOTHING

    def respelt(self, names: Sequence[str]) -> tuple[Source, list[str]]:
        """Return the source with misspelt names corrected, and a remark on each.

        A name is misspelt if it misses a letter of a column's name, has one too many or swaps two neighbours, and if
        neither the name nor the column has another match.
        """
        free = [name for name in names if self.about(name) is _NOTHING and _letters(name).isalpha()]
        table = Source(dict.fromkeys(names, Facts(label="x")))
        spare = [name for name in self.attributes if table.about(name) is _NOTHING and _letters(name).isalpha()]
        found = {}
        for name in spare:
            near = [column for column in free if _one_slip(name, column)]
            rivals = [other for other in spare for column in near if other != name and _one_slip(other, column)]
            if len(near) == 1 and not rivals:
                found[name] = near[0]
        attributes = {found.get(name, name): facts for name, facts in self.attributes.items()}
        said = [f"the codebook's {name!r} is taken for the column {column!r}" for name, column in found.items()]
        return replace(self, attributes=attributes), said


_NOTHING = Facts()
_SHORTEST = 6  # letters of a name in which one slip leaves no doubt


def _one_slip(one: str, other: str) -> bool:
    """Return whether two names differ by one missing letter, or by two neighbouring letters that are swapped."""
    one, other = _letters(one), _letters(other)
    if min(len(one), len(other)) < _SHORTEST or one == other:
        return False
    if abs(len(one) - len(other)) == 1:
        short, long = sorted((one, other), key=len)
        return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
    swaps = (one[:i] + one[i + 1] + one[i] + one[i + 2 :] for i in range(len(one) - 1))
    return len(one) == len(other) and other in swaps


def _folded(name: str) -> str:
    return name.strip().casefold()


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def number_of(text: str) -> float:
    """Return a number in a public document, with a decimal point or comma, or NaN."""
    text = text.strip()
    if "," in text and "." not in text:
        text = text.replace(",", ".")
    try:
        return float(text)
    except ValueError:
        return math.nan


def is_number(text: str) -> bool:
    """Return whether the text is a number, with signs of thousands, money or per cent around it."""
    bare = text.strip().strip("%$€£¥+ ").replace("'", "").replace(" ", "").replace("\xa0", "")
    return not math.isnan(number_of(bare)) or not math.isnan(number_of(bare.replace(".", "").replace(",", "")))


def kind_of_ends(ends: tuple[str, ...]) -> Kind | None:
    """Return the kind of the two ends of a range."""
    numbers = [number_of(end) for end in ends]
    if not any(math.isnan(number) for number in numbers):
        return "integer" if all(number == math.floor(number) for number in numbers) else "number"
    return next((scale.kind for scale in MOMENT_SCALES if all(map(scale.is_end, ends))), None)
