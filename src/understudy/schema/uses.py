"""Uses: the analyses that a release is meant for, as public knowledge. AIM puts a part of its budget there first.

A use is written before anyone looks at the rows, like everything else in a schema: a list made after seeing which
tables are interesting would tell about them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from understudy.errors import SchemaError, did_you_mean
from understudy.schema.scales.scale import check_keys

MAX_USES = 100
MAX_NAMES = 6  # of an analysis: a table over more would be noise
USE_KEYS = ("analysis", "target", "from")


@dataclass(frozen=True)
class Use:
    """One intended analysis: a table over a few columns, or a classifier.

    Args:
        names: the columns that are looked at together; of a classifier, those it predicts from (none: all others).
        target: the column that a classifier predicts; empty for a table.

    >>> Use.table("income by sex, region").names
    ('income', 'sex', 'region')
    >>> Use((), "income").as_json()
    {'target': 'income'}
    """

    names: tuple[str, ...]
    target: str = ""

    @staticmethod
    def table(analysis: str | Sequence[str]) -> Use:
        """Return the use for a table, from a text such as "income by sex, region" or from a list of names."""
        if isinstance(analysis, str):
            analysis = [part.strip() for part in analysis.replace(" by ", ",").split(",")]
        return Use(tuple(dict.fromkeys(str(name) for name in analysis)))

    def as_json(self) -> dict[str, Any]:
        """Return the plain form."""
        if not self.target:
            return {"analysis": list(self.names)}
        return {"target": self.target} | ({"from": list(self.names)} if self.names else {})

    def check(self, attributes: Sequence[str]) -> None:
        """Refuse a use of columns that are not among these, or of too many."""
        for name in (*self.names, *([self.target] if self.target else [])):
            if name not in attributes:
                raise SchemaError(
                    f"[[uses]] names {name!r}, which is no column that is published. "
                    f"{did_you_mean(name, list(attributes))}"
                )
        if not self.target and not 2 <= len(self.names) <= MAX_NAMES:
            raise SchemaError(
                f"an `analysis` of [[uses]] looks at 2 to {MAX_NAMES} columns together, and one has {len(self.names)}: "
                "write several uses"
            )
        if self.target in self.names:
            raise SchemaError(f"[[uses]]: {self.target!r} cannot be predicted `from` itself")


def checked_uses(given: Any, attributes: Sequence[str]) -> tuple[Use, ...]:
    """Read the list [[uses]] of a schema; `attributes` are the names of the columns that are published."""
    if not isinstance(given, list) or not all(isinstance(body, Mapping) for body in given):
        raise SchemaError(
            'uses are written as [[uses]], each with an `analysis` ("income by sex, region") or a `target`'
        )
    if len(given) > MAX_USES:
        raise SchemaError(f"a schema has at most {MAX_USES} uses, and this one has {len(given):,}")
    uses = tuple(dict.fromkeys(_use(body) for body in given))
    for use in uses:
        use.check(attributes)
    return uses


def _use(body: Mapping[str, Any]) -> Use:
    check_keys(body, USE_KEYS, "[[uses]]")
    if ("analysis" in body) == ("target" in body) or ("from" in body and "target" not in body):
        raise SchemaError("each of [[uses]] has an `analysis`, or a `target` that may have a `from`")
    if "analysis" in body:
        return Use.table(_texts(body["analysis"], "analysis"))
    target, names = body["target"], _texts(body.get("from", []), "from")
    if not isinstance(target, str) or not target:
        raise SchemaError("`target` of [[uses]] is the name of a column")
    return Use(Use.table(names).names if names else (), target)


def _texts(given: Any, key: str) -> Any:
    if isinstance(given, str) or (isinstance(given, list) and all(isinstance(part, str) for part in given)):
        return given
    raise SchemaError(f'`{key}` of [[uses]] is a text such as "income by sex, region", or a list of columns')
