"""The standard error of a range count or a mean is right: over 200 releases the truth lies within two of them about 95
times in 100."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import private_table
from understudy.demo import demo_rows, demo_schema
from understudy.methods.privelet import Privelet
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.query.queries import Query, answer
from understudy.schema import Axis, Schema

ROWS, RELEASES = 5_000, 200
QUERIES = (
    "count where 30 <= age < 45 and income >= 45000",
    "count where age >= 65",
    "count where income < 15000",
    "count where 16 <= age < 95 and 0 < income < 100000",
    "mean(income)",
    "mean(age) where income >= 22000",
)


def public(neighbours: str) -> Schema:
    full = demo_schema(ROWS)
    rows = ROWS if neighbours == "replace-one" else None
    return Schema("people", (full["age"], full["income"]), rows=rows, neighbours=neighbours)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("transform", "form", "delta", "neighbours"),
    [
        ("wavelet", "tight", 0, "replace-one"),
        ("wavelet", "published", 0, "replace-one"),
        ("plain", "tight", 0, "replace-one"),
        ("wavelet", "tight", 1e-9, "replace-one"),
        ("wavelet", "tight", 0, "add-remove"),
    ],
)
def test_two_standard_errors_cover(transform: str, form: str, delta: float, neighbours: str, tmp_path: Path) -> None:
    schema, method = public(neighbours), Privelet(form=form, transform=transform)
    codes = {n: c for n, c in demo_rows(ROWS, np.random.default_rng(3)).items() if n in schema.names}
    exact = np.zeros(schema.sizes([Axis(name) for name in schema.names]))
    np.add.at(exact, tuple(codes[n] for n in schema.names), 1)
    queries = [Query.of_text(text, schema, ROWS) for text in QUERIES]
    truth = np.array([_true(query, exact, schema) for query in queries])
    ledger, errors = Ledger(tmp_path / "ledger.db"), []
    for _ in range(RELEASES):
        table = private_table(schema, codes, Budget(1, delta), ledger)
        model = method.fit(table).model
        table.reservation.finish("test")  # type: ignore[attr-defined]
        found = [answer(model, query) for query in queries]
        errors.append([(f.value - t) / f.stderr for f, t in zip(found, truth)])  # type: ignore[operator]
    z = np.array(errors)
    assert ((np.abs(z) < 2).mean(axis=0) > 0.90).all()  # 200 trials of .95: three deviations are .046
    assert ((np.abs(z) < 2).mean(axis=0) < 0.995).all()
    assert z.std(axis=0) == pytest.approx(1, abs=0.2)
    assert np.abs(z.mean(axis=0)).max() < 0.28  # four deviations of a mean of 200


def _true(query: Query, exact: np.ndarray, schema: Schema) -> float:
    """The conditions' weights on the exact counts, so that a cut bin's shape is no error here."""
    if query.of is not None:
        own = query.selections[query.of]
        return _sum(query, exact, schema, own.moments) / _sum(query, exact, schema, own.present)
    return _sum(query, exact, schema, None)


def _sum(query: Query, exact: np.ndarray, schema: Schema, of: np.ndarray | None) -> float:
    for name in schema.names:
        weights = query.selections[name].weights if name in query.selections else np.ones(schema[name].size)
        exact = np.tensordot(of if of is not None and name == query.of else weights, exact, axes=(0, 0))
    return float(exact)
