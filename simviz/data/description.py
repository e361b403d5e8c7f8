"""What a data set is made of: counts, lengths, scripts, words, grades, and which side asks."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz.data.cells import spread
from simviz.data.pairs import Items, PairSet, Space

Direction = Literal["x2y", "y2x"]
_QUERY_NAMES = re.compile(
    r"(quer(y|ies)|(question|keyword|tag|search|input|mention|request|prompt)(e?s)?|raw|typed)"
)
#: A text asks for one that is so many times as long.
_LENGTH_RATIO = 3.0
#: Texts whose length is taken, evenly spread over their side.
_MAX_MEASURED = 2_000
SHORT_TEXT = 6  # words; below it too few of them are met again in other texts
#: What stands for a missing value in a column of groups.
MISSING = "–"
#: What a text without a single letter is written in.
NO_SCRIPT = "no letters"
_NAMES = {"Cjk": "Chinese characters", "Hiragana": "Japanese kana", "Katakana": "Japanese kana"}
#: First words of letters' names that name no writing system.
_COMMON = {"Feminine", "Masculine", "Micro", "Modifier", "Script", "Double-Struck", "Planck"}
_LONGEST = 500  # characters of a text that are looked at
_WORD = re.compile(r"\w+")
#: Distinct grades that are counted one by one; more are put into as many bins.
_BINS = 10
#: Characters whose words are counted; of more, fewer texts are read, spread evenly.
CHARACTERS = 2_000_000


#: Pairs whose cosines tell whether vectors are of one space, and fewest that can.
_MAX_PAIRS, _MIN_PAIRS = 1_000, 10
#: What the lower end of the interval has to exceed; by chance the AUC is one half.
_MIN_AUC = 0.6


class SpaceGuess(NamedTuple):
    """Whether both sides are of one space, and why."""

    space: Space
    reason: str


def guess_space(pairs: PairSet) -> SpaceGuess:
    """Guess whether vectors of both sides are of one space, such as those of one encoder.

    In one space the items of a relevant pair lie nearer each other than those of other pairs. The
    share of other pairs that a relevant pair exceeds in cosine, the AUC, is estimated from at most
    1,000 of each; one space is guessed where its 95 % interval lies above 0.6.

    Parameters
    ----------
    pairs : PairSet
        The data. A `space` that is given there is not asked.

    Returns
    -------
    SpaceGuess
        "one" or "two", and the reason in a sentence.

    References
    ----------
    DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under two or more
    correlated receiver operating characteristic curves. Biometrics 44(3): the interval.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> import simviz
    >>> guess_space(simviz.from_frame(x=X, y=X + 0.1).pairs).space
    'one'
    """
    x, y = pairs.x, pairs.y
    if x is y:
        return SpaceGuess("one", "Both sides are one collection.")
    widths = [np.shape(side.content)[1:] for side in (x, y)]
    if x.kind != "vector" or y.kind != "vector" or widths[0] != widths[1]:
        return SpaceGuess("two", "The sides are not vectors of one width.")
    rng = np.random.default_rng(0)
    relevant = pairs.relevance.positives.tocoo()
    if relevant.nnz < _MIN_PAIRS:
        return SpaceGuess("two", f"Fewer than {_MIN_PAIRS} relevant pairs cannot tell.")
    sample = rng.permutation(relevant.nnz)[:_MAX_PAIRS]
    rows, columns = relevant.row[sample], relevant.col[sample]
    i, j = rng.permutation(relevant.row)[:_MAX_PAIRS], rng.permutation(relevant.col)[:_MAX_PAIRS]
    apart = np.asarray(pairs.relevance.positives[i, j]).ravel() == 0
    if apart.sum() < _MIN_PAIRS:
        return SpaceGuess("two", "Nearly every item belongs to every other, which tells nothing.")
    near, far = (_cosines(x, y, *at) for at in ((rows, columns), (i[apart], j[apart])))
    above = _placements(near, far)
    auc, below = float(above.mean()), 1 - _placements(far, near)
    half_width = 1.96 * float(np.sqrt(above.var() / len(near) + below.var() / len(far)))
    low, high = max(0.0, auc - half_width), min(1.0, auc + half_width)
    text = f"AUC {auc:.2f}, 95 % interval {low:.2f} to {high:.2f}"
    if low > _MIN_AUC:
        return SpaceGuess("one", f"Relevant pairs are nearer than others in cosine: {text}.")
    return SpaceGuess("two", f"Relevant pairs are hardly nearer than others in cosine: {text}.")


def _cosines(x: Items, y: Items, rows: Any, columns: Any) -> NDArray[np.float64]:
    """Cosine of each pair of vectors; 0 of a vector of zeros."""
    from simviz.base import unit_rows  # scikit-learn, which a card of a data set does without

    X, Y = (unit_rows(sp.csr_array(z.content[at]).astype(np.float64))
            for z, at in ((x, rows), (y, columns)))  # fmt: skip
    return np.asarray(X.multiply(Y).sum(axis=1)).ravel()


def _placements(values: NDArray[np.float64], others: NDArray[np.float64]) -> Any:
    """Return the share of others that each value exceeds, ties counted half."""
    ordered = np.sort(others)
    at = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return sum(at) / (2 * len(others))


class QuerySide(NamedTuple):
    """Which side asks, and why."""

    direction: Direction
    reason: str


def infer_query_side(pairs: PairSet) -> QuerySide:
    """Guess which side asks, and say why.

    Parameters
    ----------
    pairs : PairSet
        The data.

    Returns
    -------
    QuerySide
        Of judged pairs the only side whose answers can be ranked wrongly; else
        the one that is called queries or the like; keywords before others; the
        shorter of two texts, if the other is three times as long; else x.

    Examples
    --------
    >>> short, long = ["ox", "elk"], ["a heavy animal", "a large deer with antlers"]
    >>> infer_query_side(PairSet.from_texts(long, short, x_name="pages", y_name="names"))
    QuerySide(direction='y2x', reason='names, the shorter side')
    """
    sides = {"x2y": pairs.x, "y2x": pairs.y}
    names = dict(zip(sides, pairs.headings, strict=True))

    def guess(direction: str, why: str) -> QuerySide:
        return QuerySide("y2x" if direction == "y2x" else "x2y", f"{names[direction]}, {why}")

    if pairs.relevance.unjudged == "ignore":
        matrix = pairs.relevance.matrix
        able = [d for d, m in (("x2y", matrix), ("y2x", matrix.T.tocsr())) if _can_misrank(m)]
        if len(able) == 1:
            return guess(able[0], "the only side whose answers can be ranked wrongly")
    words_in = {d: re.split(r"[\W_\d]+", name.casefold()) for d, name in names.items()}
    called = [d for d, words in words_in.items() if any(map(_QUERY_NAMES.fullmatch, words))]
    if len(called) == 1:
        return guess(called[0], "by its name")
    keywords = [d for d, side in sides.items() if side.kind == "keyword"]
    if len(keywords) == 1:
        return guess(keywords[0], "the keywords")
    lengths = {d: _length(side) for d, side in sides.items()}
    short, long = sorted(sides, key=lengths.__getitem__)
    if 0 < _LENGTH_RATIO * lengths[short] <= lengths[long]:
        return guess(short, "the shorter side")
    return guess("x2y", "the left side")


def default_direction(pairs: PairSet) -> Direction:
    """Which side asks where nobody has said so, see `infer_query_side`.

    Parameters
    ----------
    pairs : PairSet
        The data.

    Returns
    -------
    {"x2y", "y2x"}
        The side that asks first.
    """
    return infer_query_side(pairs).direction


def _can_misrank(matrix: object) -> bool:
    """Whether any row has judged answers that differ."""
    indptr, data = matrix.indptr, matrix.data  # type: ignore[attr-defined]
    starts = indptr[:-1][np.diff(indptr) > 0]
    if not len(starts):
        return False
    return bool((np.minimum.reduceat(data, starts) < np.maximum.reduceat(data, starts)).any())


def _length(side: Items) -> float:
    """Median number of characters of texts; 0 of anything else."""
    if side.kind not in ("text", "keyword"):
        return 0.0
    step = max(1, len(side) // _MAX_MEASURED)
    return float(np.median([len(text) for text in side.content[::step]]))


def are_short(texts: Sequence[str]) -> bool:
    """Whether most texts have so few words that few are met again: parts of words are terms."""
    n_words = [len(text.split()) for text in texts]
    return bool(n_words) and float(np.median(n_words)) < SHORT_TEXT


def plain_text(text: str) -> str:
    r"""A text without what no reader minds: case, width of characters, spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return " ".join(text.casefold().split())


