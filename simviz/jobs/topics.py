"""The topics of a trained pipeline: what they say, and which items are about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import TopicSimilarity
from simviz.data import Items, PairSet
from simviz.methods import all_methods
from simviz.pipeline import PairPipeline
from simviz.topics import TopicTerms, describe_topics

Side = Literal["x", "y"]
Array = NDArray[np.floating]

#: Terms that tell a topic apart lead, see `simviz.topics.term_relevance`.
RELEVANCE = 0.6
_N_TERMS = 10


def has_topics(method: str) -> bool:
    """Whether a method describes items by topics.

    Parameters
    ----------
    method : str
        Id of a method.

    Returns
    -------
    bool
        False for ids that are not known here.

    Examples
    --------
    >>> has_topics("jplsa"), has_topics("cca")
    (True, False)
    """
    cls = all_methods().get(method)
    return cls is not None and issubclass(cls, TopicSimilarity)


@dataclass(frozen=True, slots=True, eq=False)
class RunTopics:
    """The topics of a trained pipeline, on the items of a data set.

    Parameters
    ----------
    topics : tuple of TopicTerms
        By descending share of the tokens of both sides.
    x_theta, y_theta : ndarray of shape (n_x, K) and (n_y, K)
        Shares of topics of the items; zeros where nothing in one is known.
    x_tokens, y_tokens : ndarray of shape (n_x,) and (n_y,)
        Known tokens of the items.
    one_side : bool
        Whether both sides are one collection, so that their terms are the same.
    perplexities : tuple of float, default=()
        Of the validation part, step by step of the training.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(
    ...     ["a red heart of mine is big", "blue cars on roads go fast"] * 3,
    ...     ["mi corazón rojo es muy grande", "coches azules van por calles anchas"] * 3,
    ... )
    >>> pipeline = default_pipeline("jplsa", pairs, n_components=2).fit(pairs)
    >>> topics = RunTopics.of(pipeline, pairs)
    >>> sorted(round(topic.share, 1) for topic in topics.topics)
    [0.5, 0.5]
    >>> about = topics.leading("x", 1)[0][0]
    >>> topics.typical("y", about, 1).tolist()
    [1]
    """

    topics: tuple[TopicTerms, ...]
    x_theta: Array
    y_theta: Array
    x_tokens: Array
    y_tokens: Array
    one_side: bool
    perplexities: tuple[float, ...] = ()

    @classmethod
    def of(cls, pipeline: PairPipeline, pairs: PairSet) -> RunTopics:
        """Find the topics of all items of a data set.

        Parameters
        ----------
        pipeline : PairPipeline
            What was trained.
        pairs : PairSet
            Whose items.

        Returns
        -------
        RunTopics
            With terms that tell topics apart; where both sides have one
            vocabulary, each side with the terms that it uses.

        Raises
        ------
        ValueError
            If the method has no topics.
        """
        model: Any = pipeline.model_
        if not isinstance(model, TopicSimilarity):
            raise ValueError(
                f"{model.tags.title} has no topics. Take a method of the topic family, such as "
                "jplsa."
            )
        features = pipeline.x_features_, pipeline.y_features_
        one_side = pairs.x is pairs.y
        X = features[0].transform(pairs.x.content)
        Y = X if one_side else features[1].transform(pairs.y.content)
        x_theta, y_theta = model.transform(X), model.transform_y(Y)
        phi = [model.x_topics_, model.y_topics_]
        x_tokens, y_tokens = (
            np.asarray(Z @ known.any(axis=0).astype(np.float64)).ravel()
            for Z, known in zip((X, Y), phi, strict=True)
        )
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
        """A topic in a few terms of one side, or of the other where that has none.

        Parameters
        ----------
        topic : int
            Its number.
        n_terms : int, default=2
            Terms at most.
        side : {"x", "y"}, default="x"
            Whose terms.

        Returns
        -------
        str
            Not escaped.
        """
        known = self.named(topic)
        terms = (known.x_terms, known.y_terms)[:: 1 if side == "x" else -1]
        return ", ".join((terms[0] or terms[1])[:n_terms]) or f"topic {topic + 1}"

    def leading(
        self, side: Side, item: int, n: int = 3, least: float = 0.05
    ) -> list[tuple[int, float]]:
        """The topics that an item is mostly about.

        Parameters
        ----------
        side : {"x", "y"}
            Side of the item.
        item : int
            Its position.
        n : int, default=3
            Topics at most.
        least : float, default=0.05
            Smaller shares are not worth telling.

        Returns
        -------
        list of (int, float)
            Topic and share, the largest first; empty where nothing in the item
            is known.
        """
        theta = self._theta(side)[item]
        order = np.argsort(-theta, kind="stable")[:n]
        return [(int(k), float(theta[k])) for k in order if theta[k] >= least]

    def typical(self, side: Side, topic: int, n: int = 3) -> NDArray[np.intp]:
        """Items that are most about a topic.

        Parameters
        ----------
        side : {"x", "y"}
            Which items.
        topic : int
            Number of the topic.
        n : int, default=3
            Items at most.

        Returns
        -------
        ndarray of int
            Positions, by descending share of the topic; of equal ones the item
            with more known tokens leads. None that is more about another topic.
        """
        theta = self._theta(side)
        share = theta[:, topic]
        about = np.flatnonzero((share > 0) & (share >= theta.max(axis=1)))
        tokens = self.x_tokens if side == "x" else self.y_tokens
        order = np.lexsort((about, -tokens[about], -share[about].round(3)))
        return about[order][:n]

    def _theta(self, side: Side) -> Array:
        return self.x_theta if side == "x" else self.y_theta


def topic_rows(found: RunTopics, pairs: PairSet, n_items: int = 3) -> list[list[object]]:
    """Topics as lines of a table, to be written to a file.

    Parameters
    ----------
    found : RunTopics
        Topics of a run.
    pairs : PairSet
        The data set that they were found on.
    n_items : int, default=3
        Typical items of each side.

    Returns
    -------
    list of list
        A head, then one line a topic: number, share, and for each side the
        terms, their coherence, and ids and texts of typical items.
    """
    sides: list[tuple[Side, Items, str]] = [
        ("x", pairs.x, pairs.x_name),
        ("y", pairs.y, pairs.y_name),
    ]
    sides = sides[:1] if found.one_side else sides
    head: list[object] = ["topic", "share of tokens"]
    for _, _, name in sides:
        head += [f"{name}: {what}" for what in ("terms", "NPMI", "typical ids", "typical")]
    lines = [head]
    for topic in found.topics:
        line: list[object] = [topic.topic + 1, round(topic.share, 6)]
        for side, items, _ in sides:
            terms = topic.x_terms if side == "x" else topic.y_terms
            value = topic.x_coherence if side == "x" else topic.y_coherence
            rows = found.typical(side, topic.topic, n_items)
            said = items.content if items.kind in ("text", "keyword") else items.labels
            line += [
                "; ".join(terms),
                "" if np.isnan(value) else round(value, 4),
                "; ".join(str(items.ids[row]) for row in rows),
                "; ".join(str(said[row]) for row in rows),
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
