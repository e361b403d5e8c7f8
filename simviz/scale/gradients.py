"""S2Net by L-BFGS with rows shared out: loss and gradient are summed, here or on workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np

from simviz._types import Array
from simviz.base import Matrix
from simviz.exceptions import JobError
from simviz.methods._s2net_losses import Loss, Maker, Settings
from simviz.methods._s2net_training import LBFGS, Network, Objective, only_reached
from simviz.methods._training import Watch
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance
from simviz.scale.dask import WorkerLost, branches, repeated, scattered, tree
from simviz.scale.fit import fitted_as

if TYPE_CHECKING:
    from distributed import Client

M = TypeVar("M", bound=S2Net)
Make = Callable[..., Any]

#: Sums over all rows that are exchanged in the middle of an evaluation.
EXCHANGES = 2
_ATTEMPTS = 20  # evaluations in which one worker after another is lost
_LOOK_SECONDS = 0.2
#: Every how many looks workers are asked whether they are paused, and how often all may be.
_PAUSE_LOOKS, _MOST_PAUSES = 25, 12
_PIECES = 8  # of the parameters, at most: each is a message to every worker
#: The shares of this process, by fit and number, with the step they wait at.
SHARES: dict[tuple[str, int], list[Any]] = {}


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
    r"""Fit S2Net by L-BFGS with rows of X shared out among workers."""
    # "The gradient computation is easily parallelizable" (section 2.2 of the paper): the loss is
    # a sum over pairs of rows, so each worker keeps some rows of X and all of Y, computes P_B Qᵀ
    # for its block of rows, and what follows for the parameters. Two sums over columns, of some
    # bytes an item of the y side, and one of gradients go from worker to worker; parameters go
    # out once an evaluation. The start, the validation score and L-BFGS stay here.
    # A worker that is killed costs the evaluation under way. Memory of a worker: its rows and
    # all of Y as CSR, vectors of both, parameters and a gradient, and a block of 64 MB
    # (softmax: up to 400 MB of scores).
    if model.solver != "lbfgs":
        raise ValueError(
            f"solver={model.solver!r} takes many small steps, each too short to be divided among "
            "workers. Use solver='lbfgs', or fit."
        )
    fitting = _SharedOut(**model.get_params(deep=False))
    fitting.plan = (client, n_shares)
    return fitted_as(model, fitting, X, y, relevance, **validation)


class Share(Objective):
    """Rows of X against all of Y."""

    def __init__(self, X: Matrix, loss: Loss, Y: Matrix, how: tuple[Any, ...]) -> None:
        shared, activation, intercept, half, making = how
        network = Network(X, Y, shared, activation, intercept=intercept, half=half)
        super().__init__(network, loss, Maker(*making), lambda: None)


class _SharedOut(S2Net):
    """S2Net whose L-BFGS asks others for the gradient."""

    plan: tuple[Any, int | None]

    def _steps(
        self, data: tuple[Matrix, Matrix, Relevance], watch: Watch, rng: Any
    ) -> Iterator[tuple[float, Array]]:
        theta, tick = watch.best, watch.tick
        X, Y, relevance = only_reached(data, theta, self.shared, self.activation)
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
        common = (Y, (self.shared, self.activation, self.fit_intercept, half, making))
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
            yield from LBFGS(function, watch.rate).iterate(theta)
        finally:
            rows.close()


def build(token: str, i: int, make: Make, own: Any, common: Any) -> None:
    """Make a share, which stays on this worker."""
    SHARES[token, i] = [make(*own, *common), None, 0]


def begin(token: str, i: int, *pieces: Array) -> Array:
    """Start an evaluation of parameters that came in pieces; answers what is summed first."""
    if (token, i) not in SHARES:
        raise WorkerLost
    share = SHARES[token, i]
    theta = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    share[1], share[2] = share[0].steps(theta), 0
    return next(share[1])


def advance(token: str, i: int, step: int, *parts: Array) -> Any:
    """Go on with a sum over all; answers the next share of one, or loss and gradient."""
    share = SHARES.get((token, i))
    if share is None or share[2] != step:
        raise WorkerLost
    share[2] += 1
    try:
        return share[1].send(tree(parts, add))
    except StopIteration as end:
        return end.value


def drop(token: str) -> None:
    """Forget the shares of a fit."""
    for name in [name for name in SHARES if name[0] == token]:
        SHARES.pop(name, None)


def add(a: Any, b: Any) -> Any:
    """Sum of two arrays, or of two pairs of loss and gradient."""
    return (a[0] + b[0], a[1] + b[1]) if isinstance(a, tuple) else a + b


class LocalRows:
    """All shares in this process, one after another."""

    def __init__(self, make: Make, own: Sequence[tuple[Any, ...]], common: tuple[Any, ...]):
        self._shares = [make(*o, *common) for o in own]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Loss and gradient, summed over all shares."""
        running = [share.steps(theta) for share in self._shares]
        answers: list[Any] = [next(steps) for steps in running]
        for _ in range(EXCHANGES):
            total, answers = tree(answers, add), []
            for steps in running:
                try:
                    answers.append(steps.send(total))
                except StopIteration as end:
                    answers.append(end.value)
        loss, gradient = tree(answers, add)
        return loss, gradient

    def close(self) -> None:
        """Do nothing: it goes with its object."""


