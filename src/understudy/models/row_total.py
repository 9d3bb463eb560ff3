"""The row count from noisy tables: declared in the schema, or the best mean of their totals."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.privacy.measurement import Measurement
from understudy.schema import MAX_ROWS, Schema

MIN_VARIANCE = 1e-9  # a table without noise, in tests, must not divide by zero


def pooled_rows(schema: Schema, measurements: Sequence[Measurement]) -> int:
    """Return the declared count, or the best estimate from the totals of noisy tables (at least 1).

    A total of c cells has c times the variance of one, so the mean of least variance has the weights 1/(c·variance).
    It is post-processing: the tables were paid for, and `rows_max` is public.
    """
    if schema.rows is not None:
        return schema.rows
    variances = [max(1, m.values.size) * max(m.variance, MIN_VARIANCE) for m in measurements]
    mean = pooled_total([(float(m.values.sum()), variance) for m, variance in zip(measurements, variances)])
    return max(1, min(round(mean), schema.rows_max or MAX_ROWS))


def pooled_total(totals: Sequence[tuple[float, float]]) -> float:
    """Return the average of estimates of one total, each with its variance, weighted by certainty."""
    weights = [1 / variance for _, variance in totals]
    return sum(value * weight for (value, _), weight in zip(totals, weights)) / sum(weights)
