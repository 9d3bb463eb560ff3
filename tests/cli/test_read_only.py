"""A package that cannot be written to and no home folder: compiled code is kept nowhere, and everything still runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import write_people

import understudy
from understudy.privacy.ledger import Ledger

pytestmark = pytest.mark.slow
NO_FOLDER = os.devnull  # nothing can be made inside it, not even by root
READ_ONLY_MOUNT = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A folder that holds a copy of the package and nothing else."""
    source, copy = Path(understudy.__file__).parent, tmp_path / "site-packages"
    shutil.copytree(source, copy / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def can_mount(folder: Path) -> bool:
    """In a namespace of its own, so that nothing stays mounted; some machines do not allow one."""
    if shutil.which("unshare") is None:
        return False
    return subprocess.run(read_only(folder, "true"), capture_output=True).returncode == 0


def read_only(folder: Path, *command: str) -> list[str]:
    return ["unshare", "-rm", "sh", "-c", READ_ONLY_MOUNT, "sh", str(folder), *command]


def without_home(package: Path, **more: str) -> dict[str, str]:
    """The environment of a service: the copied package, and no folder of the user's that can be written to."""
    private = ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "UNDERSTUDY_LEDGER")
    inherited = {name: value for name, value in os.environ.items() if name not in private}
    nowhere = {"HOME": NO_FOLDER, "USERPROFILE": NO_FOLDER, "LOCALAPPDATA": NO_FOLDER}
    return {**inherited, **nowhere, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **more}


def publish_and_sample(folder: Path, package: Path, prefix: list[str], **more: str) -> None:
    """The two verbs that compile: counting rows, fitting a model, drawing from it."""
    data, schema = write_people(folder)
    release = folder / "out.release.zip"
    for arguments in (
        ("publish", data, "--schema", schema, "--epsilon", 1, "--method", "aim", "-o", folder / "out.csv"),
        ("sample", release, "--rows", 10, "-o", folder / "more.csv"),
    ):
        command = [*prefix, sys.executable, "-m", "understudy", *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", env=without_home(package, **more), cwd=folder,
            timeout=900,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert len((folder / "more.csv").read_text(encoding="utf-8").splitlines()) == 11
    book = Ledger(folder / "understudy-ledger.db")
    assert [entry.kind for entry in book.entries()][-1] == "release"
    book.close()


def test_a_package_on_a_read_only_disk(tmp_path: Path, package: Path) -> None:
    """Really read-only: mounted so where a namespace can be had (which binds root too), else by its modes."""
    if can_mount(package):
        prefix = read_only(package)
    elif os.name == "posix" and os.geteuid() != 0:
        prefix = []
        for path in (package, *package.rglob("*")):
            path.chmod(path.stat().st_mode & ~0o222)
    else:
        pytest.skip("modes do not bind root, and no read-only file system can be mounted here")
    try:
        publish_and_sample(tmp_path, package, prefix)
        assert not list(package.rglob("__pycache__"))
    finally:
        for path in (package, *package.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)


def test_a_package_whose_caches_cannot_be_made(tmp_path: Path, package: Path) -> None:
    """The same on any machine and for any user: a file stands where each folder of compiled code would be."""
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_bytes(b"")
    publish_and_sample(tmp_path, package, [])
    doctor = [sys.executable, "-m", "understudy", "doctor"]
    said = subprocess.run(doctor, capture_output=True, text=True, env=without_home(package), cwd=tmp_path)
    assert said.returncode == 0 and "set NUMBA_CACHE_DIR" in said.stdout


def test_a_folder_for_compiled_code_is_used(tmp_path: Path, package: Path) -> None:
    for folder in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_bytes(b"")
    (tmp_path / "kept").mkdir()
    publish_and_sample(tmp_path, package, [], NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert list((tmp_path / "kept").rglob("*.nbi"))
