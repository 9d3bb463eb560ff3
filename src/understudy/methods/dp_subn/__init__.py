"""DP-SUBN, DP-CCBN and Independent: Su, Tang, Cheng, Chen & Wu, ICDE 2016 — one table of several owners' rows.

PROOF.md has the guarantee, and what was false. On a single owner's table they run too, as their central counterparts.
"""

from understudy.methods.dp_subn.ccbn import DPCCBN
from understudy.methods.dp_subn.independent import Independent
from understudy.methods.dp_subn.method import DPSUBN

__all__ = ["DPCCBN", "DPSUBN", "Independent"]
