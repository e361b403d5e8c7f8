"""Methods that learn from aligned texts, by the number of their dimensions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from simviz.evaluation import MRR, Evaluation, dimension_curve, evaluate
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.features import default_features
from simviz.methods import get_method

TOPICS = ("jplsa", "cplsa")
N_TERMS = 20_000  # of a vocabulary, as in the paper
#: How long a method takes, to tell how far everything is.
_WEIGHTS = {"opca": 8.0, "cca": 6.0, "cl_lsi": 2.0, "jplsa": 1.0, "cplsa": 2.0, "s2net": 4.0}


@dataclass(frozen=True, slots=True)
class Grid:
    """What is tried.

    Parameters
    ----------
    spectral, learned, topics : tuple of int
        Dimensions of spectral methods, of S2Net, and numbers of topics.
    passes : int
        Iterations of S2Net and of topic models at most.
    ridges : tuple of float
        Of CCA and OPCA, relative to the variance.
    """

    spectral: tuple[int, ...]
    learned: tuple[int, ...]
    topics: tuple[int, ...]
    passes: int
    ridges: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Point:
    """A fitted model and what validation said of it.

    Parameters
    ----------
    method : str
        Its id.
    k : int
        Dimensions, or topics.
    settings : str
        What was chosen, in words.
    validation : float
        MRR of both directions.
    model : object
        Fitted.
    space : tuple of (str, bool)
        What the model reads: weights or counts, in one vocabulary or two.
    """

    method: str
    k: int
    settings: str
    validation: float
    model: Any
    space: tuple[str, bool]


class Aligned:
    """Texts of both sides as matrices, and models fitted to them.

    Parameters
    ----------
    parts : Parts
        Aligned texts.
    seed : int
        Of everything random.
    """

    def __init__(self, parts: Parts, seed: int) -> None:
        self.parts, self.seed = parts, seed
        self._sides: dict[tuple[str, bool], dict[str, tuple[Any, Any]]] = {}

    def sides(self, space: tuple[str, bool], part: str) -> tuple[sp.csr_array, sp.csr_array]:
        """Both sides of a part, in a vocabulary that training texts make."""
        if space not in self._sides:
            self._sides[space] = self._made(*space)
        return self._sides[space][part]

    def _made(self, kind: str, shared: bool) -> dict[str, tuple[Any, Any]]:
        train = self.parts.train
        texts = [train.x.content, train.y.content]
        seen = [np.concatenate(texts)] * 2 if shared else texts
        features = [self._features(kind, side) for side in seen[: 1 if shared else 2]]
        for made, side in zip(features, seen, strict=False):
            made.fit(side)
        features = features * 2 if shared else features
        return {
            name: (features[0].transform(part.x.content), features[1].transform(part.y.content))
            for name, part in (
                ("train", train),
                ("validation", self.parts.validation),
                ("test", self.parts.test),
            )
        }

    @staticmethod
    def _features(kind: str, texts: Any) -> Any:
        options: dict[str, Any] = {"min_df": 2, "max_features": N_TERMS}
        if kind == "tfidf":
            options["tf"] = "log1p"
        return default_features("text", kind, content=texts, **options)

    def curve(
        self, method: str, grid: Grid, starts: Mapping[int, Point], progress: Progress
    ) -> dict[int, Point]:
        """The best of a method on validation pairs, for each number of dimensions.

        Parameters
        ----------
        method : str
            Its id.
        grid : Grid
            What is tried.
        starts : mapping of int to Point
            OPCA at each number of dimensions, where S2Net starts.
        progress : Progress
            Hears how far it is.

        Returns
        -------
        dict of int to Point
            Ascending.
        """
        if method == "s2net":
            return self._network(grid, starts, progress)
        if method in TOPICS:
            return self._topics(method, grid, progress)
        return self._spectral(method, grid, progress)

    def _spectral(self, method: str, grid: Grid, progress: Progress) -> dict[int, Point]:
        best: dict[int, Point] = {}
        dimensions = grid.spectral
        cls = get_method(method)
        for shared, part in progress.over([True, False]):
            space = "tfidf", shared
            words = "one vocabulary" if shared else "a vocabulary each"
            told = f"{cls.tags.title}, {words}"
            part(told)
            model = cls(n_components=dimensions[-1], shared=shared, random_state=self.seed)
            model.set_callbacks(part.listen(told))
            data = *self.sides(space, "train"), self.parts.train.relevance
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*is more than the data can give", UserWarning)
                if hasattr(model, "regularization_path"):
                    path = model.regularization_path(*data, values=grid.ridges)
                    told_of = [f"{words}, ridge {value:g}" for value in grid.ridges]
                else:
                    path, told_of = iter([model.fit(*data)]), [words]
                for i, (settings, fitted) in enumerate(zip(told_of, path, strict=True), start=1):
                    part(told, i / len(told_of))
                    self._cut(method, settings, fitted, space, dimensions, best)
        return dict(sorted(best.items()))

    def _cut(
        self,
        method: str,
        settings: str,
        fitted: Any,
        space: tuple[str, bool],
        dimensions: Sequence[int],
        best: dict[int, Point],
    ) -> None:
        """Keep what is better than the best so far, at each number of dimensions."""
        ks = sorted({min(k, fitted.n_components_) for k in dimensions})
        X, Y = self.sides(space, "validation")
        P, Q = fitted.transform(X), fitted.transform_y(Y)
        curve = dimension_curve(P, Q, self.parts.validation.relevance, ks, metric=MRR())
        for k, value in zip(ks, curve.values("mean").tolist(), strict=True):
            if k not in best or value > best[k].validation:
                best[k] = Point(method, k, settings, value, fitted.truncate(k), space)

    def _topics(self, method: str, grid: Grid, progress: Progress) -> dict[int, Point]:
        found = {}
        cls = get_method(method)
        space = "counts", False  # a vocabulary a language, as in the paper
        for k, part in progress.over({k: float(k) for k in grid.topics}):
            told = f"{cls.tags.title}, {k} topics"
            part(told)
            model = cls(
                n_components=k, shared=False, max_iter=grid.passes, fold_in_iter=10,
                random_state=self.seed,
            )  # fmt: skip
            model.set_callbacks(part.listen(told))
            model.fit(*self.sides(space, "train"), self.parts.train.relevance)
            part(told, 0.9)
            value = self.measured(model, space, "validation").value("MRR", "mean")
            found[k] = Point(method, k, "Jensen–Shannon", value, model, space)
        return found

    def _network(
        self, grid: Grid, starts: Mapping[int, Point], progress: Progress
    ) -> dict[int, Point]:
        found = {}
        for k, part in progress.over({k: float(k) for k in grid.learned if k in starts}):
            found[k] = self.learned(k, starts[k], grid.passes, part)
        return found

    def learned(self, k: int, start: Point, passes: int, progress: Progress) -> Point:
        """S2Net with the paper's loss, from a linear model; stopped early by validation.

        Parameters
        ----------
        k : int
            Dimensions.
        start : Point
            Where it begins.
        passes : int
            Passes over the training pairs at most.
        progress : Progress
            Hears how far it is.

        Returns
        -------
        Point
            The best pass on validation pairs.
        """
        title = get_method(start.method).tags.title
        told = f"S2Net, {k} dimensions, from {title}"
        progress(told)
        model: Any = get_method("s2net")(
            n_components=k, shared=start.space[1], loss="logistic", init=start.model,
            max_iter=passes, random_state=self.seed,
        )  # fmt: skip
        model.set_callbacks(progress.listen(told))
        validation = *self.sides(start.space, "validation"), self.parts.validation.relevance
        model.fit(*self.sides(start.space, "train"), self.parts.train.relevance, *validation)
        progress(told, 1.0)
        value = self.measured(model, start.space, "validation").value("MRR", "mean")
        settings = f"from {title} ({start.settings}), {model.best_iter_} passes"
        return Point("s2net", k, settings, value, model, start.space)

    def measured(self, model: Any, space: tuple[str, bool], part: str) -> Evaluation:
        """Ranks of all items of a part, from both sides."""
        judged = getattr(self.parts, part).relevance
        return evaluate(model, *self.sides(space, part), judged, metrics=["MRR", "top-1"])


def weights_of(methods: Sequence[str]) -> dict[str, float]:
    """How long each method takes, about.

    Parameters
    ----------
    methods : sequence of str
        Ids, in the order in which they are run.

    Returns
    -------
    dict of str to float
        In that order.
    """
    return {method: _WEIGHTS[method] for method in methods}
