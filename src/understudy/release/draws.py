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
    from understudy.release.release import Release


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        about = f" about {', '.join(self.coded.about)}" if self.coded.about else ""
        return f"<Draws: {len(self)} tables of {self.coded.rows:,} rows{about}; go through them, then .combine(…)>"

    def __len__(self) -> int:
        return len(self.coded)

    def __iter__(self) -> Iterator[Any]:
        import pyarrow as pa

        from understudy.release.frames import to_frame

        for chunks in self._decoded():
            yield to_frame(pa.concat_tables(chunks), self.release.schema, self.release.library)

    def write(self, path: str | Path) -> list[Path]:
        """Write each table to a file of its own, NAME-01.csv and so on, and return their names."""
        from understudy.release.writing import write_table

        target, out = Path(path), []
        schema = placed_schema(self.release.schema, self.release.shapes)
        digits = max(2, len(str(len(self))))
        for number, chunks in enumerate(self._decoded(), 1):
            out.append(target.with_name(f"{target.stem}-{number:0{digits}}{target.suffix}"))
            write_table(chunks, out[-1], schema)
        return out

    def _decoded(self) -> Iterator[Iterator[Any]]:
        """Yield each table, decoded a chunk at a time; values are settled where rules leave them open."""
        from understudy.release.writing import decode_chunks

        release = self.release
        settling = Drawing.of(release, 0, None).settling
        schema = placed_schema(release.schema, release.shapes)
        for i, rows in enumerate(self.coded):
            generator = np.random.default_rng([self.coded.seed, i, 1])
            placed = placed_rows(rows, release.shapes, generator) if settling is None else rows
            yield decode_chunks([placed], schema, release.columns, generator, settling)

    def combine(self, estimates: Sequence[float], variances: Sequence[float]) -> Combined:
        """Combine one estimate and one squared standard error of each table, by the rule that belongs to these rows."""
        return self.coded.combine(estimates, variances)
