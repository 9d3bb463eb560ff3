"""What a method is: a configuration that can plan from public facts and fit a private table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from understudy.errors import UsageError, did_you_mean
from understudy.methods.plan import Plan
from understudy.models.model import Model
from understudy.models.noisy_tree import NoisyTree
from understudy.models.prior import Prior
from understudy.privacy.budget import Budget
from understudy.privacy.measurement import Measurement
from understudy.privacy.questions.details import Details
from understudy.privacy.table import PrivateTable
from understudy.schema import Schema


@dataclass(frozen=True, eq=False)
class Fit:
    """What a method leaves behind: a model, the noisy tables it came from, and what it decided."""

    model: Model
    measurements: tuple[Measurement, ...]
    rows: int  # public: declared, or bought
    facts: dict[str, Any]  # structure and decisions, for the summary and the card
    notes: tuple[str, ...] = ()
    details: tuple[Details, ...] = ()  # inside the bins of attributes with `fine`
    trees: tuple[NoisyTree, ...] = ()  # that bins were made of
    prior: Prior | None = None  # what was known before, as far as the model uses it


class Method(Protocol):
    """A way to make a release: it plans from public facts and fits a private table, paying for all it asks.

    A frozen dataclass; its fields are its options, which `--set key=value` fills.

    >>> from understudy.methods import method_named
    >>> method = method_named("privbayes", {"degree": 2})
    >>> method.plan(schema, understudy.Budget(1)).phases[-1].name
    'tables'
    """

    @property
    def name(self) -> str: ...

    def plan(self, schema: Schema, budget: Budget, rows: int | None = None) -> Plan:
        """Return what a `budget` would buy, from the public `schema` alone; `rows` stands in for a private count."""
        ...

    def fit(self, table: PrivateTable) -> Fit:
        """Spend the total cost of the private `table`; return the model and the noisy tables that it came from."""
        ...


@runtime_checkable
class TakesPrior(Protocol):
    """A method that can start from what is known before."""

    def with_prior(self, prior: Prior) -> Method: ...


@runtime_checkable
class Covering(Protocol):
    """A method that publishes only some of the attributes."""

    def covered(self, schema: Schema) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class MethodAround:
    """A method, and something that is bought before or after it. It has the method's name."""

    method: Method

    @property
    def name(self) -> str:
        return self.method.name

    def covered(self, schema: Schema) -> tuple[str, ...]:
        """Return the attributes that the method publishes."""
        return self.method.covered(schema) if isinstance(self.method, Covering) else schema.names


@runtime_checkable
class KnownWidth(Protocol):
    """A method that knows beforehand how many attributes its widest table has."""

    def widest_table(self, schema: Schema) -> float: ...


M = TypeVar("M")
NO_SEED = (
    "Whoever knew the seed of the noise could take it off again; `sample` takes a seed, since what it draws from is "
    "published"
)


def options_of(kind: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a method that are options: all but those marked as given by a caller."""
    return {f.name: f for f in dataclasses.fields(kind) if not f.metadata.get("given")}


def configured(kind: type[M], options: Mapping[str, Any]) -> M:
    """Return an instance with these options, given as texts (command line) or values (Python)."""
    fields = options_of(kind)
    found = {}
    for key, value in options.items():
        if key not in fields:
            name = getattr(kind, "name", kind.__name__)
            advice = NO_SEED if key in ("seed", "random_state") else did_you_mean(key, list(fields))
            raise UsageError(f"method {name} has no option {key!r}. {advice}")
        found[key] = _typed(key, value, fields[key].metadata)
    return kind(**found)


def option(default: Any, **rule: Any) -> Any:
    """Return an option's field: `choices=(…)` for words, `low=`/`high=` for numbers, `whole=True`, `text=True`."""
    return dataclasses.field(default=default, metadata=rule)


def _typed(key: str, value: Any, rule: Mapping[str, Any]) -> Any:
    if "choices" in rule:
        if value not in rule["choices"]:
            raise UsageError(
                f"{key} is one of {', '.join(rule['choices'])}. {did_you_mean(str(value), list(rule['choices']))}"
            )
        return value
    if rule.get("text"):
        return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    try:
        number = int(str(value)) if rule.get("whole") else float(value)
    except ValueError:
        raise UsageError(f"{key} must be a {'whole ' if rule.get('whole') else ''}number") from None
    if not rule.get("low", -float("inf")) <= number <= rule.get("high", float("inf")):
        raise UsageError(f"{key} must be from {rule.get('low')} to {rule.get('high')}")
    return number
