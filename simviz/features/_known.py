"""Items that are known one by one, by what they are."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted


class KnownItems(TransformerMixin, BaseEstimator):
    """One column an item: 1 in the row of the item itself, nothing for others.

    It is what a table of scores needs that somebody else computed: such
    scores are of these items and say nothing of new ones.

    Attributes
    ----------
    keys_ : list of str
        A hash of each item, one a column; equal items share one.

    Examples
    --------
    >>> KnownItems().fit(["a", "b"]).transform(["b", "c"]).toarray()
    array([[0., 1.],
           [0., 0.]])
    """

    keys_: list[str]

    def fit(self, X: Any, y: object = None) -> Self:
        """Remember the items.

        Parameters
        ----------
        X : sequence of str, or array or CSR matrix of n rows
            The content of the items.
        y : object, optional
            Not used.

        Returns
        -------
        self
            The same object.
        """
        self.keys_ = list(dict.fromkeys(_keys(X)))
        return self

    def transform(self, X: Any) -> sp.csr_array:
        """Find items again.

        Parameters
        ----------
        X : sequence of str, or array or CSR matrix of n rows
            The content of items.

        Returns
        -------
        csr_array of shape (n, n_known)
            With an empty row for an item that is not known.
        """
        at = self.columns(X)
        known = np.flatnonzero(at >= 0)
        shape = (len(at), len(self.keys_))
        return sp.csr_array((np.ones(len(known)), (known, at[known])), shape=shape)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """What stands for each item.

        Parameters
        ----------
        input_features : object, optional
            Not used.

        Returns
        -------
        object array of str
            The hashes.
        """
        return np.array(self.keys_, dtype=object)

    def columns(self, X: Any) -> NDArray[np.int64]:
        """The column of each item, -1 where it is not known.

        Parameters
        ----------
        X : sequence of str, or array or CSR matrix of n rows
            The content of items.

        Returns
        -------
        array of int, shape (n,)
            From 0.
        """
        check_is_fitted(self)
        index = {key: i for i, key in enumerate(self.keys_)}
        return np.array([index.get(key, -1) for key in _keys(X)], dtype=np.int64)


def _keys(content: Any) -> list[str]:
    """A hash of each item."""
    if sp.issparse(content):
        rows = sp.csr_array(content)
        ptr = rows.indptr
        raw = (
            rows.indices[a:b].astype("<i8").tobytes() + rows.data[a:b].astype("<f8").tobytes()
            for a, b in pairwise(ptr)
        )
    elif isinstance(content, np.ndarray) and content.dtype != object:
        raw = (np.ascontiguousarray(row).tobytes() for row in content)
    else:
        raw = (str(text).encode("utf-8", "surrogatepass") for text in content)
    return [hashlib.blake2b(item, digest_size=12).hexdigest() for item in raw]
