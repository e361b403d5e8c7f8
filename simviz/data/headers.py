"""Names of columns, and what they say of the part that a column plays."""

from __future__ import annotations

import re

X_WORDS = frozenset(
    "x left lhs query queries question q source src anchor premise keyword keywords a 1 from "
    "original mention qid queryid".split()
)
Y_WORDS = frozenset(
    "y right rhs document documents doc d passage answer target tgt hypothesis candidate b 2 to "
    "positive product item image docid docno".split()
)
ID_WORDS = frozenset("id ids qid queryid docid docno uid guid key".split())
GROUP_NAMES = frozenset("group group_id cluster cluster_id topic category family".split())
_LABEL_NAMES = frozenset(
    "label labels grade grades score scores relevance rel relevant relevancy similarity judgment "
    "judgement judgments judgements verdict rating gold match is_match is_relevant is_duplicate "
    "qrel gold_label relevance_label esci_label similarity_score relevance_score".split()
)


def is_label_name(name: str) -> bool:
    """Whether a column is named like a judgment.

    Examples
    --------
    >>> is_label_name("Relevance"), is_label_name("query")
    (True, False)
    """
    return plain(name) in _LABEL_NAMES


def plain(name: str) -> str:
    """A column name in lower case with single underscores."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def words_of(name: str) -> frozenset[str]:
    """The words of a column name, numbers apart from letters."""
    return frozenset(re.findall(r"[a-z]+|\d+", plain(name)))


def side_of(name: str) -> str:
    """The side that a column name speaks of: x, y, or neither."""
    words = words_of(name)
    x, y = bool(words & X_WORDS), bool(words & Y_WORDS)
    return "" if x == y else "x" if x else "y"
