"""PriView: Qardaji, Yang & Li, SIGMOD 2014 — a few fixed views that cover every pair. PROOF.md has the guarantee."""

from understudy.methods.priview.method import PriView, covers

__all__ = ["PriView", "covers"]
