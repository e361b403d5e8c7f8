"""What a user could take instead, each called as its own documentation says."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.floating]


def dense(X: Any, dtype: type = np.float64) -> Array:
    """A matrix as the peers that know no sparse data take it."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=dtype)


def cca_zoo(X: Array, Y: Array, k: int, ridges: tuple[float, float]) -> tuple[Array, Array]:
    """Directions of cca-zoo's RidgeCCA.

    Its ``shrinkage`` c blends: (1 - c) C + c I with C divided by n - 1. That is
    C + κ I up to scale for κ = c / (1 - c).
    """
    from cca_zoo.linear import RidgeCCA

    scale = len(X) / (len(X) - 1)
    kappas = [ridge * scale for ridge in ridges]
    shrinkage = [kappa / (1 + kappa) for kappa in kappas]
    k = min(k, X.shape[1], Y.shape[1])
    A, B = RidgeCCA(n_components=k, shrinkage=shrinkage).fit([X, Y]).weights_
    return A, B


def correlations(X: Any, Y: Any, A: Array, B: Array, ridges: tuple[float, float]) -> Array:
    """Regularised correlations along pairs of directions, whatever their lengths.

    aᵀ C_xy b / √(aᵀ(C_xx + κ_x I)a · bᵀ(C_yy + κ_y I)b), in float64.
    """
    projected, lengths = [], []
    for Z, W, ridge in ((X, A, ridges[0]), (Y, B, ridges[1])):
        W = W.astype(np.float64)
        P = np.asarray(Z @ W)
        P = P - P.mean(axis=0)
        projected.append(P)
        lengths.append(np.mean(P**2, axis=0) + ridge * np.sum(W**2, axis=0))
    return np.mean(projected[0] * projected[1], axis=0) / np.sqrt(lengths[0] * lengths[1])


def variances(X: Any) -> Array:
    """Variances of the principal directions (centred, divided by n), descending."""
    Z = dense(X)
    Z = Z - Z.mean(axis=0)
    C = (Z @ Z.T if Z.shape[0] < Z.shape[1] else Z.T @ Z) / Z.shape[0]
    values = scipy.linalg.eigvalsh(C)[::-1]
    return values[values > values[0] * np.finfo(np.float64).eps * max(Z.shape)]


def mean_variance(X: Any) -> float:
    """Total variance over as many directions as rows with anything and columns allow.

    The unit of ridges in simviz; here it turns one into numbers that peers take.
    """
    Z = dense(X)
    filled, columns = ((Z != 0).any(axis=axis).sum() for axis in (1, 0))
    return float(Z.var(axis=0).sum() / min(filled - 1, columns))


def pencil(X: sp.csr_array, Y: sp.csr_array, regularization: float) -> tuple[Array, Array]:
    """Signal and noise of OPCA, dense, for pairs row by row in one vocabulary.

    The covariance of the pairs' means, and that of the items around them with
    a ridge in units of its mean variance.
    """
    n, d = X.shape
    M, D = (sp.csr_array(Z, dtype=np.float64) for Z in ((X + Y) / 2, (X - Y) / 2))
    signal, noise = (
        (Z.T @ Z).toarray() / n - np.outer(Z.mean(axis=0), Z.mean(axis=0)) for Z in (M, D)
    )
    columns = int(np.count_nonzero(abs(X).sum(axis=0) + abs(Y).sum(axis=0)))
    noise[np.diag_indices(d)] += regularization * np.trace(noise) / min(2 * n - 2, columns)
    return signal, noise


def eigh(signal: Array, noise: Array, k: int, dtype: type = np.float64) -> tuple[Array, Array]:
    """The k leading eigenvalues, descending, and their vectors, by LAPACK."""
    d = len(signal)
    values, vectors = scipy.linalg.eigh(
        signal.astype(dtype), noise.astype(dtype), subset_by_index=[d - k, d - 1]
    )
    return values[::-1], vectors[:, ::-1]


def truncated_svd(A: sp.csr_array, k: int, **settings: Any) -> Array:
    """Right singular vectors (d, k) of scikit-learn's TruncatedSVD."""
    from sklearn.decomposition import TruncatedSVD

    return TruncatedSVD(k, random_state=0, **settings).fit(A).components_.T


def lsi_model(A: sp.csr_array, k: int, **settings: Any) -> Array:
    """Right singular vectors (d, k) of gensim's LsiModel.

    Its sparse route takes terms in rows and a scipy matrix, whose ``*`` is a
    product (with an array it would multiply entries); data of another type
    than `dtype` are refused; it ignores `random_seed`; and without `id2word`
    it walks through all texts in Python first.
    """
    from gensim.models import LsiModel

    dtype = settings.setdefault("dtype", np.float64)
    corpus = sp.csc_matrix(A.T, dtype=dtype)
    names = {i: str(i) for i in range(A.shape[1])}
    return LsiModel(corpus, num_topics=k, id2word=names, **settings).projection.u


def residual(A: sp.csr_array, V: Array) -> float:
    """What is left of A outside a subspace, relative: √(‖A‖² - ‖AV‖²) / ‖A‖, never dense.

    Parameters
    ----------
    A : csr_array of shape (n, d)
        Data.
    V : ndarray of shape (d, k)
        Directions; they are made orthonormal first.

    Returns
    -------
    float
        From 0 to 1.
    """
    Q = np.linalg.qr(V.astype(np.float64))[0]
    A = A.astype(np.float64)
    total = float(A.data @ A.data)
    kept = sum(float(np.sum((A @ Q[:, i : i + 100]) ** 2)) for i in range(0, Q.shape[1], 100))
    return float(np.sqrt(max(total - kept, 0.0) / total))
