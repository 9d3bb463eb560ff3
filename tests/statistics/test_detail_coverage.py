"""A range that cuts a bin: over 150 releases the truth lies within two standard errors about 95 times in 100."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import another_source
from understudy.engines.memory import MemoryEngine
from understudy.methods import method_named
from understudy.models.within_bins import shape_of
from understudy.privacy.budget import Budget
from understudy.privacy.ledger import Ledger
from understudy.privacy.local_table import LocalPrivateTable
from understudy.query.queries import Query, answer
from understudy.schema import Attribute, Intervals, Schema

ROWS, RELEASES = 6000, 150
EDGES = (0, 100, 200, 400, 800)
QUERIES = ("count where amount < 50", "count where 125 <= amount < 300", "count where amount >= 500", "mean(amount)")


@pytest.mark.parametrize("delta", [0, 1e-9])
def test_two_standard_errors_cover_a_cut_bin(delta: float, tmp_path: Path) -> None:
    """One attribute, so that no model error is in the way; ends of ranges lie on the grid, means have all of it."""
    attribute = Attribute("amount", Intervals("integer", EDGES), fine="wavelet", fine_cells=8)
    schema = Schema("t", (attribute,), rows=ROWS)
    generator = np.random.default_rng(4)
    amounts = np.minimum(generator.exponential(220, ROWS).astype(int), 800).astype(float)
    codes = {a.name: a.domain.encode_numbers(amounts).astype(np.uint16) for a in schema.counted.modelled}  # type: ignore[union-attr]
    engine, ledger = MemoryEngine(codes, ROWS, schema.counted), Ledger(tmp_path / "l.db")
    truth = [(amounts < 50).sum(), ((amounts >= 125) & (amounts < 300)).sum(), (amounts >= 500).sum(), amounts.mean()]
    method, z = method_named("privbayes", {}, schema), []
    for _ in range(RELEASES):
        reservation = ledger.reserve(schema, Budget(1, delta), {"method": "test"}, unlimited=True)
        fit = method.fit(LocalPrivateTable(schema, engine, reservation, another_source()))
        shape = shape_of(attribute, fit.details[0], ROWS * fit.model.project(["amount"]).table)
        found = [
            answer(fit.model, Query.of_text(text, schema, ROWS, {"amount": shape}), fit.measurements)
            for text in QUERIES
        ]
        z.append([(f.value - t) / f.stderr for f, t in zip(found, truth)])  # type: ignore[operator]
        reservation.finish("test")
    inside = (np.abs(np.asarray(z)) < 2).mean(axis=0)
    # the answer is better than the plain sum that the error speaks of: it weighs details by how far they are believed
    assert (inside > 0.85).all() and inside.mean() > 0.9, inside
    assert np.asarray(z).std(axis=0).min() > 0.3  # and not so wide that it says nothing
