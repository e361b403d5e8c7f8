"""Similarity between heterogeneous objects by singular value decomposition of kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from simviz._types import Side
from simviz.base import Matrix, MethodTags
from simviz.base.stored import SPECTRUM, Declared, OneOf
from simviz.methods._kernels import (
    NAMES,
    KernelFunction,
    KernelPairModel,
    Setting,
    column_signs,
    default_gamma,
    singular_triplets,
    squared_norms,
)
from simviz.methods._spectral import capped_components, fewer_components_unwarned, signed_weights
from simviz.methods._training import Values, by_query, placements
from simviz.methods.heterogeneous_svd import HeterogeneousSVD
from simviz.params import options
from simviz.relevance import Relevance

Index = NDArray[np.int64]
#: Rows and columns to learn from, then rows and columns to rank.
_Trial = tuple[Index, Index, Index, Index]
_Pair = tuple[Setting, Setting]

_TRIED = 500  # items of a side on which kernels are compared, at most
_PARTS = 5  # each is held out once, or two of them where there are many items
_COMPONENTS = 200  # whatever is asked for: truncated models have the same kernels
_WIDTHS = (0.25, 1.0, 4.0)  # of what `default_gamma` says
_KERNEL: list[Any] = [options("auto", *NAMES), options("precomputed"), callable]


@dataclass(eq=False, repr=False)
class KernelHeterogeneousSVD(KernelPairModel):
    r"""Two curved maps that put relevant pairs close, in closed form.

    As heterogeneous SVD, between the feature spaces of two kernels: maximises :math:`\max_{L_x,
    L_y} \sum_{(x,y)} r_{xy}\, \phi(x)^\top L_x L_y^\top \psi(y)` with orthonormal columns, where
    :math:`\phi^\top\phi' = k_x` and :math:`\psi^\top\psi' = k_y`. With kernels that fade with
    distance, the pairs of similar items decide, so that classes need not be told apart by a plane.

    Parameters
    ----------
    n_components : int, default=200
        Dimensions of the learned space; capped with a warning where the kernels give fewer.
    x_kernel, y_kernel : {"auto", "rbf", "linear", "cosine", "polynomial", "chi2"}, default="auto"
        How items of a side compare. "auto": what ranks held-out items best, of "linear", "cosine"
        and "rbf" with three widths. "rbf": exp(−γ‖a − b‖²); "polynomial": (γaᵀb + coef0)^degree;
        "chi2": exp(−γΣ(a − b)²/(a + b)) for histograms. In code also "precomputed", for rows that
        hold the kernels with the training items, or a function that takes two matrices of rows and
        gives the matrix of their kernels.
    x_gamma, y_gamma : float or None, default=None
        Width γ of each side. None takes, for "rbf" and "chi2", 1 over the squared
        distance to the nearest other item (its median), but at most 4 over the
        median squared distance of all; for "polynomial" 1 over the mean
        squared length; for "auto" the best of that, a quarter and four times.
    degree, coef0 : optional
        As of `simviz.methods.kernel_cca.KernelCCA`.
    negative_weight, sigma_power, measure : optional
        As of `simviz.methods.heterogeneous_svd.HeterogeneousSVD`.
    max_landmarks, random_state : optional
        As of `simviz.methods.kernel_cca.KernelCCA`.

    Attributes
    ----------
    x_kernel_, y_kernel_ : str or callable
        The kernel of each side; "auto" is resolved.
    x_landmarks_, y_landmarks_ : matrix of shape (m, d) or None
        Training items whose kernels decide; their numbers where kernels are
        precomputed. None where both kernels are linear and a side has more
        than `max_landmarks` items: the coefficients are those of features.
    x_coefficients_, y_coefficients_ : ndarray of shape (m, k)
        An item is embedded as its kernels with the landmarks times these; one
        without any known feature as zeros.
    x_gamma_, y_gamma_, n_components_
        As of `simviz.methods.kernel_cca.KernelCCA`.
    spectrum_ : ndarray of shape (k,)
        Singular values.

    See Also
    --------
    simviz.methods.heterogeneous_svd.HeterogeneousSVD : The same with straight maps.
    simviz.methods.kernel_cca.KernelCCA : Normalises by the variance within each side.

    Notes
    -----
    Nested. With any factors :math:`K_x = G_x G_x^\top` and :math:`K_y = G_y G_y^\top` the solution
    is the singular value decomposition of :math:`G_y^\top R^\top G_x` over distinct items: no
    inverse is needed and kernels may be rank-deficient, which they are whenever an item occurs
    twice or two look alike. The paper assumes full rank, and its Algorithm 2 prints :math:`K_x`
    and :math:`K_y` in each other's place in step 4; by its equation 5 they stand as here. With
    linear kernels this is heterogeneous SVD.

    The paper's bound asks for vectors of length 1. "rbf", "chi2" and "cosine" have them by
    themselves, "linear" and "polynomial" where rows have that length. Departures from the paper:
    the default weights and measure, and an incomplete Cholesky decomposition with randomly
    proposed pivots for many items.

    "auto" learns from 400 items, or four fifths of fewer, ranks 100 others in both directions, and
    does so two to five times. It holds out items of the larger side, unless they are such as
    single keywords, of which one says nothing about another. It starts from linear kernels on both
    sides, changes one at a time, and leaves them only where the mean average precision grows by
    more than two standard errors; of fewer than 10 items they are taken without a trial.

    References
    ----------
    Wu, Xu & Li (2010), Learning similarity function between objects in
    heterogeneous spaces. Microsoft Research, MSR-TR-2010-86.

    Chen, Epperly, Tropp & Webber (2025), Randomly pivoted Cholesky: practical
    approximation of a kernel matrix with few entry evaluations. Communications
    on Pure and Applied Mathematics 78.

    Examples
    --------
    Inner and outer points of a disc, which no plane separates:

    >>> angle = np.arange(12) * np.pi / 6
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X, Y = np.vstack([ring, 3 * ring]), np.eye(2)[np.repeat([0, 1], 12)]
    >>> model = KernelHeterogeneousSVD(1, y_kernel="linear").fit(X, Y)
    >>> model.similarity(np.array([[0.5, 0.5], [-2.0, 2.5]]), np.eye(2)).round(3)
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Kernel heterogeneous SVD",
        reference="Wu, Xu & Li 2010",
        family="spectral",
        uses="discriminative",
        nested=True,
    )
    presets: ClassVar = HeterogeneousSVD.presets
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "x_kernel": _KERNEL,
        "y_kernel": _KERNEL,
        **HeterogeneousSVD._parameter_constraints,
    }
    _stored: ClassVar[Declared] = {
        **SPECTRUM,
        "x_kernel_": OneOf((*NAMES, "precomputed"), functions=True),
        "y_kernel_": OneOf((*NAMES, "precomputed"), functions=True),
    }

    n_components: int = 200
    _: KW_ONLY
    x_kernel: str | KernelFunction = "auto"
    y_kernel: str | KernelFunction = "auto"
    x_gamma: float | None = None
    y_gamma: float | None = None
    degree: int = 3
    coef0: float = 1.0
    negative_weight: str | float = "balanced"
    sigma_power: float = 0.0
    measure: str = "cosine"
    max_landmarks: int = 2_000
    random_state: Any = 0

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        P, a, b = signed_weights(relevance, self.negative_weight)
        kernels = self._choose_kernels(X, Y, relevance)
        self.x_kernel_, self.y_kernel_ = kernels["x"][0], kernels["y"][0]
        if self.x_kernel_ == self.y_kernel_ == "linear" and max(P.shape) > self.max_landmarks:
            self._fit_linear(X, Y, relevance)
            return
        features = self._features({"x": X, "y": Y}, {"x": None, "y": None}, kernels)
        x, y = features["x"], features["y"]
        G, H = x.U * x.s, y.U * y.s
        # R = P − abᵀ, so M = HᵀRᵀG needs no other pair than those of P.
        M = H.T @ (P.T @ G) - np.outer(b @ H, a @ G)
        nothing = np.zeros((0, 1)), np.zeros(1), np.zeros((1, 0))
        U, s, Vt = singular_triplets(M) if M.size else nothing
        lengths = [squared_norms(Z).max(initial=0.0) for Z in (G, H)]
        total = abs(P).sum() + a.sum() * b.sum()
        if not s[0] > 1e-12 * total * np.sqrt(lengths[0] * lengths[1]):
            raise ValueError(
                "Relevant and other pairs look the same to KernelHeterogeneousSVD: M_S - M_D is "
                f"zero for n_samples = {relevance.matrix.nnz} judgments. Bring at least 2 "
                "different pairs (1 sample has no contrast), or another kernel."
            )
        k = capped_components(self, s, M.shape)
        A, B = Vt[:k].T, U[:, :k]
        scale = column_signs(x, A) * s[:k] ** (self.sigma_power / 2)
        self._keep(x, A * scale, y, B * scale)
        self.spectrum_ = s[:k]
        self.n_components_ = k

    def _fit_linear(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        """Decompose with all features where landmarks would only approximate them."""
        names = ("n_components", "negative_weight", "sigma_power", "random_state")
        linear: Any = HeterogeneousSVD(**{n: getattr(self, n) for n in names})
        linear.set_callbacks(lambda step, total, _: self._notify(step, total)).fit(X, Y, relevance)
        self.x_landmarks_ = self.y_landmarks_ = self.x_offset_ = self.y_offset_ = None
        self.x_gamma_ = self.y_gamma_ = None
        self.x_coefficients_, self.y_coefficients_ = linear.x_projection_, linear.y_projection_
        self.spectrum_, self.n_components_ = linear.spectrum_, linear.n_components_

    def _choose_kernels(self, X: Matrix, Y: Matrix, relevance: Relevance) -> dict[Side, Setting]:
        """The kernel and gamma of each side, "auto" resolved."""
        settings = self._kernel_settings()
        xs, ys = _candidates(*settings["x"], X), _candidates(*settings["y"], Y)
        best = base = xs[0], ys[0]
        if len(xs) > 1 or len(ys) > 1:
            rng = check_random_state(self.random_state)
            try:
                trials = _trials(X, Y, relevance, rng)
                best = self._best_kernels(xs, ys, (X, Y, relevance), trials) if trials else base
            except ValueError:  # a part without contrast; the fit says so if it is the whole
                best = base
        return {"x": best[0], "y": best[1]}

    def _best_kernels(
        self, xs: list[Setting], ys: list[Setting], data: Any, trials: list[_Trial]
    ) -> _Pair:
        base = xs[0], ys[0]
        measured: dict[_Pair, Values] = {}

        def precision(pair: _Pair) -> float:
            if pair not in measured:
                if self._notify(0, 2 * self.max_landmarks):
                    raise ValueError("A callback asked to stop.")
                parts = [self._try(pair, data, trial) for trial in trials]
                measured[pair] = [np.concatenate(way) for way in zip(*parts, strict=True)]
            return float(np.mean([way.mean() for way in measured[pair]]))

        x = max(xs, key=lambda setting: precision((setting, ys[0])))
        y = max(ys, key=lambda setting: precision((xs[0], setting)))
        best = max(product((xs[0], x), (ys[0], y)), key=precision)
        gains = [new - old for new, old in zip(measured[best], measured[base], strict=True)]
        error = np.mean([gain.std() / np.sqrt(len(gain)) for gain in gains])
        return best if np.mean([gain.mean() for gain in gains]) > 2 * error else base

    def _try(self, pair: _Pair, data: Any, trial: _Trial) -> Values:
        """Learn from a part with these kernels; how well each held-out item ranks others."""
        (x_kernel, x_gamma), (y_kernel, y_gamma) = pair
        X, Y, relevance = data
        train_x, train_y, held_x, held_y = trial
        share = max(len(train_x) / X.shape[0], len(train_y) / Y.shape[0])
        model = clone(self).set_params(
            n_components=_COMPONENTS,
            x_kernel=x_kernel, x_gamma=x_gamma, y_kernel=y_kernel, y_gamma=y_gamma,
            max_landmarks=max(1, round(share * self.max_landmarks)),
        )  # fmt: skip
        with fewer_components_unwarned():
            known = (_rows(X, x_kernel, train_x, train_x), _rows(Y, y_kernel, train_y, train_y))
            model.fit(*known, relevance.take(train_x, train_y))
        new = (_rows(X, x_kernel, held_x, train_x), _rows(Y, y_kernel, held_y, train_y))
        S = model.similarity(*new)
        held = relevance.take(held_x, held_y)
        if held.unjudged == "ignore":
            if not held.negatives.nnz:
                raise ValueError("A part without pairs judged not relevant ranks nothing.")
            return [placements(S, held)]
        return [by_query(S, held, "MAP"), by_query(S.T, held.T, "MAP")]


def _candidates(kernel: str | KernelFunction, gamma: float | None, Z: Matrix) -> list[Setting]:
    """Kernels to compare on a side, the straight one first."""
    if kernel != "auto":
        return [(kernel, gamma)]
    if _is_one_hot(Z):
        # Centred, all of these kernels are one up to its scale: rounding would choose.
        return [("linear", None)]
    lengths = squared_norms(Z)
    lengths = lengths[lengths > 0]
    candidates: list[Setting] = [("linear", None)]
    if len(lengths) and np.ptp(lengths) > 1e-3 * lengths.max():
        candidates.append(("cosine", None))
    default = default_gamma("rbf", Z)
    assert default is not None
    widths = [width * default for width in _WIDTHS] if gamma is None else [gamma]
    return candidates + [("rbf", width) for width in widths]


def _is_one_hot(Z: Matrix) -> bool:
    """Whether each item has one feature, of the same value in all."""
    rows = sp.csr_array(Z)
    rows.eliminate_zeros()
    return bool((np.diff(rows.indptr) == 1).all() and (rows.data == rows.data[:1]).all())


def _trials(X: Matrix, Y: Matrix, relevance: Relevance, rng: Any) -> list[_Trial]:
    """Parts of the larger side, each held out; of the other where it cannot be learned from."""
    ways = [(X, relevance, False), (Y, relevance.T, True)]
    for Z, judged, turned in sorted(ways, key=lambda way: len(_judged_rows(way[1])), reverse=True):
        trials = _parts(judged, rng)
        # Of items such as single keywords, each a feature of its own, no others can be learned.
        if np.mean([_share_met(Z[train], Z[held]) for train, _, held, _ in trials] or [0.0]) > 0.5:
            return [(b, a, d, c) for a, b, c, d in trials] if turned else trials
    return []


def _judged_rows(relevance: Relevance) -> Index:
    return np.diff(relevance.matrix.indptr).nonzero()[0]


def _share_met(train: Matrix, held: Matrix) -> float:
    """Share of held-out items that have a feature in common with those to learn from."""
    met = np.asarray(abs(train).sum(axis=0)).ravel() > 0
    return float(np.mean(abs(held) @ met.astype(np.float64) > 0))


def _parts(relevance: Relevance, rng: Any) -> list[_Trial]:
    """Parts of the judged rows, each held out, and the columns to rank; none of too few."""
    rows = _judged_rows(relevance)
    if len(rows) < 2 * _PARTS:
        return []
    parts = np.array_split(rng.permutation(rows)[:_TRIED], _PARTS)
    trials = []
    for held in parts[: 2 if sum(map(len, parts)) == _TRIED else _PARTS]:
        train = np.setdiff1d(np.concatenate(parts), held)
        seen, candidates = (np.unique(relevance.take(r).matrix.indices) for r in (train, held))
        if len(np.intersect1d(seen, candidates)):
            # Candidates of many are there always; those of one query are new with it.
            seen = candidates = np.sort(rng.permutation(np.union1d(seen, candidates))[:_TRIED])
        trials.append((train, seen, np.sort(held), candidates))
    return trials


def _rows(Z: Matrix, kernel: str | KernelFunction, rows: Index, columns: Index) -> Matrix:
    """Some items; of ready-made kernels, those with the items to learn from."""
    return Z[rows][:, columns] if kernel == "precomputed" else Z[rows]
