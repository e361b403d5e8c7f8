"""Supervised semantic indexing, low rank."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz.base import IterativeMixin, Matrix, MethodTags, PairModel, RowScorer, unit_rows
from simviz.params import interval
from simviz.relevance import Relevance

_FLOPS_A_CHUNK = 2e8  # a fraction of a second, so that a wish to stop is heard


class SSI(IterativeMixin, PairModel):
    r"""Supervised semantic indexing: a ranking loss on sampled triples.

    Learns :math:`f(q, d) = q^\top (U^\top V + I) d` so that a relevant item
    scores higher than another by a margin,
    :math:`\sum \max(0, m - f(q, d^+) + f(q, d^-))`, by stochastic gradient
    descent. The identity keeps the lexical match where both sides have one
    vocabulary; without one it is left out.

    Parameters
    ----------
    n_components : int, default=100
        Dimensions N of the learned part: rows of U and V.
    shared : bool, default=False
        Whether both sides have one vocabulary; then the identity is added.
    margin : float, default=1.0
        By how much a relevant item should score higher.
    learning_rate : float, default=0.2
        Step of the gradient descent.
    max_iter : int, default=50
        Passes; each samples as many triples as there are relevant pairs, at
        least 20,000.
    patience : int, default=5
        Passes without a better validation score before stopping.
    normalize : bool, default=True
        Whether items are scaled to length 1 first, as the paper's tf·idf
        vectors are; margin and learning rate are meant for such items.
    init_scale : float or None, default=None
        Length of a feature's first vector: entries of U and V start as normal
        noise of ``init_scale / sqrt(n_components)``. None takes 1, and 0.1 when
        `shared`: unit noise, as the original had, drowns the identity.
    random_state : int, RandomState instance or None, default=0
        Seed of the start and of the triples.

    Attributes
    ----------
    x_factors_ : ndarray of shape (d_x, N)
        The transpose of U.
    y_factors_ : ndarray of shape (d_y, N)
        The transpose of V.
    n_iter_ : int
        Passes done.
    best_iter_ : int
        Pass whose factors were kept.
    loss_curve_ : list of float
        Mean hinge loss of each pass.
    validation_scores_ : list of float
        `score` on the validation set after each pass; empty without one.

    See Also
    --------
    simviz.methods.tfidf_cosine.TfidfCosine : Where it starts from when shared.

    Notes
    -----
    A triple is a relevant pair, uniformly, and an item that is not relevant to
    its query, uniformly: among all items where unjudged pairs are negative,
    among those judged not relevant elsewhere. With a validation set the best
    pass is kept, else the last.

    References
    ----------
    Bai, Weston, Grangier, Collobert, Sadamasa, Qi, Chapelle & Weinberger
    (2009), Supervised semantic indexing. CIKM, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = np.eye(4), np.eye(4)[[1, 2, 3, 0]]
    >>> SSI(n_components=8, max_iter=5).fit(X, Y).similarity(X, Y).argmax(axis=1)
    array([0, 1, 2, 3])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="SSI",
        reference="Bai et al. 2009",
        year=2009,
        family="gradient",
        input="tfidf",
        space="either",
        uses="discriminative",
    )
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [interval(Integral, 1, None)],
        "shared": ["boolean"],
        "margin": [interval(Real, 0, None, closed="neither")],
        "learning_rate": [interval(Real, 0, None)],
        "max_iter": [interval(Integral, 1, None)],
        "patience": [interval(Integral, 1, None)],
        "normalize": ["boolean"],
        "init_scale": [interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_components: int = 100,
        *,
        shared: bool = False,
        margin: float = 1.0,
        learning_rate: float = 0.2,
        max_iter: int = 50,
        patience: int = 5,
        normalize: bool = True,
        init_scale: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.shared = shared
        self.margin = margin
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.patience = patience
        self.normalize = normalize
        self.init_scale = init_scale
        self.random_state = random_state

    def _fit_iter(
        self, X: Matrix, Y: Matrix, relevance: Relevance, validation: tuple[Any, ...] | None
    ) -> None:
        positives = relevance.positives
        explicit = relevance.unjudged == "ignore"
        negatives = relevance.negatives if explicit else positives
        if not positives.nnz or (explicit and not negatives.nnz):
            raise ValueError(
                "SSI compares relevant with other items; got "
                f"{positives.nnz} relevant and {relevance.negatives.nnz} judged not relevant. "
                "Bring both, or set unjudged='negative'."
            )
        X, Y = self._scaled(X, Y)
        rng = check_random_state(self.random_state)
        scale = self.init_scale or (0.1 if self.shared else 1.0)
        std = scale / np.sqrt(self.n_components)
        self.x_factors_, self.y_factors_ = (
            rng.normal(0, std, (Z.shape[1], self.n_components)).astype(X.dtype) for Z in (X, Y)
        )
        sampler = _Triples(X, Y, positives, negatives, explicit=explicit)
        seed = rng.randint(1, 2**31 - 1)
        self.loss_curve_: list[float] = []
        self.validation_scores_: list[float] = []
        best: tuple[float, int, Any] = (-np.inf, 0, None)
        per_pass = max(20_000, positives.nnz)
        for step in range(1, self.max_iter + 1):
            loss, stopped = self._one_pass(sampler, per_pass, seed + step * 1_000, step)
            self.loss_curve_.append(loss)
            self.n_iter_ = step
            if validation is not None:
                self.validation_scores_.append(self.score(*validation))
                if self.validation_scores_[-1] > best[0]:
                    kept = self.x_factors_.copy(), self.y_factors_.copy()
                    best = (self.validation_scores_[-1], step, kept)
            if stopped or (validation is not None and step - best[1] >= self.patience):
                break
        self.best_iter_ = self.n_iter_
        if best[2] is not None:
            self.best_iter_ = best[1]
            self.x_factors_, self.y_factors_ = best[2]

    def _one_pass(
        self, sampler: _Triples, n_triples: int, seed: int, step: int
    ) -> tuple[float, bool]:
        """One pass in chunks short enough for progress and cancel."""
        total, done = 0.0, 0
        chunk = int(np.clip(_FLOPS_A_CHUNK / (sampler.width * self.n_components), 50, 20_000))
        while done < n_triples:
            n = min(chunk, n_triples - done)
            total += sampler.descend(
                self.x_factors_,
                self.y_factors_,
                n,
                seed + done // chunk,
                (self.margin, self.learning_rate, self.shared),
            )
            done += n
            metrics = {"loss": total / done}
            if self.validation_scores_:
                metrics["validation"] = self.validation_scores_[-1]
            if self._notify(step - (done < n_triples), self.max_iter, **metrics):
                return total / done, True
        return total / done, False

    def _row_scorer(self, X: Matrix, Y: Matrix) -> RowScorer:
        X, Y = self._scaled(X, Y)
        P, Q = self._factors(X, Y)
        if not self.shared:
            return lambda rows: P[rows] @ Q.T
        YT = sp.csr_array(Y.T) if sp.issparse(Y) else Y.T

        def scores(rows: slice) -> NDArray[np.floating]:
            lexical = X[rows] @ YT
            return P[rows] @ Q.T + (lexical.toarray() if sp.issparse(lexical) else lexical)

        return scores

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        X, Y = self._scaled(X, Y)
        P, Q = self._factors(X, Y)
        scores = np.einsum("ik,ik->i", P, Q)
        if self.shared:
            product = X.multiply(Y) if sp.issparse(X) else X * np.asarray(Y)
            scores = scores + np.asarray(product.sum(axis=1)).ravel()
        return scores

    def _scaled(self, X: Matrix, Y: Matrix) -> tuple[Matrix, Matrix]:
        return (unit_rows(X), unit_rows(Y)) if self.normalize else (X, Y)

    def _factors(self, X: Matrix, Y: Matrix) -> tuple[NDArray[Any], NDArray[Any]]:
        return (
            np.asarray(X @ self.x_factors_.astype(X.dtype, copy=False)),
            np.asarray(Y @ self.y_factors_.astype(Y.dtype, copy=False)),
        )


class _Triples:
    """Sampled triples over fixed data, and gradient steps on them."""

    def __init__(
        self,
        X: Matrix,
        Y: Matrix,
        positives: sp.csr_array,
        negatives: sp.csr_array,
        *,
        explicit: bool,
    ) -> None:
        X, Y = sp.csr_array(X), sp.csr_array(Y)
        X.sort_indices()
        Y.sort_indices()
        self.x, self.y = (X.indptr, X.indices, X.data), (Y.indptr, Y.indices, Y.data)
        # Non-zeros that one triple touches, on average.
        self.width = X.nnz / X.shape[0] + 2 * Y.nnz / Y.shape[0] + 1
        rows = np.repeat(np.arange(positives.shape[0]), np.diff(positives.indptr))
        if explicit:
            usable = np.diff(negatives.indptr)[rows] > 0
        else:
            usable = np.diff(positives.indptr)[rows] < positives.shape[1]
        self.queries, self.relevant = rows[usable], positives.indices[usable]
        self.others = (negatives.indptr, negatives.indices)
        self.explicit = explicit

    def descend(
        self,
        U: NDArray[Any],
        V: NDArray[Any],
        n: int,
        seed: int,
        settings: tuple[Any, ...],
    ) -> float:
        """Take n steps on U and V in place; answer with the summed loss."""
        if not len(self.queries):
            return 0.0  # everything is relevant: no triple exists, nothing to learn
        from simviz.methods._ssi_kernel import descend

        return float(
            descend(
                *self.x,
                *self.y,
                self.queries,
                self.relevant,
                *self.others,
                self.explicit,
                U,
                V,
                n,
                seed,
                *settings,
            )
        )
