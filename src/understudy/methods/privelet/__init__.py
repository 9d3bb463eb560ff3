"""Privelet (Xiao, Wang & Gehrke 2010): range counts over long ordered or hierarchical domains."""

from understudy.methods.privelet.method import Privelet

__all__ = ["Privelet"]
