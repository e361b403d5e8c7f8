"""Embed items with an exported linear model; needs Python, numpy and scipy only.

This file lies beside ``model.json`` and the arrays (ONNX graphs have ``features.json``, and
README.txt says how it makes their features). In its folder::

    from embed import Model

    model = Model(".")
    scores = model.similarity(["red heart"], ["corazón rojo", "coche azul"])
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

try:
    from analysis import build_analyzer, count_terms
except ImportError:  # inside simviz, where this file is tested and kept
    from simviz.features._analysis import build_analyzer, count_terms


class Model:
    """A linear model of two sides."""

    def __init__(self, folder: str | Path) -> None:
        root = Path(folder)
        self.settings: dict[str, Any] = json.loads((root / "model.json").read_text("utf-8"))
        self.arrays = {
            f"{side}_{name}": np.load(root / f"{side}_{name}.npy", allow_pickle=False)
            for side in "xy"
            for name in ("projection", "offset")
        }

    def embed(self, items: Sequence[str] | np.ndarray, side: str) -> np.ndarray:
        """Vectors of items."""
        V = features(items, self.settings[side])
        Z = np.asarray(V @ self.arrays[f"{side}_projection"])
        known = np.asarray(abs(V).sum(axis=1)).ravel() > 0
        # What holds nothing that was met in training is similar to nothing.
        Z[known] -= self.arrays[f"{side}_offset"]
        return _unit(Z) if self.settings["similarity"] == "cosine" else Z

    def similarity(
        self, x: Sequence[str] | np.ndarray, y: Sequence[str] | np.ndarray
    ) -> np.ndarray:
        """Similarities of all pairs, of shape (n_x, n_y); larger means closer."""
        return self.embed(x, "x") @ self.embed(y, "y").T


def features(items: Any, settings: dict[str, Any]) -> Any:
    """Items as rows of numbers, as in training; `settings` is one side of ``model.json``."""
    if settings["kind"] == "vectors":
        V = np.asarray(items, dtype=np.float32)
        return _unit(V) if settings["normalize"] else V
    if settings["kind"] == "keywords":

        def analyze(text: str) -> list[str]:
            parts = [text] if settings["delimiter"] is None else text.split(settings["delimiter"])
            return list(dict.fromkeys(p for part in parts if (p := part.strip().lower())))
    else:
        low, high = settings["ngram_range"]
        analyze = build_analyzer(
            settings["analyzer"],
            (low, high),
            settings["lowercase"],
            frozenset(settings["stop_words"]),
        )
    columns = {term: i for i, term in enumerate(settings["vocabulary"])}
    counts, _ = count_terms(items, analyze, columns, settings.get("n_unseen", 0))
    if "idf" not in settings:
        return counts
    tf = counts.data.astype(np.float64)
    tf = {"raw": tf, "log1p": np.log1p(tf), "log2": 1 + np.log2(tf)}[settings["tf"]]
    idf = np.append(settings["idf"], settings["unseen_idf"])  # of columns behind the vocabulary
    tf *= idf[np.minimum(counts.indices, len(columns))]
    weights = (tf, counts.indices, counts.indptr)
    V = sp.csr_array(weights, shape=counts.shape)
    if settings["normalize"]:
        norms = np.sqrt(V.multiply(V).sum(axis=1))
        V = sp.csr_array(sp.diags_array(1 / np.where(norms > 0, norms, 1)) @ V)
    return V.astype(np.float32)


def _unit(Z: np.ndarray) -> np.ndarray:
    """Rows of length 1; rows of zeros stay zero."""
    norms = np.linalg.norm(Z.astype(np.float64), axis=1, keepdims=True)
    return (Z / np.where(norms > 0, norms, 1)).astype(Z.dtype)
