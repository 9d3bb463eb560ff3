"""Given conditions: what `sample --given` asks of every row, as weights of cells and as constraints on their values.

A cell that meets a condition in part keeps that part of its probability, and its rows get values that meet it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import UsageError
from understudy.models.factor import Factor
from understudy.models.model import Model
from understudy.models.ruled_model import RuledModel, weighted
from understudy.models.structural_zeros import logarithm
from understudy.models.within_bins import FLAT, Shapes
from understudy.query.grammar import simple_condition
from understudy.query.joint_shares import joint_shares
from understudy.query.selection import select
from understudy.schema import Axis, Schema
from understudy.schema.expressions import ComparedTerms, Equivalence, Expression, Symbol, conjuncts, parse_condition
from understudy.schema.rule_blocks import Block, blocks_of
from understudy.schema.rules import Constraint
from understudy.schema.tokens import Token
from understudy.schema.value_names import codes_meant, means_missing, place_of

Given = Mapping[str, Any] | str | Sequence[str]


@dataclass(frozen=True, eq=False)
class GivenConditions:
    """Conditions that fit the schema: the part of each cell that they let through, and constraints on values."""

    shares: tuple[Factor, ...]
    constraints: tuple[Constraint, ...]

    @staticmethod
    def of(given: Given, schema: Schema, shapes: Shapes) -> GivenConditions:
        """Look up `{"sex": "Female"}` or `"age >= 60 and sex = Female"`; a UsageError says what does not fit."""
        shares, constraints = [], []
        for text, expression in _expressions(given, schema):
            for part in conjuncts(expression):
                constraint = Constraint.of_condition(part, text, schema)
                constraints.append(constraint)
                found = _shares(part, constraint, schema, shapes)
                if shapes and not found.table.any():
                    found = _shares(part, constraint, schema, FLAT)
                shares.append(found)
        return GivenConditions(tuple(shares), tuple(constraints))

    def model(self, model: Model) -> Model:
        """Return the model under these conditions."""
        whole = [f for f in self.shares if len(f.axes) == 1 and np.isin(f.table, (0.0, 1.0)).all()]
        evidence: dict[str, set[int]] = {}
        for factor in whole:
            codes = set(np.flatnonzero(factor.table).tolist())
            name = factor.axes[0].attribute
            evidence[name] = codes & evidence.get(name, codes)
        if evidence:
            model = model.condition({name: sorted(codes) for name, codes in evidence.items()})
        rest = [Factor(f.axes, logarithm(f.table)) for f in self.shares if not any(f is w for w in whole)]
        return weighted(model, rest) if rest else model

    def blocks(self, schema: Schema) -> tuple[Block, ...]:
        """Return the tables of these conditions together with the schema's rules."""
        free = schema.free
        return blocks_of({a.name: a for a in free.attributes}, (*free.constraints, *self.constraints))

    def zeros(self, model: Model, blocks: Sequence[Block]) -> Model:
        """Return the model without the cells in which rules and conditions exclude each other."""
        free = model.free if isinstance(model, RuledModel) else model
        struck = [b for b in blocks if b.open.any() and len(b.constraints) > 1 and not b.possible.all()]
        logs = [Factor(tuple(Axis(n) for n in b.names), logarithm(b.possible.astype(np.float64))) for b in struck]
        return weighted(model, logs) if logs and free.schema.constraints else model


def _shares(part: Expression, constraint: Constraint, schema: Schema, shapes: Shapes) -> Factor:
    """Return the part of each cell that a condition lets through.

    A value can lie where the shape inside its bin has no mass, by noise alone: `of` then asks again without shapes.
    """
    simple = simple_condition(part, schema)
    if simple is None or (name := simple.name.text) not in schema.free.names:
        return joint_shares(schema.free, constraint, shapes)
    return Factor((Axis(name),), select(schema[name], [simple], constraint.text, shapes.get(name)).weights)


def _expressions(given: Given, schema: Schema) -> list[tuple[str, Expression]]:
    if isinstance(given, Mapping):
        return [_equal(name, value, schema) for name, value in given.items()]
    return [_condition(text, schema) for text in ([given] if isinstance(given, str) else given)]


def _condition(text: str, schema: Schema) -> tuple[str, Expression]:
    """Read `attribute=value` without quotes, or any condition."""
    name, sign, value = (part.strip() for part in text.partition("="))
    attribute = schema.find(name)
    if sign and attribute is not None and attribute.modelled and value[:1] != "=":
        placed = place_of(attribute, value) is not None
        if placed or means_missing(attribute, value) or codes_meant(attribute, value) is not None:
            return _equal(name, value, schema)
    found = parse_condition(text)
    if isinstance(found, Equivalence):
        raise UsageError("`<->` is for rules: a condition compares")
    return text, found


def _equal(name: str, value: Any, schema: Schema) -> tuple[str, Expression]:
    said = "true" if value is True else "false" if value is False else str(value)
    text = f"{name} = {said}"
    schema[name]  # refuses an unknown name
    left = Symbol(Token("name", name, 0, len(name)))
    right = Symbol(Token("text", said, len(name) + 3, len(text)))
    return text, ComparedTerms("=", left, right, Token("operator", "=", len(name) + 1, len(name) + 2))
