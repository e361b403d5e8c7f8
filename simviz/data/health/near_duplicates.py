r"""Texts that are nearly the same, found exactly without comparing all with all.

Two texts are compared by the weighted Jaccard similarity of their sets of character n-grams,
:math:`w(A \cap B) / w(A \cup B)`; an n-gram in many texts weighs little. If two sets reach a
similarity t, what they share weighs at least t times either set. So in the order of rarity, what
follows a set's *head* cannot be all they share [1]_: only texts whose heads share enough are
compared. Of words, no more than one in six may differ by more than a letter.

References
----------
.. [1] S. Chaudhuri, V. Ganti and R. Kaushik. "A primitive operator for
   similarity joins in data cleaning." ICDE 2006.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import scipy.sparse as sp

from simviz._types import Index, Reals

#: Characters of an n-gram, and those of a text that are looked at.
GRAM, LONGEST = 4, 2_000
#: Texts below this length are too short to be nearly the same rather than others.
SHORTEST = 12
#: Similarity from which two texts count as nearly the same.
NEAR = 0.7
#: An n-gram in a share of the texts above this one, and in more than a few, weighs less than 1.
_COMMON, _FEW = 0.05, 20
_BUCKETS = 1 << 23  # of n-grams: a few per cent of a million collide
_BLOCK = 1_000  # texts that are joined with all others at once
_SLACK = 1e-6  # for rounding, where weights are added up in another order
_WORD = re.compile(r"\w+")
_SLIP_LENGTH = 4  # letters of a word in which another letter is a slip
#: Share of the words that may differ.
_OTHER_WORDS = 1 / 6


def near_pairs(texts: Sequence[str], threshold: float = NEAR) -> tuple[Index, Index, Reals]:
    """All pairs of different texts that are nearly the same."""
    # Texts that differ in their numbers are not taken for nearly the same: a year, a size or a
    # part number sets things apart. Nor are texts shorter than 12 characters.
    none = np.empty(0, dtype=np.intp)
    long_enough = np.flatnonzero([len(text) >= SHORTEST for text in texts])
    if len(long_enough) < 2:
        return none, none, np.empty(0)
    long_texts = [texts[i][:LONGEST] for i in long_enough.tolist()]
    a, b, similarity = similar_rows(*by_rarity(gram_sets(long_texts)), threshold)
    words = {i: _WORD.findall(long_texts[i]) for i in np.unique([a, b]).tolist()}
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    same = [_say_the_same(words[i], words[j]) for i, j in pairs]
    keep = np.array(same, dtype=bool)
    return long_enough[a[keep]], long_enough[b[keep]], similarity[keep]


def gram_sets(texts: Sequence[str]) -> sp.csr_array:
    """The set of character 4-grams of each text, its ends marked by a space."""
    padded = [f" {text} " for text in texts]
    # Lone surrogates are legal in Python's strings and must not stop us here.
    raw = "".join(padded).encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(raw, dtype="<u4").astype(np.uint64)
    text_of = np.repeat(np.arange(len(padded)), [len(text) for text in padded])
    n = len(characters) - GRAM + 1
    hashed = np.zeros(n, dtype=np.uint64)
    for k in range(GRAM):
        hashed *= np.uint64(0x9E3779B97F4A7C15)
        hashed += characters[k : k + n]
    hashed ^= hashed >> np.uint64(29)
    hashed *= np.uint64(0xBF58476D1CE4E5B9)
    buckets = (hashed >> np.uint64(41)).astype(np.int32)  # 23 bits, as there are buckets
    inside = text_of[:n] == text_of[GRAM - 1 :]
    indptr = np.searchsorted(text_of[:n][inside], np.arange(len(padded) + 1))
    buckets = buckets[inside]
    sets = sp.csr_array(
        (np.ones(len(buckets), dtype=np.float32), buckets, indptr), shape=(len(padded), _BUCKETS)
    )
    sets.sum_duplicates()
    sets.data[:] = 1.0
    return sets


def by_rarity(sets: sp.csr_array) -> tuple[sp.csr_array, Reals]:
    """The sets with n-grams in order of rarity, the rarest first, and their weights."""
    times = np.bincount(sets.indices, minlength=_BUCKETS)
    used = np.flatnonzero(times)
    order = used[np.argsort(times[used], kind="stable")]
    counts = times[order]
    n = sets.shape[0]
    weights = np.clip(np.log(n / counts) / -np.log(_COMMON), 0.0, 1.0)
    weights[counts <= max(_FEW, _COMMON * n)] = 1.0
    place = np.empty(_BUCKETS, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    ranked = sp.csr_array(
        (sets.data, place[sets.indices], sets.indptr.copy()), shape=(n, len(order))
    )
    ranked.sort_indices()
    return ranked, weights


def similar_rows(
    grams: sp.csr_array, weights: Reals, threshold: float
) -> tuple[Index, Index, Reals]:
    """All pairs of rows that are similar enough."""
    from simviz.data.health._kernels import shared_weight

    w = weights[grams.indices]
    row = np.repeat(np.arange(grams.shape[0]), np.diff(grams.indptr))
    # What a row weighs from each of its entries on.
    rest = np.cumsum(w[::-1])[::-1]
    rest = rest - np.append(rest, 0.0)[grams.indptr[1:]][row]
    total = np.bincount(row, w, minlength=grams.shape[0])
    in_head = (rest >= threshold * total[row] - _SLACK) & (w > 0)
    indptr = np.concatenate([[0], np.cumsum(in_head)])[grams.indptr]
    head_entries = (np.sqrt(w[in_head]), grams.indices[in_head], indptr)
    heads = sp.csr_array(head_entries, shape=grams.shape)
    tail = total - np.bincount(row[in_head], w[in_head], minlength=len(total))
    last = np.full(len(total), -1)
    np.maximum.at(last, row[in_head], grams.indices[in_head])
    blocks: list[tuple[Index, Index, Reals]] = []
    for start in range(0, grams.shape[0], _BLOCK):
        # Those before were joined with these already.
        later = sp.csr_array(heads[start:].T)
        shared = sp.coo_array(heads[start : start + _BLOCK] @ later)
        a, b = shared.row.astype(np.intp) + start, shared.col.astype(np.intp) + start
        # Beyond the head that ends first, no more can be shared than its row's tail.
        bound = shared.data + np.where(last[a] <= last[b], tail[a], tail[b])
        needed = threshold / (1 + threshold) * (total[a] + total[b]) - _SLACK
        may = (a < b) & (bound >= needed)
        a, b, needed = a[may], b[may], needed[may]
        both = np.empty(len(a))
        shared_weight(a, b, grams.indptr, grams.indices, rest, needed, both)
        enough = both >= 0
        a, b, both = a[enough], b[enough], both[enough]
        blocks.append((a, b, both / (total[a] + total[b] - both)))
    a, b = (np.concatenate([part[k] for part in blocks]) for k in (0, 1))
    return a, b, np.concatenate([part[2] for part in blocks])


def _say_the_same(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether few words differ by more than a letter, and none by a number."""
    more, less = Counter(a) - Counter(b), Counter(b) - Counter(a)
    if any(any(c.isdigit() for c in word) for word in (*more, *less)):
        return False
    left = list(less.elements())
    missing = 0
    for word in more.elements():
        twin = next((other for other in left if _is_slip(word, other)), None)
        if twin is None:
            missing += 1
        else:
            left.remove(twin)
    return max(missing, len(left)) <= _OTHER_WORDS * max(len(a), len(b))


def _is_slip(a: str, b: str) -> bool:
    """Whether two words differ by a letter, or by two that changed places."""
    if min(len(a), len(b)) < _SLIP_LENGTH or abs(len(a) - len(b)) > 1:
        return False
    start = _common_start(a, b)
    a, b = a[start:], b[start:]
    end = _common_start(a[::-1], b[::-1])
    a, b = a[: len(a) - end], b[: len(b) - end]
    return max(len(a), len(b)) <= 1 or (len(a) == 2 and a == b[::-1])


def _common_start(a: str, b: str) -> int:
    """How many letters two words have in common from their beginning on."""
    same = takewhile(lambda letters: letters[0] == letters[1], zip(a, b, strict=False))
    return sum(1 for _ in same)
