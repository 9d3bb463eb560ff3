"""Dialects: what DuckDB, PostgreSQL and Spark write in their own way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from understudy.schema.scales.sql_syntax import Syntax


class DuckDBSyntax(Syntax):
    name = "duckdb"  # which has room for every grouping set at once: 900 tables took 2.7 GB, four times 256 of them .8

    def as_text(self, sql: str) -> str:
        return f'(CAST({sql} AS VARCHAR) COLLATE "binary")'

    def as_integer(self, sql: str) -> str:
        # a plain cast raises for cells that no CASE lets through: DuckDB casts the dictionary of a Parquet column whole
        return f"TRY_CAST({sql} AS BIGINT)"

    def parsed_double(self, text: str) -> str:
        return f"TRY_CAST({text} AS DOUBLE)"

    def divide(self, sql: str, by: int) -> str:
        return f"(({sql}) // {by})"

    def matches(self, cell: str, pattern: str) -> str:
        return f"regexp_full_match({cell}, {self.text(pattern)})"

    def group(self, cell: str, pattern: str, at: int) -> str:
        return f"regexp_extract({cell}, {self.text(f'^(?:{pattern})$')}, {at})"

    def digest(self, text: str) -> str:
        return f"CAST('0x' || substr(md5({text}), 1, 7) AS BIGINT)"

    def days(self, column: str) -> str:
        return f"date_diff('day', DATE '1970-01-01', {column})"

    def microseconds(self, column: str) -> str:
        return f"epoch_us({column})"

    def pick(self, values: Sequence[int], at: str) -> str:
        return f"list_extract(CAST('{list(values)}' AS INTEGER[]), {at} + 1)"

    def step(self, value: str, bounds: Sequence[float], codes: Sequence[int], alias: str) -> tuple[str, str]:
        listed = f"CAST('[{', '.join(map(repr, [-math.inf, *bounds]))}]' AS DOUBLE[])"
        table = f"(SELECT unnest({listed}) AS b, unnest(CAST('{list(codes)}' AS INTEGER[])) AS c) AS {alias}"
        return f"{alias}.c", f"ASOF LEFT JOIN {table} ON {value} >= {alias}.b"

    def keys(self, keys: Sequence[str], relation: str) -> str:
        names = [f"k{i}" for i in range(len(keys))]
        each = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names))
        sets = ", ".join(f"({name})" for name in names)
        first = f"coalesce({', '.join(names)})" if len(names) > 1 else names[0]
        keyed = f"SELECT {each} FROM {relation}"
        return f"SELECT {first} AS k, count(*) AS n FROM ({keyed}) GROUP BY GROUPING SETS ({sets})"


class PostgreSQLSyntax(Syntax):
    name = "postgresql"
    tables_at_once = 1024  # 950 cost five times what 190 do, and the rows are read and coded once
    fence = " OFFSET 0"

    def decimal_as_double(self, cell: str) -> str:
        return (
            f"CASE WHEN abs({cell}) <= 1e300 THEN {self.as_double(cell)} "
            f"WHEN {cell} IS NULL OR {cell} = 'NaN' THEN NULL "
            f"WHEN {cell} = 'Infinity' OR {cell} = '-Infinity' THEN {self.double(math.inf)} "
            f"WHEN {cell} > 0 THEN {self.double(1e300)} ELSE {self.double(-1e300)} END"
        )

    def as_text(self, sql: str) -> str:
        return f'(CAST({sql} AS text) COLLATE "C")'

    def divide(self, sql: str, by: int) -> str:
        return f"(({sql}) / {by})"

    def matches(self, cell: str, pattern: str) -> str:
        return f"({cell} ~ {self.text(f'^(?:{pattern})$')})"

    def group(self, cell: str, pattern: str, at: int) -> str:
        return f"(regexp_match({cell}, {self.text(f'^(?:{pattern})$')}))[{at}]"

    def digest(self, text: str) -> str:
        return f"CAST(CAST('x' || substr(md5(convert_to({text}, 'UTF8')), 1, 7) AS bit(28)) AS integer)"

    def days(self, column: str) -> str:
        return f"({column} - DATE '1970-01-01')"

    def microseconds(self, column: str) -> str:
        return f"CAST(extract(epoch FROM {column}) * 1000000 AS bigint)"

    def pick(self, values: Sequence[int], at: str) -> str:
        return f"(CAST('{{{','.join(map(str, values))}}}' AS integer[]))[{at} + 1]"

    def step(self, value: str, bounds: Sequence[float], codes: Sequence[int], alias: str) -> tuple[str, str]:
        listed = f"CAST('{{{','.join(map(repr, bounds))}}}' AS double precision[])"
        return self.pick(codes, f"width_bucket({value}, {listed})"), ""

    def keys(self, keys: Sequence[str], relation: str) -> str:
        # a set-returning function in the SELECT list is a plain loop; grouping sets would sort once for each set
        keyed = f"SELECT unnest(ARRAY[{', '.join(keys)}]) AS k FROM {relation}"
        return f"SELECT k, count(*) AS n FROM ({keyed}) z GROUP BY k"


class SparkSyntax(Syntax):
    name = "spark"
    tables_at_once = 1024
    timestamp = "TIMESTAMP_NTZ"
    instant = "TIMESTAMP"

    def wide_sum(self, sql: str) -> str:
        return f"sum(CAST({sql} AS DECIMAL(20, 0)))"

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, text: str) -> str:
        super().text(text)
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE)"

    def as_double(self, sql: str) -> str:
        return f"CAST({sql} AS DOUBLE)"

    def broken(self, value: str) -> str:
        return f"{value} <> rint({value})"  # floor is a BIGINT here, and overflows

    def as_text(self, sql: str) -> str:
        return f"(CAST({sql} AS STRING) COLLATE UTF8_BINARY)"

    def parsed_double(self, text: str) -> str:
        return f"try_cast({text} AS DOUBLE)"

    def parsed_integer(self, text: str) -> str:
        return f"try_cast({text} AS BIGINT)"

    def divide(self, sql: str, by: int) -> str:
        return f"(({sql}) DIV {by})"

    def matches(self, cell: str, pattern: str) -> str:
        return f"({cell} RLIKE {self.text(f'^(?:{pattern})' + chr(92) + 'z')})"

    def group(self, cell: str, pattern: str, at: int) -> str:
        return f"regexp_extract({cell}, {self.text(f'^(?:{pattern})' + chr(92) + 'z')}, {at})"

    def contains(self, cell: str, text: str) -> str:
        return f"instr({cell}, {self.text(text)}) > 0"

    def digest(self, text: str) -> str:
        return f"CAST(conv(substring(md5({text}), 1, 7), 16, 10) AS BIGINT)"

    def days(self, column: str) -> str:
        return f"unix_date({column})"

    def microseconds(self, column: str) -> str:
        return f"unix_micros(CAST({column} AS TIMESTAMP))"

    def finite(self, column: str) -> str | None:
        return None

    def pick(self, values: Sequence[int], at: str) -> str:
        return f"element_at(CAST(split('{','.join(map(str, values))}', ',') AS ARRAY<INT>), CAST({at} AS INT) + 1)"

    def step(self, value: str, bounds: Sequence[float], codes: Sequence[int], alias: str) -> tuple[str, str]:
        """Search by halving: the steps are folded over a list that is filled up to a power of two."""
        halvings = len(bounds).bit_length()
        filled = [*bounds, *[math.inf] * ((1 << halvings) - len(bounds))]
        listed = f"CAST(split('{','.join(map(repr, filled))}', ',') AS ARRAY<DOUBLE>)"
        steps = ", ".join(str(1 << power) for power in reversed(range(halvings)))
        further = f"CASE WHEN element_at({listed}, i + s) <= {value} THEN i + s ELSE i END"
        return self.pick(codes, f"aggregate(array({steps}), 0, (i, s) -> {further})"), ""

    def keys(self, keys: Sequence[str], relation: str) -> str:
        keyed = f"SELECT explode(array({', '.join(keys)})) AS k FROM {relation}"
        return f"SELECT k, count(*) AS n FROM ({keyed}) GROUP BY k"


def tree(value: str, bounds: Sequence[float], codes: Sequence[int | str], syntax: Syntax) -> str:
    """Return what `step` returns as a balanced tree of CASEs; a code may be SQL."""
    if not bounds:
        return str(codes[0])
    middle = len(bounds) // 2
    below = tree(value, bounds[:middle], codes[: middle + 1], syntax)
    above = tree(value, bounds[middle + 1 :], codes[middle + 1 :], syntax)
    return f"CASE WHEN {value} < {syntax.double(bounds[middle])} THEN {below} ELSE {above} END"
