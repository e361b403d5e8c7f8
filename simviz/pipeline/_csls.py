"""Cross-domain similarity local scaling: similarities from which hubs are taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from simviz._types import Reals, Side
from simviz.data.pairs import AlignedSide, Items, PairSet
from simviz.pipeline._pipelines import _BLOCK_ENTRIES, Block, Mask, _Scorer, sampled_sides, scored
from simviz.registry import unknown_name

if TYPE_CHECKING:
    from simviz.pipeline._loading import Pipeline

#: Among what the neighbours of an answer are looked for, see `CSLSPipeline`.
Queries = Literal["given", "training"]
#: The part of a file with the pipeline whose similarities are scaled.
SCALED = "scaled"
#: Training items of a side that neighbours are looked for among, at most.
MAX_REFERENCES = 2_000


@dataclass(eq=False, repr=False)
class CSLSPipeline(_Scorer):
    r"""CSLS: similarities less what both items are near to anyway.

    Where items are compared by vectors of many dimensions, a few become the nearest of very
    many queries: hubs [2]_. Cross-domain similarity local scaling takes the mean similarity
    of both items to their k nearest of the other side off each similarity [1]_:

    .. math:: s(x, y) - \tfrac12 (r_Y(x) - \bar r_Y) - \tfrac12 (r_X(y) - \bar r_X)

    With ``queries="given"``, as published, this looks at the other queries: a score depends
    on all the items that it is given with.

    Parameters
    ----------
    pipeline : PairPipeline, BlendPipeline or CSLSPipeline
        Whose similarities are scaled; a clone is fitted.
    k : int, default=10
        Nearest items that are averaged over. `simviz.evaluation.csls` chooses it on
        validation pairs.
    queries : {"given", "training"}, default="given"
        Neighbours are looked for among the items that `similarity` and an evaluation are
        given, or among those of training (at most 2,000 a side, drawn by seed 0). With the
        latter a score depends on its two items and the model alone.

    Attributes
    ----------
    pipeline_ : PairPipeline, BlendPipeline or CSLSPipeline
        The fitted pipeline.
    x_references_, y_references_ : Items
        Training items among which neighbours are looked for.

    Raises
    ------
    ValueError
        If a parameter does not fit.

    Notes
    -----
    This is half of the paper's score, less a constant, so that all rankings are those of the
    paper. An item of which nothing is known scores 0 with everything, as it does without CSLS.
    Who asks about single items, as an index and `score_pairs` do, has no other queries: those
    look for neighbours among the training items whatever `queries` says. So a threshold that is
    chosen on a batch with "given" holds neither for another batch nor for `score_pairs`; with
    "training" it does. It is saved and loaded like any pipeline, with these items.

    References
    ----------
    .. [1] A. Conneau, G. Lample, M. Ranzato, L. Denoyer & H. Jégou. "Word translation without
       parallel data." ICLR 2018.
    .. [2] M. Radovanović, A. Nanopoulos & M. Ivanović. "Hubs in space: popular nearest
       neighbors in high-dimensional data." Journal of Machine Learning Research 11, 2010.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red car", "blue sea"], ["a car in red", "the sea is blue"])
    >>> scaled = CSLSPipeline(default_pipeline("tfidf_cosine", pairs), k=1).fit(pairs)
    >>> scaled.similarity(pairs.x, pairs.y).argmax(axis=1)
    array([0, 1])
    """

    pipeline: Pipeline
    k: int = 10
    _: KW_ONLY
    queries: Queries = "given"

    def _fit(self, pairs: PairSet, validation: PairSet | None) -> Self:
        """Train the pipeline, and keep training items to find neighbours among."""
        self.check_parameters()
        inner = clone(self.pipeline).set_callbacks(*getattr(self, "_callbacks", ()))
        return self._joined(inner.fit(pairs, validation).set_callbacks(), pairs)

    @classmethod
    def of(
        cls, pipeline: Pipeline, pairs: PairSet, k: int = 10, *, queries: Queries = "given"
    ) -> CSLSPipeline:
        """Scale the similarities of a pipeline that is trained already.

        Parameters
        ----------
        pipeline : PairPipeline, BlendPipeline or CSLSPipeline
            Fitted; it is used as it is.
        pairs : PairSet
            Its training pairs.
        k, queries : optional
            As in the class.

        Returns
        -------
        CSLSPipeline
        """
        check_is_fitted(pipeline)
        made = cls(clone(pipeline), k, queries=queries)
        made.check_parameters()
        return made._joined(pipeline, pairs)

    @property
    def looks_at_queries(self) -> bool:  # type: ignore[override]
        """Whether a similarity depends on the other queries that it is asked for with."""
        return self.queries == "given" or self.pipeline_.looks_at_queries

    def iter_similarity(
        self, x: Items, y: Items, block_size: int | None = None
    ) -> Iterator[Reals]:
        check_is_fitted(self)
        size = block_size or max(16, _BLOCK_ENTRIES // max(1, len(y)))
        if self.queries == "training":
            x_local, y_local = self._local(x, "x"), self._local(y, "y")
        else:
            *known, blocks = scored(self.pipeline_, x, y, size)
            nearest = _nearest_means(blocks, self.k)
            x_local, y_local = map(local_means, nearest, known)
        x_known, y_known, blocks = scored(self.pipeline_, x, y, size)
        start = 0
        for block in blocks:
            rows = slice(start, start + len(block))
            yield locally_scaled(block, x_local[rows], y_local, x_known[rows], y_known)
            start += len(block)

    def empty_share(self, x: Items, y: Items) -> tuple[float, float]:
        return self.pipeline_.empty_share(x, y)

    def unknown_share(self, x: Items, y: Items) -> tuple[float | None, float | None]:
        return self.pipeline_.unknown_share(x, y)

    def _score_rows(self, x: AlignedSide, y: AlignedSide) -> Block:
        base = self.pipeline_
        x_local, y_local = self._local(x.items, "x"), self._local(y.items, "y")
        known = base._known(x.items, "x")[x.rows] & base._known(y.items, "y")[y.rows]
        scaled = base._score_rows(x, y) - x_local[x.rows] - y_local[y.rows]
        return np.where(known, scaled, 0.0)

    def _known(self, items: Items, side: Side) -> Mask:
        return self.pipeline_._known(items, side)

    def _scorer(self, items: Any, side: Side) -> Callable[[Any], Block]:
        other: Side = "y" if side == "x" else "x"
        base = self.pipeline_
        scorer = base._scorer(base._encoded(items, side), side)
        local, known = self._local(items, side), base._known(items, side)

        def score(queries: Items) -> Block:
            theirs, known_queries = self._local(queries, other), base._known(queries, other)
            scores = scorer(base._encoded(queries, other))
            return locally_scaled(scores, theirs, local, known_queries, known)

        return score

    def _local(self, items: Items, side: Side) -> Reals:
        """Half of the mean similarity of items to their nearest training items, less its mean."""
        if side == "x":
            blocks = self.pipeline_.iter_similarity(items, self.y_references_)
            nearest = np.concatenate([top_means(block, [self.k])[0] for block in blocks])
        else:
            blocks = self.pipeline_.iter_similarity(self.x_references_, items)
            nearest = top_means(_top_columns(blocks, self.k).T, [self.k])[0]
        return (nearest - self.means_[side == "y"]) / 2

    def _state(self) -> dict[str, Any]:
        references = {}
        for side, items in (("x", self.x_references_), ("y", self.y_references_)):
            read = getattr(self.pipeline_, "x_content", None) if side == "x" else None
            content = items.content if read is None else read(items)
            references[side] = {"content": content, "kind": items.kind}
        how = {"k": int(self.k), "queries": self.queries, "means": list(self.means_)}
        stored = {f"{SCALED}.{name}": value for name, value in self.pipeline_._state().items()}
        return {"csls": {**how, "references": references}, **stored}

    @classmethod
    def _loaded(cls, pipeline: Pipeline, stored: dict[str, Any]) -> CSLSPipeline:
        """The pipeline that was stored so; what does not fit is refused."""
        made = cls(clone(pipeline), stored["k"], queries=stored["queries"])
        made.check_parameters()
        items = {}
        for side in ("x", "y"):
            content, kind = (stored["references"][side][name] for name in ("content", "kind"))
            items[side] = Items([str(i) for i in range(content.shape[0])], content, kind)
            pipeline._known(items[side], side)  # which reads them all
        x_mean, y_mean = (float(mean) for mean in stored["means"])
        if not np.isfinite([x_mean, y_mean]).all():
            raise ValueError("the means of its neighbourhoods are not finite")
        made.pipeline_, made.means_ = pipeline, (x_mean, y_mean)
        made.x_references_, made.y_references_ = items["x"], items["y"]
        return made

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "means_")

    def check_parameters(self) -> None:
        """Refuse parameters that do not fit."""
        if self.queries not in get_args(Queries):
            raise ValueError(unknown_name("queries", self.queries, get_args(Queries)))
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer) or self.k < 1:
            raise ValueError(f"k counts nearest items: a whole number from 1, got {self.k!r}.")
        if not isinstance(self.pipeline, _Scorer):
            raise ValueError(
                f"CSLS scales the similarities of a pipeline, got a "
                f"{type(self.pipeline).__name__}. Make one with default_pipeline."
            )

    def _joined(self, pipeline: Pipeline, pairs: PairSet) -> Self:
        """Take a fitted pipeline over, with training items, and measure their neighbourhoods."""
        self.pipeline_ = pipeline
        sides = self.x_references_, self.y_references_ = references(pairs)
        *known, blocks = scored(pipeline, *sides, max(16, _BLOCK_ENTRIES // len(sides[1])))
        rows, columns = _nearest_means(blocks, self.k)
        self.means_ = _mean(rows, known[0]), _mean(columns, known[1])
        return self


def references(train: PairSet) -> tuple[Items, Items]:
    """Training items of both sides that neighbours are looked for among."""
    return sampled_sides(train, MAX_REFERENCES)


def locally_scaled(
    scores: Block, x_local: Reals, y_local: Reals, x_known: Mask, y_known: Mask
) -> Reals:
    """Similarities less what both items have in their neighbourhoods; 0 where one is not known."""
    scaled = scores - x_local[:, None] - y_local
    scaled[~x_known] = 0
    scaled[:, ~y_known] = 0
    return scaled


def local_means(nearest: Reals, known: Mask) -> Reals:
    """Half of the mean similarities to the nearest, less what they are on average."""
    return (nearest - _mean(nearest, known)) / 2


def _nearest_means(blocks: Iterator[Block], k: int) -> tuple[Reals, Reals]:
    """Mean similarity of the items of both sides to their nearest."""
    rows: list[Reals] = []

    def noted() -> Iterator[Block]:
        for block in blocks:
            rows.append(top_means(block, [k])[0])
            yield block

    columns = top_means(_top_columns(noted(), k).T, [k])[0]
    return np.concatenate(rows), columns


def top_means(scores: Block, ks: list[int]) -> Reals:
    """Means of the k highest of each row, for each k: shape (len(ks), n_rows)."""
    n = scores.shape[1]
    largest = min(max(ks), n)
    best = -np.sort(-np.partition(scores, n - largest, axis=1)[:, n - largest :], axis=1)
    sums = np.cumsum(best, axis=1, dtype=np.float64)
    return np.stack([sums[:, min(k, n) - 1] / min(k, n) for k in ks])


def _top_columns(blocks: Iterator[Block], k: int) -> Block:
    top: Block | None = None
    for block in blocks:
        joined = block if top is None else np.concatenate([top, block])
        n = len(joined)
        top = np.partition(joined, n - k, axis=0)[n - k :] if n > k else joined
    if top is None:
        raise ValueError("There are no items to find neighbours among.")
    return top


def _mean(values: Reals, known: Mask) -> float:
    return float(values[known].mean()) if known.any() else 0.0