def words_of(text: str) -> list[str]:
    """The words of a plain text: letters, digits and underscores in a row."""
    return _WORD.findall(text)


def scripts_of(texts: Sequence[str]) -> list[str]:
    """The writing system that most letters of each text belong to."""
    scripts = []
    for text in texts:
        start = text[:_LONGEST]
        if start.isascii():
            scripts.append("Latin" if any(map(str.isalpha, start)) else NO_SCRIPT)
            continue
        counts = Counter(filter(None, map(script_of, start)))
        scripts.append(max(counts, key=counts.__getitem__, default=NO_SCRIPT))
    return scripts


@lru_cache(maxsize=65_536)
def script_of(character: str) -> str:
    """The writing system of a letter; empty for anything else."""
    if not character.isalpha():
        return ""
    name = unicodedata.name(character, "")
    words = name.removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").partition(" ")
    first = words[0].capitalize()
    return "" if first in _COMMON else _NAMES.get(first, first)


@dataclass(frozen=True, slots=True)
class Spread:
    """How numbers are spread."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Measure some numbers."""
        quantiles = np.quantile(np.asarray(values, dtype=np.float64), [0.05, 0.5, 0.95])
        return cls(*(float(value) for value in quantiles))


@dataclass(frozen=True, slots=True)
class SideDescription:
    """One side of a data set."""

    name: str
    kind: str
    n: int
    n_linked: int
    answers: Spread
    characters: Spread | None
    words: Spread | None
    n_words: int
    n_read: int
    scripts: tuple[tuple[str, float], ...]
    size: tuple[int, ...] | None
    filled: float
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """Both sides of a data set and what is between them."""

    x: SideDescription
    y: SideDescription
    n_shared_words: int | None
    grades: tuple[tuple[str, int], ...]
    is_score: bool


