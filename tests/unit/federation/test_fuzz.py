"""Messages that were damaged at random, on their way to an owner or back: an answer, or an error of the package's tree."""

from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from federating import A, B, C, QuietSource, federation
from understudy.errors import UnderstudyError
from understudy.federation.local import Deliver
from understudy.privacy.scores import Pair

JUNK = [
    None,
    True,
    -1,
    0,
    2**70,
    1.5,
    "",
    "zz",
    "00" * 40,
    "00" * 700,
    [],
    {},
    [[]],
    {"ada": "00"},
    "ada",
    float("nan"),
]
COST = Fraction(1, 2000)


def damaged(message: bytes, dice: random.Random) -> bytes:
    if dice.random() < 0.3:
        return scrambled(message, dice)
    length = int.from_bytes(message[:4], "big")
    head = json.loads(message[4 : 4 + length])
    spoil(head, dice)
    text = json.dumps(head).encode()
    return len(text).to_bytes(4, "big") + text + message[4 + length :]


def scrambled(message: bytes, dice: random.Random) -> bytes:
    raw = bytearray(message)
    kind = dice.randrange(3)
    if kind == 0:
        return bytes(raw[: dice.randrange(len(raw) + 1)])
    for _ in range(dice.randrange(1, 4)):
        raw[dice.randrange(len(raw))] = dice.randrange(256)
    return bytes(raw) + (bytes(dice.randrange(20)) if kind == 2 else b"")


def spoil(node: Any, dice: random.Random) -> None:
    """Change, drop or add something somewhere inside."""
    keys = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        return
    key = dice.choice(keys)
    if isinstance(node[key], dict | list) and node[key] and dice.random() < 0.7:
        spoil(node[key], dice)
    elif dice.random() < 0.3:
        del node[key]
    elif isinstance(node, dict) and dice.random() < 0.2:
        node["more"] = dice.choice(JUNK)
    else:
        node[key] = dice.choice(JUNK)


@pytest.mark.slow
@pytest.mark.parametrize("towards", ["owner", "curator"])
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(s, marks=pytest.mark.long) for s in range(6, 100))])
def test_damaged_messages_are_refused_or_harmless(tmp_path: Path, seed: int, towards: str) -> None:
    dice = random.Random(f"{seed} {towards}")

    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        if name != "bea" or dice.random() < 0.4:
            return deliver(body)
        return deliver(damaged(body, dice)) if towards == "owner" else damaged(deliver(body), dice)

    options = [Pair(B, (A,)), Pair(B, (C,))]
    with federation(tmp_path, 4, dropping=1, disturb=disturb, source=QuietSource()) as made:
        for _ in range(5):
            try:
                assert made.table.choose(options, "R", COST, "structure", penalty=[1, 2]) in options
                (found,) = made.table.measure([(A, B)], COST, "tables")
                assert found.values.shape == (2, 3)
            except UnderstudyError:
                continue
        paid = {name: kept.purse - kept.left for name, kept in made.reservations.items()}
        assert all(paid[name] <= made.table.paid[name] for name in ("ada", "cy", "dan"))
        assert paid["bea"] <= made.table.purse
