"""Checks between the sides: what shared text gives away, and what words cannot reach."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.data.health.content import plain_text, words_of
from simviz.data.health.finding import Finding, SharedWords
from simviz.data.health.remedies import DropItems
from simviz.data.health.subject import Index, Subject
from simviz.data.pairs import PairSet
from simviz.data.wording import counted, percent
from simviz.ranking import Ranking, expected_reciprocal_rank, rank_block
from simviz.relevance import Relevance

_EXAMPLES = 8
_QUERIES = 1_000
_JUDGED = 50_000  # pairs of which an AUC is taken
_BLOCK = 128
#: Shares from which something is worth a word.
_MANY_SAME, _MANY_UNSEEN = 0.01, 0.02
_FEW_UNSEEN = 2
_FEWEST = 10  # queries or judged pairs, to say that codes lead to them
#: Codes matter where they reach so much of the way from chance to 1.
_CODES = 0.1


def find_identical(subject: Subject) -> list[Finding]:
    """Relevant pairs whose two sides say the same.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none.
    """
    if not (subject.is_text("x") and subject.is_text("y")) or subject.pairs.x is subject.pairs.y:
        return []
    x_texts, y_texts = (
        [plain_text(text) for text in subject.items(side).content] for side in "xy"
    )
    positives = subject.pairs.relevance.positives
    rows = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
    same = np.array(
        [x_texts[i] == y_texts[j] for i, j in zip(rows, positives.indices, strict=True)],
        dtype=bool,
    )
    found, asked = np.unique(rows[same]).astype(np.intp), np.unique(rows)
    remedy = None
    if 2 * len(found) < len(asked):
        label = f"Leave all {len(found):,} out"
        nothing = np.empty(0, dtype=np.intp)
        remedy = DropItems(label, found, nothing, subject.pairs.shape)
    where = ""
    if subject.split is not None:  # what training knows lifts no figure
        test = subject.members("x", "test")
        found, asked = np.intersect1d(found, test), np.intersect1d(asked, test)
        where = "test "
    n = len(found)
    if not n or n < _MANY_SAME * len(asked):
        return []
    return [
        Finding(
            "identical",
            "look",
            f"{counted(n, f'{where}item')} of {subject.name('x')} ({percent(n / len(asked))}) "
            f"{'has' if n == 1 else 'have'} a relevant answer with the very same text",
            n,
            "Comparing strings finds these without learning anything, so they lift the figures "
            "of every method alike. Leave them in where such queries are asked in earnest; "
            "leave them out to see what is learned.",
            ("the text on both sides",),
            tuple((subject.label("x", int(i)),) for i in found[:_EXAMPLES]),
            remedy,
        )
    ]


def find_codes(subject: Subject, shared: SharedWords | None) -> list[Finding]:
    """Codes and numbers on both sides that give the answer away.

    Parameters
    ----------
    subject : Subject
        What is checked.
    shared : SharedWords or None
        How far shared words lead.

    Returns
    -------
    list of Finding
        One or none.
    """
    if shared is None or shared.n < _FEWEST:
        return []
    if shared.codes < shared.chance + _CODES * (1.0 - shared.chance):
        return []
    return [
        Finding(
            "codes",
            "look",
            f"Words with digits alone (codes, numbers, years) reach {shared.metric} "
            f"{shared.codes:.2f}; all shared words reach {shared.words:.2f}",
            shared.n,
            f"Measured on {shared.on} without any learning; knowing nothing gives "
            f"{shared.chance:.2f}. Where both sides copy the same codes, a high figure says "
            "little about meaning. Compare every method with TF-IDF, which has this for free.",
        )
    ]


def find_unseen(subject: Subject) -> list[Finding]:
    """Test texts none of whose words occur in training: empty to methods that go by words.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    list of Finding
        One or none; none without a split.
    """
    examples: list[tuple[str, ...]] = []
    told = []
    n = 0
    for side in filter(subject.is_text, subject.held):
        texts = subject.items(side).content
        known = {w for i in subject.members(side, "train") for w in words_of(plain_text(texts[i]))}
        test = subject.members(side, "test")
        empty = [i for i in test if known.isdisjoint(words_of(plain_text(texts[i])))]
        if len(empty) <= max(_FEW_UNSEEN, _MANY_UNSEEN * len(test)):
            continue
        n += len(empty)
        share = percent(len(empty) / len(test))
        told.append(f"{counted(len(empty), 'test item')} of {subject.name(side)} ({share})")
        examples += [(subject.name(side), subject.label(side, int(i))) for i in empty[:_EXAMPLES]]
    if not n:
        return []
    return [
        Finding(
            "unseen",
            "look",
            f"{' and '.join(told)} {'shares' if n == 1 else 'share'} no word with training",
            n,
            "To a method that goes by whole words they are empty and score 0 with everything. "
            "Methods that go by characters can still place them.",
            ("side", "text"),
            tuple(examples[:_EXAMPLES]),
        )
    ]


def measure_shared(subject: Subject) -> SharedWords | None:
    """How far the words lead that both sides share.

    Parameters
    ----------
    subject : Subject
        What is checked.

    Returns
    -------
    SharedWords or None
        None where a side is not made of text or nothing can be measured. On
        the test part where there is a split; of many queries a thousand are
        asked, spread evenly.
    """
    if not (subject.is_text("x") and subject.is_text("y")):
        return None
    pairs = subject.pairs if subject.split is None else subject.split.test
    on = "all pairs" if subject.split is None else "the test part"
    texts = [[plain_text(text) for text in items.content] for items in (pairs.x, pairs.y)]
    words = _weighted(texts, words_of)
    codes = _weighted(texts, codes_of)
    nothing = (sp.csr_array(words[0].shape), sp.csr_array(words[1].shape))
    ranked = pairs.relevance.unjudged == "negative"
    measure = _mrr if ranked else _auc
    (known, n), (coded, _), (chance, _) = (measure(*m, pairs) for m in (words, codes, nothing))
    if not n:
        return None
    return SharedWords("MRR" if ranked else "AUC", known, coded, chance, n, on)


def codes_of(text: str) -> list[str]:
    """The words of a plain text that have a digit."""
    return [word for word in words_of(text) if any(c.isdigit() for c in word)]


def _weighted(
    texts: Sequence[Sequence[str]], analyzer: Callable[[str], list[str]]
) -> tuple[sp.csr_array, sp.csr_array]:
    """TF-IDF vectors of length 1 for both sides, all zeros where there is no word."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        model = TfidfVectorizer(analyzer=analyzer, sublinear_tf=True, dtype=np.float32)
        model.fit([text for side in texts for text in side])
    except ValueError:  # no word at all
        return tuple(sp.csr_array((len(side), 1), dtype=np.float32) for side in texts)
    return tuple(sp.csr_array(model.transform(side)) for side in texts)