def describe(pairs: PairSet) -> Description:
    """Say what a data set is made of.

    Parameters
    ----------
    pairs : PairSet
        Of any kind.

    Returns
    -------
    Description
        Of both sides and their judgments.

    Examples
    --------
    >>> both = describe(PairSet.from_texts(["red car", "car"], ["coche rojo", "car"]))
    >>> both.x.n_words, both.n_shared_words, both.x.scripts, both.grades
    (2, 1, (('Latin', 1.0),), (('1', 2),))
    """
    positives = pairs.relevance.positives
    n_x_of = np.bincount(positives.indices, minlength=positives.shape[1])
    x, x_words = _side(pairs.x, pairs.x_name, np.diff(positives.indptr))
    y, y_words = _side(pairs.y, pairs.y_name, n_x_of)
    n_shared = len(x_words & y_words) if x.words and y.words else None
    grades = _grades(pairs.relevance.matrix.data)
    return Description(x, y, n_shared, grades, pairs.relevance.kind == "score")


def _side(
    items: Items, name: str, answers: NDArray[np.integer]
) -> tuple[SideDescription, set[str]]:
    """What one side is made of, and the words of its texts."""
    linked, content, filled = answers[answers > 0], items.content, float("nan")
    is_text = items.kind in ("text", "keyword")
    texts, vocabulary, counts = content[:0], set[str](), list[int]()
    if is_text:
        share = CHARACTERS / max(1, sum(map(len, content)))
        n_read = min(len(items), max(1, int(share * len(items))))
        texts = content[spread(len(items), n_read)]
        for text in texts:
            words = words_of(plain_text(text))
            counts.append(len(words))
            vocabulary.update(words)
    if items.kind == "vector":
        n_set = content.nnz if sp.issparse(content) else np.count_nonzero(content)
        filled = float(n_set) / max(1, content.shape[0] * content.shape[1])
    scripts = Counter(scripts_of(texts)).most_common() if is_text else ()
    return SideDescription(
        name=name,
        kind=items.kind,
        n=len(items),
        n_linked=len(linked),
        answers=Spread.of(linked if len(linked) else [0]),
        characters=Spread.of([len(text) for text in content]) if is_text else None,
        words=Spread.of(counts) if is_text else None,
        n_words=len(vocabulary),
        n_read=len(texts) if is_text else 0,
        scripts=tuple((script, n / len(texts)) for script, n in scripts),
        size=content.shape[1:] if items.kind in ("image", "vector") else None,
        filled=filled,
        columns=tuple(items.metadata),
    ), vocabulary


