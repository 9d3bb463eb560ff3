"""PrivABN: Lan, Hong, Chen, Cai & Wang 2021, repaired. PROOF.md has the guarantee, and what was wrong."""

from understudy.methods.privabn.method import PrivABN

__all__ = ["PrivABN"]
