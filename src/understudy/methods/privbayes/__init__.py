"""PrivBayes: Zhang, Cormode, Procopiuc, Srivastava & Xiao, ACM TODS 42(4), 2017. PROOF.md has the guarantee."""

from understudy.methods.privbayes.method import PrivBayes

__all__ = ["PrivBayes"]
