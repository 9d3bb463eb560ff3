"""Release files: JSON and plain arrays in one zip. No pickle, no path, user, host or time inside.

    manifest.json       format version, the hash of every hashed member, and the release's hash
    schema.json card.json model.json measurements.json    hashed
    arrays/N.npy        hashed; numbers only
    ledger.json         the ledger's head when the release was made; not hashed

Reading checks sizes before anything is unpacked, then every hash, then every array's header.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError
from understudy.release.replacement import replacing

PLAIN_FORMAT = 1
DETAILS_FORMAT = 2  # with details inside bins, which a reader of format 1 would leave out
FORMAT = 2  # the newest that can be read
MOST_BYTES = 2 * 1024**3
MOST_MEMBERS = 20_000
_DATE = (1980, 1, 1, 0, 0, 0)
_DOCUMENTS = ("schema", "card", "model", "measurements")

Arrays = dict[str, NDArray[Any]]


def content_hash(members: Mapping[str, bytes]) -> str:
    lines = [f"{hashlib.sha256(data).hexdigest()} {name}" for name, data in sorted(members.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def pack(documents: Mapping[str, Any], arrays: Arrays) -> dict[str, bytes]:
    """The hashed members as bytes."""
    members = {f"{name}.json": _json(documents[name]) for name in _DOCUMENTS}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)
        members[f"arrays/{name}.npy"] = buffer.getvalue()
    return members


def write_release(
    path: Path, members: Mapping[str, bytes], ledger: Mapping[str, Any], format: int = PLAIN_FORMAT
) -> None:
    """All or nothing: a temporary file beside the target, synced, then moved into place."""
    with replacing(path) as file:
        file.write(release_bytes(members, ledger, format))


def release_bytes(members: Mapping[str, bytes], ledger: Mapping[str, Any], format: int = PLAIN_FORMAT) -> bytes:
    """Return a release file's content."""
    manifest = {"format": format, "members": {n: hashlib.sha256(d).hexdigest() for n, d in members.items()}}
    manifest["hash"] = content_hash(members)
    every = {"manifest.json": _json(manifest), **members, "ledger.json": _json(ledger)}
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in every.items():
            archive.writestr(zipfile.ZipInfo(member, _DATE), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


class Stored(NamedTuple):
    """What a release file holds; `members` are the hashed bytes as they were read."""

    documents: dict[str, Any]
    arrays: Arrays
    ledger: dict[str, Any]
    hash: str
    members: dict[str, bytes]


def read_release(path: Path) -> Stored:
    """Everything checked; every doubt is a ReleaseError."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path.name)
    except FileNotFoundError:
        raise ReleaseError(f"there is no release file {path.name!r}") from None
    except IsADirectoryError:
        raise ReleaseError(f"{path.name!r} is a folder, not a release file") from None
    except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, ValueError):
        raise ReleaseError(f"{path.name!r} is not a release file, or it is truncated") from None
    except Exception as error:  # zlib.error has no public base of its own
        if isinstance(error, ReleaseError):
            raise
        raise ReleaseError(f"{path.name!r} is damaged") from None
    manifest = _document(members, "manifest.json")
    ledger = _document(members, "ledger.json")
    if not isinstance(manifest.get("format"), int) or manifest["format"] > FORMAT:
        raise ReleaseError("this release was written by a newer understudy: upgrade to open it")
    hashed = {n: d for n, d in members.items() if n not in ("manifest.json", "ledger.json")}
    known = manifest.get("members")
    if not isinstance(known, dict) or set(known) != set(hashed) or manifest.get("hash") != content_hash(hashed):
        raise ReleaseError(f"{path.name!r} does not fit its own hashes: it was changed or damaged")
    if any(hashlib.sha256(data).hexdigest() != known[name] for name, data in hashed.items()):
        raise ReleaseError(f"{path.name!r} does not fit its own hashes: it was changed or damaged")
    documents = {name: _document(members, f"{name}.json") for name in _DOCUMENTS}
    arrays = {n[7:-4]: _array(d) for n, d in hashed.items() if n.startswith("arrays/") and n.endswith(".npy")}
    return Stored(documents, arrays, ledger, str(manifest["hash"]), hashed)


def _members(archive: zipfile.ZipFile, name: str) -> dict[str, bytes]:
    infos = archive.infolist()
    if len(infos) > MOST_MEMBERS or len({i.filename for i in infos}) != len(infos):
        raise ReleaseError(f"{name!r} has too many or repeated parts to be a release")
    if sum(i.file_size for i in infos) > MOST_BYTES:
        raise ReleaseError(f"{name!r} would unpack to more than {MOST_BYTES // 1024**3} GiB; refused")
    members = {}
    for info in infos:
        with archive.open(info) as part:
            data = part.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise ReleaseError(f"{name!r} is damaged")
        members[info.filename] = data
    return members


def _document(members: Mapping[str, bytes], name: str) -> dict[str, Any]:
    try:
        document = json.loads(members[name])
    except KeyError:
        raise ReleaseError(f"the release has no {name}: it is not a release, or it is truncated") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"{name} of the release is damaged") from None
    if not isinstance(document, dict):
        raise ReleaseError(f"{name} of the release is damaged")
    return document


def _array(data: bytes) -> NDArray[Any]:
    buffer = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(buffer)
        if version != (1, 0):
            raise ValueError
        shape, _, dtype = np.lib.format.read_array_header_1_0(buffer)
        if dtype.kind not in "iufb" or dtype.itemsize * int(np.prod(shape, dtype=object)) != len(data) - buffer.tell():
            raise ValueError
        buffer.seek(0)
        return np.asarray(np.lib.format.read_array(buffer, allow_pickle=False))
    except (ValueError, EOFError, TypeError, SyntaxError):
        raise ReleaseError("an array of the release is damaged") from None


def _json(document: Any) -> bytes:
    return json.dumps(document, sort_keys=True, ensure_ascii=True, indent=1, allow_nan=False).encode()
