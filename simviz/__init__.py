"""Learned similarity: train any method on pairs, compare honestly, draw one map."""
