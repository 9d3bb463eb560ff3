"""Scales found once: a scale is a function of public numbers, and finding it is most of the work of a tiny run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest import mock

from understudy.privacy.accounting import Accounting


@contextmanager
def scales_once() -> Iterator[None]:
    """Remember every scale that is worked out in this block, by sensitivity and cost."""
    with (
        mock.patch.object(Accounting, "selection_scale", cache(Accounting.selection_scale)),
        mock.patch.object(Accounting, "noise_for", cache(Accounting.noise_for)),
    ):
        yield
