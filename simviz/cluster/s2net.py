"""S2Net's full-batch gradient, divided among workers by rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from simviz.base import Matrix
from simviz.cluster.rows import ClusterRows, LocalRows
from simviz.methods._s2net_blocks import Maker
from simviz.methods._s2net_lbfgs import LBFGS
from simviz.methods._s2net_losses import Loss, Settings
from simviz.methods._s2net_network import Network, Objective
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance

if TYPE_CHECKING:
    from distributed import Client

Array = NDArray[np.floating]
M = TypeVar("M", bound=S2Net)


def fit_s2net(
    model: M,
    X: Matrix,
    y: Matrix | None = None,
    relevance: object = None,
    *,
    client: Client | None = None,
    n_shares: int | None = None,
    **validation: Any,
) -> M:
    r"""Fit S2Net by L-BFGS with rows of X shared out among workers.

    "The gradient computation is easily parallelizable" (section 2.2 of the
    paper): the loss is a sum over pairs of rows, so each worker keeps some
    rows of X and all of Y, computes P_B Qᵀ for its block of rows, and what
    follows for the parameters. Two sums over columns, of some bytes an item of
    the y side, and one of gradients go from worker to worker; parameters go
    out once an evaluation. The start, the validation score and L-BFGS stay
    here.

    Parameters
    ----------
    model : S2Net
        With ``solver="lbfgs"`` and a loss over all other pairs: "logistic",
        "softmax" or "triplet".
    X, y, relevance : matrices
        As `S2Net.fit` takes them; unjudged pairs are negative.
    client : distributed.Client, optional
        Of a cluster; without one the same steps are taken here, one share
        after another.
    n_shares : int, optional
        Shares that the rows are cut into; one a worker when omitted. The
        model depends on their number in the last digits only, and not at all
        on where they are.
    **validation : dict
        ``X_val``, ``y_val`` and ``relevance_val``, as `S2Net.fit` takes them.

    Returns
    -------
    S2Net
        The same model, fitted.

    Raises
    ------
    ValueError
        If the solver or the loss is one that is not divided, or as in `fit`.
    JobError
        If the scheduler is lost.

    Notes
    -----
    A worker that is killed costs the evaluation under way. Memory of a worker:
    its rows and all of Y as CSR, vectors of both, parameters and a gradient,
    and a block of 64 MB.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.random((60, 9)), rng.random((60, 7))
    >>> model = S2Net(3, loss="logistic", solver="lbfgs", max_iter=5, random_state=0)
    >>> shared_out = fit_s2net(S2Net(**model.get_params()), X, Y, n_shares=3)
    >>> float(abs(shared_out.x_projection_ - model.fit(X, Y).x_projection_).max()) < 1e-5
    True
    """
    if model.solver != "lbfgs":
        raise ValueError(
            f"solver={model.solver!r} takes many small steps, each too short to be divided among "
            "workers. Use solver='lbfgs', or fit."
        )
    given = model.get_params(deep=False)
    fitting = _SharedOut(**given)
    fitting.set_callbacks(*getattr(model, "_callbacks", ()))
    fitting.plan = (client, n_shares)
    fitting.fit(X, y, relevance, **validation)
    kept = {*given, "plan", "_callbacks"}
    for name, value in vars(fitting).items():
        if name not in kept:
            setattr(model, name, value)
    return model


class Share(Objective):
    """Rows of X against all of Y.

    Parameters
    ----------
    X : array or CSR of shape (n_own, d_x)
        These rows.
    loss : Loss
        Their share of it.
    Y : array or CSR of shape (n_y, d_y)
        All of the y side.
    how : tuple
        ``shared``, ``activation``, whether sparse products may be rounded, and
        the arguments of `Maker`.
    """

    def __init__(self, X: Matrix, loss: Loss, Y: Matrix, how: tuple[Any, ...]) -> None:
        shared, activation, half, making = how
        network = Network(X, Y, shared, activation, half=half)
        super().__init__(network, loss, Maker(*making), _go_on)


def _go_on() -> None:
    """Nobody stops a share in the middle of an evaluation."""


class _SharedOut(S2Net):
    """S2Net whose L-BFGS asks others for the gradient."""

    plan: tuple[Any, int | None]

    def _steps(
        self, data: tuple[Matrix, Matrix, Relevance], theta: Array, tick: Any, rng: Any
    ) -> Iterator[tuple[float, Array]]:
        X, Y, relevance = data
        client, n_shares = self.plan
        settings = Settings(
            self.loss, self.gamma, self.direction, self.hard_negatives, self.balanced
        )
        loss = Loss(relevance, settings, rng)
        loss.require_comparisons(relevance)
        making = (self.precision, self.device, theta.dtype, theta.shape[1])
        half = Maker(*making).kind(X.shape[0], Y.shape[0]) == "bfloat16"
        wanted = n_shares or (1 if client is None else max(1, len(client.nthreads())))
        edges = np.linspace(0, X.shape[0], min(wanted, X.shape[0]) + 1).astype(int).tolist()
        own = [(X[lo:hi], loss.of_rows(slice(lo, hi))) for lo, hi in pairwise(edges)]
        common = (Y, (self.shared, self.activation, half, making))
        rows: LocalRows | ClusterRows
        if client is None:
            rows = LocalRows(Share, own, common)
        else:
            rows = ClusterRows(Share, own, common, client, tick)

        def function(point: Array) -> tuple[float, Array]:
            tick()
            value, gradient = rows(point)
            if self.regularization:
                away = point - theta
                value += self.regularization / 2 * float(np.vdot(away, away))
                gradient += theta.dtype.type(self.regularization) * away
            return value, gradient

        try:
            yield from LBFGS(function, self.learning_rate or 0.01).iterate(theta)
        finally:
            rows.close()
