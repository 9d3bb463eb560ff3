"""Threads: Arrow and the compiled loops release the interpreter lock, so plain threads use every core."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def threads() -> int:
    return min(8, os.cpu_count() or 1)


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Return the results of all items, in order."""
    if len(items) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads()) as pool:
        return list(pool.map(work, items))


def stream(work: Callable[[Item], Result], items: Iterable[Item], ahead: int) -> Iterator[Result]:
    """Yield the results in order, a few items ahead. An error is raised where it would be without threads."""
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(threads()) as pool:
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > ahead:
                    yield pending.popleft().result()
        except Exception:
            for early in pending:  # what came before the item that failed
                early.result()
            raise
        for left in pending:
            yield left.result()


class Shared(Iterator[Item]):
    """An iterator that several threads may draw from: whoever is free takes the next item."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)
        self._lock = Lock()

    def __next__(self) -> Item:
        with self._lock:
            return next(self._items)
