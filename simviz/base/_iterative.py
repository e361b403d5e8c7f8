"""Fitting step by step, with a validation set to watch."""

from __future__ import annotations

from typing import Any

from simviz.base._rows import Matrix
from simviz.params import validate_params
from simviz.relevance import Relevance


class IterativeMixin:
    """For methods that learn step by step and may watch a validation set.

    Subclasses write ``_fit_iter(X, Y, relevance, validation)`` in place of
    ``_fit``; `validation` is None or the three arguments of `score`.
    """

    def fit(
        self: Any,
        X: Matrix,
        y: Matrix | None = None,
        relevance: object = None,
        X_val: Matrix | None = None,
        y_val: Matrix | None = None,
        relevance_val: object = None,
    ) -> Any:
        """Learn from both sides, stopping early where a validation set is given.

        Parameters
        ----------
        X, y : array or sparse matrix of shape (n_x, d_x) and (n_y, d_y)
            Training items, as in `PairModel.fit`.
        relevance : Relevance or sparse matrix of shape (n_x, n_y), optional
            Training judgments; None pairs row i with row i.
        X_val, y_val : array or sparse matrix, optional
            Items that are only watched; without them the fit runs to
            ``max_iter``.
        relevance_val : Relevance or sparse matrix, optional
            Their judgments; None pairs row i with row i.

        Returns
        -------
        self
            The same object.

        Raises
        ------
        ValueError
            If a parameter, a shape or a value does not fit.
        """
        validate_params(self)
        X, Y = self._check_sides(X, y, reset=True)
        validation = None
        if X_val is not None:
            X_val, y_val = self._check_sides(X_val, y_val, reset=False)
            validation = (X_val, y_val, relevance_val)
        relevance = Relevance.coerce(relevance, X.shape[0], Y.shape[0])
        self._fit_iter(X, Y, relevance, validation)
        return self

    def _fit(self: Any, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        self._fit_iter(X, Y, relevance, None)
