"""Marginals from a source: noisy tables that somebody else measured, made into a release under the source's promise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from understudy.errors import UsageError, did_you_mean, kind_of
from understudy.models.estimation import fitted
from understudy.models.row_total import pooled_rows
from understudy.planning import as_schema
from understudy.privacy.budget import Amount, Budget
from understudy.privacy.entries import GENESIS, Head
from understudy.privacy.measurement import Measurement
from understudy.privacy.noise import NOISES, Gaussian
from understudy.release.card import Card
from understudy.release.facts import ReleaseFacts
from understudy.release.release import Release
from understudy.schema import Axes, Axis, Schema

METHOD = "marginals from a source"
_LARGEST = 2.0**52  # a count beyond it is not exact as a float


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A table of noisy counts over some attributes, measured elsewhere.

    Args:
        attributes: names of the schema, in the order of the table.
        counts: an array with one axis for each attribute, in the order of the schema's labels (a missing value is
            last); or the lines of a GROUP BY, `[(value, …, count), …]` or a frame with these columns, where a cell that
            is not there counts 0.
        sd: the standard deviation of the noise in one cell, in rows.
        noise: "gaussian" or "laplace": for error bars.

    >>> NoisyMarginal(("smoker",), [("no", 1480.2), ("yes", 521.9)], sd=2.8)
    <NoisyMarginal over smoker, sd 2.8>
    """

    attributes: Sequence[str]
    counts: Any
    sd: float
    noise: str = Gaussian.name

    def __repr__(self) -> str:
        names = self.attributes if isinstance(self.attributes, list | tuple) else [self.attributes]
        return f"<NoisyMarginal over {' × '.join(map(str, names))}, sd {self.sd}>"


def from_marginals(
    tables: Iterable[NoisyMarginal | tuple[Any, ...]],
    schema: Schema | str | Path,
    *,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    source: str = "the source",
) -> Release:
    """Make a release from noisy marginals that were computed elsewhere: in SQL, with OpenDP, by another agency.

    No row is read and no ledger is charged. The card is stamped "privacy as promised by the source": understudy did not
    add this noise and cannot check it. A table that went without noise is published without privacy.

    Args:
        tables: `NoisyMarginal`s, or tuples with their fields.
        schema: a `Schema` or the path of a schema.toml.
        epsilon: what the source promises for all these tables together; goes on the card.
        delta: the source's failure probability.
        source: who promises it; goes on the card.

    >>> counts = [("no", 1480.2), ("yes", 521.9)]
    >>> made = understudy.from_marginals([(("smoker",), counts, 2.8)], schema, epsilon=0.5, source="the registry")
    >>> made.card.warnings[0]
    'privacy as promised by the source (the registry): understudy did not add this noise and checked none of it'
    """
    if epsilon is None:
        raise UsageError(
            "say what the source promises for these tables together: from_marginals(tables, schema, epsilon=…). "
            "A release without an epsilon promises nothing"
        )
    public = as_schema(schema).with_public_bins()
    budget = Budget(epsilon, delta)
    listed: list[Any] = (
        list(tables) if isinstance(tables, Iterable) and not isinstance(tables, str | Mapping) else [tables]
    )
    measured = [_measurement(_marginal(table), public) for table in listed]
    if not measured:
        raise UsageError("there is no table to make a release from: give at least one noisy marginal")
    rows = pooled_rows(public, measured)
    card = Card.from_source(public, budget, METHOD, source, _notes(public, measured))
    facts = ReleaseFacts(tables=tuple(tuple(axis.attribute for axis in m.axes) for m in measured))
    columns = tuple(a.name for a in public.attributes)
    model = fitted(measured, public, rows).tree
    return Release(public, model, tuple(measured), rows, columns, facts, card, Head(0, GENESIS))


def _marginal(table: NoisyMarginal | tuple[Any, ...]) -> NoisyMarginal:
    if isinstance(table, NoisyMarginal):
        return table
    if isinstance(table, tuple) and 3 <= len(table) <= 4:
        return NoisyMarginal(*table)
    raise UsageError(
        f"a table is a NoisyMarginal or (attributes, counts, sd), for example (('sex',), [510.3, 489.9], 2.8); this "
        f"is {kind_of(table)}"
    )


