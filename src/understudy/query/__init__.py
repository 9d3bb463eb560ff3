"""Queries of a published model: their grammar, what they select, the answer and its standard error. Reads no row."""
