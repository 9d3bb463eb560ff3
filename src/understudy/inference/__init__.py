"""Inference from a release: intervals of answers, several tables for analysts, combining rules, and what holds.

Everything here is post-processing of what a release contains: it reads no row and costs nothing.
"""

from understudy.inference.combining import Combined, combine

__all__ = ["Combined", "combine"]
