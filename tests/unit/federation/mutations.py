"""Messages of the federation, changed: at random, or with an eye to what a reader of them might stumble over."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

NUMBERS: list[Any] = [
    -1, 0, 1, 2, 30, 2**31, -(2**31) - 1, 2**53, 2**62, -(2**63), 2**64, 2**70, 10**400, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), True, False, None,
]  # fmt: skip
TEXTS = [
    "", "0", "1", "-1", "1/2", "2/4", "1/0", "1e999999999", "nan", "1/" + "1" + "0" * 400, "1" + "0" * 400,
    "1/" + "7" * 900, "9" * 900, "9" * 5000, "1/1" + "0" * 30, "1/1" + "0" * 99, "1/1" + "0" * 120, "R", "F", "I", "D",
    "haar", "nominal", "plain", "published", "age", "sex", "region", "income", "person_id", "choice", "link", "links",
    "tables", "coefficients", "wavelet", "details", "scores", "figure", "ada", "bea", "nobody", "zz", "00" * 32,
    "00" * 66, "00" * 148, "ff" * 700, "\ud800", "\x1b[2J", "x" * 300, "\u0661", " 00", "0" * 63 + "1", "01" + "00" * 31,
]  # fmt: skip
SHAPES: list[Any] = [[], {}, [[]], [[], []], {"ada": "00"}, {"bea": []}, [["age", 0, -1, False]], ["age", 0, -1, False],
                     [0] * 40, ["x" * 9000, *[0] * 40], [[[[[[0]]]]]], [["age", 1, -1, False], ["age", 0, 2, True]]]  # fmt: skip
RAW = [  # heads that no `json.dumps` writes
    b"[" * 5000 + b"]" * 5000, b'{"a":' * 3000 + b"1" + b"}" * 3000, b"1" * 5000, b'{"round":NaN}', b"\xff\xfe{}", b"",
    b'{"round":1,"round":1}', b"null", b"[]", b'"' + b"x" * 3000 + b'"', "{}".encode("utf-16"), b'{"a":1e999}',
]  # fmt: skip


def head_of(message: bytes) -> tuple[Any, bytes]:
    """The JSON of a message of a round, and what comes after it."""
    length = int.from_bytes(message[:4], "big")
    return json.loads(message[4 : 4 + length]), message[4 + length :]


def packed(head: Any, payload: bytes = b"") -> bytes:
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return len(text).to_bytes(4, "big") + text + payload


def damaged(message: bytes, dice: random.Random, pool: list[Any]) -> bytes:
    """The message with bytes changed, with another head altogether, or with one to three parts of its head replaced."""
    what = dice.random()
    if what < 0.1:
        return scrambled(message, dice)
    head, payload = head_of(message)
    if what < 0.15:
        return packed(dice.choice(RAW), payload)
    if what < 0.2:
        text = json.dumps(head)
        return packed((text[:-1] + f', "{dice.choice(list(head))}": {json.dumps(dice.choice(NUMBERS))}}}').encode())
    inside = [value for value in head.values() if isinstance(value, dict | list) and value]
    for _ in range(dice.randrange(1, 3)):
        if "cost" in head and dice.random() < 0.2:
            head["cost"] = dice.choice(TEXTS)
        else:
            spoil(dice.choice(inside) if inside and dice.random() < 0.8 else head, dice, pool)
    return packed(head, payload + bytes(dice.choice([1, 8])) if dice.random() < 0.05 else payload)


def scrambled(message: bytes, dice: random.Random) -> bytes:
    raw = bytearray(message)
    kind = dice.randrange(3)
    if kind == 0:
        return bytes(raw[: dice.randrange(len(raw) + 1)])
    for _ in range(dice.randrange(1, 4)):
        raw[dice.randrange(len(raw))] = dice.randrange(256)
    return bytes(raw) + (bytes(dice.randrange(20)) if kind == 2 else b"")


def spoil(node: Any, dice: random.Random, pool: list[Any]) -> None:
    """Change, drop, double or add something somewhere inside; the four fields that say where it belongs mostly stay."""
    keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
    if isinstance(node, dict) and "stage" in node and dice.random() < 0.95:
        keys = [key for key in keys if key not in ("session", "roster", "round", "stage")]
    if not keys:
        return
    key = dice.choice(keys)
    if isinstance(node[key], dict | list) and node[key] and dice.random() < 0.75:
        spoil(node[key], dice, pool)
        return
    what = dice.randrange(8)
    if what == 0:
        del node[key]
    elif what == 1 and isinstance(node, list):
        node.insert(key, node[key])
    elif what == 1:
        node[dice.choice(TEXTS)] = node[key]
    elif what == 2:
        node[key] = deepcopy(dice.choice(SHAPES))
    elif what == 3:
        node[key] = dice.choice(NUMBERS)
    elif what == 4 and pool:
        node[key] = deepcopy(dice.choice(pool))
    else:
        node[key] = another(node[key], dice)


def another(value: Any, dice: random.Random) -> Any:
    """Something of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return dice.choice([value + 1, value - 1, -value, *(n for n in NUMBERS if type(n) is int)])
    if isinstance(value, str):
        return dice.choice(TEXTS)
    if isinstance(value, list):
        return dice.choice(
            [value[::-1], deepcopy(value) + value, value[1:], [deepcopy(v) for _ in range(40) for v in value[:9]]]
        )
    return deepcopy(dice.choice(SHAPES))


def parts_of_question(node: Any) -> list[Any]:
    """Every part of a JSON value, to be put where it does not belong."""
    inside = [part for item in node for part in parts_of_question(item)] if isinstance(node, list) else []
    return [node, *inside]