def _mrr(x: sp.csr_array, y: sp.csr_array, pairs: PairSet) -> tuple[float, int]:
    """MRR over queries that have an answer, and their number."""
    positives = pairs.relevance.positives
    queries = np.flatnonzero(np.diff(positives.indptr))
    queries = queries[_spread(len(queries), _QUERIES)]
    wanted = positives[queries]
    columns = sp.csc_array(y.T)
    above, tied = [], []
    for start in range(0, len(queries), _BLOCK):
        part = wanted[start : start + _BLOCK]
        scores = (x[queries[start : start + _BLOCK]] @ columns).toarray()
        higher, equal, _ = rank_block(scores, part.indptr, part.indices)
        above.append(higher)
        tied.append(equal)
    if not above:
        return 0.0, 0
    ranking = Ranking(
        wanted.indptr,
        wanted.indices,
        wanted.data,
        np.concatenate(above),
        np.concatenate(tied),
        np.full(len(queries), y.shape[0]),
    )
    return float(expected_reciprocal_rank(ranking).mean()), len(queries)


def _auc(x: sp.csr_array, y: sp.csr_array, pairs: PairSet) -> tuple[float, int]:
    """AUC over judged pairs, and their number; 0 of them where one kind is missing."""
    from sklearn.metrics import roc_auc_score

    rows, columns, relevant = _judged(pairs.relevance)
    if len(np.unique(relevant)) < 2:
        return 0.0, 0
    scores: NDArray[np.float64] = np.asarray(x[rows].multiply(y[columns]).sum(axis=1)).ravel()
    return float(roc_auc_score(relevant, scores)), len(rows)


def _judged(relevance: Relevance) -> tuple[Index, Index, NDArray[np.bool_]]:
    parts = [
        (m.tocoo(), told)
        for m, told in ((relevance.positives, True), (relevance.negatives, False))
    ]
    rows = np.concatenate([m.row for m, _ in parts]).astype(np.intp)
    columns = np.concatenate([m.col for m, _ in parts]).astype(np.intp)
    relevant = np.concatenate([np.full(m.nnz, told) for m, told in parts])
    at = _spread(len(rows), _JUDGED)
    return rows[at], columns[at], relevant[at]


def _spread(n: int, most: int) -> Index:
    """Positions from all of a list, evenly."""
    return np.linspace(0, max(n - 1, 0), min(most, n)).astype(np.intp)
