"""SWIFT: all pairs' scores bought at once, and few fits."""

from understudy.methods.swift.method import SEVERAL_OWNERS, Swift, suits

__all__ = ["SEVERAL_OWNERS", "Swift", "suits"]
