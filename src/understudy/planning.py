"""Planning: what a publication would spend, and what error to expect. Reads no row."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any

from understudy.discovering import discovery_plan
from understudy.errors import UsageError, kind_of
from understudy.methods import Method, Plan, method_named
from understudy.methods.allowed_rules import check_rules, rule_notes
from understudy.methods.discovery import Discovery
from understudy.methods.expected_error import expected_error, phase_error
from understudy.methods.forecast import forecast, promise, recommended_delta
from understudy.methods.least_epsilon import Accuracy, Least
from understudy.methods.toolkit.row_count import planned_rows
from understudy.models.prior import Prior
from understudy.prior_source import PriorSource, open_prior
from understudy.privacy.budget import Amount, Budget
from understudy.relations.method import HistoryMethod
from understudy.relations.table_method import TreeMethod
from understudy.schema import Schema

AnyMethod = Method | HistoryMethod | TreeMethod


def plan(
    schema: Schema | str | Path,
    *,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    method: str = "auto",
    rows: int | None = None,
    prior: PriorSource | None = None,
    **options: Any,
) -> Plan:
    """Say what a publication would spend and what error to expect. Reads no row and costs nothing.

    Args:
        schema: a `Schema` or the path of a schema.toml.
        epsilon: the privacy loss of the whole run; it must be given.
        delta: the allowed failure probability; 0 is pure differential privacy.
        method: "auto", or the name of a method.
        rows: about how many rows there are, where that is private.
        prior: an earlier release, or a table that is public, to start from; as in `publish`.
        options: options of the method.

    >>> understudy.plan(schema, epsilon=1)
    <Plan: aim at epsilon 1 for 2,000 rows; print it>
    """
    public = as_schema(schema)
    if epsilon is None:
        raise UsageError("say for which epsilon to plan: plan(schema, epsilon=1)")
    if rows is not None and (not isinstance(rows, Integral) or isinstance(rows, bool) or rows < 1):
        raise UsageError("the number of rows is a whole number of 1 or more")
    budget = Budget(epsilon, delta)
    known = None if prior is None else open_prior(prior, public)
    if public.undiscovered:
        return discovery_plan(Discovery.of(public, budget), method, rows, options)
    free = public.free
    chosen = method_for(free, method, options, budget, known)
    if isinstance(chosen, HistoryMethod | TreeMethod):
        return chosen.plan(public, budget, planned_rows(public, rows))
    check_rules(chosen, public)
    made = chosen.plan(free, budget, rows)
    expected = expected_error(free, made)
    said = [line for line in (promise(free, budget, made.rows), _would_buy(chosen, free, budget, made)) if line]
    if rows is not None and public.rows not in (None, rows):
        said.append(f"the schema declares rows = {public.rows}, which is planned with: `rows` is for a private number")
    return replace(
        made,
        phases=tuple(replace(p, error=phase_error(p, expected)) for p in made.phases),
        expected=expected,
        notes=(*made.notes, *rule_notes(public), *forecast(free, made), *said),
    )


def method_for(
    schema: Schema, name: str, options: Mapping[str, Any], budget: Budget, prior: Prior | None = None
) -> AnyMethod:
    """Return the method of this name for one table, for people with many rows, or for tables with foreign keys."""
    if schema.person is not None:
        return HistoryMethod.named(name, options, schema)
    if schema.tables:
        return TreeMethod.named(name, options, schema)
    return method_named(name, options, schema, model_error=True, prior=prior, budget=budget)


def _would_buy(chosen: Method, schema: Schema, budget: Budget, made: Plan) -> str | None:
    """Return one line on what a delta, other neighbours or more rows would make of the expected two-way distance."""
    expected = expected_error(schema, made)
    if expected.two_way is None:
        return None
    private = replace(schema, neighbours="add-remove", rows=None, text=None)
    twice = replace(schema, rows=None if schema.rows is None else 2 * schema.rows, text=None)
    ways = [(twice, budget, 2 * made.rows, "twice the rows")]
    if not budget.delta:
        delta = recommended_delta(made.rows)
        ways.append((schema, Budget(budget.epsilon, delta), made.rows, f"--delta {float(delta):.0e}"))
    if schema.neighbours == "replace-one":
        ways.append((private, budget, made.rows, 'neighbours = "add-remove"'))
    found = []
    for other, own, rows, words in ways:
        with suppress(UsageError):  # a score or a size that the other way does not allow
            if (distance := expected_error(other, chosen.plan(other, own, rows)).two_way) is not None:
                found.append(f"{distance:.3f} with {words}")
    return f"two-way tables are expected to be off by {expected.two_way:.3f}; {', '.join(found)}" if found else None


def least_epsilon(
    schema: Schema | str | Path,
    *,
    tvd: float | None = None,
    accuracy: str | None = None,
    delta: Amount = 0,
    method: str = "auto",
    rows: int | None = None,
    **options: Any,
) -> Least:
    """Return the least epsilon that is expected to reach an accuracy, or that none does, and the error expected there.

    Args:
        schema: a `Schema` or the path of a schema.toml.
        tvd: the wanted total variation distance of an average two-way table.
        accuracy: or a table and its points, "share by sex and region ± 2 points".
        delta: the allowed failure probability.
        method: "auto", or the name of a method.
        rows: about how many rows there are, where that is private.
        options: options of the method.
    """
    public = as_schema(schema)
    if public.person is not None:
        raise UsageError("the least epsilon is not worked out for people with many rows ([person]): plan some epsilons")
    if public.tables:
        raise UsageError("the least epsilon is not worked out for tables with foreign keys: plan some epsilons")
    if public.undiscovered:
        raise UsageError(
            "the least epsilon is not worked out where `publish` is to discover columns: plan some epsilons"
        )
    if (tvd is None) == (accuracy is None):
        raise UsageError("say one thing that is wanted: a distance (tvd), or an accuracy: 'share by sex ± 2 points'")
    free = public.free
    wanted = Accuracy.of_distance(tvd) if tvd is not None else Accuracy.of_text(str(accuracy), free)
    chosen = method_named(method, options, free, model_error=True, budget=Budget(1, delta))
    return wanted.least_epsilon(lambda epsilon: (free, chosen.plan(free, Budget(epsilon, delta), rows)))


def as_schema(schema: Schema | str | Path) -> Schema:
    """Return the schema, or the one in the file of this name."""
    if isinstance(schema, Schema):
        return schema
    if not isinstance(schema, str | os.PathLike):
        raise UsageError(
            f"a schema is a Schema or the path of a schema.toml, and this is {kind_of(schema)}: understudy init drafts "
            "one from public documents"
        )
    return Schema.open(schema)
