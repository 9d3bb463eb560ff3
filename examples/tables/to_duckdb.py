"""Copy a folder of CSV files into a DuckDB file, a table for each. python to_duckdb.py FOLDER FILE"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb


def main(folder: Path, file: str) -> None:
    with duckdb.connect(file) as connection:
        for path in sorted(folder.glob("*.csv")):
            connection.execute(f'CREATE TABLE "{path.stem}" AS SELECT * FROM read_csv(?)', [str(path)])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
