"""Content of items made comparable: which are the same, which hold nothing."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.items import Items

_WORD = re.compile(r"\w+")


def plain_text(text: str) -> str:
    r"""A text without what no reader minds: case, width of characters, spaces.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        Equal for texts that say the same.

    Examples
    --------
    >>> plain_text("  Red\tHEART "), plain_text("ﬁne") == plain_text("FINE")
    ('red heart', True)
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def words_of(text: str) -> list[str]:
    """The words of a plain text: letters, digits and underscores in a row."""
    return _WORD.findall(text)


def content_codes(items: Items) -> NDArray[np.intp]:
    """Number items so that those of the same content have the same number.

    Parameters
    ----------
    items : Items
        Of any kind; texts are compared by `plain_text`, pictures and vectors
        by their numbers.

    Returns
    -------
    ndarray of int, shape (n,)
        In order of first appearance.

    Examples
    --------
    >>> content_codes(Items(["a", "b", "c"], ["Car", "bus", "car "], "text")).tolist()
    [0, 1, 0]
    """
    seen: dict[str | bytes, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in _keys(items)], dtype=np.intp)


def _keys(items: Items) -> list[str] | list[bytes]:
    if items.kind in ("text", "keyword"):
        return [plain_text(text) for text in items.content]
    content = items.content
    if sp.issparse(content):
        rows = sp.csr_array(content)
        return [
            rows.indices[a:b].astype(np.int64).tobytes() + rows.data[a:b].tobytes()
            for a, b in zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        ]
    return [np.ascontiguousarray(row).tobytes() for row in content]


def empty_items(items: Items) -> NDArray[np.intp]:
    """Positions of items that hold nothing.

    Parameters
    ----------
    items : Items
        Of any kind.

    Returns
    -------
    ndarray of int
        Blank texts, pictures of one colour, vectors of zeros.

    Examples
    --------
    >>> empty_items(Items(["a", "b"], ["car", " "], "text")).tolist()
    [1]
    """
    content = items.content
    if items.kind in ("text", "keyword"):
        return np.flatnonzero([not text.strip() for text in content])
    if sp.issparse(content):
        return np.flatnonzero(abs(content).sum(axis=1) == 0)
    flat = content.reshape(len(content), -1)
    if items.kind == "image":
        return np.flatnonzero((flat == flat[:, :1]).all(axis=1))
    return np.flatnonzero(~flat.any(axis=1))
