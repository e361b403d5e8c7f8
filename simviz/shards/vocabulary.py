"""A vocabulary from more texts than memory holds, in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from simviz.features.hashed import HashedText
from simviz.features.text import TextCounts
from simviz.shards._work import joined
from simviz.shards.folder import TextFolder

if TYPE_CHECKING:
    from distributed import Client

F = TypeVar("F", bound=TextCounts | HashedText)


def fit_vocabulary(features: F, *sources: TextFolder, client: Client | None = None) -> F:
    """Fit features of terms on folders of texts, going through them once.

    The terms of each file are counted on their own: in how many texts each is,
    and how often. The counts of files are added up, and the vocabulary is
    chosen from the sums: it is that of ``features.fit`` on all texts in one list,
    and so are its weights, to the last bit.

    Parameters
    ----------
    features : TextCounts, Tfidf or HashedText
        What to fit; hashed features have no vocabulary, but weights.
    *sources : TextFolder
        One, or several for one vocabulary over them, as of both sides.
    client : distributed.Client, optional
        Of a cluster whose workers find the files in the same place; each
        counts files of its own, and sums go from worker to worker by a tree.
        Without one the files are counted here, one after another.

    Returns
    -------
    TextCounts, Tfidf or HashedText
        The same object, fitted.

    Raises
    ------
    DatasetError
        If a file is damaged.
    ValueError
        If there is no source, a parameter is out of range, or no term is left.

    Notes
    -----
    Memory: a batch of texts with its terms, and all distinct terms met so far,
    whatever `min_df` is: some 230 bytes each, for a rare term is dropped only
    when all texts were seen. On a cluster a worker holds those of two files or
    of two sums. Where there are too many, as of long character n-grams, use
    `simviz.features.HashedText`, which keeps none.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, texts in enumerate([["a heart", "a car"], ["a sun"]]):
    ...         pq.write_table(pa.table({"text": texts}), Path(folder, f"{i}.parquet"))
    ...     fit_vocabulary(TextCounts(), TextFolder(folder)).vocabulary_
    ['a', 'car', 'heart', 'sun']
    """
    if not sources:
        raise ValueError("A vocabulary is learned from texts, got no source. Give a TextFolder.")
    parts = [(source, i) for source in sources for i in range(len(source))]
    totals: Any = joined(_count, _add, parts, features, client=client)
    return features.fit_totals(totals)


def _count(part: tuple[TextFolder, int], features: TextCounts | HashedText) -> Any:
    """The terms of one file."""
    source, i = part
    totals: Any = features.count_totals([])
    for texts, _ in source.batches(i):
        totals.add(features.count_totals(texts))
    return totals


def _add(totals: Any, more: Any) -> Any:
    return totals.add(more)
