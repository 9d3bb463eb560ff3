"""`scripts/wheelhouse`: understudy is installed from the folder it makes, without a network, and runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OFFLINE = "http://127.0.0.1:9"  # nobody listens there: whoever asks the network fails


def done(*command: object, cwd: Path, env: dict[str, str]) -> str:
    ran = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=1800,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.long
@pytest.mark.skipif(os.name != "posix", reason="the script is written for a POSIX shell")
def test_understudy_is_installed_without_a_network(tmp_path: Path) -> None:
    house = tmp_path / "wheelhouse"
    said = done(
        ROOT / "scripts" / "wheelhouse", "duckdb", cwd=tmp_path, env={**os.environ, "UNDERSTUDY_WHEELHOUSE": str(house)}
    )
    assert "--no-index --find-links wheelhouse 'understudy[duckdb]'" in said
    names = {path.name.split("-")[0] for path in house.iterdir()}
    assert {"understudy", "numpy", "numba", "opendp", "pyarrow", "duckdb"} <= names and "pandas" not in names

    unconfigured = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV"))}
    offline = {**unconfigured, "PIP_CONFIG_FILE": os.devnull, "PIP_DISABLE_PIP_VERSION_CHECK": "1",
               **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), OFFLINE)}  # fmt: skip
    done(sys.executable, "-m", "venv", "there", cwd=tmp_path, env=offline)
    there = tmp_path / "there" / "bin"
    done(
        there / "python", "-m", "pip", "install", "--no-index", "--find-links", "wheelhouse", "understudy[duckdb]",
        cwd=tmp_path, env=offline,
    )  # fmt: skip
    published = json.loads(
        done(there / "understudy", "demo", "-o", "demo", "--quiet", "--json", cwd=tmp_path, env=offline)
    )
    assert published["rows"] == 50_000
    where = done(there / "python", "-c", "import understudy; print(understudy.__file__)", cwd=tmp_path, env=offline)
    assert Path(where.strip()).is_relative_to(tmp_path / "there")
