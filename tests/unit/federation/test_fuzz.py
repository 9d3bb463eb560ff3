"""Thousands of changed messages, towards an owner and towards the curator: each has an answer, or a refusal with a code.

Some are changed at random, some keep their place so that the question is read, and some are signed or sealed anew by the
other owners, who are on the curator's side. A hundred of each by default, ten thousand among the long tests.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cryptography")

from mutations import TEXTS, damaged, head_of, packed, parts_of_question

from federating import NAMES, QuietSource
from understudy.demo import demo_schema, demo_table
from understudy.engines.opening import PrivateData, open_engine
from understudy.errors import MessageRefused, UnderstudyError
from understudy.federation.journal import OwnerJournal
from understudy.federation.local import Deliver, LocalFederation, local_federation
from understudy.federation.messages import SUM_STAGES
from understudy.federation.owner import FIRST_STAGES, MemoryRoundStore
from understudy.federation.secure_sum import CuratorRound
from understudy.federation.statements import PublicKeys
from understudy.federation.wire import REFUSALS
from understudy.privacy.budget import Budget
from understudy.privacy.random_source import SystemSource
from understudy.privacy.scores import INDEPENDENCE, MUTUAL_INFORMATION, REFERENCE_DISTANCE, Pair
from understudy.privacy.table import PrivateTable
from understudy.schema import Axis, Schema

pytestmark = pytest.mark.slow

OWNERS = NAMES[:4]  # ada, bea, cy, dan; bea is the one who is written to, or who writes
ROWS = 3001
COST = Fraction(1, 10**7)
LONGEST_S = 20.0  # of processor time, for one message
AGE, SEX, REGION, HOME, INCOME = (Axis(name) for name in ("age", "sex", "region", "owns_home", "income"))
ROUNDS = [-1, 0, 1, 7, 10**6, 10**6 + 1, 2**63, 2**64 - 1]


class Watched:
    """An engine that remembers which exact counts it gave out."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.counts: set[int] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def marginals(self, workload: Sequence[Any]) -> Iterator[np.ndarray]:
        for table in self._engine.marginals(workload):
            self.counts.update(int(count) for count in table.ravel() if count > 100)
            yield table


@dataclass
class Fuzzed:
    """What became of the messages."""

    sent: int = 0
    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    words: set[str] = field(default_factory=set)
    unhandled: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)

    def offer(self, stage: str, act: Callable[[], Any]) -> None:
        """Hand a message over, once."""
        self.sent += 1
        self.stages[stage] += 1
        begun = time.thread_time()
        try:
            act()
            self.accepted += 1
        except MessageRefused as error:
            assert error.code in REFUSALS
            self.refused[error.code] += 1
            self.words.add(error.message)
        except UnderstudyError as error:
            self.refused[error.kind] += 1
            self.words.add(error.message)
        except Exception as error:
            self.unhandled.append(f"{stage}: {error!r}")
        if time.thread_time() - begun > LONGEST_S:
            self.slow.append(stage)

    def check(self, counts: set[int], public: set[int]) -> None:
        print(self.sent, "messages:", self.accepted, "answered,", dict(self.refused), "by stage", dict(self.stages))
        assert not self.unhandled, f"{len(self.unhandled)} of {self.sent} unhandled: {self.unhandled[:10]}"
        assert not self.slow, f"{len(self.slow)} took long: {self.slow[:10]}"
        said = [re.sub(r"round \d+", "", text) for text in self.words]  # a round's number is the curator's own
        numbers = {int(n.replace(",", "")) for text in said for n in re.findall(r"\d[\d,]*", text)}
        assert not numbers & (counts - public), f"an exact count is in a refusal: {numbers & counts} in {said}"


@contextmanager
def town(folder: Path, budget: Budget, **more: Any) -> Iterator[tuple[LocalFederation, Watched]]:
    schema = demo_schema(rows=ROWS * len(OWNERS))
    own = demo_schema(rows=ROWS)
    engines = {
        name: open_engine(PrivateData(demo_table(ROWS, np.random.default_rng(number))), own).engine
        for number, name in enumerate(OWNERS)
    }
    watched = Watched(engines["bea"])
    source = QuietSource() if budget.delta else SystemSource()
    with local_federation(
        {**engines, "bea": watched}, schema, budget, folder, dropping=1, source=source, **more
    ) as made:
        yield made, watched


