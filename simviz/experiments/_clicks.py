"""Clicked pairs to learn from, and judgments of other queries to be measured by."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data import Items, PairSet, split
from simviz.datasets.pydocs import SAME
from simviz.experiments._blending import Asked
from simviz.experiments._parts import Parts
from simviz.features import TextCounts, Vectors
from simviz.relevance import Relevance


@dataclass(frozen=True, slots=True, eq=False)
class Clicks:
    """What was clicked, and judged queries of another set of the same kinds.

    Parameters
    ----------
    name : str
        A short name to show.
    clicked : PairSet
        Queries and what was clicked for them, without grades; all else is
        negative.
    validation, test : Asked
        Other queries, with graded judgments and all documents.
    stands_for : str
        What stands for clicks here, in a sentence.
    notes : tuple of str
        What to know about the data.
    """

    name: str
    clicked: PairSet
    validation: Asked
    test: Asked
    stands_for: str
    notes: tuple[str, ...] = ()

    def in_words(self) -> str:
        """How much there is, in words."""
        n = self.clicked.relevance.matrix.nnz
        judged = f"{len(self.validation.pairs.x):,} and {len(self.test.pairs.x):,}"
        return (
            f"{n:,} clicks of {len(self.clicked.x):,} queries to learn from, {judged} judged "
            f"queries in validation and test, {len(self.test.pairs.y):,} documents"
        )


def of_links(judged: PairSet, links: PairSet, seed: int = 0) -> Clicks:
    """Learn from links between documents, be measured by summaries that ask for documents.

    Parameters
    ----------
    judged : PairSet
        The demo "pydocs": summaries, and the documents that they introduce.
    links : PairSet
        The demo "pydocs_links": the same documents on two sides.
    seed : int, default=0
        Of the split of the judged queries.

    Returns
    -------
    Clicks
        The summary of a document asks, and what it links, or is linked by, was
        clicked. No link of a document whose summary asks in validation or
        test is among the clicks: judgments grade such links.
    """
    parts = split(judged, by="x", seed=seed, candidates="judged")
    asked = [judged.take(parts.x_index[name]) for name in ("validation", "test")]
    summary, held = _introduced(judged), set().union(*map(_introduced, asked))
    matrix = links.relevance.positives.tocoo()
    there = list(zip(links.x.ids[matrix.row], links.y.ids[matrix.col], strict=True))
    clicks = {
        (summary[a], b)
        for link in there
        for a, b in (link, link[::-1])
        if not held & {a, b} and a in summary
    }
    asks, clicked = (sorted({click[i] for click in clicks}) for i in (0, 1))
    x_at, y_at = ({name: i for i, name in enumerate(side)} for side in (asks, clicked))
    place = {name: j for j, name in enumerate(judged.y.ids)}
    pairs = PairSet(
        Items([str(i) for i in range(len(asks))], asks, "text"),
        judged.y.take([place[name] for name in clicked]),
        Relevance.from_pairs(
            *zip(*((x_at[a], y_at[b]) for a, b in sorted(clicks)), strict=True),
            shape=(len(asks), len(clicked)),
            unjudged="negative",
        ),
    )
    stands_for = (
        "Links under See also stand for clicks: the summary of a page asks, and the pages that "
        "it links, or that link it, were clicked. Pages of the judged queries are left out."
    )
    return Clicks(judged.name, pairs, Asked(asked[0]), Asked(asked[1]), stands_for)


def _introduced(judged: PairSet) -> dict[str, str]:
    """Document to the summary that introduces it, for those of the highest grade."""
    matrix = judged.relevance.matrix.tocoo()
    best = matrix.data == SAME
    asks, documents = judged.x.content[matrix.row[best]], judged.y.ids[matrix.col[best]]
    return dict(zip(documents, asks, strict=True))


def of_judgments(parts: Parts) -> Clicks:
    """Learn from the relevant pairs of training queries as if they had been clicked.

    Parameters
    ----------
    parts : Parts
        With all documents in each part.

    Returns
    -------
    Clicks
        Training knows the documents that were clicked, and no grade.
    """
    return Clicks(
        parts.name,
        _clicked(parts.train),
        Asked(parts.validation),
        Asked(parts.test),
        "Relevant pairs of the training queries stand for clicks; their grades are dropped.",
        parts.notes,
    )


class TermWeights(Vectors):
    """ln(1 + count) times idf, in rows of length 1.

    Parameters
    ----------
    idf : ndarray of float, shape (n_terms,)
        Weights of the terms.
    """

    def __init__(self, idf: NDArray[np.float64]) -> None:
        super().__init__(normalize=True)
        self.idf = idf

    def transform(self, X: sp.csr_array) -> sp.csr_array:
        """Weigh counts.

        Parameters
        ----------
        X : CSR array of shape (n, n_terms)
            Counts.

        Returns
        -------
        csr_array of float32, shape (n, n_terms)
            Weights; a term that all items hold has none.
        """
        weighed = sp.csr_array(X, dtype=np.float64, copy=True)
        weighed.data = np.log1p(weighed.data) * self.idf[weighed.indices]
        weighed.eliminate_zeros()
        return sp.csr_array(super().transform(weighed), dtype=np.float32)


def counted(data: Clicks) -> tuple[Clicks, NDArray[np.float64]]:
    """Count the words of all texts once, for they are asked for many times.

    Parameters
    ----------
    data : Clicks
        Texts.

    Returns
    -------
    counts : Clicks
        The same with items that are counts of terms: those of two or more
        clicked items, English stop words aside.
    idf : ndarray of float64, shape (n_terms,)
        ln(N / df) of the clicked items.
    """
    clicked = data.clicked
    words = TextCounts(min_df=2, stop_words="english")
    both = words.fit_transform([*clicked.x.content, *clicked.y.content])
    df = np.bincount(both.indices, minlength=both.shape[1])

    def vectors(pairs: PairSet) -> PairSet:
        x, y = (
            Items(side.ids, words.transform(side.content), "vector") for side in (pairs.x, pairs.y)
        )
        return replace(pairs, x=x, y=y)

    counts = replace(
        data,
        clicked=vectors(clicked),
        validation=Asked(vectors(data.validation.pairs)),
        test=Asked(vectors(data.test.pairs)),
    )
    return counts, np.log(both.shape[0] / df)


def _clicked(pairs: PairSet) -> PairSet:
    """Relevant pairs alone, each as good as the other, with the items they are of."""
    positives = pairs.relevance.positives.copy()
    positives.data[:] = 1
    x = np.flatnonzero(np.diff(positives.indptr))
    y = np.unique(positives.indices)
    flat = replace(pairs, relevance=Relevance(positives, unjudged="negative"))
    return flat.take(x, y)
