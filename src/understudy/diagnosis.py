"""What is installed and what works on this machine."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from understudy.version import VERSION


def examine() -> list[dict[str, Any]]:
    """Return one finding for each thing looked at: whether it works, is needed, is not installed."""
    findings = [
        _finding("understudy", True, VERSION),
        _finding("python", True, platform.python_version()),
    ]
    findings += [
        _installed(name, True) for name in ("numpy", "numba", "opendp", "pyarrow", "narwhals", "tomlkit", "typer")
    ]
    findings += [_installed(name, False) for name in ("pandas", "polars")]
    findings += [_works("exact noise", _noise), _works("ledger", _ledger), _works("counting", _counting)]
    engines = (("duckdb", _duckdb), ("postgresql", _postgresql), ("spark", _spark))
    findings += [_works(f"engine {name}", attempt, needed=False) for name, attempt in engines]
    findings.append(_works("federation", _federation, needed=False))
    findings.append(_works("studio", _studio, needed=False))
    return findings


def _finding(what: str, needed: bool, detail: str, *, ok: bool = True, absent: bool = False) -> dict[str, Any]:
    return {"what": what, "ok": ok, "needed": needed, "absent": absent, "detail": detail}


def _absent(what: str, needed: bool, advice: str) -> dict[str, Any]:
    return _finding(what, needed, f"{advice}{'' if needed else ' (optional)'}", ok=False, absent=True)


def _installed(name: str, needed: bool) -> dict[str, Any]:
    try:
        return _finding(name, needed, version(name))
    except PackageNotFoundError:
        return _absent(name, needed, "not installed; pip install understudy again" if needed else "not installed")


def _works(what: str, attempt: Callable[[], str], needed: bool = True) -> dict[str, Any]:
    try:
        return _finding(what, needed, attempt())
    except ImportError as error:
        return _absent(what, needed, f"{error.name} is not installed")
    except Exception as error:
        return _finding(what, needed, f"{type(error).__name__}: {error}", ok=False)


def _noise() -> str:
    import numpy as np

    from understudy.privacy.random_source import SystemSource

    drawn = SystemSource().laplace(np.zeros(1000, dtype=np.int64), 10.0)
    assert drawn.any(), "a thousand draws were all zero"
    return "discrete Laplace from the operating system's entropy"


def _ledger() -> str:
    from understudy.privacy.ledger import Ledger

    with tempfile.TemporaryDirectory() as folder, closing(Ledger(Path(folder) / "ledger.db")) as ledger:
        ledger.verify()
    return "SQLite file, locked and hash-chained"


def _federation() -> str:
    import ssl

    import cryptography

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return f"several owners over mutual TLS: {ssl.OPENSSL_VERSION}, cryptography {cryptography.__version__}"


def _studio() -> str:
    import cryptography
    import jinja2
    import starlette
    import uvicorn

    versions = (("Starlette", starlette), ("uvicorn", uvicorn), ("Jinja", jinja2), ("cryptography", cryptography))
    return f"the steward's page: {', '.join(f'{name} {module.__version__}' for name, module in versions)}"


def _counting() -> str:
    import numpy as np

    from understudy.compiled import kept_on_disk
    from understudy.engines.memory import MemoryEngine
    from understudy.schema import Attribute, Axis, Booleans, Schema

    schema = Schema("doctor", (Attribute("a", Booleans()),), rows=3)
    engine = MemoryEngine({"a": np.array([0, 1, 1], dtype=np.uint8)}, 3, schema)
    assert next(iter(engine.marginals([(Axis("a"),)]))).tolist() == [1, 2]
    if not kept_on_disk():
        return "compiled by numba anew at every start: set NUMBA_CACHE_DIR to a folder that can be written"
    return "compiled by numba"


def _duckdb() -> str:
    import duckdb

    with duckdb.connect() as connection:
        assert connection.execute("SELECT count(*) FROM range(3)").fetchone() == (3,)
    return f"DuckDB {duckdb.__version__}: tables of duckdb:/// files, Parquet files"


def _postgresql() -> str:
    import psycopg

    library = psycopg.pq.version()
    return (
        f"psycopg {psycopg.__version__}, libpq {library // 10000}.{library % 10000}: tables at postgresql:// addresses"
    )


def _spark() -> str:
    import subprocess

    version("pyspark")
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else "java"
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        raise RuntimeError("pyspark is there, Java is not: install Java 17 or newer") from None
    return f"PySpark {version('pyspark')} on {said.splitlines()[0]}: Parquet paths, catalog tables, --master"
