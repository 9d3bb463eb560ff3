"""SWIFT: all pairs' scores bought at once, and few fits."""

from understudy.methods.swift.method import Swift

__all__ = ["Swift"]
