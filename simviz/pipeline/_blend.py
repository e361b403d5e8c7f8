"""BlendPipeline: a learned similarity beside a lexical one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from simviz.callbacks import CallbackMixin
from simviz.data.items import Items
from simviz.data.pairs import PairSet
from simviz.exceptions import StoreError
from simviz.pipeline._pair import PairPipeline
from simviz.pipeline._parts import cannot_read, scored
from simviz.pipeline._scales import (
    Block,
    Mask,
    Normalization,
    check_normalization,
    filled_in,
    scaled,
)

_BLOCK_ENTRIES = 2**21  # two blocks of 8 MB of float32, and what is made of them
_SPREAD_ITEMS = 1_000  # items of a side from which the spread in training is taken
#: The parts of a blend.
ROLES = ("learned", "lexical")


class BlendPipeline(CallbackMixin, BaseEstimator):
    r"""A weighted sum of two pipelines: α · learned + (1 − α) · lexical.

    What was learned finds what shares no term; what is lexical finds rare
    terms, names and numbers, which no training pair explains. Where nothing
    was learned of an item, because its learned vector is zero, its lexical
    score stands for the learned one [1]_.

    Parameters
    ----------
    learned, lexical : PairPipeline or BlendPipeline
        The two parts, for the same kinds of items; clones are fitted. Any two
        pipelines do, whatever they learn.
    alpha : float, default=0.5
        Weight of the learned similarity, from 0 to 1. Choose it on
        validation pairs: see `simviz.evaluation.blends.blend_curve`.
    normalization : {"global_std", "none", "minmax_query", "z_query"}, default="global_std"
        How the two are brought to one scale: each divided by its standard
        deviation in training; as they are, which suits two cosines; or, for
        each x item, from 0 for the lowest score to 1 for the highest, or to
        mean 0 and standard deviation 1. With the last two a score depends on
        all the y items it is given with.

    Attributes
    ----------
    learned_, lexical_ : PairPipeline or BlendPipeline
        The fitted parts.
    spreads_ : tuple of float
        Standard deviation of both similarities in training.

    References
    ----------
    .. [1] W. Wu, J. Xu & H. Li. "Learning similarity function between objects
       in heterogeneous spaces." Microsoft Research technical report, 2010.

    Examples
    --------
    >>> from simviz.pipeline import default_pipeline
    >>> pairs = PairSet.from_texts(["red car", "blue sea"], ["a car in red", "the sea is blue"])
    >>> cca = default_pipeline("cca", pairs, n_components=1, shared=True)
    >>> blend = BlendPipeline(cca, default_pipeline("bm25", pairs), alpha=0.3).fit(pairs)
    >>> blend.similarity(pairs.x, pairs.y).argmax(axis=1)
    array([0, 1])
    """

    def __init__(
        self,
        learned: Pipeline,
        lexical: Pipeline,
        alpha: float = 0.5,
        *,
        normalization: Normalization = "global_std",
    ) -> None:
        self.learned = learned
        self.lexical = lexical
        self.alpha = alpha
        self.normalization = normalization

    def fit(self, pairs: PairSet, validation: PairSet | None = None) -> Self:
        """Train both parts.

        Parameters
        ----------
        pairs : PairSet
            Training pairs.
        validation : PairSet, optional
            Only watched, by methods that stop early.

        Returns
        -------
        self
            The same object.

        Raises
        ------
        ValueError
            If a parameter does not fit, or a part cannot read such items.
        """
        self.check_parameters()
        fitted: list[Pipeline] = []
        for role, part in zip(ROLES, (self.learned, self.lexical), strict=True):
            part = clone(part).set_callbacks(*getattr(self, "_callbacks", ()))
            try:
                fitted.append(part.fit(pairs, validation).set_callbacks())
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(cannot_read(role, pairs, error)) from error
        return self._joined(fitted[0], fitted[1], pairs)

    @classmethod
    def of(
        cls,
        learned: Pipeline,
        lexical: Pipeline,
        pairs: PairSet,
        alpha: float = 0.5,
        *,
        normalization: Normalization = "global_std",
    ) -> BlendPipeline:
        """Blend two pipelines that are trained already.

        Parameters
        ----------
        learned, lexical : PairPipeline or BlendPipeline
            Fitted; they are used as they are.
        pairs : PairSet
            Their training pairs, from which the spread of both is taken.
        alpha : float, default=0.5
            Weight of the learned similarity.
        normalization : str, default="global_std"
            As in the class.

        Returns
        -------
        BlendPipeline
            Fitted.

        Raises
        ------
        ValueError
            If a parameter does not fit, or a part cannot read such items.
        """
        for part in (learned, lexical):
            check_is_fitted(part)
        made = cls(clone(learned), clone(lexical), alpha, normalization=normalization)
        made.check_parameters()
        return made._joined(learned, lexical, pairs)

    def with_alpha(self, alpha: float) -> BlendPipeline:
        """The same parts with another weight.

        Parameters
        ----------
        alpha : float
            Weight of the learned similarity.

        Returns
        -------
        BlendPipeline
            Fitted, sharing the parts.

        Raises
        ------
        ValueError
            If it is no weight.
        """
        check_is_fitted(self)
        made = clone(self).set_params(alpha=alpha)
        made.check_parameters()
        made.learned_, made.lexical_, made.spreads_ = self.learned_, self.lexical_, self.spreads_
        return made

    def iter_parts(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, Block]]:
        """Both similarities on one scale, in blocks of rows.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.
        block_size : int, optional
            Rows of a block; by default about 8 MB of float32 a part.

        Yields
        ------
        learned, lexical : ndarray of shape (rows, n_y)
            The learned one is the lexical one where nothing was learned.
        """
        check_is_fitted(self)
        size = block_size or max(16, _BLOCK_ENTRIES // max(1, len(y)))
        x_known, y_known, learned_blocks = scored(self.learned_, x, y, size)
        *_, lexical_blocks = scored(self.lexical_, x, y, size)
        start = 0
        for learned, lexical in zip(learned_blocks, lexical_blocks, strict=True):
            stop = start + len(learned)
            learned = scaled(learned, self.normalization, self.spreads_[0])
            lexical = scaled(lexical, self.normalization, self.spreads_[1])
            yield filled_in(learned, lexical, x_known[start:stop], y_known), lexical
            start = stop

    def iter_similarity(
        self, x: Items, y: Items, block_size: int | None = None
    ) -> Iterator[NDArray[np.float64]]:
        """Similarities in blocks of rows, so that memory stays bounded.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.
        block_size : int, optional
            Rows of a block; by default about 8 MB of float32 a part.

        Yields
        ------
        ndarray of float64, shape (rows, n_y)
            Blocks in the order of the x items.
        """
        for learned, lexical in self.iter_parts(x, y, block_size=block_size):
            yield self.mixed(learned, lexical)

    def mixed(self, learned: Block, lexical: Block) -> NDArray[np.float64]:
        """Add both similarities with their weights.

        Parameters
        ----------
        learned, lexical : ndarray of one shape
            As `iter_parts` gives them.

        Returns
        -------
        ndarray of float64
            α · learned + (1 − α) · lexical.
        """
        return self.alpha * learned.astype(np.float64) + (1.0 - self.alpha) * lexical.astype(
            np.float64
        )

    def similarity(self, x: Items, y: Items) -> NDArray[np.float64]:
        """Similarities of all pairs of items, as one dense matrix.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        ndarray of float64, shape (n_x, n_y)
            Larger means closer.
        """
        return np.concatenate(list(self.iter_similarity(x, y)))

    def empty_share(self, x: Items, y: Items) -> tuple[float, float]:
        """Share of items of each side of which neither part knows anything.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        x_share, y_share : float
            From 0 to 1.
        """
        x_known, y_known = self.known(x, y)
        return float(1 - x_known.mean()), float(1 - y_known.mean())

    def known(self, x: Items, y: Items) -> tuple[Mask, Mask]:
        """Which items either part knows anything of.

        Parameters
        ----------
        x, y : Items
            Items of the two sides.

        Returns
        -------
        x_known, y_known : ndarray of bool
            One for each item.
        """
        check_is_fitted(self)
        parts = [scored(part, x, y, 1) for part in (self.learned_, self.lexical_)]
        return parts[0][0] | parts[1][0], parts[0][1] | parts[1][1]

    def save(self, path: str | Path) -> None:
        """Write both parts and how they are blended to one file of JSON and arrays.

        Parameters
        ----------
        path : str or Path
            File to write, by custom with the ending ``.simviz``.
        """
        from simviz.pipeline._storing import save_pipeline

        save_pipeline(self, path)

    @classmethod
    def load(cls, path: str | Path) -> BlendPipeline:
        """Read what `save` wrote.

        Parameters
        ----------
        path : str or Path
            File to read.

        Returns
        -------
        BlendPipeline
            Fitted, with the same similarities to the last bit.

        Raises
        ------
        StoreError
            If the file is not a saved blend.
        """
        from simviz.pipeline._storing import load_pipeline

        found = load_pipeline(path)
        if not isinstance(found, cls):
            raise StoreError(f"{path} holds one pipeline, not a blend. Load it with PairPipeline.")
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "spreads_")

    def check_parameters(self) -> None:
        """Refuse parameters that do not fit.

        Raises
        ------
        ValueError
            Saying which and what to do.
        """
        check_normalization(self.normalization)
        if isinstance(self.alpha, bool) or not 0 <= self.alpha <= 1:
            raise ValueError(
                f"alpha is the weight of the learned similarity: a number from 0 to 1, got "
                f"{self.alpha!r}."
            )
        for role, part in zip(ROLES, (self.learned, self.lexical), strict=True):
            if not isinstance(part, PairPipeline | BlendPipeline):
                raise ValueError(
                    f"The {role} part of a blend must be a pipeline, got a "
                    f"{type(part).__name__}. Make one with default_pipeline, which adds the "
                    "features."
                )

    def _joined(self, learned: Pipeline, lexical: Pipeline, pairs: PairSet) -> Self:
        """Take fitted parts over, and note how far their scores spread in training."""
        rng = np.random.default_rng(0)
        x, y = (
            side.take(np.sort(rng.permutation(len(side))[:_SPREAD_ITEMS]))
            for side in (pairs.x, pairs.y)
        )
        spreads = []
        for role, part in zip(ROLES, (learned, lexical), strict=True):
            try:
                told = part.similarity(x, y)
            except (ValueError, TypeError, AttributeError) as error:
                raise ValueError(cannot_read(role, pairs, error)) from error
            spread = float(np.std(told, dtype=np.float64))
            spreads.append(spread if np.ptp(told) > 0 and spread > 0 else 1.0)
        self.learned_, self.lexical_ = learned, lexical
        self.spreads_ = (spreads[0], spreads[1])
        return self


Pipeline: TypeAlias = PairPipeline | BlendPipeline