class ClusterRows:
    """Shares on the workers of a cluster, where their data stay."""

    # An evaluation is one graph of tasks: parameters are sent in pieces, one a worker, which
    # pass them on to one another; sums go from worker to worker by a tree, and loss and gradient
    # come back, by way of the scheduler only where workers cannot be reached. Where a worker is
    # lost, its shares are built anew on the others and the evaluation is repeated: shares are
    # summed in the same order wherever they are, so that the result is the same.

    def __init__(
        self, make: Make, own: Sequence[tuple[Any, ...]], common: tuple[Any, ...],
        client: Any, tick: Callable[[], None],
    ) -> None:  # fmt: skip
        self._make, self._own, self._common = make, own, common
        self._client, self._tick = client, tick
        self._direct = client.direct_to_workers is not False
        self._address = client.scheduler.address
        self._token = uuid4().hex
        self._places: list[str] = []

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Loss and gradient, summed over all shares."""

        def attempt() -> tuple[float, Array]:
            try:
                if not self._places:
                    self._place()
                return self._evaluate(theta)
            except Exception as reason:
                self._places = []
                self._direct &= not isinstance(reason, OSError)
                raise

        return repeated(self._client, self._address, attempt, _ATTEMPTS)

    def close(self) -> None:
        """Let workers forget their shares."""
        with suppress(OSError, ValueError, AttributeError):  # the last: of a closed client
            self._client.run(drop, self._token)

    def _place(self) -> None:
        """Send every worker its shares."""
        workers = sorted(self._client.nthreads())
        if not workers:
            self._client.wait_for_workers(1, timeout=60)
            workers = sorted(self._client.nthreads())
        places = [workers[i % len(workers)] for i in range(len(self._own))]
        common = self._send(self._common, places[:1])
        built = [
            self._submit(build, i, self._make, self._send(own, [place]), common, at=place)
            for i, (own, place) in enumerate(zip(self._own, places, strict=True))
        ]
        self._wait(built)
        self._places = places

    def _evaluate(self, theta: Array) -> tuple[float, Array]:
        # Workers get the pieces that they lack from one another, all at once. (A broadcast
        # of Dask's waits for ever for a worker that is killed meanwhile.)
        places = sorted(set(self._places))
        pieces = self._scatter(np.array_split(theta, min(len(places), _PIECES)), places)
        at = list(enumerate(self._places))
        answers = [self._submit(begin, i, *pieces, at=place) for i, place in at]
        for step in range(EXCHANGES):
            # The last two are joined by whoever needs the sum: that is one journey less.
            parts = branches(answers, self._add)
            answers = [self._submit(advance, i, step, *parts, at=place) for i, place in at]
        loss, gradient = tree(self._wait(branches(answers, self._add)), add)
        return loss, gradient if gradient.flags.writeable else gradient.copy()

    def _submit(self, call: Callable[..., Any], i: int, *arguments: Any, at: str) -> Any:
        # Elsewhere if that worker is gone: there the share is missed, which is noticed.
        where = {"workers": [at], "allow_other_workers": True, "pure": False}
        return self._client.submit(call, self._token, i, *arguments, **where)

    def _add(self, a: Any, b: Any) -> Any:
        return self._client.submit(add, a, b, pure=False)

    def _send(self, data: Any, places: list[str]) -> Any:
        return self._scatter([data], places)[0]

    def _scatter(self, parts: list[Any], places: list[str]) -> list[Any]:
        return scattered(self._client, parts, workers=places, direct=self._direct)

    def _wait(self, futures: Any) -> Any:
        """The results, listening meanwhile to who may want to stop."""
        from distributed import wait

        n_paused = 0
        for look in count(1):
            try:
                with self._client.as_current():
                    wait(futures, timeout=_LOOK_SECONDS)
                break
            except TimeoutError:
                self._tick()
            if look % _PAUSE_LOOKS == 0:
                n_paused = n_paused + 1 if self._are_paused() else 0
            if n_paused == _MOST_PAUSES:
                raise JobError(
                    "All workers of the cluster are paused, because each has taken most of its "
                    "memory, so the fit cannot go on. Start more workers, or give them more "
                    "memory: each holds its rows of X, all of y, parameters and a gradient."
                )
        return self._client.gather(futures, direct=self._direct)

    def _are_paused(self) -> bool:
        """Whether no worker takes tasks any more, of which only Dask's log would tell."""
        workers = self._client.scheduler_info()["workers"].values()
        return bool(workers) and all(worker["status"] == "paused" for worker in workers)