def questions(table: PrivateTable, bea: PrivateTable) -> list[Callable[[], Any]]:
    """One of each kind."""
    schema: Schema = table.schema
    pairs = [Pair(SEX, (AGE,)), Pair(HOME, (REGION, SEX)), Pair(SEX, (Axis("region", 1),))]
    references = [np.zeros(schema.sizes(pair.axes), dtype=np.int64) for pair in pairs]
    return [
        lambda: table.choose(pairs, INDEPENDENCE, COST, "structure", penalty=[1, 2, 3], of=4),
        lambda: table.choose(pairs, REFERENCE_DISTANCE, COST, "structure", references=references, of=4),
        lambda: table.choose_child((AGE, SEX), (REGION, HOME), COST, "structure", penalty_per_cell=3, of=4),
        lambda: table.choose_edge(
            (AGE, SEX), (REGION,), INDEPENDENCE, COST, "structure", cells=400, penalty_per_cell=2, of=4
        ),
        lambda: table.measure([(AGE, SEX), (REGION,), ()], COST, "tables", [Fraction(1, 2), Fraction(1, 3), COST]),
        lambda: table.measure_coefficients([(SEX, HOME), (AGE,)], COST, "coefficients"),
        lambda: table.measure_wavelet((AGE, SEX), ("haar", "plain"), COST, "wavelet"),
        lambda: table.measure_details("income", 2, COST, "details"),
        lambda: bea.measure([(SEX, HOME)], COST, "alone"),
        lambda: bea.choose(pairs, MUTUAL_INFORMATION, COST, "alone"),
    ]


def ask_on(made: LocalFederation, going: Callable[[], bool]) -> None:
    """All kinds of question, over and over; a round that fails is followed by the next."""
    asked = questions(made.table, made.table.owners()[1])
    while going():
        for ask in asked:
            if going():
                try:
                    ask()
                except UnderstudyError:
                    continue


def forged(made: LocalFederation, stage: str, body: bytes, dice: random.Random) -> bytes | None:
    """A message to bea in which other owners, on the curator's side, signed or sealed what they never should."""
    going = made.owners.answers["bea"]._sum
    if going is None or stage not in SUM_STAGES[1:]:
        return None
    stages, says, peer = going.stages, going.stages._says, dice.choice(["ada", "cy", "dan"])
    head, _ = head_of(body)
    key = dice.choice([bytes(32), b"\1" + bytes(31), dice.randbytes(32), dice.randbytes(31), dice.randbytes(33), b""])
    if stage == "shares" and peer in head["keys"]:
        three = [key if dice.random() < 0.5 else bytes.fromhex(text) for text in head["keys"][peer][:3]]
        keys = PublicKeys(*three)
        signed = made.signers[peer].sign(says.keys(peer, keys))
        head["keys"][peer] = [part.hex() for part in (*three, signed)]
    elif stage == "masked" and made.owners.answers[peer]._sum is not None:
        text = dice.randbytes(dice.choice([0, 1, 66, 131, 132, 133]))
        head["sealed"][peer] = made.owners.answers[peer]._sum.stages._seal("bea", text).hex()
    elif stage == "survivors":
        members = dict(dice.sample(sorted(stages._keys.items()), dice.randrange(len(stages._keys) + 1)))
        head["survivors"][peer] = made.signers[peer].sign(says.masked(peer, members)).hex()
    elif stage == "unmask":
        listed = dice.sample(OWNERS, dice.randrange(5))
        head["signatures"][peer] = made.signers[peer].sign(says.survivors(peer, stages._members, listed)).hex()
    return packed(head)


