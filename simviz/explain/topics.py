"""Topics that people can read: their leading terms on both sides, and how these cohere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from simviz._types import Array, Side
from simviz.base import TopicSimilarity
from simviz.data import Items, PairSet
from simviz.methods import all_methods
from simviz.pipeline import PairPipeline

#: Terms that tell a topic apart lead, see `term_relevance`.
RELEVANCE = 0.6
_N_TERMS = 10
#: Character n-grams looked at for each piece of a word.
_NGRAMS = 12
#: Characters in common by which n-grams are joined; less where all are shorter.
_OVERLAP = 3


@dataclass(frozen=True, slots=True)
class TopicTerms:
    """One topic by its leading terms; share and coherences are NaN where not known."""

    topic: int
    share: float
    x_terms: tuple[str, ...]
    y_terms: tuple[str, ...]
    x_coherence: float
    y_coherence: float


def top_terms(topics: ArrayLike, n_terms: int = 10) -> NDArray[np.int64]:
    """Columns of the likeliest terms of each topic (K, V), the likeliest first, ties in order."""
    phi = np.asarray(topics)
    n_top = min(n_terms, phi.shape[1])
    top = np.empty((len(phi), n_top), dtype=np.int64)
    if n_top:
        for row, out in zip(phi, top, strict=True):
            # To sort a whole vocabulary for the sake of ten terms would take seconds.
            likely = np.flatnonzero(row >= np.partition(row, -n_top)[-n_top])
            out[:] = likely[np.argsort(-row[likely], kind="stable")][:n_top]
    return top


def term_relevance(
    topics: ArrayLike, share: ArrayLike | None = None, weight: float = 0.6
) -> NDArray[np.float64]:
    """How much a term tells of a topic, beside how likely it is there; -inf for probability 0."""
    # λ ln φ_kw + (1 − λ) ln (φ_kw / p_w) with the weight λ and the probability p_w = Σ s_k φ_kw of
    # the term in all topics, whose shares s are equal where none are given: Sievert & Shirley
    # (2014), LDAvis: a method for visualizing and interpreting topics, section 3.1.
    phi = np.asarray(topics, dtype=np.float64)
    s = np.full(len(phi), 1 / max(len(phi), 1)) if share is None else np.asarray(share)
    with np.errstate(divide="ignore"):
        log_phi = np.log(phi)
        log_p = np.log(s @ phi)
    # A term that no topic has: -inf - -inf would be NaN.
    log_p[np.isneginf(log_p)] = 0.0
    return np.asarray(log_phi - (1 - weight) * log_p)


def joined_terms(
    names: Sequence[str], n_terms: int = 10, known: Collection[str] | None = None
) -> list[tuple[str, int]]:
    """Join character n-grams that overlap to what they are pieces of, with the first place."""
    # One that goes on where another ends is joined to it, one that lies within another is left
    # out, and no piece is joined that would hold an n-gram of the greatest length that is not
    # among the `known`. A piece has "…" where a word goes on.
    longest = max(map(len, names), default=0)
    overlap = max(2, min(longest - 1, _OVERLAP))

    def is_piece(joined: str) -> bool:
        windows = (joined[i : i + longest] for i in range(len(joined) - longest + 1))
        return known is None or all(window in known for window in windows)

    pieces: list[tuple[str, int]] = []
    for place, name in enumerate(names):
        piece, first = name, place
        at = 0
        while at < len(pieces):
            joined = _join(pieces[at][0], piece, overlap)
            if joined and is_piece(joined):
                piece, first = joined, min(first, pieces.pop(at)[1])
                at = 0  # a longer piece may meet others in turn
            else:
                at += 1
        pieces.append((piece, first))
    pieces.sort(key=lambda piece: piece[1])
    return [(_readable(piece), first) for piece, first in pieces[:n_terms]]


def _join(a: str, b: str, overlap: int) -> str:
    """What two pieces of text are pieces of; empty if they have too little in common."""
    if a in b or b in a:
        return max(a, b, key=len)
    if a[-overlap:] not in b and b[-overlap:] not in a:
        return ""
    for n in range(min(len(a), len(b)) - 1, overlap - 1, -1):
        for left, right in ((a, b), (b, a)):
            if right.startswith(left[-n:]):
                return left + right[n:]
    return ""


def _readable(piece: str) -> str:
    before, after = ("" if piece[end : end + 1].isspace() else "…" for end in (0, len(piece) - 1))
    return f"{before}{piece.strip()}{after}"


def coherence(counts: Any, terms: ArrayLike) -> NDArray[np.float64]:
    """Mean normalised pointwise mutual information of each topic's terms, from -1 to 1."""
    # For two terms in shares p and q of the items, together in a share r of them, ln(r / (p q)) /
    # −ln r (Bouma 2009; Lau, Newman & Baldwin 2014), averaged over all pairs of a topic's terms;
    # pairs with a term that never occurs are left out. Of `terms`, those below 0 are none.
    index = np.asarray(terms, dtype=np.int64)
    used, place = np.unique(index, return_inverse=True)
    place = place.reshape(index.shape)
    there = sp.csc_array(counts)[:, np.maximum(used, 0)]
    there = sp.csc_array((there.data != 0, there.indices, there.indptr), shape=there.shape)
    there = there.astype(np.float64)
    n = there.shape[0]
    result = np.full(len(index), np.nan)
    for topic, columns in enumerate(place):
        part = there[:, columns[index[topic] >= 0]]
        above = np.triu_indices(part.shape[1], 1)
        together = (part.T @ part).toarray() / n
        alone = np.diag(together)
        r, expected = together[above], np.outer(alone, alone)[above]
        known = expected > 0
        if known.any():
            result[topic] = _npmi(r[known], expected[known]).mean()
    return result


