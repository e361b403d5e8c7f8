"""Similarity of texts by a Siamese recurrent network over characters."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from simviz.base import EmbeddingModel, IterativeMixin, Matrix, MethodTags
from simviz.base.stored import ITERATIONS, Declared, Size, StoredArray, StoredArrays
from simviz.methods._training import torch_device
from simviz.params import interval, options
from simviz.relevance import Relevance


@dataclass(eq=False, repr=False)
class SiameseBLSTM(IterativeMixin, EmbeddingModel):
    r"""One network reads short strings; pairs get similar vectors.

    For names, titles and the like: it reads character by character, no more of
    a text than `max_length`, and its time grows with their number.

    Characters pass through bidirectional recurrent layers; the mean of their states over time is
    projected to the vector of the text, and two texts are compared by the cosine :math:`E` of
    their vectors. The paper minimises :math:`\sum \tfrac14 (1 - E)^2` over pairs that belong
    together, plus :math:`\sum E^2 [E > m]` over pairs that do not.

    Parameters
    ----------
    n_components : int, default=128
        Length of the vector of a text.
    shared : bool, default=True
        Whether one network reads both sides; else each side has its own.
    n_layers : int, default=1
        Recurrent layers, one upon another.
    hidden_units : int, default=64
        Units of a layer in each direction.
    embedding_size : int, default=32
        Length of the vector of a character.
    convolution : int, default=0
        Characters that each unit of a convolution before the recurrent layers
        sees; 0 for no convolution.
    n_grams : int, default=8192
        Vectors that n-grams of two and three characters share by their hash.
        The mean of those of a text is added to what is projected from the
        recurrent layers; 0 for none, as in the paper.
    loss : {"softmax", "contrastive", "triplet"}, default="softmax"
        "softmax": a relevant pair against all others of a batch together, :math:`\log(1 + \sum
        e^{\gamma (E^- - E^+)})`. "contrastive": the paper's. "triplet": max(0, m − E⁺ + E⁻).
    negative_loss : {"above", "below", "always", "hinge"}, default="above"
        What a pair that does not belong together costs in the contrastive loss: E² where E > m; E²
        where E < m, as printed in the paper; E² at any E; or max(0, E − m)².
    margin : float, default=0.0
        Margin m of the contrastive and of the triplet loss; for the latter about 0.4 serves.
    gamma : float, default=10.0
        Slope γ of the softmax, its inverse temperature.
    n_negatives : int or None, default=None
        Negative pairs drawn for each relevant one, among the pairs of a batch; None takes all of
        them. In the contrastive loss they weigh at most 4 times as much as the relevant ones.
    near_groups : bool, default=False
        Whether batches are made of texts that the network takes for similar,
        so that negatives are hard. Each pass then begins by reading all texts.
    dropout : float, default=0.5
        Share of the units left out between layers, and before the projection.
    recurrent_dropout : float, default=0.0
        Share of the recurrent weights left out.
    character_dropout : float, default=0.1
        Share of the characters that are read as unknown in training, so that
        typos and new characters are nothing new.
    padding : {"none", "fixed"}, default="none"
        "none": as many steps as a text has characters. "fixed": `max_length` steps for every text,
        which begins at a random one in training and stands in the middle later.
    max_length : int, default=100
        Characters that are read of a text, by `default_pipeline` too; the time grows with it.
    learning_rate : float, default=0.002
        Length of a step of Adam.
    max_gradient : float or None, default=5.0
        Norm that gradients are clipped to; None clips none.
    averaging : bool, default=True
        Whether the parameters that are kept are a running average over about
        one pass; else those of its last step.
    batch_size : int, default=256
        Texts of a batch, about; fewer where that would leave less than 8 batches, but 64.
    max_iter : int, default=100
        Passes over all queries.
    patience : int, default=10
        Passes without a better validation score before stopping.
    validation_fraction : float, default=0.1
        Share of the x items, or of the side that a split divided, held out to stop early, where no
        validation set is given to `fit` and there would be at least 20 of them: whole groups,
        where both sides are made of the same texts.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the network runs; "auto" is a GPU where there is one.
    random_state : int, RandomState instance or None, default=0
        Seed of everything that is drawn. Results repeat to the last bit on
        one machine and processor; torch's global generator is not used.

    Attributes
    ----------
    x_weights_, y_weights_ : dict of str to ndarray
        Parameters of the network of each side by name; equal where `shared`.
    x_characters_, y_characters_ : ndarray of int
        Ids of the characters that training showed. Others are read as the unknown character.
    n_components_ : int
        Length of the vectors.
    n_iter_, best_iter_, loss_curve_, validation_scores_
        As of `simviz.methods.s2net.S2Net`, by passes.

    See Also
    --------
    simviz.methods.ngram_matcher.NgramMatcher : What the paper compares it with.
    simviz.methods.s2net.S2Net : A Siamese network of one linear layer.

    Notes
    -----
    Rows hold ids of characters (`simviz.features.Characters`), 0 for none. The paper prints E²
    where E < m for negatives. Then the most similar ones cost nothing, and there is no reason to
    move them apart: what is meant must be E > m, the default here. The embedding of characters,
    the output width, m, the rate and the batch size are not printed.

    The loop over time is the compiled one of torch, which has no dropout within it. The recurrent
    weights are thinned instead, once for every batch (DropConnect), and units between layers are
    left out for all steps at once. Texts of like lengths are read together, each turned round in
    itself for the backward direction, so that what stands behind its end changes nothing. In a
    batch every text is read once. Pairs judged not relevant are read in one batch where unjudged
    pairs are negative, too; of a query that has no others, these alone are negative.

    What the paper does not have are the vectors of n-grams, whose places in a table are found by
    hashing as in fastText. In one network they begin at random, so that before anything is learned
    texts are about as similar as their counts of n-grams; what is learned is a departure from
    there. They are off in the preset "paper", the network of the paper with its loss and its 100
    steps, for which a GPU is advised: validation stays about its start for up to a hundred passes,
    and rises for hundreds. The defaults learn in minutes on a common processor.

    References
    ----------
    Neculoiu, Versteegh & Rotaru (2016), Learning text similarity with Siamese
    recurrent networks. RepL4NLP, sections 3 and 4.

    Bojanowski, Grave, Joulin & Mikolov (2017), Enriching word vectors with
    subword information. TACL 5, section 3.2.

    Merity, Keskar & Socher (2018), Regularizing and optimizing LSTM language
    models. ICLR, section 3.

    Examples
    --------
    >>> from simviz.features import Characters
    >>> rng = np.random.default_rng(0)
    >>> words = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(30)]
    >>> one, two = [f"{word} one" for word in words], [f"two {word}" for word in words]
    >>> characters = Characters().fit([*one, *two])
    >>> X, Y = characters.transform(one), characters.transform(two)
    >>> model = SiameseBLSTM(16, hidden_units=16, max_iter=30).fit(X, Y)
    >>> round(model.score(X, Y), 1)
    1.0
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Siamese BLSTM",
        reference="Neculoiu et al. 2016",
        family="encoder",
        input="characters",
        space="either",
        uses="discriminative",
        stops_early=True,
        extra="neural",
    )
    presets: ClassVar = {
        "paper": {
            "n_layers": 4,
            "embedding_size": 64,
            "n_grams": 0,
            "loss": "contrastive",
            "n_negatives": 4,
            "dropout": 0.4,
            "recurrent_dropout": 0.2,
            "character_dropout": 0.02,
            "padding": "fixed",
            "learning_rate": 1e-3,
            "max_iter": 1000,
            "patience": 100,
        }
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_layers": [interval(Integral, 1, 16)],
        "hidden_units": [interval(Integral, 1, None)],
        "embedding_size": [interval(Integral, 1, None)],
        "convolution": [interval(Integral, 0, 15)],
        "n_grams": [interval(Integral, 0, 2**20)],
        "loss": [options("softmax", "contrastive", "triplet")],
        "negative_loss": [options("above", "below", "always", "hinge")],
        "margin": [interval(Real, -1, 1)],
        "gamma": [interval(Real, 0, 100, closed="right")],
        "n_negatives": [interval(Integral, 1, None), None],
        "near_groups": ["boolean"],
        "dropout": [interval(Real, 0, 1, closed="left")],
        "recurrent_dropout": [interval(Real, 0, 1, closed="left")],
        "character_dropout": [interval(Real, 0, 1, closed="left")],
        "padding": [options("none", "fixed")],
        "max_length": [interval(Integral, 1, 10_000)],
        "learning_rate": [interval(Real, 0, None, closed="neither")],
        "max_gradient": [interval(Real, 0, None, closed="neither"), None],
        "averaging": ["boolean"],
        "batch_size": [interval(Integral, 2, None)],
        "device": [options("cpu", "cuda", "auto")],
    }
    _stored: ClassVar[Declared] = {
        **ITERATIONS,
        "n_components": Size("components"),
        "x_characters_": StoredArray(("x_characters",), whole=True, empty=True),
        "y_characters_": StoredArray(("y_characters",), whole=True, empty=True),
        "x_weights_": lambda model: StoredArrays(model._shape().parts()),
        "y_weights_": lambda model: StoredArrays(model._shape().parts()),
    }

    n_components: int = 128
    _: KW_ONLY
    shared: bool = True
    n_layers: int = 1
    hidden_units: int = 64
    embedding_size: int = 32
    convolution: int = 0
    n_grams: int = 8192
    loss: str = "softmax"
    negative_loss: str = "above"
    margin: float = 0.0
    gamma: float = 10.0
    n_negatives: int | None = None
    near_groups: bool = False
    dropout: float = 0.5
    recurrent_dropout: float = 0.0
    character_dropout: float = 0.1
    padding: str = "none"
    max_length: int = 100
    learning_rate: float = 2e-3
    max_gradient: float | None = 5.0
    averaging: bool = True
    batch_size: int = 256
    max_iter: int = 100
    patience: int = 10
    validation_fraction: float = 0.1
    device: str = "cpu"
    random_state: Any = 0

    def seconds_per_text(self, X: Matrix, y: Matrix, n_texts: int) -> float:
        """Time that a pass of training takes for each text that it reads, here and now.

        Parameters
        ----------
        X, y : matrix
            Some items of both sides, about as long as all are; at most 64 of each are read.
        n_texts : int
            Texts of a pass, which decide how large batches are.

        Returns
        -------
        float
            Seconds, the median of three steps of training.
        """
        from simviz.methods._blstm_training import seconds_per_text

        return seconds_per_text(self, X, y, n_texts)

    def _fit_iter(self, X: Matrix, Y: Matrix, relevance: Relevance, validation: Any) -> None:
        from simviz.methods._blstm_training import prepare, train_network

        rng = check_random_state(self.random_state)
        data = prepare(self, (X, Y, relevance), validation, rng)
        self.x_characters_, self.y_characters_ = data.characters
        watch = train_network(self, self._reader(), data, X.dtype, rng)
        self._take(watch.best)
        watch.record(self)

    def _shape(self) -> Any:
        from simviz.methods._blstm_network import Shape

        known = max(len(self.x_characters_), len(self.y_characters_))
        sizes = self.embedding_size, self.convolution, self.n_layers, self.hidden_units
        return Shape(known + 1, *sizes, self.n_components, self.n_grams)

    def _reader(self) -> Any:
        from simviz.methods._blstm_training import Encoder

        fixed = self.max_length if self.padding == "fixed" else None
        return Encoder(self._shape(), fixed, torch_device(self.device))

    def _take(self, theta: Any) -> None:
        split = self._reader().split
        self.x_weights_, self.y_weights_ = split(theta[0]), split(theta[-1])
        self.n_components_ = self.n_components

    def _embed_x(self, X: Matrix) -> NDArray[np.floating]:
        return self._embed(X, self.x_weights_, self.x_characters_)

    def _embed_y(self, Y: Matrix) -> NDArray[np.floating]:
        return self._embed(Y, self.y_weights_, self.y_characters_)

    def _embed(self, X: Matrix, weights: Any, characters: Any) -> NDArray[np.floating]:
        from simviz.methods._blstm_network import as_texts, distinct, read_ids

        texts, (place,) = distinct([as_texts(read_ids(X, self.max_length), characters)])
        parts = {name: part.astype(X.dtype, copy=False) for name, part in weights.items()}
        tick = getattr(self, "_tick", lambda: None)
        return self._reader().vectors(parts, texts, tick)[place]

    @property
    def _one_space(self) -> bool:
        """Sequences need not be equally long to share a network."""
        return False

    def _check_sides(self, X: Matrix, y: Matrix | None, *, reset: bool) -> tuple[Matrix, Matrix]:
        """Validate both sides; equal widths are not asked for."""
        return super()._check_sides(X, X if y is None and self.shared else y, reset=reset)
