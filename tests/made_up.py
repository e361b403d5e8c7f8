"""Data that several tests make up."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simviz.relevance import Relevance

COLOURS = ("red", "blue", "green", "gold", "grey")
THINGS = ("car", "bus", "tram", "ship", "bike", "train")
LEFT = [f"a {colour} {thing} today" for colour in COLOURS for thing in THINGS[:4]]
RIGHT = [f"{thing} in {colour} seen here" for colour in COLOURS for thing in THINGS[:4]]


def loud(n=300, seed=0):
    """Items of ten topics, and of noise that varies most and says nothing."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(0, 10, n)
    noise = 3 * rng.normal(size=(2, n, 4))
    relevance = Relevance(sp.csr_array((topic[:, None] == topic).astype(float)))
    return (*(np.hstack([np.eye(10)[topic], one]) for one in noise), relevance)