def _npmi(r: NDArray[np.float64], expected: NDArray[np.float64]) -> NDArray[np.float64]:
    met, always = r > 0, r >= 1
    # Terms of every single item are independent: 0 / 0 in the formula.
    inside = met & ~always
    npmi = np.where(met, 0.0, -1.0)
    npmi[inside] = np.log(r[inside] / expected[inside]) / -np.log(r[inside])
    return npmi


def describe_topics(
    x_topics: ArrayLike,
    y_topics: ArrayLike,
    x_names: Sequence[str],
    y_names: Sequence[str],
    *,
    n_terms: int = 10,
    theta: ArrayLike | None = None,
    x_counts: Any = None,
    y_counts: Any = None,
    relevance: float = 1.0,
    pieces: tuple[bool, bool] = (False, False),
) -> list[TopicTerms]:
    """Topics with their terms of both sides; terms of probability 0 are never named."""
    # `theta`, topics of items (n, K), decides shares and order; its rows may be multiplied by the
    # lengths of the items: shares are then of tokens. Terms of a side in `pieces` are character
    # n-grams.
    sides = [(np.asarray(x_topics), x_names, x_counts), (np.asarray(y_topics), y_names, y_counts)]
    n_topics = len(sides[0][0])
    if n_topics != len(sides[1][0]):
        raise ValueError(
            f"Both sides have the same topics; got {n_topics} for x and "
            f"{len(sides[1][0])} for y. Take both from one model."
        )
    share = np.full(n_topics, np.nan)
    order = np.arange(n_topics)
    if theta is not None:
        total = np.asarray(theta, dtype=np.float64).sum(axis=0)
        share = total / max(total.sum(), np.finfo(np.float64).tiny)
        order = np.argsort(-share, kind="stable")
    words, values = [], []
    for (phi, names, counts), joins in zip(sides, pieces, strict=True):
        if phi.shape[1] != len(names):
            raise ValueError(
                f"Topics over {phi.shape[1]} terms need as many names, got {len(names)}. "
                "Take the names from the features that the model was fitted on."
            )
        score = phi
        if relevance < 1:
            score = term_relevance(phi, None if theta is None else share, relevance)
        names_of, columns = _leading(phi, score, names, n_terms, joins)
        words.append(names_of)
        none = np.full(n_topics, np.nan)
        values.append(none if counts is None else coherence(counts, columns))
    lines = zip(share.tolist(), *words, *(value.tolist() for value in values), strict=True)
    described = [TopicTerms(k, *line) for k, line in enumerate(lines)]
    return [described[k] for k in order]


def _leading(
    phi: NDArray[Any], score: NDArray[Any], names: Sequence[str], n_terms: int, joins: bool
) -> tuple[list[tuple[str, ...]], NDArray[np.int64]]:
    """Names and columns of each topic's leading terms; columns are -1 where there are fewer."""
    best = top_terms(score, n_terms * (_NGRAMS if joins else 1))
    columns = np.full((len(phi), n_terms), -1, dtype=np.int64)
    known = {str(name) for name in names} if joins else None
    leading = []
    for row, p, out in zip(best, phi, columns, strict=True):
        there = row[p[row] > 0]
        terms = [(str(names[w]), place) for place, w in enumerate(there)]
        if joins:
            terms = joined_terms([name for name, _ in terms], n_terms, known)
        out[: len(terms)] = there[[place for _, place in terms]]
        leading.append(tuple(name for name, _ in terms))
    return leading, columns


def has_topics(method: str) -> bool:
    """Whether a method describes items by topics; False for ids that are not known."""
    cls = all_methods().get(method)
    return cls is not None and issubclass(cls, TopicSimilarity)


