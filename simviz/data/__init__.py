"""Pairs: reading, writing, splitting."""
