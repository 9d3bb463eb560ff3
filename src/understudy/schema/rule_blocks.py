"""Blocks: constraints as tables over codes, with a cell struck out where no values inside it meet them.

A bin cannot decide every rule: of two dates in the same bin either may be the earlier one. Such a cell stays possible
if values that meet the rules are found in it, and these are kept as its witness; where none is found it is struck out,
so that every row that a model draws can be decoded to values that meet all rules. Constraints that leave open cells of
the same column are looked at together, since what is possible for each may be impossible for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import TooLarge
from understudy.schema.attribute import Attribute
from understudy.schema.predicates import Cells, Columns, Ordered, comparisons_in, constants_in, names_in
from understudy.schema.rules import Constraint

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

MAX_BLOCK = 250_000  # cells of one table of rules
MAX_CORNERS = 5  # columns whose corners are all tried
MAX_ORDERS = 4  # columns whose orders are all tried
RANDOM_TRIES = 64
REPAIR_EVERY = 4  # tries after which values are also moved to where a comparison becomes an equation
GOLDEN = 0.6180339887498949
LAST = 1 - 1e-9  # where the last value of a cell lies


@dataclass(frozen=True, eq=False)
class Block:
    """Constraints and their table: which cells are possible, and which of these need a look at the values.

    Parameters
    ----------
    wide
        The attributes with cells of several values, which decide what the table leaves open.
    witness
        By open cell, in the order of the flat table, a value of each wide attribute that meets all constraints.
    """

    names: tuple[str, ...]
    constraints: tuple[Constraint, ...]
    possible: Mask
    open: Mask
    wide: tuple[str, ...] = ()
    witness: Floats = field(default_factory=lambda: np.empty((0, 0)))

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the rules, each once."""
        return tuple(dict.fromkeys(c.text for c in self.constraints))

    def cells(self, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Return the flat cell of each row."""
        index = np.zeros(len(codes[self.names[0]]), dtype=np.int64)
        for name, size in zip(self.names, self.possible.shape):
            index = index * size + codes[name]
        return index

    def held(self, columns: Columns) -> Mask:
        """Return which rows meet all constraints."""
        truths = ((c.predicate.truth(columns), c.strict) for c in self.constraints)
        return reduce(np.logical_and, (truth.true if strict else ~truth.false for truth, strict in truths))

    def witnesses(self, cells: NDArray[np.int64]) -> Floats:
        """Return values of the wide attributes for rows of open cells."""
        rank = np.cumsum(self.open.ravel()) - 1
        return np.asarray(self.witness[rank[cells]])


@dataclass(frozen=True)
class FixedPlaces:
    """Stands for a random generator where a value at a given place of its cell is wanted."""

    at: Floats

    def random(self, count: int) -> Floats:
        return self.at


def blocks_of(attributes: Mapping[str, Attribute], constraints: Sequence[Constraint]) -> tuple[Block, ...]:
    """Return the tables of these constraints; one that would be too large is refused by the names of its rules."""
    single = [_table(attributes, (c,)) for c in constraints]
    found = []
    for group in _grouped(attributes, single):
        block = group[0] if len(group) == 1 else _table(attributes, [c for b in group for c in b.constraints])
        if block.possible.all() and not block.open.any():
            continue
        found.append(_witnessed(attributes, block) if block.open.any() else block)
    return tuple(found)


def _table(attributes: Mapping[str, Attribute], constraints: Sequence[Constraint]) -> Block:
    names = tuple(dict.fromkeys(name for c in constraints for name in c.names))
    shape = tuple(attributes[name].size for name in names)
    if math.prod(shape) > MAX_BLOCK:
        texts = tuple(dict.fromkeys(c.text for c in constraints))
        raise TooLarge(
            f"{said(texts)}: the table over {', '.join(names)} has {math.prod(shape):,} cells, and rules take up to "
            f"{MAX_BLOCK:,}. Use fewer bins, bins that end where a rule compares with a number, or fewer rules over "
            "the same columns"
        )
    columns = {
        name: Cells.of_codes(attributes[name]).shaped(tuple(-1 if j == i else 1 for j in range(len(names))))
        for i, name in enumerate(names)
    }
    possible, settled = np.ones(shape, dtype=bool), np.ones(shape, dtype=bool)
    for c in constraints:
        truth = c.predicate.truth(columns)
        possible &= truth.true if c.strict else truth.true | truth.unknown
        settled &= ~(truth.false | truth.unknown) if c.strict else ~truth.false
    undecided = possible & ~settled
    wide = tuple(name for name in names if is_wide(attributes[name]))
    return Block(names, tuple(constraints), possible, undecided, wide)


def said(texts: Sequence[str]) -> str:
    """Return the rules in a message."""
    return f"rule{'s' if len(texts) > 1 else ''} {', '.join(map(repr, texts))}"


def is_wide(attribute: Attribute) -> bool:
    """Return whether some cell of the attribute holds several values."""
    domain = attribute.intervals
    return domain is not None and (domain.steps is None or bool((domain.own_values > 1).any()))


def _grouped(attributes: Mapping[str, Attribute], blocks: Sequence[Block]) -> list[list[Block]]:
    """Return the blocks in groups: two that leave open cells of the same column are in one group."""
    groups: list[tuple[set[str], list[Block]]] = []
    for block in blocks:
        soft, members = set(_soft(attributes, block)), [block]
        apart = []
        for names, others in groups:
            if names & soft:
                soft |= names
                members = others + members
            else:
                apart.append((names, others))
        groups = [*apart, (soft, members)]
    return [members for _, members in groups]


def _soft(attributes: Mapping[str, Attribute], block: Block) -> Iterator[str]:
    """Yield the columns with a cell of several values that leaves something open."""
    for i, name in enumerate(block.names):
        if name in block.wide:
            others = tuple(j for j in range(len(block.names)) if j != i)
            bounds = Cells.of_codes(attributes[name]).bounds
            assert bounds is not None
            several = (bounds.high > bounds.low) & ~bounds.absent
            if (block.open.any(axis=others) & several).any():
                yield name


# -- witnesses -----------------------------------------------------------------------------------------------


def _witnessed(attributes: Mapping[str, Attribute], block: Block) -> Block:
    """Look for values that meet all constraints in each open cell, and strike out the cells where there are none."""
    flat = np.flatnonzero(block.open)
    codes = dict(zip(block.names, np.unravel_index(flat, block.possible.shape)))
    fixed = {n: _rows(attributes[n], codes[n], None) for n in block.names if n not in block.wide}
    witness = np.zeros((len(flat), len(block.wide)))
    left = np.arange(len(flat))
    for number, place in enumerate(_tries(attributes, block)):
        if not len(left):
            break
        drawn = {n: _rows(attributes[n], codes[n][left], place(n, codes[n][left])) for n in block.wide}
        columns = {n: c.taken(left) for n, c in fixed.items()} | drawn
        if number % REPAIR_EVERY == 0:
            columns, held = repaired(attributes, block, columns)
        else:
            held = block.held(columns)
        for i, name in enumerate(block.wide):
            witness[left[held], i] = columns[name].values[held]
        left = left[~held]
    kept = np.ones(block.open.shape, dtype=bool)
    kept.ravel()[flat[left]] = False
    found = np.delete(witness, left, axis=0)
    return replace(block, possible=block.possible & kept, open=block.open & kept, witness=found)


def repaired(attributes: Mapping[str, Attribute], block: Block, columns: Columns) -> tuple[dict[str, Cells], Mask]:
    """Move one value of each row that breaks a constraint to where a comparison becomes an equation, inside its cell.

    Returns the columns with these values, and which rows meet all constraints now. So `paid == total` in a cell of wide
    bins is met by any total and the paid that goes with it.
    """
    found = dict(columns)
    held = np.array(np.broadcast_to(block.held(found), columns[block.names[0]].codes.shape))
    for comparison in (o for c in block.constraints for o in comparisons_in(c.predicate)):
        for name in dict.fromkeys(n for n in names_in(comparison) if n in block.wide):
            for shift in (0, -1, 1):
                rows = np.flatnonzero(~held)
                if not len(rows):
                    return found, held
                own = {n: c.taken(rows) for n, c in found.items()}
                moved = _solved(attributes[name], comparison, name, own, shift)
                better = block.held(own | {name: moved}) & _inside(attributes[name], moved)
                found[name] = _replaced(found[name], rows[better], moved.taken(better))
                held[rows[better]] = True
    return found, held


def _solved(attribute: Attribute, comparison: Ordered, name: str, columns: Columns, shift: int) -> Cells:
    """Return the column with the value at which both sides are equal, if the comparison is linear in it."""
    domain, own = attribute.ordered, columns[name]
    step = domain.steps.size if domain.steps is not None else 10.0**-domain.decimals
    values, unit = own.values, max(step, 1.0)
    further = {**columns, name: Cells.of_values(own.codes, values + unit, own.absent)}
    with np.errstate(all="ignore"):
        gap = _gap(comparison, columns)
        slope = (_gap(comparison, further) - gap) / unit
        wanted = values - gap / slope
    wanted = np.where(np.isfinite(wanted), wanted, values)
    index = np.rint(wanted / step) + shift
    moved = domain.steps.value(index) if domain.steps is not None else np.round(index * step, domain.decimals)
    return Cells.of_values(own.codes, np.where(own.absent, values, moved), own.absent)


def _gap(comparison: Ordered, columns: Columns) -> Floats:
    return np.asarray(comparison.left.bounds(columns).low - comparison.right.bounds(columns).low, dtype=np.float64)


def _inside(attribute: Attribute, cells: Cells) -> Mask:
    """Return which values lie in the cells of their codes."""
    domain, values = attribute.ordered, cells.values
    inside = (values >= domain.edges[0]) & (values <= domain.edges[-1])
    coded = domain.encode_numbers(np.where(inside, values, domain.edges[0]))
    return np.asarray(cells.absent | (inside & (coded == cells.codes)), dtype=bool)


def _replaced(cells: Cells, rows: NDArray[np.int64], by: Cells) -> Cells:
    values = np.array(cells.values)
    values[rows] = by.values
    return Cells.of_values(cells.codes, values, cells.absent)


Try = Callable[[str, NDArray[np.int64]], Floats]  # values of an attribute for cells with these codes


def _tries(attributes: Mapping[str, Attribute], block: Block) -> Iterator[Try]:
    """Yield ways to put values into cells: corners, steps up in every order, the rules' own numbers, evenly spread."""
    wide, places = block.wide, {name: i for i, name in enumerate(block.wide)}

    def at(spots: Sequence[float]) -> Try:
        return lambda name, codes: _valued(attributes[name], codes, np.full(len(codes), spots[places[name]]))

    if len(wide) <= MAX_CORNERS:
        yield from (at(spots) for spots in product((0.0, LAST), repeat=len(wide)))
    if len(wide) <= MAX_ORDERS:
        for order in permutations(range(len(wide))):
            yield at([(rank + 0.5) / len(wide) for rank in order])
    numbers = _numbers(block.constraints)
    for spot in (0.0, 0.5, LAST):
        for shift in (0, -1, 1):
            yield lambda name, codes, spot=spot, shift=shift: _near(  # type: ignore[misc]
                attributes[name], codes, np.full(len(codes), spot), numbers.get(name, ()), shift
            )
    for t in range(RANDOM_TRIES):
        yield lambda name, codes, t=t: _mixed(attributes[name], codes, places[name], t, numbers.get(name, ()))  # type: ignore[misc]


def _numbers(constraints: Sequence[Constraint]) -> dict[str, tuple[float, ...]]:
    found: dict[str, list[float]] = {}
    for constraint in constraints:
        for name, value in constants_in(constraint.predicate):
            found.setdefault(name, []).append(value)
    return {name: tuple(sorted(set(values))) for name, values in found.items()}


def _valued(attribute: Attribute, codes: NDArray[np.int64], at: Floats) -> Floats:
    values, _ = attribute.decode(codes, FixedPlaces(at))  # type: ignore[arg-type]
    return np.asarray(values, dtype=np.float64)


def _near(attribute: Attribute, codes: NDArray[np.int64], at: Floats, numbers: Sequence[float], shift: int) -> Floats:
    """Return the value at this place of its cell, or one of the rules' numbers (or its neighbour) in the cell."""
    values, domain = _valued(attribute, codes, at), attribute.ordered
    step = domain.steps.size if domain.steps is not None else 10.0**-domain.decimals
    for number in numbers:
        place = number + shift * step
        if domain.steps is not None:
            place = float(domain.steps.value(np.rint(place / domain.steps.size)))
        if domain.edges[0] <= place <= domain.edges[-1]:
            values = np.where(codes == int(domain.encode_numbers(np.asarray([place]))[0]), place, values)
    return values


def _mixed(attribute: Attribute, codes: NDArray[np.int64], column: int, t: int, numbers: Sequence[float]) -> Floats:
    """Return evenly spread values, another one for each cell and column; now and then the rules' numbers."""
    start = (t + 1) * GOLDEN * (2 * column + 1) + (t * t + 1) * 0.7548776662466927 * (column + 1)
    at: Floats = np.asarray((start + np.arange(len(codes)) * GOLDEN) % 1.0, dtype=np.float64)
    if t % 4 == column % 4:
        return _near(attribute, codes, at, numbers, t % 3 - 1)
    return _valued(attribute, codes, at)


def _rows(attribute: Attribute, codes: NDArray[Any], values: Floats | None) -> Cells:
    absent = codes == attribute.missing_code
    if values is None and attribute.intervals is not None:
        values = _valued(attribute, codes, np.zeros(len(codes)))
    return Cells.of_values(codes, values, absent)
