"""Draws as frames or files: several synthetic tables of a release, decoded like any other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from understudy.inference.combining import Combined
from understudy.inference.draws import CodedDraws
from understudy.models.within_bins import placed_rows, placed_schema
from understudy.release.drawing import Drawing

if TYPE_CHECKING:
    from understudy.models.model import Rows
    from understudy.release.decoding import Settling
    from understudy.release.release import Release


@dataclass(frozen=True, eq=False)
class Draws:
    """Several synthetic tables; go through them, run the same analysis on each, and combine what it says.

    Examples
    --------
    >>> import numpy as np, understudy
    >>> from understudy.demo import demo_schema, demo_table
    >>> table = demo_table(500, np.random.default_rng(1))
    >>> schema = demo_schema(rows=500)
    >>> release = understudy.publish(table, schema, epsilon=8, ledger="ledger.db", cap="none")  # doctest: +SKIP
    >>> draws = release.draws(20, about=["age", "owns_home"])  # doctest: +SKIP
    >>> ages = [frame["age"] for frame in draws]  # doctest: +SKIP
    >>> draws.combine([a.mean() for a in ages], [a.var() / len(a) for a in ages]).interval(0.95)  # doctest: +SKIP
    """

    release: Release
    coded: CodedDraws

    @property
    def covers(self) -> str:
        """Return what the spread of the tables includes."""
        return self.coded.covers

    def __len__(self) -> int:
        return len(self.coded)

    def __iter__(self) -> Iterator[Any]:
        import pyarrow as pa

        from understudy.release.frames import to_frame
        from understudy.release.writing import decode_chunks

        release = self.release
        for i, rows in enumerate(self.coded):
            generator = np.random.default_rng([self.coded.seed, i, 1])
            placed, settling = self._placed(rows, generator)
            schema = placed_schema(release.schema, release.shapes)
            tables = list(decode_chunks([placed], schema, release.columns, generator, settling))
            yield to_frame(pa.concat_tables(tables), release.schema, release.library)

    def write(self, path: str | Path) -> list[Path]:
        """Write each table to a file of its own, NAME-01.csv and so on, and return their names."""
        from understudy.release.writing import write_rows

        release, target, out = self.release, Path(path), []
        digits = max(2, len(str(len(self))))
        for i, rows in enumerate(self.coded):
            generator = np.random.default_rng([self.coded.seed, i, 1])
            own = target.with_name(f"{target.stem}-{i + 1:0{digits}}{target.suffix}")
            placed, settling = self._placed(rows, generator)
            schema = placed_schema(release.schema, release.shapes)
            write_rows(iter([placed]), own, schema, release.columns, generator, settling)
            out.append(own)
        return out

    def _placed(self, rows: Rows, generator: np.random.Generator) -> tuple[Rows, Settling | None]:
        """Return rows for decoding, and what settles their values where rules leave them open."""
        settling = Drawing.of(self.release, 0, None).settling
        return (placed_rows(rows, self.release.shapes, generator) if settling is None else rows), settling

    def combine(self, estimates: Sequence[float], variances: Sequence[float]) -> Combined:
        """Combine one estimate and one squared standard error of each table, by the rule that belongs to these rows."""
        return self.coded.combine(estimates, variances)
