"""Graphical models: pure functions of noisy measurements. Nothing here has seen a row."""