@pytest.mark.parametrize("pure", [True, False], ids=["pure", "zcdp"])
@pytest.mark.parametrize("messages", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_messages_to_an_owner(tmp_path: Path, messages: int, pure: bool) -> None:
    """What is refused leaves no trace: not in the journal, not in the ledger. Bea pays for what she answered, and no more."""
    dice, fuzzed, pool = random.Random(f"owner {pure}"), Fuzzed(), list[Any](TEXTS)
    journal = OwnerJournal(tmp_path / "bea.session")
    stores = {name: MemoryRoundStore() for name in OWNERS} | {"bea": journal}

    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        if name != "bea":
            return deliver(body)
        pool.extend(parts_of_question(head_of(body)[0].get("question", []))[:200] if len(pool) < 2000 else [])
        for _ in range(dice.randrange(2, 6)):
            changed = forged(made, stage, body, dice) if dice.random() < 0.3 else None
            changed = damaged(body, dice, pool) if changed is None else changed
            where = (round, stage)
            if dice.random() < 0.05:
                where = dice.choice(ROUNDS), dice.choice([stage, *FIRST_STAGES, *SUM_STAGES, "nonsense"])
            before = traces()
            answered = fuzzed.accepted
            fuzzed.offer(stage, partial(made.owners.answers["bea"].answer, *where, changed))
            if fuzzed.accepted == answered:
                assert traces() == before, "a message that was refused left a trace"
        return deliver(body)

    def traces() -> tuple[int, Fraction]:
        return len(journal.requests()), made.reservations["bea"].left

    with town(tmp_path, Budget(1) if pure else Budget(1, "1e-9"), stores=stores, disturb=disturb) as (made, watched):
        ask_on(made, lambda: fuzzed.sent < messages)
        fuzzed.check(watched.counts, {ROWS, ROWS * len(OWNERS)})
        kept = made.reservations["bea"]
        assert sum((Fraction(c["cost"]) for c in kept.charges()), Fraction(0)) == kept.total_cost - kept.left
        assert set(fuzzed.stages) >= {"decide", "keys", "shares", "masked", "survivors", "unmask", "alone"}
        assert not fuzzed.refused["failed"]  # what is accepted can be answered
        assert {"message", "order", "question", "round"} <= set(fuzzed.refused)
        assert fuzzed.accepted < fuzzed.sent / 2
    journal.remove()


@pytest.mark.parametrize("messages", [100, pytest.param(10_000, marks=pytest.mark.long)])
def test_messages_to_the_curator(tmp_path: Path, messages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A result, or a round that is aborted: bea's reply is right, or she has dropped out.

    At each stage of a sum the curator reads twenty more of her replies, none of which counts.
    """
    dice, fuzzed, said = random.Random("curator"), Fuzzed(), dict[str, bytes]()
    ask = CuratorRound._ask

    def changed(stage: str) -> bytes:
        reply = said[stage]
        return forged_reply(made, stage, reply, dice) if dice.random() < 0.3 else damaged(reply, dice, list(TEXTS))

    def disturb(name: str, round: int, stage: str, body: bytes, deliver: Deliver) -> bytes | None:
        reply = deliver(body)
        if name != "bea":
            return reply
        said[stage] = reply
        if dice.random() < (0.85 if stage in SUM_STAGES else 0.3):
            return reply
        fuzzed.stages[stage] += 1
        fuzzed.sent += 1
        return changed(stage)

    def reading_more(self: CuratorRound, stage: str, bodies: Any, read: Any, limit: int = 0) -> Any:
        def reading(name: str, reply: bytes) -> Any:
            for _ in range(20 if name == "bea" else 0):
                fuzzed.offer(stage, partial(read, name, changed(stage)))
            return read(name, reply)

        return ask(self, stage, bodies, reading, limit)

    monkeypatch.setattr(CuratorRound, "_ask", reading_more)

    def asking(ask: Callable[[], Any]) -> None:
        begun = time.thread_time()
        try:
            ask()
            fuzzed.accepted += 1
        except UnderstudyError as error:
            fuzzed.refused[error.kind] += 1
            fuzzed.words.add(error.message)
        except Exception as error:
            fuzzed.unhandled.append(repr(error))
        if time.thread_time() - begun > LONGEST_S:
            fuzzed.slow.append("question")

    with town(tmp_path, Budget(1, "1e-9"), disturb=disturb) as (made, watched):
        asked = questions(made.table, made.table.owners()[1])
        for question in asked:
            asking(question)
        while fuzzed.sent < messages:
            asking(dice.choice(asked))
        fuzzed.check(watched.counts, {ROWS, ROWS * len(OWNERS)})
        assert set(fuzzed.stages) >= {"decide", "alone", *SUM_STAGES}
        assert fuzzed.accepted and fuzzed.refused["message"] > fuzzed.sent / 10


def forged_reply(made: LocalFederation, stage: str, reply: bytes, dice: random.Random) -> bytes:
    """Bea's own reply, with her own signature under something that cannot be."""
    head, payload = head_of(reply)
    going = made.owners.answers["bea"]._sum
    if stage == "keys" and going is not None:
        keys = PublicKeys(*(dice.choice([bytes(32), dice.randbytes(32), dice.randbytes(5)]) for _ in range(3)))
        signed = made.signers["bea"].sign(going.stages._says.keys("bea", keys))
        head["keys"] = [*keys.as_json()[:3], signed.hex()]
    elif stage in ("masked", "alone"):
        payload = dice.choice([dice.randbytes(len(payload)), b"\xff" * len(payload), b"\x80" * len(payload)])
    elif stage == "decide":
        head["index"] = dice.choice([-1, 10**9, 2**63, 10**30])
    elif stage == "unmask":
        head["own"] = {name: dice.randbytes(66).hex() for name in head["own"]}
    return packed(head, payload)
