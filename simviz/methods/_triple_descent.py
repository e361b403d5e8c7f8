"""Passes over triples: progress, stopping, keeping the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simviz.base import IterativeMixin, Matrix
from simviz.methods._triples import Triples, TripleSource, same_items
from simviz.relevance import Relevance

_FLOPS_A_CHUNK = 2e8  # a fraction of a second, so that a wish to stop is heard
_FEWEST = 20_000  # triples of a pass


class TripleMixin(IterativeMixin):
    """For methods that descend on triples; they may be given one by one."""

    def fit(
        self: Any,
        X: Matrix,
        y: Matrix | None = None,
        relevance: object = None,
        X_val: Matrix | None = None,
        y_val: Matrix | None = None,
        relevance_val: object = None,
        *,
        triples: ArrayLike | None = None,
    ) -> Any:
        """Learn which items should score higher, stopping early on validation data.

        Parameters
        ----------
        X, y : array or sparse matrix of shape (n_x, d_x) and (n_y, d_y)
            Training items, as in `PairModel.fit`.
        relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
            Training judgments; None pairs row i with row i. Where both sides
            hold the same items and the judgments say more than that, they are
            links, and no item is compared with itself.
        X_val, y_val : array or sparse matrix, optional
            Items that are only watched; without them the fit runs to
            ``max_iter``.
        relevance_val : Relevance or sparse matrix, optional
            Their judgments; None pairs row i with row i.
        triples : array-like of int, shape (n, 3), optional
            Preferences that judgments cannot say: a row of `X`, the row of `y`
            that should score higher for it, and one that should score lower.
            Where they are given, they alone are learned from.

        Returns
        -------
        self
            The same object.

        Raises
        ------
        ValueError
            If a parameter, a shape or a value does not fit.
        """
        if triples is not None:
            n_x, n_y = np.shape(X)[0], np.shape(X if y is None else y)[0]
            self._given = _checked(triples, n_x, n_y)
            rows, better, _ = self._given.T
            relevance = Relevance.from_pairs(rows, better, shape=(n_x, n_y), unjudged="ignore")
        try:
            return super().fit(X, y, relevance, X_val, y_val, relevance_val)
        finally:
            vars(self).pop("_given", None)

    def _source(self: Any, X: Matrix, Y: Matrix, relevance: Relevance, group: int) -> TripleSource:
        links = not relevance.is_identity and same_items(X, Y)
        given = getattr(self, "_given", None)
        name = type(self).__name__
        return TripleSource(relevance, links=links, given=given, group=group, name=name)

    def _descend(
        self: Any,
        source: TripleSource,
        step: Callable[[Triples], float],
        flops: float,
        validation: tuple[Any, ...] | None,
        seed: int,
        learned: Callable[[], dict[str, NDArray[Any]]],
    ) -> None:
        """Make passes until none is better; `learned` names what a pass changes.

        Sets `loss_curve_`, `validation_scores_`, `n_iter_`, `best_iter_`.
        """
        self.loss_curve_: list[float] = []
        self.validation_scores_: list[float] = []
        kept: dict[str, NDArray[Any]] = {}
        best, self.best_iter_ = -np.inf, 0
        per_pass = max(_FEWEST, len(source))
        chunk = int(np.clip(_FLOPS_A_CHUNK / max(flops, 1), 50, _FEWEST))
        chunk = chunk // source.group * source.group
        for i in range(1, self.max_iter + 1):
            total, done, stopped = 0.0, 0, False
            while done < per_pass and not stopped:
                n = min(chunk or source.group, per_pass - done)
                total += step(source.draw(n, seed + i * 1_000_003 + done))
                if not np.isfinite(total):
                    raise self._diverged(i)
                done += n
                metrics = {"loss": total / done}
                if self.validation_scores_:
                    metrics["validation"] = self.validation_scores_[-1]
                stopped = self._notify(i - (done < per_pass), self.max_iter, **metrics)
            self.loss_curve_.append(total / done)
            self.n_iter_ = i
            now = learned()
            if not all(_bounded(array) for array in now.values()):
                raise self._diverged(i)
            vars(self).update(now)
            if validation is not None and not stopped:
                value = self._watched(validation, i)
                stopped = value is None
                if value is not None:
                    self.validation_scores_.append(value)
                if value is not None and value > best:
                    best, self.best_iter_ = value, i
                    kept = {name: array.copy() for name, array in now.items()}
            if stopped or (validation is not None and i - self.best_iter_ >= self.patience):
                break
        self.best_iter_ = self.best_iter_ or self.n_iter_
        vars(self).update(kept)

    def _diverged(self, step: int) -> ValueError:
        return ValueError(
            f"{type(self).__name__} diverged in pass {step}: its scores overflow. "
            "Take shorter steps, or scale the items (normalize=True)."
        )

    def _watched(self: Any, validation: tuple[Any, ...], step: int) -> float | None:
        """`score` on validation data; None where a callback asked to stop meanwhile."""
        self._watching = step
        try:
            return float(self.score(*validation))
        except _StopWatching:
            return None
        finally:
            del self._watching

    def iter_similarity(
        self: Any, X: Matrix, y: Matrix | None = None, block_size: int | None = None
    ) -> Iterator[NDArray[np.floating]]:
        """Similarities in blocks of rows, as in `PairModel.iter_similarity`.

        Parameters
        ----------
        X, y : matrices of shape (n_x, d_x) and (n_y, d_y)
            Queries and candidates.
        block_size : int, optional
            Rows of a block; by default about 16 MB of float32.

        Yields
        ------
        ndarray of shape (rows, n_y)
            Blocks in the order of the rows of `X`.
        """
        for block in super().iter_similarity(X, y, block_size):  # type: ignore[misc]
            yield block
            step = getattr(self, "_watching", None)
            if step is not None and self._notify(step, self.max_iter, loss=self.loss_curve_[-1]):
                raise _StopWatching


class _StopWatching(Exception):  # noqa: N818 -- a wish, not an error
    """A callback asked to stop while validation data were scored."""


def _bounded(array: NDArray[Any]) -> bool:
    """Whether scores made of such weights, two of which may be multiplied, are numbers."""
    limit = float(np.finfo(array.dtype).max) ** 0.25
    return bool(-limit < array.min(initial=0.0) <= array.max(initial=0.0) < limit)


def _checked(triples: ArrayLike, n_x: int, n_y: int) -> Triples:
    array = np.asarray(triples)
    if (
        array.ndim != 2
        or array.shape[1:] != (3,)
        or not len(array)
        or array.dtype.kind not in "iu"
    ):
        raise ValueError(
            "triples are rows of three whole numbers (row of X, better row of y, worse row of y); "
            f"got {array.dtype} of shape {array.shape}."
        )
    limits = (n_x, n_y, n_y)
    if array.min() < 0 or (array.max(axis=0) >= limits).any():
        raise ValueError(
            f"triples name rows of X up to {n_x - 1} and of y up to {n_y - 1}; got "
            f"{array.min(axis=0).tolist()} to {array.max(axis=0).tolist()}."
        )
    return array.astype(np.int32)
