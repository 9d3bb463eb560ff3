"""What the JTree paper says of its figures, in our words, as comparisons."""

from __future__ import annotations

from collections.abc import Sequence

from claims import Claim, less
from jtree import PAPER, RETAIL, TASKS, TITLES, WAYS
from records import Point, Records

NOTES = """
The published edge selection is not private (methods/jtree/PROOF.md) and is not drawn: "JTree" is its repair with the
published end. "understudy jtree" and "understudy privbayes" are the methods as they come, with maximum likelihood. AOL
and BR2000 are not among our data sets. L2 errors are relative to the number of rows; the 200 random tables of a width
are drawn with the seed of `understudy.evaluate`.
"""


def retail(curve: str, epsilon: str, ways: int) -> Point:
    return Point("retail", "tables", curve, epsilon, f"l2{ways}x200")


def claims(records: Records) -> Sequence[Claim]:
    settings = [(f"{k}-way {e}", e, k) for e in RETAIL for k in WAYS]
    wide = [(d, k, e) for d in ("adult", "tpce") for k in (2, 3) for e in PAPER]

    def table(d: str, curve: str, e: str, k: int) -> Point:
        return Point(d, "tables", curve, e, f"tvd{k}")

    def svm(curve: str, e: str, task: str) -> Point:
        return Point("adult", "svm", curve, e, task)

    found = [
        Claim(
            "2",
            "JTree is better than PrivBayes on Retail in most settings",
            tuple(less(n, retail("JTree", e, k), retail("PrivBayes", e, k)) for n, e, k in settings),
            most=True,
        ),
        Claim(
            "2",
            "JTree is as good as PriView on Retail (no more than a tenth worse) in most settings",
            tuple(less(n, retail("JTree", e, k), retail("PriView", e, k), 1.1) for n, e, k in settings),
            most=True,
        ),
        Claim(
            "2",
            "the same of JTree with maximum likelihood",
            tuple(less(n, retail("understudy jtree", e, k), retail("PriView", e, k), 1.1) for n, e, k in settings),
            most=True,
        ),
        Claim(
            "3",
            "JTree is better than PrivBayes in almost all settings of Adult and TPC-E",
            tuple(
                less(f"{TITLES[d]} {k}-way {e}", table(d, "JTree", e, k), table(d, "PrivBayes", e, k))
                for d, k, e in wide
            ),
            most=True,
        ),
        Claim(
            "3",
            "the same with maximum likelihood on both sides",
            tuple(
                less(
                    f"{TITLES[d]} {k}-way {e}",
                    table(d, "understudy jtree", e, k),
                    table(d, "understudy privbayes", e, k),
                )
                for d, k, e in wide
            ),
            most=True,
        ),
        Claim(
            "4",
            "SVMs on Adult: JTree is better than PrivBayes in every setting",
            tuple(less(f"{t} {e}", svm("JTree", e, t), svm("PrivBayes", e, t)) for t in TASKS for e in PAPER),
        ),
        Claim(
            "4",
            "SVMs on Adult: JTree is as good as PrivateSVM (no more than a tenth worse) in most settings",
            tuple(less(f"{t} {e}", svm("JTree", e, t), svm("PrivateSVM", e, t), 1.1) for t in TASKS for e in PAPER),
            most=True,
        ),
    ]
    return [Claim(c.figure, c.words, tuple(s for s in c.settings if s.measured(records)), c.most) for c in found]
