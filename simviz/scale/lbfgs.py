"""S2Net by L-BFGS with rows shared out: loss and gradient are summed, here or on workers."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import count, pairwise
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Array
from simviz.base import Matrix, nonzero_rows
from simviz.exceptions import JobError
from simviz.methods._linalg import Products
from simviz.methods._s2net_losses import BlockFactory, Loss
from simviz.methods._s2net_training import Network, Objective, active_rows, lbfgs
from simviz.methods._training import Watch
from simviz.methods.s2net import S2Net
from simviz.relevance import Relevance
from simviz.scale.dask import WorkerLost, scatter, subtrees, tree_reduce, with_retries
from simviz.scale.minibatches import fitted_as

if TYPE_CHECKING:
    from distributed import Client

M = TypeVar("M", bound=S2Net)
Make = Callable[..., Any]
Own = tuple[str, slice, Loss]  # a name, rows of X, and their share of the loss

#: Sums over all rows that are exchanged in the middle of an evaluation.
EXCHANGES = 2
_ATTEMPTS = 20  # evaluations in which one worker after another is lost
_LOOK_SECONDS = 0.2
#: Every how many looks workers are asked for, and how often in a row one may be paused.
_LOOKS, _MAX_PAUSES = 5, 60
_PIECES = 8  # of the parameters, at most: each is a message to every worker
_ENTRIES = 2**22  # of a block of data: 32 MB of float32 and their places
#: The shares of this process, by fit and name, with the step they wait at, and their data.
SHARES: dict[tuple[str, str], list[Any]] = {}
STORED: dict[tuple[str, str], Stored] = {}
_storing = Lock()  # workers may be threads of one process


def fit_s2net_lbfgs(
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
    # A worker that is killed costs the evaluation under way; the others get its rows. These and
    # all of Y lie on the disks of workers, which read 32 MB at a time, so that rows of several
    # workers fit into one. Memory of a worker: vectors of its rows and of Y with their
    # derivatives, parameters and a gradient, and a block of 64 MB (softmax: up to 400 MB of
    # scores).
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

    def __init__(
        self, X: Matrix | Products, Y: Matrix | Products, loss: Loss, how: tuple[Any, ...]
    ) -> None:
        shared, activation, intercept, half, making = how
        network = Network(X, Y, shared, activation, intercept=intercept, half=half)
        super().__init__(network, loss, BlockFactory(*making), lambda: None)


class _SharedOut(S2Net):
    """S2Net whose L-BFGS asks others for the gradient."""

    plan: tuple[Any, int | None]

    def _steps(
        self, data: tuple[Matrix, Matrix, Relevance], watch: Watch, rng: Any
    ) -> Iterator[tuple[float, Array]]:
        theta, tick = watch.best, watch.tick
        X, Y, relevance = active_rows(data, theta, self.shared, self.activation)
        client, n_shares = self.plan
        loss = Loss(relevance, self, rng)
        loss.require_comparisons(relevance)
        making = (self.precision, self.device, theta.dtype, theta.shape[1])
        half = BlockFactory(*making).kind(X.shape[0], Y.shape[0]) == "bfloat16"
        n_requested = n_shares or (1 if client is None else max(1, len(client.nthreads())))
        edges = np.linspace(0, X.shape[0], min(n_requested, X.shape[0]) + 1).astype(int).tolist()
        slices = [slice(*ends) for ends in pairwise(edges)]
        own = [(str(i), rows, loss.of_rows(rows)) for i, rows in enumerate(slices)]
        how = (self.shared, self.activation, self.fit_intercept, half, making)
        rows: LocalRows | ClusterRows
        if client is None:
            rows = LocalRows(Share, X, Y, own, how)
        else:
            rows = ClusterRows(Share, X, Y, own, how, client, tick)

        def function(point: Array) -> tuple[float, Array]:
            tick()
            value, gradient = rows(point)
            if self.regularization:
                away = point - theta
                value += self.regularization / 2 * float(np.vdot(away, away))
                gradient += theta.dtype.type(self.regularization) * away
            return value, gradient

        try:
            yield from lbfgs(function, theta, watch.rate)
        finally:
            rows.close()


class Stored(Products):
    """A matrix whose rows, and those of its transpose, are files; one at a time is in memory."""

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        from distributed import get_worker

        self.shape, self.dtype = shape, dtype
        self._folder = Path(mkdtemp(dir=get_worker().local_directory))
        weakref.finalize(self, rmtree, self._folder, ignore_errors=True)
        self._ends: tuple[list[int], list[int]] = [0], [0]
        self._known: list[NDArray[np.bool_]] = []

    @property
    def is_complete(self) -> bool:
        """Whether all is there."""
        return tuple(ends[-1] for ends in self._ends) == self.shape

    def append(self, turned: bool, start: int, block: Matrix) -> None:
        """Write further rows, or columns as rows, unless they are there."""
        ends = self._ends[turned]
        if start > ends[-1]:
            raise WorkerLost
        if start < ends[-1]:
            return
        arrays = (block.data, block.indices, block.indptr) if sp.issparse(block) else (block,)
        with (self._folder / f"{turned}-{start}").open("wb") as file:
            for array in arrays:
                np.save(file, array, allow_pickle=False)
        ends.append(start + block.shape[0])
        if not turned:
            self._known.append(nonzero_rows(block))

    def nonzero_rows(self) -> NDArray[np.bool_]:
        """Which rows hold anything but zeros."""
        return np.concatenate(self._known)

    def _product(self, B: Array, out: Array | None, half: bool, *, turned: bool) -> Array:
        if out is None:
            shape = self.shape[turned], B.shape[1]
            out = np.empty(shape, dtype=np.result_type(self.dtype, B.dtype))
        for start, stop in pairwise(self._ends[turned]):
            with (self._folder / f"{turned}-{start}").open("rb") as file:
                block = np.load(file, allow_pickle=False)
                if block.ndim == 1:
                    places = [np.load(file, allow_pickle=False) for _ in range(2)]
                    block = sp.csr_array((block, *places), (stop - start, len(B)))
            Products(block).matmat(B, out[start:stop], half=half)
        return out


def cut(Z: Matrix) -> Iterator[tuple[int, Matrix]]:
    """Some rows of a matrix after others, and where they begin."""
    ends = Z.indptr if sp.issparse(Z) else Z.shape[1] * np.arange(Z.shape[0] + 1)
    edges = np.searchsorted(ends, np.arange(0, ends[-1], _ENTRIES))
    for start, stop in pairwise(np.unique([0, *edges, Z.shape[0]]).tolist()):
        yield start, Z[start:stop]


def stored(token: str) -> list[str]:
    """Names of the data of a fit that this worker has."""
    return [name for (owner, name), data in STORED.items() if owner == token and data.is_complete]


def store(
    token: str, name: str, shape: tuple[int, int], turned: bool, start: int, block: Matrix
) -> None:
    """Write rows of data, or of their transpose, which stay on this worker."""
    with _storing:
        if (token, name) not in STORED:
            STORED[token, name] = Stored(shape, block.dtype)
        STORED[token, name].append(turned, start, block)


def build(token: str, name: str, make: Make, loss: Loss, how: tuple[Any, ...]) -> None:
    """Make a share, which stays on this worker, of data that are there."""
    if not {name, "y"} <= {*stored(token)}:
        raise WorkerLost
    data = STORED[token, name], STORED[token, "y"]
    SHARES[token, name] = [make(*data, loss, how), None, 0]


def begin(token: str, name: str, *pieces: Array) -> Array:
    """Start an evaluation of parameters that came in pieces; answers what is summed first."""
    if (token, name) not in SHARES:
        raise WorkerLost
    share = SHARES[token, name]
    theta = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    share[1], share[2] = share[0].steps(theta), 0
    return next(share[1])


def advance(token: str, name: str, step: int, *parts: Array) -> Any:
    """Go on with a sum over all; answers the next share of one, or loss and gradient."""
    share = SHARES.get((token, name))
    if share is None or share[2] != step:
        raise WorkerLost
    share[2] += 1
    try:
        return share[1].send(tree_reduce(parts, add))
    except StopIteration as end:
        return end.value


def drop(token: str) -> None:
    """Forget the shares of a fit and their data."""
    for cache in (SHARES, STORED):
        for name in [name for name in cache if name[0] == token]:
            cache.pop(name, None)


def add(a: Any, b: Any) -> Any:
    """Sum of two arrays, or of two pairs of loss and gradient."""
    return (a[0] + b[0], a[1] + b[1]) if isinstance(a, tuple) else a + b


class LocalRows:
    """All shares in this process, one after another."""

    def __init__(
        self, make: Make, X: Matrix, Y: Matrix, own: Sequence[Own], how: tuple[Any, ...]
    ) -> None:
        self._shares = [make(X[rows], Y, loss, how) for _, rows, loss in own]

    def __call__(self, theta: Array) -> tuple[float, Array]:
        """Loss and gradient, summed over all shares."""
        running = [share.steps(theta) for share in self._shares]
        answers: list[Any] = [next(steps) for steps in running]
        for _ in range(EXCHANGES):
            total, answers = tree_reduce(answers, add), []
            for steps in running:
                try:
                    answers.append(steps.send(total))
                except StopIteration as end:
                    answers.append(end.value)
        loss, gradient = tree_reduce(answers, add)
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
        self, make: Make, X: Matrix, Y: Matrix, own: Sequence[Own], how: tuple[Any, ...],
        client: Any, tick: Callable[[], None],
    ) -> None:  # fmt: skip
        self._make, self._X, self._Y, self._own, self._how = make, X, Y, own, how
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

        return with_retries(self._client, self._address, attempt, _ATTEMPTS)

    def close(self) -> None:
        """Let workers forget their shares."""
        with suppress(OSError, ValueError, AttributeError):  # the last: of a closed client
            self._client.run(drop, self._token)

    def _place(self) -> None:
        """Share out the rows, and send workers what they lack of them and of Y."""
        if not self._client.nthreads():
            self._client.wait_for_workers(1, timeout=60)
        has = self._client.run(stored, self._token)
        if not has:
            raise WorkerLost
        places: list[str] = []
        for name, rows, _ in self._own:
            # To who has them, else to who has fewest shares.
            holders = [place for place in has if name in has[place]]
            places.append(min(holders or has, key=lambda place: (places.count(place), place)))
            if not holders:
                self._store(name, self._X[rows], places[-1:])
        self._store("y", self._Y, [place for place in sorted({*places}) if "y" not in has[place]])
        built = [
            self._submit(build, name, self._make, self._send(loss, place), self._how, at=place)
            for (name, _, loss), place in zip(self._own, places, strict=True)
        ]
        self._wait(built, places)
        self._places = places

    def _store(self, name: str, Z: Matrix, places: list[str]) -> None:
        """Send data to some workers, a block at a time."""
        for turned in (False, True) if places else ():
            for start, block in cut(Products(Z).transpose if turned else Z):
                part = Z.shape, turned, start, self._send(block, places[0])
                self._wait([self._submit(store, name, *part, at=at) for at in places], places)

    def _evaluate(self, theta: Array) -> tuple[float, Array]:
        # Workers get the pieces that they lack from one another, all at once. (A broadcast
        # of Dask's waits for ever for a worker that is killed meanwhile.)
        places = sorted(set(self._places))
        pieces = self._scatter(np.array_split(theta, min(len(places), _PIECES)), places)
        at = [(name, place) for (name, *_), place in zip(self._own, self._places, strict=True)]
        answers = [self._submit(begin, name, *pieces, at=place) for name, place in at]
        for step in range(EXCHANGES):
            # The last two are joined by whoever needs the sum: that is one journey less.
            parts = subtrees(answers, self._add)
            answers = [self._submit(advance, name, step, *parts, at=place) for name, place in at]
        loss, gradient = tree_reduce(self._wait(subtrees(answers, self._add), places), add)
        return loss, gradient if gradient.flags.writeable else gradient.copy()

    def _submit(self, call: Callable[..., Any], name: str, *arguments: Any, at: str) -> Any:
        # There and nowhere else: others lack the share, and those without work would take it.
        return self._client.submit(call, self._token, name, *arguments, workers=[at], pure=False)

    def _add(self, a: Any, b: Any) -> Any:
        return self._client.submit(add, a, b, pure=False)

    def _send(self, data: Any, place: str) -> Any:
        return self._scatter([data], [place])[0]

    def _scatter(self, parts: list[Any], places: list[str]) -> list[Any]:
        return scatter(self._client, parts, workers=places, direct=self._direct)

    def _wait(self, futures: Any, places: list[str]) -> Any:
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
            if look % _LOOKS:
                continue
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
            if not workers.keys() >= {*places}:
                raise WorkerLost
            # Of this only Dask's log would tell.
            paused = [place for place in places if workers[place]["status"] == "paused"]
            n_paused = n_paused + 1 if paused else 0
            if n_paused == _MAX_PAUSES:
                raise JobError(
                    f"The worker at {paused[0]} is paused, because it has taken most of its "
                    "memory, so the fit cannot go on. Start more workers, or give them more "
                    "memory: each holds vectors of its rows of X and of all of y, with their "
                    "derivatives, parameters and a gradient."
                )
        return self._client.gather(futures, direct=self._direct)
