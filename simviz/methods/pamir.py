"""Passive-aggressive model for image retrieval."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from simviz._types import Reals
from simviz.base import Matrix, MethodTags, PairModel, RowScorer
from simviz.base.stored import ITERATIONS, Declared, StoredArray
from simviz.methods._triples import (
    Descent,
    TripleMixin,
    Triples,
    TripleSource,
    filled,
    frequent_features,
    pair_score,
    row_scorer,
    rows_of,
)
from simviz.params import interval, options
from simviz.relevance import Relevance

_ROWS = 256  # of W that are averaged at a time


@dataclass(eq=False, repr=False)
class PAMIR(TripleMixin, PairModel):
    r"""Passive-aggressive ranking: a weight for every pair of features.

    Learns :math:`f(q, p) = q^\top W p` from triples of a query, an item that is relevant to it and
    one that is not. A triple that meets the margin of 1 changes nothing; any other moves W by the
    least that makes it meet the margin, :math:`W \leftarrow W + \tau\, q (p^+ - p^-)^\top` with
    :math:`\tau = \min(C, \ell / (\|q\|^2 \|p^+ - p^-\|^2))`. Where both sides have one vocabulary
    the first W is the identity, :math:`f(q, p) = q^\top p`, else 0.

    Parameters
    ----------
    aggressiveness : float, default=0.1
        Longest step C: how much a single triple may change.
    shared : bool, default=False
        Whether both sides have one vocabulary.
    init : {"identity", "zero"}, default="identity"
        What W starts as where `shared`: the identity, whose scores are the inner products
        of the items; or 0, as in the paper and always for two vocabularies.
    averaged : bool, default=True
        Whether W is the mean over all steps, which forgets single triples,
        rather than what the last one left.
    max_iter : int, default=20
        Passes; each samples as many triples as there are relevant pairs, at least 20,000.
    patience : int, default=5
        Passes without a better validation score before stopping.
    validation_fraction : optional
        As of `simviz.methods.ssi.SSI`.
    normalize : bool, default=True
        Whether items are scaled to length 1 first; the margin of 1 is meant for such items.
    max_memory : int, default=1024
        Megabytes that training may take for W, of which it holds up to four
        copies. Where W does not fit, the features that most training items
        have are kept, with a warning, and the others count nothing.
    random_state : int, RandomState instance or None, default=0
        Seed of the triples that are sampled.

    Attributes
    ----------
    weights_ : ndarray of shape (d_x, d_y)
        The matrix W, of the features that are kept.
    x_kept_, y_kept_ : ndarray of int, or None
        Features that are kept; None where all are.
    n_iter_, best_iter_, loss_curve_, validation_scores_
        As of `simviz.methods.ssi.SSI`; no start is kept.

    See Also
    --------
    simviz.methods.ssi.SSI : The same scores with fewer weights, for texts.

    Notes
    -----
    Triples are sampled as for SSI: a relevant pair, uniformly, and an item that is not relevant to
    its query, uniformly, and pairs judged not relevant as often as relevant ones. The best pass on
    held-out items is kept, else the last; the identity, where it is the start, unless a pass is
    better by one standard error. From 0 it does not know that a word is like itself until pairs
    with that word have said so. The mean costs no more than the steps: beside W, each step times
    its number is summed. Two items without any difference are passed over.

    References
    ----------
    Grangier & Bengio (2008), A discriminative kernel-based approach to rank
    images from text queries. IEEE Transactions on Pattern Analysis and Machine
    Intelligence 30(8), sections 3 and 4.

    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer (2006), Online
    passive-aggressive algorithms. Journal of Machine Learning Research 7.

    Examples
    --------
    >>> X, Y = np.eye(4), np.eye(4)[[1, 2, 3, 0]]
    >>> PAMIR(max_iter=1).fit(X, Y).similarity(X, Y).argmax(axis=1)
    array([0, 1, 2, 3])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="PAMIR",
        reference="Grangier & Bengio 2008",
        family="gradient",
        space="either",
        uses="discriminative",
        stops_early=True,
    )
    presets: ClassVar = {"paper": {"init": "zero"}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "aggressiveness": [interval(Real, 0, None, closed="neither")],
        "init": [options("identity", "zero")],
        "averaged": ["boolean"],
        "normalize": ["boolean"],
        "max_memory": [interval(Integral, 1, None)],
    }
    _stored: ClassVar[Declared] = {
        **ITERATIONS,
        "x_kept_": StoredArray(("x_kept",), whole=True, low=0, below="x_features", optional=True),
        "y_kept_": lambda m: (
            None
            if m._keeps_all
            else StoredArray(("y_kept",), whole=True, low=0, below="y_features")
        ),
        "weights_": lambda m: StoredArray(
            ("x_features", "y_features") if m._keeps_all else ("x_kept", "y_kept")
        ),
    }

    aggressiveness: float = 0.1
    _: KW_ONLY
    shared: bool = False
    init: str = "identity"
    averaged: bool = True
    max_iter: int = 20
    patience: int = 5
    validation_fraction: float = 0.2
    normalize: bool = True
    max_memory: int = 1_024
    random_state: Any = 0

    def _fit_iter(self, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        self._keep_frequent(X, Y)
        super()._fit_iter(X, Y, relevance, validation)

    def _begin(
        self, X: Matrix, Y: Matrix, relevance: Relevance, source: TripleSource, rng: Any
    ) -> Descent:
        W = np.zeros((X.shape[1], Y.shape[1]), X.dtype)
        if self._may_stay:
            every = np.arange(X.shape[1])
            x_kept = every if self.x_kept_ is None else self.x_kept_
            y_kept = every if self.y_kept_ is None else self.y_kept_
            both = np.intersect1d(x_kept, y_kept)
            W[np.searchsorted(x_kept, both), np.searchsorted(y_kept, both)] = 1
        # Steps times the number of triples before them. The sums outgrow float32.
        lag = np.zeros(W.shape if self.averaged else (0, 0))
        x, y, rate, done = rows_of(X), rows_of(Y), X.dtype.type(self.aggressiveness), 0

        def step(triples: Triples) -> float:
            from simviz.methods._triple_kernels import full_steps

            nonlocal done
            loss = full_steps(x, y, triples, W, 1.0, rate, True, lag, done)
            done += len(triples)
            return float(loss)

        def learned() -> NDArray[Any]:
            if not self.averaged:
                return W
            mean = np.empty_like(W)
            for start in range(0, len(W), _ROWS):
                rows = slice(start, start + _ROWS)
                mean[rows] = W[rows] - (lag[rows] / max(done, 1)).astype(W.dtype)
            return mean

        flops = filled(X) * (filled(X) + 2 * filled(Y) + 1)
        return Descent(W, step, flops, learned, rng.randint(1, 2**31 - 1))

    def _take(self, weights: NDArray[Any]) -> None:
        self.weights_ = weights

    def _keep_frequent(self, X: Matrix, Y: Matrix) -> None:
        """Choose the features whose weights fit into memory."""
        # W, its mean, the best mean, and the sums, which are always double.
        a_pair = 3 * X.dtype.itemsize + 8 * self.averaged
        kept = frequent_features(X, Y, self.max_memory * 2**20 // a_pair)
        self.x_kept_: NDArray[np.intp] | None
        self.y_kept_: NDArray[np.intp] | None
        self.x_kept_, self.y_kept_ = kept or (None, None)
        if kept:
            warnings.warn(
                f"PAMIR learns a weight for every pair of features: {X.shape[1]:,} of X × "
                f"{Y.shape[1]:,} of y would take more than max_memory={self.max_memory} MB. The "
                f"{len(kept[0]):,} × {len(kept[1]):,} that most items have are kept.",
                UserWarning,
                stacklevel=4,
            )

    @property
    def _may_stay(self) -> bool:
        return self.shared and self.init == "identity"  # 0 would rank nothing

    @property
    def _keeps_all(self) -> bool:
        return getattr(self, "x_kept_", None) is None

    def _scaled(self, items: Matrix, side: Literal["x", "y"]) -> Matrix:
        rows, kept = super()._scaled(items, side), getattr(self, f"{side}_kept_", None)
        return rows if kept is None else rows[:, kept]

    def term_weights(self, x_index: NDArray[np.integer], y_index: NDArray[np.integer]) -> Reals:
        """Weights of pairs of features: a block of W."""
        if self._keeps_all:
            return self.weights_[np.ix_(x_index, y_index)].astype(np.float64)
        at, known = [], []
        for index, features in ((x_index, self.x_kept_), (y_index, self.y_kept_)):
            assert features is not None  # both sides keep all, or some
            known.append(np.isin(index, features))
            at.append(np.where(known[-1], np.searchsorted(features, index), 0))
        return np.where(np.outer(*known), self.weights_[np.ix_(*at)], 0.0).astype(np.float64)

    def _candidates(self, Y: Matrix) -> Matrix:
        return self._scaled(Y, "y")

    def _row_scorer(self, X: Matrix, candidates: Matrix) -> RowScorer:
        return row_scorer(self._scaled(X, "x"), self.weights_, candidates)

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        return pair_score(self._scaled(X, "x"), self.weights_, self._scaled(Y, "y"))
