"""Steps of Adam, and encoding, on texts of like lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.methods import _blstm_losses as losses
from simviz.methods._blstm_batches import Batch, Batches
from simviz.methods._blstm_network import Dropout, Shape, encode, threads_for
from simviz.methods._blstm_texts import UNKNOWN, Texts

Array = NDArray[np.floating]
Index = NDArray[np.int64]
Tick = Callable[[], None]

_CHUNK = 64  # texts of like lengths that are read together in training
_MANY = 256  # the same without gradients
_RATIO = 4  # of what negatives and positives weigh in the contrastive loss, at most
_LONGEST_STEP = 5.0  # norm that gradients are clipped to


@dataclass(frozen=True, slots=True)
class Goal:
    """What is minimised.

    Parameters
    ----------
    loss : {"softmax", "contrastive", "triplet"}
        Which loss.
    negative_loss : str
        Term of negative pairs of the contrastive loss.
    margin : float
        Of the contrastive and the triplet loss.
    scale : float
        Of the softmax.
    pooled : bool
        Whether pairs are compared with those of other rows: where only some
        pairs were judged, few rows have both kinds.
    """

    loss: str
    negative_loss: str
    margin: float
    scale: float
    pooled: bool

    def __call__(self, E: Any, P: Any, N: Any) -> Any:
        """Loss of cosines, given the weights of positive and negative pairs."""
        if self.loss == "contrastive":
            # All pairs of a batch are mostly negative: as many as are sampled weigh as much.
            N = N * (_RATIO * P.sum() / N.sum().clamp(min=1)).clamp(max=1)
            return losses.contrastive(E, P, N, self.negative_loss, self.margin)
        if self.pooled:
            E, P, N = (part.reshape(1, -1) for part in (E, P, N))
        way, width = {
            "softmax": (losses.softmax, self.scale),
            "triplet": (losses.triplet, self.margin),
        }[self.loss]
        if self.pooled:
            return way(E, P, N, width)
        return 0.5 * (way(E, P, N, width) + way(E.T, P.T, N.T, width))


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads texts by a network.

    Parameters
    ----------
    shape : Shape
        Of the network.
    fixed : int or None
        Steps of every text; None for as many as it has characters.
    device : str
        Where it runs.
    """

    shape: Shape
    fixed: int | None
    device: str

    def chunks(self, texts: Texts, rows: Index, size: int) -> Iterator[Index]:
        """Positions in `rows`, texts of like lengths together."""
        order = np.argsort(texts.lengths[rows], kind="stable")
        yield from np.array_split(order, max(1, -(-len(rows) // size)))

    def read(
        self,
        parts: Mapping[str, Any],
        texts: Texts,
        rows: Index,
        size: int,
        tick: Tick,
        noise: tuple[Dropout, Any] | None = None,
    ) -> Any:
        """Vectors of some texts, as a tensor (len(rows), k)."""
        import torch

        found, places = [], []
        for chunk in self.chunks(texts, rows, size):
            tick()
            dropout, rng = noise if noise is not None else (None, None)
            ids, lengths = (
                torch.from_numpy(part).to(self.device)
                for part in texts.steps(rows[chunk], self.fixed, rng)
            )
            if dropout is not None:
                ids = dropout.obscure(ids, UNKNOWN)
            with threads_for(ids.shape[1] * self.shape.hidden_units):
                found.append(encode(parts, self.shape, ids, lengths, dropout))
            if found[-1].requires_grad:
                # On the way back, which is the longer one, it can be stopped as well.
                found[-1].register_hook(lambda _: tick())
            places.append(chunk)
        back = np.argsort(np.concatenate(places), kind="stable")
        return torch.cat(found)[torch.from_numpy(back).to(self.device)]

    def split(self, theta: Array) -> dict[str, Array]:
        """Arrays of a network by name, from its flat vector."""
        import torch

        parts = self.shape.split(torch.from_numpy(np.ascontiguousarray(theta)))
        return {name: part.numpy() for name, part in parts.items()}

    def vectors(self, arrays: Mapping[str, Array], texts: Texts, tick: Tick) -> Array:
        """Vectors of all texts; a text without characters has zeros."""
        import torch

        with torch.inference_mode():
            parts = {k: torch.from_numpy(v).to(self.device) for k, v in arrays.items()}
            Z = self.read(parts, texts, np.arange(len(texts)), _MANY, tick).cpu().numpy()
        Z[texts.lengths == 0] = 0
        return np.asarray(Z)


def place_for(name: str) -> str:
    """The device that a parameter asks for."""
    if name == "cpu":
        return name
    import torch

    there = torch.cuda.is_available()
    if name == "cuda" and not there:
        raise ValueError(
            "device='cuda' needs a GPU that torch can use, and found none. "
            "Use device='auto' or 'cpu'."
        )
    return "cuda" if there else "cpu"


class Trainer:
    """Adam on batches of texts, and the running average of its points.

    Parameters
    ----------
    reader : Reader
        Of all networks: they have one shape.
    sides : tuple
        Texts of each network, and for each side which network reads it and
        which of its texts each item is.
    goal : Goal
        What is minimised.
    rate : float
        Length of a step.
    dropout : Dropout
        In training.
    rng : RandomState
        Draws where texts begin among the steps.
    """

    def __init__(
        self,
        reader: Reader,
        sides: tuple[list[Texts], list[tuple[int, Index]]],
        goal: Goal,
        rate: float,
        dropout: Dropout,
        rng: Any,
    ) -> None:
        self.reader, self.goal, self.rate = reader, goal, rate
        self.texts, self.items = sides
        self.noise = (dropout, rng)

    def loss(self, theta: Any, batch: Batch, tick: Tick) -> Any:
        """Loss of a batch as a tensor; `theta` holds one row a network."""
        import torch
        from torch.nn.functional import normalize

        wanted = [(network, place[rows]) for (network, place), rows in
                  zip(self.items, (batch.x, batch.y), strict=True)]  # fmt: skip
        vectors: list[Any] = [None, None]
        for network, texts in enumerate(self.texts):
            sides = [side for side in (0, 1) if wanted[side][0] == network]
            rows, place = np.unique(
                np.concatenate([wanted[side][1] for side in sides]), return_inverse=True
            )
            parts = self.reader.shape.split(theta[network])
            Z = normalize(self.reader.read(parts, texts, rows, _CHUNK, tick, self.noise))
            ends = np.cumsum([len(wanted[side][1]) for side in sides])[:-1]
            for side, at in zip(sides, np.split(place, ends), strict=True):
                vectors[side] = Z[torch.from_numpy(at).to(Z.device)]
        E = vectors[0] @ vectors[1].T
        P, N = (torch.from_numpy(w).to(E) for w in (batch.positive, batch.negative))
        return self.goal(E, P, N)

    def iterate(
        self, start: Array, batches: Batches, tick: Tick, near: Callable[[Array], Any]
    ) -> Iterator[tuple[float, Array]]:
        """Go through the batches again and again.

        Parameters
        ----------
        start : ndarray of shape (n_networks, size)
            Parameters to begin with; not changed.
        batches : Batches
            Of each pass.
        tick : callable
            Called before every chunk of texts.
        near : callable
            From parameters to what `Batches.epoch` takes.

        Yields
        ------
        loss : float
            Mean of the batches of a pass.
        point : ndarray of shape (n_networks, size)
            The running average, which the next pass changes in place.
        """
        import torch

        theta = torch.from_numpy(start.copy()).to(self.reader.device).requires_grad_()
        point = theta.detach()
        average, mean, square = point.clone(), torch.zeros_like(point), torch.zeros_like(point)
        step = 0
        while True:
            costs = []
            for batch in batches.epoch(near(average.cpu().numpy())):
                with threads_for(len(batch.positive) * self.reader.shape.hidden_units):
                    loss = self.loss(theta, batch, tick)
                    (gradient,) = torch.autograd.grad(loss, theta)
                step += 1
                norm = float(gradient.norm())
                gradient.mul_(min(1.0, _LONGEST_STEP / max(norm, 1e-12)))
                mean.lerp_(gradient, 0.1)
                square.lerp_(gradient.square(), 0.001)
                scale = (square / (1 - 0.999**step)).sqrt_().add_(1e-8)
                point.addcdiv_(mean, scale, value=-self.rate / (1 - 0.9**step))
                # The average looks back about one pass, but never at the very beginning.
                average.lerp_(point, max(1 / step, 1 / (1 + batches.n)))
                costs.append(float(loss.detach()))
            yield float(np.mean(costs)), average.cpu().numpy()
