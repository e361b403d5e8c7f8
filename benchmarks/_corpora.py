"""Data sets of other people, read from a folder given on the command line."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import simviz
from simviz.data import Items, PairSet
from simviz.relevance import Relevance

Sides = tuple[sp.csr_array, sp.csr_array]


def table(path: Path) -> list[list[str]]:
    """Rows of a compressed file of tab-separated values, without its header."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]


def _texts(path: Path) -> dict[str, str]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return {row["id"]: row["text"] for row in map(json.loads, lines)}


def aligned(folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Texts that belong together row by row, for "train", "dev" and "test".

    Parameters
    ----------
    folder : Path
        With ``x.jsonl.gz`` and ``y.jsonl.gz`` (id, text), ``relevance.tsv.gz``
        (x_id, y_id, grade) and ``split.tsv.gz`` (x_id, split).

    Returns
    -------
    dict of str to pair of list of str
        The texts of both sides.
    """
    x, y = (_texts(folder / f"{side}.jsonl.gz") for side in "xy")
    mate = {a: b for a, b, _ in table(folder / "relevance.tsv.gz")}
    parts: dict[str, tuple[list[str], list[str]]] = {}
    for a, part in table(folder / "split.tsv.gz"):
        if a not in mate:
            continue
        sides = parts.setdefault(part, ([], []))
        sides[0].append(x[a])
        sides[1].append(y[mate[a]])
    return parts


def annotated(folder: Path) -> PairSet:
    """Keywords and the features of what they were given to.

    Parameters
    ----------
    folder : Path
        With ``x.jsonl.gz``, ``y.npz`` and ``ids.txt``, ``relevance.tsv.gz`` and
        ``y_split.tsv.gz`` (y_id, split).

    Returns
    -------
    PairSet
        The y side has the customary parts in its metadata column "split".
    """
    words = _texts(folder / "x.jsonl.gz")
    ids = (folder / "ids.txt").read_text(encoding="utf-8").split()
    part = dict(map(tuple, table(folder / "y_split.tsv.gz")))
    x = Items(list(words), list(words.values()), "keyword")
    features = sp.csr_array(sp.load_npz(folder / "y.npz"), dtype=np.float32)
    y = Items(ids, features, "vector", {"split": np.array([part[i] for i in ids], dtype=object)})
    row = {word: i for i, word in enumerate(words)}
    column = {name: i for i, name in enumerate(ids)}
    judged = table(folder / "relevance.tsv.gz")
    relevance = Relevance.from_pairs(
        [row[a] for a, _, _ in judged],
        [column[b] for _, b, _ in judged],
        shape=(len(x), len(y)),
    )
    return PairSet(x, y, relevance, name=folder.name, x_name="keywords", y_name="images")


def demo_icons() -> PairSet:
    """The icons that simviz brings."""
    return simviz.load_demo("icons")


def pool(folder: Path) -> tuple[list[str], list[str], Relevance]:
    """All judged queries, all documents, and the relevant pairs between them.

    Parameters
    ----------
    folder : Path
        With ``x.jsonl.gz`` and ``y.jsonl.gz`` (id, text) and
        ``relevance.tsv.gz`` (x_id, y_id, grade).

    Returns
    -------
    queries, documents : list of str
        Texts.
    relevance : Relevance
        Grades; what is not listed is not relevant.
    """
    x, y = (_texts(folder / f"{side}.jsonl.gz") for side in "xy")
    judged = [(a, b, float(g)) for a, b, g in table(folder / "relevance.tsv.gz") if float(g) > 0]
    asked = {a for a, _, _ in judged}
    row = {name: i for i, name in enumerate(name for name in x if name in asked)}
    column = {name: i for i, name in enumerate(y)}
    relevance = Relevance.from_pairs(
        [row[a] for a, _, _ in judged],
        [column[b] for _, b, _ in judged],
        [grade for _, _, grade in judged],
        shape=(len(row), len(column)),
        unjudged="negative",
    )
    return [x[name] for name in row], list(y.values()), relevance


def graded(
    folder: Path, n_train: int | None, n_pool: int | None
) -> dict[str, tuple[list[str], list[str], Relevance]]:
    """Queries, candidates and judgments of "train", "dev" and "test".

    Parameters
    ----------
    folder : Path
        As in `pool`, with ``split.tsv.gz`` (x_id, split), or ``folds.tsv.gz``
        (fold, x_id): fold 0 is "test", fold 1 is "dev", the rest "train".
    n_train, n_pool : int, optional
        Queries to keep of the training part, and of each other.

    Returns
    -------
    dict of str to tuple
        Where each document belongs to one query, candidates are those of the
        part's queries; else all documents.
    """
    x = _texts(folder / "x.jsonl.gz")
    queries, documents, relevance = pool(folder)
    asked = {a for a, _, g in table(folder / "relevance.tsv.gz") if float(g) > 0}
    if (folder / "split.tsv.gz").exists():
        part = dict(map(tuple, table(folder / "split.tsv.gz")))
    else:  # folds overlap: the test part comes last and stays whole
        part = dict.fromkeys(x, "train")
        drawn = table(folder / "folds.tsv.gz")
        for fold, name in (("1", "dev"), ("0", "test")):
            part |= {i: name for number, i in drawn if number == fold}
    parts = np.array([part.get(name, "") for name in x if name in asked])
    alone = (np.diff(relevance.T.matrix.indptr) <= 1).all()
    found = {}
    for name in ("train", "dev", "test"):
        rows = np.flatnonzero(parts == name)[: n_train if name == "train" else n_pool]
        own = np.flatnonzero(np.diff(relevance.take(rows).T.matrix.indptr))
        columns = own if alone else np.arange(len(documents))
        found[name] = (
            [queries[i] for i in rows],
            [documents[j] for j in columns],
            relevance.take(rows, columns),
        )
    return found
