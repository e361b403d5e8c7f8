"""Documents that link each other, as weighted terms: three parts that share no query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data import Items, PairSet
from simviz.experiments._blending import Asked
from simviz.experiments._parts import Parts
from simviz.features import Tfidf
from simviz.relevance import Relevance


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Links to learn from, to choose settings by, and to test on.

    Parameters
    ----------
    name : str
        A short name to show.
    train : PairSet
        Documents and links that are known. All items are vectors: tf·idf of
        length 1, with the document frequencies of these documents.
    validation, test : Asked
        Documents that ask, and what is ranked for them.
    notes : tuple of str
        What to know about the parts.
    """

    name: str
    train: PairSet
    validation: Asked
    test: Asked
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """How much there is, in words."""
        links = self.train.relevance.positives.nnz
        asked = f"{len(self.validation.pairs.x):,} and {len(self.test.pairs.x):,} documents"
        return (
            f"{links:,} links to learn from, {asked} that ask in validation and test, "
            f"{len(self.test.pairs.y):,} to rank in the test"
        )


def between_sides(parts: Parts) -> Links:
    """Documents of one side that link documents of the other.

    Parameters
    ----------
    parts : Parts
        Texts or vectors on both sides, in one vocabulary.

    Returns
    -------
    Links
        With the pools of the parts.
    """
    train, validation, test = _weighted((parts.train, parts.validation, parts.test))
    return Links(parts.name, train, Asked(validation), Asked(test), parts.notes)


def within_collection(parts: Parts) -> Links:
    """Documents of one collection that link each other.

    Parameters
    ----------
    parts : Parts
        With all documents on the y side of each part, under the ids of the x
        side.

    Returns
    -------
    Links
        Training knows neither a document that asks in validation or test, nor
        any link of it, in either direction: where links are stored both ways,
        each would be an answer read backwards. Validation ranks the known
        documents, the test all of them.
    """
    everything = parts.test.y
    place = {name: j for j, name in enumerate(everything.ids)}
    held = [np.array([place[i] for i in part.x.ids]) for part in (parts.validation, parts.test)]
    known = np.setdiff1d(np.arange(len(everything)), np.concatenate(held))
    documents = everything.take(known)
    asks = np.array([place[i] for i in parts.train.x.ids])
    links = parts.train.relevance.matrix.tocoo()
    whole = Relevance.from_pairs(
        asks[links.row], links.col, links.data, shape=(len(everything), len(everything)),
        unjudged="negative",
    )  # fmt: skip
    train = replace(parts.train, x=documents, y=documents, relevance=whole.take(known, known))
    validation = parts.validation.take(None, known)
    parts_of = _weighted((train, validation, parts.test))
    return Links(
        parts.name,
        replace(parts_of[0], y=parts_of[0].x),
        Asked(parts_of[1], one_collection=True),
        Asked(parts_of[2], one_collection=True),
        parts.notes,
    )


def _weighted(parts: Sequence[PairSet]) -> list[PairSet]:
    """Texts and counts as tf·idf, with the document frequencies of the first part."""
    train = parts[0]
    if train.x.kind == "text":
        texts: Any = np.concatenate([train.x.content, train.y.content])
        words = Tfidf(tf="log2", min_df=2, stop_words="english").fit(texts)
        return [_as_vectors(part, words.transform) for part in parts]
    same = train.x is train.y
    both = sp.csr_array(train.x.content if same else sp.vstack([train.x.content, train.y.content]))
    df = np.bincount(both.indices[both.data != 0], minlength=both.shape[1])
    idf = np.where(df > 0, np.log(both.shape[0] / np.maximum(df, 1)), 0.0)

    def weighed(content: Any) -> sp.csr_array:
        counts = sp.csr_array(content, dtype=np.float64)
        counts.eliminate_zeros()
        counts.data = (1 + np.log2(counts.data)) * idf[counts.indices]
        return _unit(counts)

    return [_as_vectors(part, weighed) for part in parts]


def _as_vectors(part: PairSet, transform: Any) -> PairSet:
    x, y = (
        Items(side.ids, transform(side.content), "vector", side.metadata)
        for side in (part.x, part.y)
    )
    return replace(part, x=x, y=y)


def _unit(rows: sp.csr_array) -> sp.csr_array:
    from simviz.base import unit_rows

    scaled: sp.csr_array = unit_rows(rows).astype(np.float32)
    return scaled


def are_counts(content: Any) -> NDArray[np.bool_] | bool:
    """Whether vectors are counts of terms: whole numbers, none below 0."""
    data = content.data if sp.issparse(content) else np.asarray(content)
    return bool((data >= 0).all() and (data == np.floor(data)).all())
