"""Keywords as ones in a row of zeros."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from simviz.base.stored import Declared, Texts
from simviz.features._analysis import count_terms
from simviz.features._base import Transformer


@dataclass(eq=False, repr=False)
class MultiHot(Transformer):
    """One column a keyword: 1 where the item has it.

    Keywords are compared in lower case, without white space around them.

    Parameters
    ----------
    delimiter : str, optional
        What separates the keywords of an item, such as "," or ";". When
        omitted the whole string is one keyword, so that every row has a single
        1: images annotated with one keyword at a time have this form.

    Attributes
    ----------
    vocabulary_ : list of str
        The keywords, one a column, in code point order.

    Raises
    ------
    ValueError
        From `fit`, if the delimiter is empty or no keyword is found.

    Examples
    --------
    >>> MultiHot(",").fit_transform(["Sea, sky", "sky,sun", ""]).toarray()
    array([[1., 1., 0.],
           [0., 1., 1.],
           [0., 0., 0.]], dtype=float32)
    """

    _stored: ClassVar[Declared] = {"vocabulary_": Texts("columns")}

    _parameter_constraints = {"delimiter": [str, None]}  # noqa: RUF012 -- scikit-learn's name

    delimiter: str | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.delimiter == "":
            raise ValueError(
                "delimiter is the text between two keywords, got ''. "
                "Use delimiter=None where each string is one keyword."
            )

    def _fit(self, texts: list[str]) -> None:
        keywords = {keyword for text in texts for keyword in self._keywords(text)}
        if not keywords:
            raise ValueError(
                f"No keyword was found in {len(texts):,} strings with "
                f"delimiter={self.delimiter!r}. Give at least one that is not blank."
            )
        self.vocabulary_ = sorted(keywords)

    def _transform(self, texts: list[str]) -> sp.csr_array:
        return count_terms(texts, self._keywords, self._columns())[0]

    def _names(self) -> list[str]:
        return self.vocabulary_

    def _keywords(self, text: str) -> list[str]:
        parts = [text] if self.delimiter is None else text.split(self.delimiter)
        return list(dict.fromkeys(p for part in parts if (p := part.strip().lower())))


class KnownItems(Transformer):
    """One column an item: 1 in the row of the item itself, nothing for others."""

    # It is what a table of scores needs that somebody else computed: such scores are of these
    # items and say nothing of new ones.

    _parameter_constraints: ClassVar[dict[str, Any]] = {}
    _stored: ClassVar[Declared] = {"keys_": Texts("columns", ordered=False)}
    keys_: list[str]

    def _check(self, X: Any) -> Any:
        return X

    def _fit(self, X: Any) -> None:
        self.keys_ = list(dict.fromkeys(_keys(X)))

    def _transform(self, X: Any) -> sp.csr_array:
        at = self.columns(X)
        known = np.flatnonzero(at >= 0)
        shape = (len(at), len(self.keys_))
        return sp.csr_array((np.ones(len(known)), (known, at[known])), shape=shape)

    def _names(self) -> list[str]:
        return self.keys_

    def columns(self, X: Any) -> NDArray[np.int64]:
        """The column of each item, -1 where it is not known."""
        check_is_fitted(self)
        index = {key: i for i, key in enumerate(self.keys_)}
        return np.array([index.get(key, -1) for key in _keys(X)], dtype=np.int64)


def _keys(content: Any) -> list[str]:
    """A hash of each item."""
    if sp.issparse(content):
        rows = sp.csr_array(content)
        raw = (
            rows.indices[a:b].astype("<i8").tobytes() + rows.data[a:b].astype("<f8").tobytes()
            for a, b in pairwise(rows.indptr)
        )
    elif isinstance(content, np.ndarray) and content.dtype != object:
        raw = (np.ascontiguousarray(row).tobytes() for row in content)
    else:
        raw = (str(text).encode("utf-8", "surrogatepass") for text in content)
    return [hashlib.blake2b(item, digest_size=12).hexdigest() for item in raw]