def _notes(schema: Schema, measured: Sequence[Measurement]) -> tuple[str, ...]:
    seen = {axis.attribute for m in measured for axis in m.axes}
    unseen = [name for name in schema.names if name not in seen]
    return (f"no table shows {', '.join(unseen)}: every value is equally likely there",) if unseen else ()


def _measurement(marginal: NoisyMarginal, schema: Schema) -> Measurement:
    axes = _axes(marginal.attributes, schema)
    if not isinstance(marginal.sd, int | float | np.number) or not 0 < marginal.sd < _LARGEST:
        raise UsageError(
            f"the table over {_names(axes)} has sd {marginal.sd!r}: give the standard deviation of its noise, in rows"
        )
    if marginal.noise not in NOISES:
        raise UsageError(f"noise is one of {', '.join(NOISES)}; this is {marginal.noise!r}")
    values = np.rint(_array(marginal.counts, axes, schema)).astype(np.int64)
    return Measurement(axes, values, NOISES[marginal.noise].of_variance(float(marginal.sd) ** 2))


def _axes(names: Any, schema: Schema) -> Axes:
    listed = tuple(names) if isinstance(names, list | tuple) else (names,)
    for name in listed:
        if name not in schema.names:
            raise UsageError(
                f"the schema models no attribute {name!r}. {did_you_mean(str(name), list(schema.names))}",
                attribute=str(name),
            )
    if len(set(listed)) < len(listed) or not listed:
        raise UsageError("a table has one or more attributes, each once")
    return tuple(Axis(name) for name in listed)


def _array(counts: Any, axes: Axes, schema: Schema) -> NDArray[np.float64]:
    shape = schema.sizes(axes)
    lines = _lines(counts, len(axes), shape)
    found = _numbers(counts) if lines is None else _grouped(lines, axes, schema)
    if found is None or found.shape != shape:
        told = "no array of numbers" if found is None else f"an array of shape {found.shape}"
        raise UsageError(
            f"the table over {_names(axes)} must have the shape {shape}, a cell for each of the schema's labels, or be "
            f"a list of (value, …, count); this is {told}"
        )
    if not np.isfinite(found).all() or np.abs(found).max(initial=0) > _LARGEST:
        raise UsageError(f"the table over {_names(axes)} holds a count that is not a finite number")
    return found


def _numbers(counts: Any) -> NDArray[np.float64] | None:
    try:
        return np.asarray(counts, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _lines(counts: Any, axes: int, shape: tuple[int, ...]) -> list[Any] | None:
    """Return the lines of a GROUP BY, as many values as there are attributes and a count; None if this is an array."""
    if hasattr(counts, "columns"):
        counts = nw.from_native(counts, eager_only=True).rows()
    if not isinstance(counts, list | tuple) or not all(isinstance(line, list | tuple) for line in counts):
        return None
    array = None if any(isinstance(line, tuple) for line in counts) else _numbers(counts)
    is_array = array is not None and array.shape == shape
    return None if is_array or any(len(line) != axes + 1 for line in counts) else list(counts)


def _grouped(lines: list[Any], axes: Axes, schema: Schema) -> NDArray[np.float64]:
    table = np.zeros(schema.sizes(axes))
    for *values, counted in lines:
        if not isinstance(counted, int | float | np.number | Decimal):
            raise UsageError(f"the table over {_names(axes)} has a line whose count is no number")
        table[tuple(_code(value, axis, schema) for value, axis in zip(values, axes))] += float(counted)
    return table


def _code(value: Any, axis: Axis, schema: Schema) -> int:
    attribute = schema[axis.attribute]
    if value is None and attribute.has_missing:
        return attribute.missing_code
    text = str(value)
    if text in attribute.labels:
        return attribute.labels.index(text)
    code = int(attribute.encode([text])[0])
    if code < 0:
        raise UsageError(
            f"{attribute.name} has no value {text!r}. {did_you_mean(text, list(attribute.labels))}",
            attribute=attribute.name,
        )
    return code


def _names(axes: Axes) -> str:
    return " × ".join(axis.attribute for axis in axes)
