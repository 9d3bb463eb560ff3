"""Adapters: a schema as SDMetrics' metadata, and a synthesizer for SDGym's benchmarks. Neither package is required."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from understudy.errors import UsageError
from understudy.planning import as_schema
from understudy.privacy.budget import Amount
from understudy.publishing import publish
from understudy.release.release import Release
from understudy.schema import Schema

_SDTYPES = {
    "integer": {"sdtype": "numerical"},
    "number": {"sdtype": "numerical"},
    "boolean": {"sdtype": "boolean"},
    "id": {"sdtype": "id"},
    "date": {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"},
    "datetime": {"sdtype": "datetime"},
}
_CATEGORICAL = {"sdtype": "categorical"}


def sdmetrics_metadata(schema: Schema) -> dict[str, Any]:
    """Return the metadata that reports and metrics of SDMetrics take for a single table.

    Columns that are dropped are left out. SDMetrics reads the private rows outside every promise: what it says is for
    the custodian, like `evaluate`.

    Args:
        schema: of the table: a kind of SDMetrics is given for each of its columns.

    >>> sdmetrics_metadata(schema)["columns"]["age"]
    {'sdtype': 'numerical'}
    """
    return {"columns": {a.name: dict(_SDTYPES.get(a.kind, _CATEGORICAL)) for a in schema.attributes if a.published}}


def sdgym_synthesizer(
    schemas: Iterable[Schema | str],
    *,
    epsilon: Amount = 1,
    delta: Amount = 0,
    method: str = "auto",
    ledger: Any = None,
    name: str = "understudy",
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Return a custom synthesizer for `sdgym.benchmark_single_table(custom_synthesizers=[…])`.

    A schema may not be read from rows, so there must be one for each dataset of the benchmark; it is found by the names
    of the columns. Every training spends epsilon from the ledger, under an account without a cap.

    Args:
        schemas: a `Schema` or the path of a schema.toml for each dataset.
        epsilon: what one training spends.
        delta: the allowed failure probability.
        method: "auto" or the name of a method.
        ledger: the path of the ledger that pays.
        name: under which the benchmark lists it.
        options: options of the method.
    """
    try:
        import sdgym
    except ImportError:
        raise UsageError("an SDGym synthesizer needs SDGym: pip install sdgym, in an environment of its own") from None
    known = [as_schema(schema) for schema in schemas]

    def trained(data: Any, metadata: Any) -> Release:
        paid = {"epsilon": epsilon, "delta": delta, "method": method, "ledger": ledger, "cap": "none"}
        return publish(data, _schema_for(data, known), progress=False, **paid, **(options or {}))

    def sampled(release: Release, rows: int) -> Any:
        return release.sample(int(rows))

    return sdgym.create_single_table_synthesizer(name, trained, sampled)


def _schema_for(data: Any, known: list[Schema]) -> Schema:
    columns = set(data.columns)
    for schema in known:
        if set(schema.columns) == columns:
            return schema
    raise UsageError(
        "no schema has the columns of this dataset: give one schema for each dataset of the benchmark. A schema cannot "
        "be read from the rows, since that would be a leak"
    )
