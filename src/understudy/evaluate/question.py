"""A question: what is to be compared, and how. Public, and settled before any row is read."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import UsageError, did_you_mean
from understudy.evaluate.classification import MODELS
from understudy.evaluate.dependence import network_of
from understudy.evaluate.ranges import QUERIES
from understudy.evaluate.tables import MAX_TABLES, SEED, TableSet, table_set
from understudy.evaluate.targets import Target
from understudy.privacy.scores import Pair
from understudy.schema import Schema

MEASURES = {
    "tvd": "mean and maximum total variation distance of α-way tables",
    "l2": "mean L2 error of α-way tables",
    "k-marginal": "1000·(1 − mean TVD), the NIST challenges' score",
    "ranges": "random range-count queries",
    "correlation": "differences between correlation matrices",
    "numeric": "numeric columns at raw resolution",
    "matches": "synthetic rows with an exact twin among real rows",
    "information": "mutual information of a release's network",
    "classify": "train on synthetic, test on real",
}
TABLE_MEASURES = ("tvd", "l2", "k-marginal")
BY_ROW = ("numeric", "matches", "classify")  # the others need counts only


@dataclass(frozen=True)
class EvaluationRequest:
    """The tables, targets and measures asked for."""

    measures: tuple[str, ...]
    sets: tuple[TableSet, ...]
    targets: tuple[Target, ...]
    models: tuple[str, ...]
    network: tuple[Pair, ...]
    queries: int
    seed: int

    @staticmethod
    def of(
        schema: Schema,
        *,
        alpha: Iterable[int] | int | None = None,
        classify: Sequence[str | Target] | str = (),
        ignore: Sequence[str] | str = (),
        measures: Iterable[str] | str | None = None,
        models: Iterable[str] | str | None = None,
        network: Any = None,
        tables: int = MAX_TABLES,
        queries: int = QUERIES,
        seed: int = SEED,
        counted: bool = False,
    ) -> EvaluationRequest:
        """Return the question, without measures that need what was not given. `network` is a release's `facts`.

        Where several may be named, one alone may be given as it is: `alpha=2`, `measures="tvd"`.
        `counted`: the original stays in a database, so what is computed row by row is left out or refused.
        """
        if schema.undiscovered and not schema.names:
            raise UsageError(
                'every column of the schema is still "discover": compare by the schema that `publish` found, with '
                "--release RELEASE on the command line, or release.schema in Python"
            )
        widths = tuple(dict.fromkeys(_several(alpha))) if alpha is not None else ()
        widths = widths or _usual(schema)
        ignored = _several(ignore)
        targets = tuple(t if isinstance(t, Target) else Target.parse(t, schema, ignored) for t in _several(classify))
        for target in targets:
            target.features(schema)
        if ignore and not targets:
            raise UsageError("attributes to ignore were named and no target: --ignore goes with --classify")
        chosen = _known("measure", measures, list(MEASURES))
        if measures is None:
            lacking = {"information": network is None, "classify": not targets}
            lacking |= dict.fromkeys(("numeric", "matches"), counted)
            chosen = tuple(m for m in chosen if not lacking.get(m))
        for measure, given, advice in (("information", network, "a release"), ("classify", targets, "a target")):
            if measure in chosen and not given:
                raise UsageError(f"the measure {measure!r} needs {advice}")
        if counted and (refused := [measure for measure in BY_ROW if measure in chosen]):
            raise UsageError(
                f"the measure {refused[0]!r} is computed row by row, and a table in a database is only counted: leave "
                "it out, or name a file"
            )
        if queries < 1:
            raise UsageError("at least one range query must be asked")
        return EvaluationRequest(
            chosen,
            tuple(table_set(schema, width, tables, seed) for width in widths),
            targets,
            _known("model", models, list(MODELS)),
            network_of(network, schema) if network is not None else (),
            queries,
            seed,
        )

    @property
    def compares_tables(self) -> bool:
        return any(measure in self.measures for measure in TABLE_MEASURES)


def _several(named: Any) -> tuple[Any, ...]:
    """Return what was named as a tuple; a text or a number is one thing."""
    try:
        return (named,) if isinstance(named, str) else tuple(named)
    except TypeError:
        return (named,)


def _usual(schema: Schema) -> tuple[int, ...]:
    return tuple(width for width in (2, 3) if width <= len(schema.names)) or (1,)


def _known(what: str, names: Iterable[str] | None, known: list[str]) -> tuple[str, ...]:
    if names is None:
        return tuple(known)
    for name in (chosen := tuple(dict.fromkeys(_several(names)))):
        if name not in known:
            raise UsageError(f"there is no {what} {name!r}. {did_you_mean(name, known)}")
    return chosen


def check_options(given: Mapping[str, Any]) -> None:
    """Refuse options of `evaluate` that do not exist, before anything is read."""
    known = [name for name in inspect.signature(EvaluationRequest.of).parameters if name not in ("schema", "counted")]
    for name in given:
        if name in ("epsilon", "delta", "ledger", "cap"):
            raise UsageError(
                f"`{name}` goes with understudy.evaluate.buying.buy, which buys figures that may be published; "
                "evaluate computes exact ones, for the custodian only"
            )
        if name not in known:
            raise UsageError(f"evaluate has no option {name!r}. {did_you_mean(name, known)}".rstrip())
