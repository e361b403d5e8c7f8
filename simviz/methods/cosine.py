"""Cosine of vectors, nothing learned."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simviz.base import EmbeddingModel, Matrix, MethodTags
from simviz.base.stored import Declared, Size
from simviz.relevance import Relevance


class Cosine(EmbeddingModel):
    r"""Cosine of vectors: what an encoder gives, nothing learned.

    :math:`\cos(x, y) = x^\top y / (\|x\| \|y\|)`, of vectors of one's own or those
    of a pretrained sentence encoder. It is the row that says what learning on one's
    own pairs adds to a model that was trained on a billion pairs of others.

    Attributes
    ----------
    n_components_ : int
        Length of a vector.
    n_features_in_ : int
        The same number.

    See Also
    --------
    simviz.features.PretrainedText : The encoder.
    simviz.methods.tfidf_cosine.TfidfCosine : The baseline on words.
    simviz.methods.ridge_identity.RidgeIdentity : Learns, and stays near it.

    Notes
    -----
    Linear methods trained on these vectors (``default_pipeline("s2net", pairs,
    features="pretrained")``) are adapters of the encoder: they leave it as it
    is and learn one matrix on top.

    References
    ----------
    Reimers & Gurevych (2019), Sentence-BERT: sentence embeddings using Siamese
    BERT-networks. EMNLP, 3982-3992.

    Examples
    --------
    >>> X = np.array([[3.0, 4.0], [0.0, 0.0]])
    >>> Cosine().fit(X).similarity(X, np.array([[1.0, 0.0]])).round(2).ravel()
    array([0.6, 0. ])
    """

    tags: ClassVar[MethodTags] = MethodTags(
        title="Cosine of vectors",
        reference="Reimers & Gurevych 2019",
        family="encoder",
        input="pretrained",
        space="one",
        uses="unsupervised",
    )

    _stored: ClassVar[Declared] = {"n_components_": Size("x_features")}

    def _fit(self, X: Matrix, Y: Matrix, relevance: Relevance) -> None:
        self.n_components_ = int(X.shape[1])

    def _embed_x(self, X: Matrix) -> NDArray[np.floating]:
        return self._dense(X)

    def _embed_y(self, Y: Matrix) -> NDArray[np.floating]:
        return self._dense(Y)

    @staticmethod
    def _dense(matrix: Matrix) -> NDArray[np.floating]:
        return matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