@dataclass(frozen=True, slots=True, eq=False)
class RunTopics:
    """The topics of a trained pipeline on the items of a data set, the largest share first."""

    # Shares of topics of an item are zeros where nothing in it is known; both sides have the same
    # terms where they are one collection (`one_side`). `perplexities` are of the validation part.

    topics: tuple[TopicTerms, ...]
    x_theta: Array
    y_theta: Array
    x_tokens: Array
    y_tokens: Array
    one_side: bool
    perplexities: tuple[float, ...] = ()

    @classmethod
    def of(cls, pipeline: PairPipeline, pairs: PairSet) -> RunTopics:
        """Find the topics of all items; where both sides share terms, each has those it uses."""
        model: Any = pipeline.model_
        if not isinstance(model, TopicSimilarity):
            raise ValueError(
                f"{model.tags.title} has no topics. Take a method of the topic family, such as "
                "jplsa."
            )
        features = pipeline.x_features_, pipeline.y_features_
        one_side = pairs.x is pairs.y
        X = pipeline.rows(pairs.x, "x")
        Y = X if one_side else pipeline.rows(pairs.y, "y")
        x_theta, y_theta = model.transform(X), model.transform_y(Y)
        phi = [model.x_topics_, model.y_topics_]
        known = [topics.any(axis=0).astype(np.float64) for topics in phi]
        x_tokens, y_tokens = np.asarray(X @ known[0]).ravel(), np.asarray(Y @ known[1]).ravel()
        if features[0] is features[1] and not one_side:
            phi = _parted(phi[0], X, Y)
        weighted = [x_theta * x_tokens[:, None], y_theta * y_tokens[:, None]]
        topics = describe_topics(
            *phi,
            *(f.get_feature_names_out() for f in features),
            n_terms=_N_TERMS,
            theta=weighted[0] if one_side else np.concatenate(weighted),
            x_counts=X,
            y_counts=Y,
            relevance=RELEVANCE,
            pieces=(_is_pieces(features[0]), _is_pieces(features[1])),
        )
        watched = tuple(map(float, getattr(model, "perplexity_curve_", ())))
        return cls(tuple(topics), x_theta, y_theta, x_tokens, y_tokens, one_side, watched)

    def named(self, topic: int) -> TopicTerms:
        """A topic by its number."""
        return next(known for known in self.topics if known.topic == topic)

    def label(self, topic: int, n_terms: int = 2, side: Side = "x") -> str:
        """A topic in a few terms of one side, or of the other where that has none."""
        known = self.named(topic)
        terms = (known.x_terms, known.y_terms)[:: 1 if side == "x" else -1]
        return ", ".join((terms[0] or terms[1])[:n_terms]) or f"topic {topic + 1}"

    def leading(
        self, side: Side, item: int, n: int = 3, least: float = 0.05
    ) -> list[tuple[int, float]]:
        """The topics that an item is mostly about with their shares, the largest first."""
        theta = self._theta(side)[item]
        order = np.argsort(-theta, kind="stable")[:n]
        return [(int(k), float(theta[k])) for k in order if theta[k] >= least]

    def typical(self, side: Side, topic: int, n: int = 3) -> NDArray[np.intp]:
        """Items that are most about a topic, by share, then by known tokens."""
        theta = self._theta(side)
        share = theta[:, topic]
        about = np.flatnonzero((share > 0) & (share >= theta.max(axis=1)))
        tokens = self.x_tokens if side == "x" else self.y_tokens
        order = np.lexsort((about, -tokens[about], -share[about].round(3)))
        return about[order][:n]

    def _theta(self, side: Side) -> Array:
        return self.x_theta if side == "x" else self.y_theta


def topic_rows(topics: RunTopics, pairs: PairSet, n_items: int = 3) -> list[list[object]]:
    """Topics as a table: a head, then one line a topic with terms and typical items."""
    sides: list[tuple[Side, Items, str]] = [
        ("x", pairs.x, pairs.x_name),
        ("y", pairs.y, pairs.y_name),
    ]
    sides = sides[:1] if topics.one_side else sides
    head: list[object] = ["topic", "share of tokens"]
    for _, _, name in sides:
        head += [f"{name}: {what}" for what in ("terms", "NPMI", "typical ids", "typical")]
    lines = [head]
    for topic in topics.topics:
        line: list[object] = [topic.topic + 1, round(topic.share, 6)]
        for side, items, _ in sides:
            terms = topic.x_terms if side == "x" else topic.y_terms
            value = topic.x_coherence if side == "x" else topic.y_coherence
            rows = topics.typical(side, topic.topic, n_items)
            texts = items.content if items.kind in ("text", "keyword") else items.labels
            line += [
                "; ".join(terms),
                "" if np.isnan(value) else round(value, 4),
                "; ".join(str(items.ids[row]) for row in rows),
                "; ".join(str(texts[row]) for row in rows),
            ]
        lines.append(line)
    return lines


def _parted(phi: Array, X: Any, Y: Any) -> list[Array]:
    """Topics over one vocabulary as what each side says of them."""
    counts = [np.asarray(sp.csr_array(Z).sum(axis=0)).ravel() for Z in (X, Y)]
    total = np.maximum(counts[0] + counts[1], np.finfo(np.float64).tiny)
    return [phi * (count / total) for count in counts]


def _is_pieces(features: Any) -> bool:
    return str(getattr(features, "analyzer", "word")).startswith("char")
