"""Supervised semantic indexing, low rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Reals
from simviz.base import Matrix, MethodTags, PairModel, RowScorer
from simviz.base.stored import ITERATIONS, Declared, StoredArray
from simviz.methods import get_method
from simviz.methods._spectral import fewer_components_unwarned
from simviz.methods._triples import (
    MAX_ENTRIES,
    BatchSteps,
    Descent,
    TripleMixin,
    Triples,
    TripleSource,
    aligned,
    filled,
    is_dense,
    pair_score,
    row_scorer,
    rows_of,
    same_items,
    squares,
)
from simviz.params import interval, options
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class SSI(TripleMixin, PairModel):
    r"""Supervised semantic indexing: a ranking loss on sampled triples.

    Learns :math:`f(q, d) = q^\top W d` so that a relevant item scores higher
    than another by a margin, :math:`\sum \max(0, m - f(q, d^+) + f(q, d^-))`,
    by stochastic gradient descent. Where both sides have one vocabulary W
    starts from, and by default keeps, the identity: the lexical match.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions N of the learned part: rows of U and V.
    shared : bool, default=False
        Whether both sides have one vocabulary; then W contains the identity.
    form : {"low_rank", "symmetric", "diagonal", "full"}, default="low_rank"
        What W is: UᵀV + I; UᵀU + I, which treats both sides alike; weights of
        the single features; or a weight for every pair of features. Without
        `shared`, "low_rank" is UᵀV and "full" starts from 0.
    init : {"lsa", "identity", "random", "normal"}, default="lsa"
        Start of U and V: "lsa" is latent semantic analysis (CL-LSI for two vocabularies), "normal"
        noise in both, as in the paper. "identity", for one vocabulary, and "random", for two, are
        noise in U and 0 in V. With "lsa" V starts from 0 beside the identity too, so that the
        first scores are the cosine. Of "symmetric", which has no V, "lsa" or "normal".
    n_negatives : int, default=4
        Other items that a sampled pair is compared with in one step; 1 is the
        paper's. More cost little, as the pair's own sums are shared.
    margin : float, default=0.05
        By how much a relevant item should score higher; cosines of items that
        belong together are often not much larger.
    learning_rate : float, default=0.1
        Step of the gradient descent. With factors a step is shortened where it would change
        the score of its triple by more than 1, so that no rate diverges.
    max_iter : int, default=50
        Passes; each samples as many triples as there are relevant pairs, at least 20,000.
    patience : int, default=10
        Passes without a better validation score before stopping.
    validation_fraction : float, default=0.2
        Share of the items held out to choose the pass, where neither a validation set nor triples
        are given to `fit` and there would be at least 20 of them; in the end all items are learned
        from, in as many passes. Pairs that hang together in small groups are held out whole; else
        some x items are, and some y items, or those of the side that a split divided. 0: none.
    normalize : bool, default=True
        Whether items are scaled to length 1 first, as the paper's tf·idf
        vectors are; margin and learning rate are meant for such items.
    init_scale : float or None, default=None
        Factor of the start: of the latent directions, or the length of a
        feature's first random vector. None takes 1, and 0.5 for "symmetric"
        (0.1 with noise, which would drown the identity).
    random_state : int, RandomState instance or None, default=0
        Seed of the start and of the triples.

    Attributes
    ----------
    x_factors_ : ndarray of shape (d_x, N)
        The transpose of U, for "low_rank" and "symmetric".
    y_factors_ : ndarray of shape (d_y, N)
        The transpose of V; the same array for "symmetric".
    weights_ : ndarray of shape (d,) or (d_x, d_y)
        W, for "diagonal" and "full".
    n_iter_ : int
        Passes done while the pass was chosen.
    best_iter_ : int
        Passes that were kept; 0 is the start.
    loss_curve_ : list of float
        Mean hinge loss of each of these passes, before its steps.
    validation_scores_ : list of float
        Score on 512 queries and 4,096 candidates of the validation set, or of what
        was held out, after each pass; empty without any. NDCG where there are
        grades, the AUC where unjudged pairs are ignored, else the mean average
        precision; of both directions where pairs are one to one.

    Raises
    ------
    ValueError
        From `fit`, if the judgments are of one sign, the form needs one vocabulary, a full matrix
        would not fit into memory, or the scores of items that are not scaled overflow.

    See Also
    --------
    simviz.methods.tfidf_cosine.TfidfCosine : Where it starts from when shared.
    simviz.methods.pamir.PAMIR : A full matrix with steps of adapted length.

    Notes
    -----
    A triple is a relevant pair, uniformly, and an item that is not relevant to its query,
    uniformly: among all items where unjudged pairs are negative, among those judged not relevant
    elsewhere. Where unjudged pairs are negative, pairs judged not relevant are drawn beside
    relevant ones, each as often and with as much weight, against an item relevant to their query,
    or one that nobody judged where none is known. Grades count alike. Between the items of one
    collection no item is drawn with itself. The best pass is kept, or the start where that is not
    better by one standard error; without anything to watch the last pass. Patience counts passes
    alone, as the first may fall behind the start before later ones are ahead. Where a side is wide
    and more than three tenths of its entries are filled (images), steps are taken on batches of up
    to 256 triples, by matrix products.

    The paper starts from noise with a margin of 1, as the preset "paper" does.
    Beside the identity such noise drowns the lexical match, and such a margin
    overrules it. How large the noise was is assumed.

    References
    ----------
    Bai, Weston, Grangier, Collobert, Sadamasa, Qi, Chapelle & Weinberger
    (2009), Supervised semantic indexing. CIKM, section 3.

    Examples
    --------
    >>> X, Y = np.eye(4), np.eye(4)[[1, 2, 3, 0]]
    >>> SSI(n_components=8, max_iter=5).fit(X, Y).similarity(X, Y).argmax(axis=1)
    array([0, 1, 2, 3])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="SSI",
        reference="Bai et al. 2009",
        family="gradient",
        space="either",
        uses="discriminative",
        stops_early=True,
    )
    presets: ClassVar = {"paper": {"init": "normal", "n_negatives": 1, "margin": 1.0}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "form": [options("low_rank", "symmetric", "diagonal", "full")],
        "init": [options("lsa", "identity", "random", "normal")],
        "n_negatives": [interval(Integral, 1, None)],
        "margin": [interval(Real, 0, None, closed="neither")],
        "learning_rate": [interval(Real, 0, None)],
        "normalize": ["boolean"],
        "init_scale": [interval(Real, 0, None, closed="neither"), None],
    }
    _stored: ClassVar[Declared] = {
        **ITERATIONS,
        "x_factors_": lambda m: StoredArray(("x_features", "factors")) if m._factored else None,
        "y_factors_": lambda m: StoredArray(("y_features", "factors")) if m._factored else None,
        "weights_": lambda m: (
            None
            if m._factored
            else StoredArray(
                ("x_features",) if m.form == "diagonal" else ("x_features", "y_features")
            )
        ),
    }

    n_components: int = 200
    _: KW_ONLY
    shared: bool = False
    form: str = "low_rank"
    init: str = "lsa"
    n_negatives: int = 4
    margin: float = 0.05
    learning_rate: float = 0.1
    max_iter: int = 50
    patience: int = 10
    validation_fraction: float = 0.2
    normalize: bool = True
    init_scale: float | None = None
    random_state: Any = 0

    def _fit_iter(self, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        self._check_form(X, Y)
        # The same sums in the same order, however the sides are stored.
        X, Y = (Z if is_dense(Z) else sp.csr_array(Z) for Z in (X, Y))
        super()._fit_iter(X, Y, relevance, validation)
        for name in ("x_factors_", "y_factors_") if self._factored else ("weights_",):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)))
        if self.form == "symmetric":
            self.y_factors_ = self.x_factors_

    @property
    def _factored(self) -> bool:
        return self.form in ("low_rank", "symmetric")

    def _check_form(self, X: Matrix, Y: Matrix) -> None:
        if self.form in ("symmetric", "diagonal") and not self.shared:
            raise ValueError(
                f"form={self.form!r} weighs the features of one vocabulary, but shared=False. "
                "Set shared=True with one vectoriser for both sides, or use form='low_rank'."
            )
        if self.init == "identity" and (self.form == "symmetric" or not self.shared):
            raise ValueError(
                "init='identity' begins with the cosine of one vocabulary, but got "
                f"shared={self.shared}, form={self.form!r}. Set shared=True with one vectoriser "
                "for both sides and form='low_rank', or use another init."
            )
        if self.init == "random" and self.shared:
            raise ValueError(
                "init='random' begins with 0 for two vocabularies, but got shared=True. Set "
                "init='identity' to begin with the cosine, or 'normal' for noise in both factors."
            )
        if self.form == "full":
            d_x, d_y = X.shape[1], Y.shape[1]
            if d_x * d_y > MAX_ENTRIES:
                raise ValueError(
                    "SSI(form='full') learns a weight for every pair of features: "
                    f"{d_x:,} of X × {d_y:,} of y are {d_x * d_y:,}, more than the "
                    f"{MAX_ENTRIES:,} that are held in memory. Keep fewer features (max_features "
                    "of the features or of default_pipeline) or use form='low_rank'."
                )

    def _begin(
        self, X: Matrix, Y: Matrix, relevance: Relevance, source: TripleSource, rng: Any
    ) -> Descent:
        Y = X if same_items(X, Y) else Y
        theta = self._start(X, Y, relevance, rng)
        sparse = not (is_dense(X) or is_dense(Y))
        if self._factored and sparse:
            theta = aligned(theta)
        step, flops = self._stepper(X, Y, source, theta)
        return Descent(theta.copy(), step, flops, lambda: theta, rng.randint(1, 2**31 - 1))

    def _start(self, X: Matrix, Y: Matrix, relevance: Relevance, rng: Any) -> NDArray[np.floating]:
        """The first factors, those of x above those of y, or the first weights."""
        d_x, d_y = X.shape[1], Y.shape[1]
        if self.form == "diagonal":
            return np.ones(d_x, X.dtype)
        if self.form == "full":
            return np.eye(d_x, d_y, dtype=X.dtype) * X.dtype.type(self.shared)
        usual = 1.0
        if self.form == "symmetric":
            usual = 0.5 if self.init == "lsa" else 0.1
        scale = self.init_scale or usual
        std = scale / np.sqrt(self.n_components)
        U, V = (rng.normal(0, std, (d, self.n_components)).astype(X.dtype) for d in (d_x, d_y))
        if self.init == "lsa":
            A, B = self._latent(X, Y, relevance, rng.randint(2**31 - 1))
            U[:, : A.shape[1]], V[:, : B.shape[1]] = scale * A, scale * B
        if self.init in ("random", "identity") or (self.shared and self.init == "lsa"):
            V[:] = 0  # adds no noise to the first scores, and is no saddle as U is not 0
        return U if self.form == "symmetric" else np.vstack([U, V])

    def _take(self, theta: NDArray[np.floating]) -> None:
        if not self._factored:
            self.weights_ = theta
            return
        d_x, N = self.n_features_in_, self.n_components
        self.x_factors_ = theta[:d_x, :N]
        self.y_factors_ = self.x_factors_ if self.form == "symmetric" else theta[d_x:, :N]

    def _latent(self, X: Matrix, Y: Matrix, relevance: Relevance, seed: int) -> Any:
        method = get_method("lsa" if self.shared else "cl_lsi")
        model: Any = method(n_components=self.n_components, random_state=seed)
        model.set_callbacks(lambda *_: self._notify(0, self.max_iter))
        # Fewer directions than factors are no matter: the others start from noise.
        with fewer_components_unwarned():
            model.fit(X, Y, relevance)
        return model.x_projection_, model.y_projection_

    def _stepper(
        self, X: Matrix, Y: Matrix, source: TripleSource, theta: NDArray[Any]
    ) -> tuple[Callable[[Triples], float], float]:
        """What takes steps on triples in place, and what one triple costs."""
        from simviz.methods import _triple_kernels

        margin, rate = float(self.margin), X.dtype.type(self.learning_rate)
        width = filled(X) + 2 * filled(Y) + 1
        if self.form == "diagonal":
            x, y, diagonal_steps = rows_of(X), rows_of(Y), _triple_kernels.diagonal_steps
            return lambda triples: diagonal_steps(x, y, triples, theta, margin, rate), width
        U, V = theta, None
        if self._factored:
            U = theta[: X.shape[1]]
            V = U if self.form == "symmetric" else theta[X.shape[1] :]
        if is_dense(X) or is_dense(Y):
            identity = self.shared and V is not None
            batches = BatchSteps(X, Y, U, V, len(source), margin, rate, identity=identity)
            return batches, width * U.shape[1]
        x, y = rows_of(X), rows_of(Y)
        if V is None:
            full = U, margin, rate, False, np.empty((0, 0)), 0
            full_steps = _triple_kernels.full_steps
            return lambda triples: full_steps(x, y, triples, *full), filled(X) * width
        how = source.group, U, V, margin, rate, self.shared, squares(X), squares(Y)
        steps = _triple_kernels.low_rank_steps
        return lambda triples: steps(x, y, triples, *how), width * self.n_components

    @property
    def max_weights(self) -> int | None:
        """Pairs of features whose weights are held at most; None where it holds factors."""
        return MAX_ENTRIES if self.form == "full" else None

    def term_weights(self, x_index: NDArray[np.integer], y_index: NDArray[np.integer]) -> Reals:
        """Weights of pairs of features: a block of the matrix between q and d."""
        if self.form == "full":
            return self.weights_[np.ix_(x_index, y_index)].astype(np.float64)
        same = np.equal.outer(x_index, y_index)
        if self.form == "diagonal":
            return np.where(same, self.weights_[x_index][:, None], 0).astype(np.float64)
        U, V = (A.astype(np.float64) for A in (self.x_factors_[x_index], self.y_factors_[y_index]))
        return np.asarray(U @ V.T + (same if self.shared else 0))

    def _candidates(self, Y: Matrix) -> Any:
        Y = self._scaled(Y, "y")
        if self.form == "full":
            return Y
        YT = sp.csr_array(Y.T) if sp.issparse(Y) else Y.T
        return YT, None if self.form == "diagonal" else self._factors(Y, "y")

    def _row_scorer(self, X: Matrix, candidates: Any) -> RowScorer:
        X = self._scaled(X, "x")
        if self.form == "full":
            return row_scorer(X, self.weights_, candidates)
        YT, Q = candidates
        if self.form == "diagonal":
            return _inner_products(self._weighted(X), YT)
        P = self._factors(X, "x")
        if not self.shared:
            return lambda rows: P[rows] @ Q.T
        lexical = _inner_products(X, YT)
        return lambda rows: P[rows] @ Q.T + lexical(rows)

    def _pair_score(self, X: Matrix, Y: Matrix) -> NDArray[np.floating]:
        X, Y = self._scaled(X, "x"), self._scaled(Y, "y")
        if self.form == "full":
            return pair_score(X, self.weights_, Y)
        if self.form == "diagonal":
            return _row_products(self._weighted(X), Y)
        scores = np.einsum("ik,ik->i", self._factors(X, "x"), self._factors(Y, "y"))
        return scores + _row_products(X, Y) if self.shared else scores

    def _weighted(self, X: Matrix) -> Matrix:
        w = self.weights_.astype(X.dtype, copy=False)
        return sp.csr_array(X.multiply(w[None, :])) if sp.issparse(X) else X * w

    def _factors(self, items: Matrix, side: Literal["x", "y"]) -> NDArray[Any]:
        factors = self.x_factors_ if side == "x" else self.y_factors_
        return np.asarray(items @ factors.astype(items.dtype, copy=False))


def _inner_products(X: Matrix, YT: Matrix) -> RowScorer:
    def scores(rows: slice) -> NDArray[np.floating]:
        block = X[rows] @ YT
        return np.asarray(block.toarray() if sp.issparse(block) else block)

    return scores


def _row_products(X: Matrix, Y: Matrix) -> NDArray[np.floating]:
    product = X.multiply(Y) if sp.issparse(X) else X * np.asarray(Y)
    return np.asarray(product.sum(axis=1)).ravel()
