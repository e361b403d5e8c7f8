"""What S2Net minimises, put together from judgments and parameters."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import scipy.sparse as sp

from simviz.methods._s2net_blocks import FloatBlocks
from simviz.methods._s2net_dense import AllOthers, Pairs, Softmax, Steps, Tick
from simviz.methods._s2net_kernels import HINGE, LOGISTIC, SOFTMAX
from simviz.methods._s2net_listed import Hardest, Listed, SquaredError
from simviz.relevance import Relevance

_KINDS = {"logistic": LOGISTIC, "triplet": HINGE, "softmax": SOFTMAX}


class Part(Protocol):
    """A sum of terms over comparisons."""

    total: float

    def add(self, blocks: FloatBlocks, scale: float, tick: Tick) -> float:
        """Add the gradient of ``scale`` times the sum to the blocks; return the sum."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What of the parameters a loss depends on; fields are named as these."""

    loss: str
    gamma: float
    direction: str
    hard_negatives: int | None
    balanced: bool


class Loss:
    """Mean loss over all comparisons that the judgments allow.

    Parameters
    ----------
    relevance : Relevance
        Judgments of the items at hand.
    settings : Settings
        Parameters.
    rng : RandomState
        Where groups of pairs have to be drawn.
    """

    def __init__(self, relevance: Relevance, settings: Settings, rng: Any) -> None:
        parts: list[Part] = list(_parts(relevance, settings, rng))
        self.parts = [part for part in parts if part.total > 0]
        self.total = sum(part.total for part in self.parts)

    def require_comparisons(self, relevance: Relevance) -> None:
        """Refuse judgments that allow no comparison at all."""
        if not self.total:
            raise ValueError(
                "S2Net compares relevant with other pairs; got "
                f"{relevance.positives.nnz} relevant and {relevance.negatives.nnz} judged not "
                f"relevant of {relevance.shape[0]} x {relevance.shape[1]} (1 sample has none to "
                "compare). Bring both kinds, or set unjudged='negative'."
            )

    def __call__(self, blocks: FloatBlocks, tick: Tick) -> float:
        """Add the gradient to the blocks and return the loss."""
        return sum(part.add(blocks, 1 / self.total, tick) for part in self.parts) / max(
            self.total, 1
        )

    def of_rows(self, rows: slice) -> Self:
        """The share of some rows in the same mean.

        Raises
        ------
        ValueError
            If it is a loss whose rows depend on one another by more than sums.
        """
        own = copy(self)
        own.parts = []
        for part in self.parts:
            if not isinstance(part, AllOthers | Softmax):
                raise ValueError(
                    "Rows are divided among workers for the losses 'logistic', 'softmax' and "
                    "'triplet' over all pairs that are not relevant; grades, judged pairs alone, "
                    "hard_negatives and 'mse' are computed on one machine. Use fit."
                )
            own.parts.append(part.of_rows(rows))
        return own

    def steps(self, blocks: FloatBlocks, tick: Tick) -> Steps[float]:
        """Add the gradient of the share of some rows and return their share of the loss."""
        value = 0.0
        for part in self.parts:
            value += yield from part.steps(blocks, 1 / self.total, tick)  # type: ignore[attr-defined]
        return value / max(self.total, 1)


def _parts(relevance: Relevance, settings: Settings, rng: Any) -> Any:
    if settings.loss == "mse":
        yield _squared_error(relevance)
        return
    # A hinge as wide as the logistic loss is: their slopes agree at both ends of it.
    margin = 2 / settings.gamma
    listed = (
        _KINDS[settings.loss],
        settings.gamma,
        margin,
        settings.direction,
        settings.balanced,
    )
    if relevance.unjudged == "ignore":
        yield Listed(relevance.matrix, listed, rng)
        return
    positives = relevance.positives
    if settings.hard_negatives is not None:
        yield Hardest(positives, settings.hard_negatives, listed)
    else:
        pairs = Pairs(positives, settings.direction, settings.balanced)
        if settings.loss == "softmax":
            yield Softmax(pairs, settings.gamma, settings.balanced)
        else:
            hinge = margin if settings.loss == "triplet" else None
            yield AllOthers(pairs, settings.gamma, hinge)
    if len(np.unique(positives.data)) > 1:
        # Higher grades stand above lower ones too.
        yield Listed(positives, listed, rng, pooled=False)


def _squared_error(relevance: Relevance) -> SquaredError:
    """Grades as similarities between 0 and 1; unjudged pairs as 0 or not at all."""
    matrix = relevance.matrix
    values = matrix.data
    if relevance.kind == "score":
        low, high = values.min(initial=0), values.max(initial=1)
        target = (values - low) / max(high - low, 1e-300)
    else:
        target = np.maximum(values, 0) / max(values.max(initial=0), 1e-300)
    others = 0.0
    if relevance.unjudged == "negative" and matrix.nnz:
        # All others together weigh as much as the listed pairs.
        others = matrix.nnz / max(1.0, np.prod(matrix.shape, dtype=float) - matrix.nnz)
    return SquaredError(
        sp.csr_array((target, matrix.indices, matrix.indptr), matrix.shape), others
    )
