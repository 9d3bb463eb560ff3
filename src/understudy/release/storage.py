"""Release files: JSON and plain arrays in one zip. No pickle, no path, user, host or time inside.

    manifest.json       format version, the hash of every hashed member, and the release's hash
    schema.json card.json model.json measurements.json    hashed
    arrays/N.npy        hashed; numbers only
    ledger.json         the ledger's head when the release was made; not hashed

Reading checks the names and sizes of all members before anything is unpacked, then unpacks the documents. An array is
unpacked when the model asks for it, after its size was compared with the shape that the schema gives it; a member that
nothing asks for is refused without being unpacked.
"""

from __future__ import annotations

import ast
import hashlib
import io
import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.release.documents import read_document, write_document


class Format(IntEnum):
    """The format of a release file: the least number that has all of a release, and which an older reader refuses."""

    PLAIN = 1
    DETAILS = 2  # with details inside bins, which a reader of format 1 would leave out
    TREES = 3  # with noisy trees, whose bins and shapes a reader of format 2 would leave out
    RULES = 4  # with rules or uses, which a reader of format 3 would not keep
    HISTORIES = 5  # with histories of people, which a reader of format 4 does not know
    TABLES = 6  # with tables that belong together, which a reader of format 5 does not know
    PRIOR = 7  # with what was known before, which a reader of format 6 does not know
    GROUPS = 8  # with tables over merged groups of values, which a reader of format 7 does not know
    CURVES = 9  # with bins that no tree was bought for, inside which a reader of format 8 would not know the shape
    TIES = 10  # with histories whose values are tied, which a reader of format 9 may take for a damaged file
    ROUNDING = 11  # with rounding classes of numbers, by which a reader of format 10 would not draw them
    SPIKES = 12  # with values that many rows share, or first days of months, which a reader of format 11 does not know


NEWEST = max(Format)  # that can be read


MAX_BYTES = 2 * 1024**3
MAX_DOCUMENT_BYTES = 32 * 1024**2  # of all documents together
FREE_BYTES = 64 * 1024**2  # what any file may unpack to; beyond it, what its own size allows
MAX_RATIO = 100
MAX_MEMBERS = 20_000
MAX_ATTRIBUTES = 20_000
FREE_CODES = 2**22  # how many values the attributes may have in all; beyond it, what the file's size allows
_MAX_HEADER = 1024  # of an array; numpy's take 128 bytes for any shape a release has
_MAGIC = b"\x93NUMPY\x01\x00"
_DATE = (1980, 1, 1, 0, 0, 0)
_DOCUMENTS = ("schema", "card", "model", "measurements")
_APART = ("manifest.json", "ledger.json")  # not hashed


def content_hash(members: Mapping[str, bytes]) -> str:
    """Return the hash of a release: that of the names and hashes of its members."""
    return _joint_hash(_digests(members))


def _digests(members: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}


