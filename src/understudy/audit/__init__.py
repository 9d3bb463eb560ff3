"""The audit: what anyone can check on their own machine, with made-up tables only. `understudy.audit()` is the verb.

    enumeration    the exact law of every question of the kernel, on all small tables and all their neighbours
    trials         a lower bound of epsilon (and mu) from whole runs of `publish` on two neighbouring tables
    replay         the same run on a neighbour with the mechanisms' outputs frozen: same questions, price and release
    samplers       the random source against the laws that the other parts take for granted

Each part has broken twins that it must catch. No private data is read; nothing in the package imports this one.
The package has the verb's name, so it is callable.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.audit.findings import AuditReport


class _Verb(ModuleType):
    def __call__(self, *, long: bool = False) -> AuditReport:
        """Check this installation on made-up tables; see `understudy.audit.auditing.audit`."""
        from understudy.audit.auditing import audit

        return audit(long=long)


sys.modules[__name__].__class__ = _Verb
