"""JTree: Chen, Xiao, Zhang & Xu, KDD 2015, with its edge selection repaired. PROOF.md has the guarantee."""

from understudy.methods.jtree.method import JTree

__all__ = ["JTree"]
