"""Mutations of release files: bytes damaged at random, and contents changed with every hash made right again.

The second kind is what a forger would do. It gets past the hashes, so that it is the checks behind them that are tried.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from typing import Any

import numpy as np

from understudy.release.storage import content_hash

Members = dict[str, bytes]
Mutation = Callable[[Members, random.Random], None]

ODD_TEXTS = (
    "", " ", "x", "=cmd|' /C calc'!A0", "a\n=1+1", "\x00", "\x1b[2J", "<script>alert(1)</script>", "a" * 5000, "ÄÖÜ漢字🙂",
    "\u202e", "missing", "0", "-0", "1e5", "nan", "None", "true", "../../etc/passwd", "%s%n{}", "a,b;c\td", "'", '"',
    "age", "id", "age (fine)", "age@1", "age#bit0", "2024-02-30", "%d.%m.%y", "\ud800", "utf-7", "idna", "utf-16", "\t",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 100, 255, 256, 65_535, 65_536, 2**31, 2**53, 2**63, 10**30, -(10**30), 10**400,
    0.5, -0.5, 1e-300, 1e-9, 1e9, 1e100, 1e300, float("nan"), float("inf"), -float("inf"), [], {}, [[]], [{}], {"": []},
    [0], [None], ["x"], [[["x", 0, -1, 0]]], ["x", 0, -1, 0], {"kind": "drop"}, {"kind": "id"}, {"kind": "boolean"},
    {"kind": "integer", "range": [0, 9]}, {"kind": "category", "values": ["x"]},
)  # fmt: skip


# -- a release file as its members -------------------------------------------------------------------------------


def members_of(data: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rehashed(members: Members) -> Members:
    """The manifest made right again, whatever the content is now."""
    hashed = {name: data for name, data in members.items() if name not in ("manifest.json", "ledger.json")}
    manifest = json.loads(members["manifest.json"])
    manifest |= {"members": {n: sha256(d).hexdigest() for n, d in hashed.items()}, "hash": content_hash(hashed)}
    return members | {"manifest.json": json.dumps(manifest).encode()}


def packed(members: Members, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def mutant(data: bytes, rng: random.Random) -> bytes:
    """One file that differs from this one."""
    kind = rng.random()
    if kind < 0.15:
        return damaged(data, rng)
    members = members_of(data)
    if kind < 0.22:
        rng.choice(UNHASHED)(members, rng)
        return packed(members)
    with suppress(Exception):  # an earlier change may have left nothing for the next one to work on
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            rng.choice(FORGERIES)(members, rng)
    return packed(rehashed(members), rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)))


# -- damaged bytes -----------------------------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    content = bytearray(data)
    at = rng.randrange(len(content))
    if rng.random() < 0.4:  # the directory at the end is where a zip says what it holds
        at = max(0, len(content) - rng.randrange(1, 2000))
    length = rng.choice((1, 2, 4, 16, 200, len(content)))
    match rng.randrange(6):
        case 0:
            for _ in range(rng.choice((1, 2, 20))):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        case 1:
            del content[at:]
        case 2:
            del content[at : at + length]
        case 3:
            content[at:at] = content[at : at + length]
        case 4:
            end = min(len(content), at + length)
            content[at:end] = rng.choice((b"\0", b"\xff")) * (end - at)
        case _:
            content[at : at + 4] = rng.choice((0, 1, 2**31 - 1, 2**32 - 1)).to_bytes(4, "little")
    return bytes(content)


# -- changed members ---------------------------------------------------------------------------------------------


def document_name(members: Members, rng: random.Random) -> str:
    return rng.choice([name for name in members if name.endswith(".json") and name not in ("manifest.json",)])


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below a value."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        item = todo.pop()
        keys = list(item) if isinstance(item, dict) else range(len(item)) if isinstance(item, list) else []
        found += [(item, key) for key in keys]
        todo += [item[key] for key in keys]
    return found


def edit(members: Members, rng: random.Random, name: str | None = None) -> None:
    """Change, remove, repeat or move one value of a document."""
    name = name or document_name(members, rng)
    document = json.loads(members[name])
    found = places(document)
    if not found:
        return
    container, key = rng.choice(found)
    match rng.randrange(8):
        case 0 | 1:
            container[key] = rng.choice(ODD_VALUES)
        case 2:
            container[key] = rng.choice(ODD_TEXTS)
        case 3:
            del container[key]
        case 4:
            other, at = rng.choice(found)
            container[key] = json.loads(json.dumps(other[at]))
        case 5:
            if isinstance(container, list):
                container.insert(rng.randrange(len(container) + 1), container[key])
            else:
                container[rng.choice((*ODD_TEXTS, *map(str, container)))] = container[key]
        case 6:
            if isinstance(container, list):
                rng.shuffle(container)
            else:
                container[key] = [container[key]] * rng.choice((0, 1, 2, 70))
        case _:
            if isinstance(container[key], int | float) and not isinstance(container[key], bool):
                container[key] = rng.choice(
                    (container[key] + 1, container[key] - 1, -container[key], 2 * container[key])
                )
            else:
                container[key] = rng.choice(ODD_TEXTS)
    members[name] = json.dumps(document).encode()


def edit_model(members: Members, rng: random.Random) -> None:
    edit(members, rng, rng.choice(("model.json", "measurements.json")))


def edit_schema(members: Members, rng: random.Random) -> None:
    edit(members, rng, "schema.json")


def edit_text(members: Members, rng: random.Random) -> None:
    """Change the JSON as text: half objects, keys that stand twice, constants, nesting."""
    name = document_name(members, rng)
    text = members[name].decode()
    at = rng.randrange(len(text))
    insert = rng.choice((
        '"x":1,"x":2,', "NaN", "-Infinity", "1e999", "[" * 2000, '{"x":' * 500, ",", "}", "null", "\\ud800", "9" * 5000,
        "\ufeff", "\x00", '"\\u0000"', "/*", "'",
    ))  # fmt: skip
    if rng.random() < 0.4 and "{" in text[at:]:
        at = text.index("{", at) + 1
    members[name] = (text[:at] + insert + text[at + rng.choice((0, 0, 1, 5)) :]).encode()


def rename_everywhere(members: Members, rng: random.Random) -> None:
    """An attribute or a value with an odd name, the same in every document: it opens, and must be shown and written."""
    schema = json.loads(members["schema.json"])
    names = list(schema["attributes"])
    texts = [v for body in schema["attributes"].values() for v in body.get("values", []) if isinstance(v, str)]
    old, new = rng.choice(names + texts), rng.choice(ODD_TEXTS)
    for name in ("schema.json", "model.json", "measurements.json", "card.json"):
        members[name] = members[name].replace(json.dumps(old).encode(), json.dumps(new).encode())


def odd_dialect(members: Members, rng: random.Random) -> None:
    document = json.loads(members["schema.json"])
    encodings = (
        "utf-8",
        "utf-16",
        "utf-7",
        "idna",
        "punycode",
        "ascii",
        "cp1252",
        "hex",
        "rot13",
        "unicode_escape",
        "x",
    )
    document["table"]["csv"] = {
        "delimiter": rng.choice((",", ";", "\t", "0", "-", "a", "'", "é", "\n", '"', " ", "")),
        "encoding": rng.choice(encodings),
        "decimal": rng.choice((".", ",", "-", "e", "=", "·")),
    }
    members["schema.json"] = json.dumps(document).encode()


def odd_range(members: Members, rng: random.Random) -> None:
    """An ordered attribute over another range, cut into as many bins."""
    document = json.loads(members["schema.json"])
    bodies = [body for body in document["attributes"].values() if isinstance(body, dict) and "range" in body]
    if bodies:
        body = rng.choice(bodies)
        body["range"] = rng.choice((
            [0, 1], [-1e308, 1e308], [0, 1e-300], [-(2**53), 2**53], [1e15, 1e16], [0.1, 0.3], [1, 0], [0, 0],
            ["0001-01-01", "9999-12-31"], ["2024-02-30", "2024-03-01"],
        ))  # fmt: skip
        if rng.random() < 0.3:
            body["points"] = rng.choice(([], [0], [0, 0], [0.2], [1e300], list(range(500))))
        if rng.random() < 0.2:
            body["fine"] = "wavelet"
    members["schema.json"] = json.dumps(document).encode()


def npy(array: Any, version: tuple[int, int] = (1, 0)) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def array_name(members: Members, rng: random.Random) -> str | None:
    return rng.choice([name for name in members if name.endswith(".npy")] or [None])


def odd_array(members: Members, rng: random.Random) -> None:
    """An array of another type, shape or content, well-formed or not."""
    if (name := array_name(members, rng)) is None:
        return
    try:
        array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    except (ValueError, EOFError):
        return
    data = members[name]
    which = rng.randrange(16)
    if which < 6:  # the same shape, other numbers
        flat = np.array(array).ravel()
        at = rng.randrange(max(1, flat.size))
        odd = (np.nan, np.inf, -1.0, 1e308, 0.0, 0.5) if flat.dtype.kind == "f" else (-(2**63), 2**63 - 1, 0, 1, -1, 7)
        with np.errstate(all="ignore"):
            if rng.random() < 0.5 and flat.size:
                flat[at] = rng.choice(odd)
            else:
                flat = np.full_like(flat, rng.choice(odd))
        members[name] = npy(flat.reshape(array.shape))
        return
    with np.errstate(all="ignore"):
        made: dict[int, Callable[[], bytes]] = {
            6: lambda: npy(array.astype(rng.choice(["f4", "i4", "u8", "?", "c16", "S3", ">f8", ">i8"]))),
            7: lambda: npy(array[..., :-1] if array.ndim else array),
            8: lambda: npy(np.asfortranarray(array)),
            9: lambda: npy(array, (2, 0)),
            10: lambda: data[: rng.randrange(len(data))],
            11: lambda: data + b"x" * rng.choice((1, 8, 2000)),
            12: lambda: data.replace(
                b"'shape': (", b"'shape': (" + rng.choice((b"9999999999,", b"-1,", b"()", b"0,")), 1
            ),
            13: lambda: npy(np.zeros(rng.choice((0, 1, 1_000_000)))),
            14: lambda: npy(array.T[None]),
        }
        flipped = bytearray(data)
        flipped[rng.randrange(len(data)) if rng.random() < 0.5 else rng.randrange(128)] ^= 1 << rng.randrange(8)
        members[name] = made.get(which, lambda: bytes(flipped))()


def odd_counts(members: Members, rng: random.Random) -> None:
    """Noisy integers of any size: they have the right shape, and only their use can tell."""
    names = [n for n in members if n.endswith(".npy") and b"'<i8'" in members[n][:128]]
    name = rng.choice(names)
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    draw = np.random.default_rng(rng.randrange(2**32))
    most = rng.choice((1, 10**6, 2**40, 2**62))
    odd = rng.choice((-(2**63), 2**63 - 1, 0, -1))
    members[name] = npy(rng.choice((draw.integers(-most, most, array.shape), np.full_like(array, odd))))


def shuffled_table(members: Members, rng: random.Random) -> None:
    """Another distribution: the probabilities of a table in another order, or certainty."""
    names = [n for n in members if n.endswith(".npy") and b"'<f8'" in members[n][:128]]
    name = rng.choice(names)
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    certain = np.zeros_like(array)
    certain[..., rng.randrange(array.shape[-1])] = 1.0
    members[name] = npy(rng.choice((np.ascontiguousarray(array[..., ::-1]), certain)))


def odd_numbers(members: Members, rng: random.Random) -> None:
    """Row counts, noise scales and totals at the ends of what is allowed, and beyond."""
    model, listed = json.loads(members["model.json"]), json.loads(members["measurements.json"])
    rows = rng.choice((0, 1, 2, 2**31, 2**40, 2**53, 2**53 + 1))
    scale = rng.choice((0, 0.0, 1e-300, 1e-9, 1e9, 1e99, 1e100, 1e101))
    match rng.randrange(4):
        case 0:
            model["rows"] = rows
        case 1:
            for item in listed["measurements"]:
                item["scale"] = scale
        case 2:
            model["model"] |= {"total": rng.choice((rows, None)), "scale": scale}
        case _:
            for item in model.get("details", []):
                item["scale"] = scale
    members["model.json"], members["measurements.json"] = json.dumps(model).encode(), json.dumps(listed).encode()


def edit_card(members: Members, rng: random.Random) -> None:
    edit(members, rng, "card.json")


def swap_arrays(members: Members, rng: random.Random) -> None:
    one, other = array_name(members, rng), array_name(members, rng)
    if one and other:
        members[one], members[other] = members[other], members[one]


def mixed_members(members: Members, rng: random.Random) -> None:
    """A member that is missing, has another name, or is one too many."""
    name = rng.choice([n for n in members if n != "manifest.json"])
    match rng.randrange(4):
        case 0:
            del members[name]
        case 1:
            members[rng.choice(("x", "../x", "arrays/x.npy", "arrays/.npy", name + "/"))] = members.pop(name)
        case 2:
            members[rng.choice(("arrays/x.npy", "evil.py", "arrays/", "manifest.json/x"))] = members[name]
        case _:
            members[name] = b""


def edit_manifest(members: Members, rng: random.Random) -> None:
    edit(members, rng, "manifest.json")


UNHASHED: tuple[Mutation, ...] = (edit_manifest, edit, edit_text, mixed_members, odd_array)
FORGERIES: tuple[Mutation, ...] = (
    edit, edit_model, edit_model, edit_schema, edit_schema, edit_text, rename_everywhere, rename_everywhere, odd_dialect,
    odd_range, odd_array, odd_array, odd_counts, odd_counts, shuffled_table, shuffled_table, odd_numbers, odd_numbers,
    edit_card, swap_arrays, mixed_members,
)  # fmt: skip