def _joint_hash(digests: Mapping[str, str]) -> str:
    lines = [f"{digest} {name}" for name, digest in sorted(digests.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# -- writing -------------------------------------------------------------------------------------------------


def pack(documents: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return the hashed members as bytes."""
    members = {f"{name}.json": write_document(documents[name]) for name in _DOCUMENTS}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
        members[f"arrays/{name}.npy"] = buffer.getvalue()
    return members


def release_bytes(members: Mapping[str, bytes], ledger: Mapping[str, Any], format: int = Format.PLAIN) -> bytes:
    """Return a release file's content."""
    digests = _digests(members)
    manifest = {"format": format, "members": digests, "hash": _joint_hash(digests)}
    every = {"manifest.json": write_document(manifest), **members, "ledger.json": write_document(ledger)}
    packed = _zip(every, zipfile.ZIP_DEFLATED)
    if sum(map(len, every.values())) > _most_bytes(len(packed)):  # a reader would take it for a bomb: stored, it opens
        return _zip(every, zipfile.ZIP_STORED)
    return packed


def _zip(members: Mapping[str, bytes], method: int) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        for member, data in members.items():
            archive.writestr(zipfile.ZipInfo(member, _DATE), data, method)
    return content.getvalue()


# -- reading -------------------------------------------------------------------------------------------------


def _most_bytes(packed: int) -> int:
    """Return how much a file of this size may unpack to: far more than noisy tables do, far less than a bomb."""
    return min(MAX_BYTES, FREE_BYTES + MAX_RATIO * packed)


@contextmanager
def reading(path: Path) -> Iterator[StoredRelease]:
    """Open a release file with its names, sizes and documents checked; every doubt is a ReleaseError."""
    try:
        with path.open("rb") as file:
            archive = _archive(file, path.name)
            yield StoredRelease(archive, _infos(archive, path), path)
    except FileNotFoundError:
        raise ReleaseError(f"there is no release file {path.name!r}") from None
    except IsADirectoryError:
        raise ReleaseError(f"{path.name!r} is a folder, not a release file") from None
    except OSError:
        raise ReleaseError(f"{path.name!r} cannot be read") from None


def _archive(file: BinaryIO, name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, LookupError, OSError):
        raise ReleaseError(f"{name!r} is not a release file, or it is truncated") from None


def _infos(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name, before any is unpacked."""
    infos = {info.filename: info for info in archive.infolist()}
    if len(infos) > MAX_MEMBERS or len(infos) != len(archive.infolist()):
        raise ReleaseError(f"{path.name!r} has too many or repeated parts to be a release")
    if sum(info.file_size for info in infos.values()) > _most_bytes(path.stat().st_size):
        raise ReleaseError(f"{path.name!r} would unpack to far more than its size; refused")
    documents = [info for name, info in infos.items() if not (name.startswith("arrays/") and name.endswith(".npy"))]
    if sum(info.file_size for info in documents) > MAX_DOCUMENT_BYTES:
        raise ReleaseError(f"{path.name!r} has documents of more than {MAX_DOCUMENT_BYTES // 1024**2} MiB; refused")
    return infos


class StoredRelease:
    """A release file that is open: its documents, and its arrays for whoever knows their shapes."""

    def __init__(self, archive: zipfile.ZipFile, infos: Mapping[str, zipfile.ZipInfo], path: Path) -> None:
        self._archive = archive
        self._infos = infos
        self._name = path.name
        self.max_codes = FREE_CODES + path.stat().st_size // 4
        manifest = read_document(self._unpacked("manifest.json"), "manifest.json")
        self._digests = self._checked(manifest)
        self.hash = str(manifest["hash"])
        self.ledger = read_document(self._unpacked("ledger.json"), "ledger.json")
        self._members: dict[str, bytes] = {}
        files = {name: f"{name}.json" for name in sorted(_DOCUMENTS)}
        self.documents = {name: read_document(self._member(file), file) for name, file in files.items()}

    def _checked(self, manifest: dict[str, Any]) -> dict[str, str]:
        format, digests = manifest.get("format"), manifest.get("members")
        if type(format) is not int or not 1 <= format <= NEWEST:
            raise ReleaseError("this release was written by a newer understudy: upgrade to open it")
        if not isinstance(digests, dict) or not all(isinstance(digest, str) for digest in digests.values()):
            raise self._changed
        if {*digests, *_APART} != {*self._infos, *_APART} or manifest.get("hash") != _joint_hash(digests):
            raise self._changed
        return digests

    @property
    def _changed(self) -> ReleaseError:
        return ReleaseError(f"{self._name!r} does not fit its own hashes: it was changed or damaged")

    def take(self, name: str, shape: tuple[int, ...], dtype: type[np.generic]) -> NDArray[Any]:
        """Unpack the array with this name; refused before that if its size is not that of this shape and type."""
        member = f"arrays/{name}.npy"
        info = self._infos.get(member)
        if info is None:
            raise ReleaseError(f"{self._name!r} is damaged: a part is missing")
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if not size < info.file_size <= size + _MAX_HEADER:
            raise ReleaseError("an array of the release is damaged")
        return _array(self._member(member), shape, np.dtype(dtype))

    def all_members(self) -> dict[str, bytes]:
        """Return the hashed members as they were read; refuse a file with more than were asked for."""
        if set(self._members) != set(self._digests):
            raise ReleaseError(f"{self._name!r} holds a part that nothing in it refers to")
        return {name: self._members[name] for name in self._infos if name in self._members}

    def _member(self, name: str) -> bytes:
        if name not in self._members:
            data = self._unpacked(name)
            if hashlib.sha256(data).hexdigest() != self._digests.get(name):
                raise self._changed
            self._members[name] = data
        return self._members[name]

    def _unpacked(self, name: str) -> bytes:
        info = self._infos.get(name)
        if info is None:
            raise ReleaseError(f"the release has no {name}: it is not a release, or it is truncated")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ReleaseError(f"{self._name!r} is damaged")
        try:
            with self._archive.open(info) as part:
                data = part.read(info.file_size + 1)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError, ValueError):
            raise ReleaseError(f"{self._name!r} is damaged") from None
        if len(data) != info.file_size:
            raise ReleaseError(f"{self._name!r} is damaged")
        return data


def _array(data: bytes, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a view of the bytes, which are one array of this shape and type in the format .npy, version 1.0."""
    start = 10 + int.from_bytes(data[8:10], "little")
    if data[:8] != _MAGIC or len(data) - start != dtype.itemsize * math.prod(shape):
        raise ReleaseError("an array of the release is damaged")
    try:
        header = ast.literal_eval(data[10:start].decode("latin-1"))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        header = None
    if header != {"descr": dtype.newbyteorder("<").str, "fortran_order": False, "shape": shape}:
        raise ReleaseError("an array of the release is damaged")
    array = np.frombuffer(data, dtype.newbyteorder("<"), offset=start).reshape(shape).astype(dtype, copy=False)
    return array if array.flags.aligned else array.copy()
