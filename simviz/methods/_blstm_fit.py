"""From rows and judgments to the parameters that were best on a validation set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz.base import unit_rows
from simviz.methods._blstm_batches import Batches, hold_out_groups
from simviz.methods._blstm_network import Dropout
from simviz.methods._blstm_texts import Texts, as_texts, distinct, known_characters, read_ids
from simviz.methods._blstm_training import Goal, Reader, Trainer
from simviz.methods._s2net_watch import Stopped, Watch, hold_out, validation_sample
from simviz.methods._spectral import pair_weights
from simviz.relevance import Relevance

Index = NDArray[np.int64]

#: What parameters are that were left None.
PRESETS: dict[str, dict[str, Any]] = {
    "small": {
        "embedding_size": 32,
        "convolution": 0,
        "n_grams": 8192,
        "n_layers": 1,
        "hidden_units": 64,
        "dropout": 0.5,
        "recurrent_dropout": 0.0,
        "character_dropout": 0.1,
        "padding": "none",
        "loss": "softmax",
        "n_negatives": None,
        "learning_rate": 2e-3,
        "batch_size": 256,
    },
    "paper": {
        "embedding_size": 64,
        "convolution": 0,
        "n_grams": 0,
        "n_layers": 4,
        "hidden_units": 64,
        "dropout": 0.4,
        "recurrent_dropout": 0.2,
        "character_dropout": 0.02,
        "padding": "fixed",
        "loss": "contrastive",
        "n_negatives": 4,
        "learning_rate": 1e-3,
        "batch_size": 256,
    },
}


@dataclass(frozen=True, slots=True)
class Data:
    """What a fit learns from.

    Parameters
    ----------
    characters : list of ndarray
        Ids known to each side.
    texts : list of Texts
        What each network reads: one where it is shared.
    items : list of tuple
        For each side, which network reads it, and which of its texts each item is.
    relevance : Relevance
        Judgments between the items.
    validation : tuple or None
        What `score` takes.
    """

    characters: list[Index]
    texts: list[Texts]
    items: list[tuple[int, Index]]
    relevance: Relevance
    validation: Any

    @property
    def same(self) -> tuple[Index, Index] | None:
        """Numbers of the texts of both sides, where equal ones are equal texts."""
        return (self.items[0][1], self.items[1][1]) if len(self.texts) == 1 else None


def prepare(model: Any, data: tuple[Any, Any, Relevance], validation: Any, rng: Any) -> Data:
    """Read rows as texts, each once, and hold some out where none are given to watch.

    Parameters
    ----------
    model : SiameseBLSTM
        Its parameters are used.
    data : tuple
        Rows of both sides, and judgments.
    validation : tuple or None
        The same, to watch.
    rng : RandomState
        Draws what is held out.

    Returns
    -------
    Data
        Ready to learn from.
    """
    X, Y, relevance = data
    pair_weights(model, relevance)  # refuses judgments without any relevant pair
    ids = [read_ids(side, model.max_length) for side in (X, Y)]
    if model.shared:
        known = [known_characters(*ids)] * 2
        both, places = distinct([as_texts(side, known[0]) for side in ids])
        texts, items = [both], [(0, place) for place in places]
    else:
        known = [known_characters(side) for side in ids]
        found = [distinct([as_texts(*side)]) for side in zip(ids, known, strict=True)]
        texts = [side for side, _ in found]
        items = [(network, places[0]) for network, (_, places) in enumerate(found)]
    if validation is None:
        parts = None
        if model.shared:
            same = items[0][1], items[1][1]
            parts = hold_out_groups(relevance, same, model.validation_fraction, rng)
        parts = parts or hold_out(relevance, model.validation_fraction, rng)
        if parts is not None:
            *kept, x_held, y_held = parts
            validation = X[x_held], Y[y_held], relevance.take(x_held, y_held)
            relevance = relevance.take(*kept)
            items = [(network, place[k]) for (network, place), k in zip(items, kept, strict=True)]
    if validation is not None:
        validation = validation_sample(validation, rng)
    return Data(known, texts, items, relevance, validation)


def learn(model: Any, reader: Reader, data: Data, dtype: Any, rng: Any) -> Watch:
    """Go down from random parameters.

    Parameters
    ----------
    model : SiameseBLSTM
        Its parameters are used; its weights are set to be scored.
    reader : Reader
        Knows the network.
    data : Data
        From `prepare`.
    dtype : dtype
        Of the parameters.
    rng : RandomState
        Draws the start, batches, and what is left out.

    Returns
    -------
    Watch
        Knows the best parameters, one row a network.
    """
    import torch

    settings = model.settings()
    common = len(data.texts) == 1
    start = np.stack([reader.shape.start(rng, common=common) for _ in data.texts]).astype(dtype)
    dropout = Dropout(
        settings["dropout"],
        settings["recurrent_dropout"],
        settings["character_dropout"],
        torch.Generator(reader.device).manual_seed(int(rng.randint(2**31))),
    )
    goal = Goal(
        settings["loss"],
        settings["negative_loss"],
        settings["margin"],
        settings["gamma"],
        data.relevance.unjudged == "ignore",
    )
    batches = Batches(
        data.relevance, data.same, settings["batch_size"], settings["n_negatives"], rng
    )
    trainer = Trainer(
        reader, (data.texts, data.items), goal, settings["learning_rate"], dropout, rng
    )

    def score(theta: NDArray[Any]) -> float:
        model._take(theta)
        return float(model.score(*data.validation))

    def near(theta: NDArray[Any]) -> NDArray[Any] | None:
        if not settings["near_groups"]:
            return None
        network, place = data.items[0]
        arrays = reader.split(theta[network])
        return np.asarray(
            unit_rows(reader.vectors(arrays, data.texts[network], watch.tick))[place]
        )

    watch = Watch(
        start,
        model._notify,
        None if data.validation is None else score,
        (settings["max_iter"], settings["patience"]),
    )
    model._tick = watch.tick
    try:
        watch.start(tell=True)
        for loss, theta in trainer.iterate(start, batches, watch.tick, near):
            if watch.step(loss, theta):
                break
    except Stopped:
        pass
    finally:
        del model._tick
    return watch