def _grades(values: NDArray[np.float64]) -> tuple[tuple[str, int], ...]:
    """How often each grade was given, or how many scores fall into each interval."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= _BINS:
        graded = zip(distinct.tolist(), counts.tolist(), strict=True)
        return tuple((f"{value:g}", n) for value, n in graded)[::-1]
    counts, edges = np.histogram(values, bins=_BINS)
    names = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    return tuple(zip(names, counts.tolist(), strict=True))[::-1]


def telling_columns(x: Items, y: Items) -> tuple[str, ...]:
    """Columns by which the items of a map may be coloured."""
    names = sorted({*x.metadata, *y.metadata})
    return tuple(name for name in names if _has_classes(joined_column(x, y, name)))


def joined_column(x: Items, y: Items, name: str) -> NDArray[Any]:
    """The values of a column for the x items and then the y items."""
    present = [side.metadata[name] for side in (x, y) if name in side.metadata]
    if not present:
        raise KeyError(name)
    columns = [side.metadata.get(name, np.full(len(side), np.nan)) for side in (x, y)]
    if all(column.dtype.kind in "iuf" for column in present):
        return np.concatenate([column.astype(np.float64) for column in columns])
    cells = [MISSING if cell is None or cell != cell else str(cell) for cell in chain(*columns)]
    return np.array(cells, dtype=object)


def paired_column(pairs: PairSet, name: str) -> NDArray[Any]:
    """The values of `joined_column`; a side without the column takes them through its pairs.

    An item takes the mean of the numbers of what belongs to it, or the most frequent text.
    """
    values, n_x = joined_column(pairs.x, pairs.y, name), len(pairs.x)
    if (name in pairs.x.metadata) == (name in pairs.y.metadata):
        return values
    links, own, other = pairs.relevance.positives, values[:n_x], values[n_x:]
    links.data[:] = 1
    if name in pairs.x.metadata:
        links, own, other = links.T.tocsr(), other, own
    if values.dtype.kind == "f":
        known = np.isfinite(other)
        n_known = links @ known.astype(np.float64)
        sums = links @ np.where(known, other, 0.0)
        np.divide(sums, n_known, out=own, where=n_known > 0)
        return values
    texts, codes = np.unique(other.astype(str), return_inverse=True)
    known = np.flatnonzero(other != MISSING)
    shape = (len(other), len(texts))
    indicator = sp.csr_array((np.ones(len(known)), (known, codes[known])), shape=shape)
    votes = (links @ indicator).tocsr()
    has_votes = votes.sum(axis=1) > 0
    own[has_votes] = texts[np.asarray(votes.argmax(axis=1)).ravel()[has_votes]]
    return values


def _has_classes(values: NDArray[Any]) -> bool:
    """Whether colours would say anything: neither one value nor all different."""
    if values.dtype.kind == "f":
        return len(np.unique(values[np.isfinite(values)])) > 1
    known = values[values != MISSING]
    return 1 < len(np.unique(known.astype(str))) <= len(known) / 2
