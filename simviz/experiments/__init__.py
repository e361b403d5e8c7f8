"""Experiments: one module a table or figure of a paper, run anew on open data."""
