"""Vectors of pictures from a pretrained encoder of texts and pictures."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from simviz.callbacks import CallbackMixin
from simviz.exceptions import JobCancelled
from simviz.features import pretrained
from simviz.features.images import Pixels, check_images
from simviz.params import interval, validate_params

_CHUNK = 64  # pictures between two chances to stop


@dataclass(eq=False, repr=False)
class PretrainedImages(CallbackMixin, TransformerMixin, BaseEstimator):
    """Pictures as vectors of a pretrained encoder such as CLIP.

    Nothing is learned from the pictures. With `PretrainedText` of the same
    model on the other side, words and pictures lie in one space before
    anything is trained; CCA, heterogeneous SVD or S2Net on top adapt it to
    one's own pairs.

    Parameters
    ----------
    model : str, default="clip-ViT-B-32"
        Name of a sentence-transformers model that reads pictures, or a folder
        that holds one. It is looked for in the local cache of models and then
        downloaded; none comes along. Only weights in the safetensors format
        are read, and no code of a model is run.
    batch_size : int, default=32
        Pictures that are encoded at once.

    Attributes
    ----------
    n_dimensions_ : int
        Length of a vector.

    Raises
    ------
    ImportError
        From `fit`, if sentence-transformers is not installed.
    ValueError
        From `fit`, if a parameter is out of range, there is no such model, it
        reads no pictures, or the input is no array of pictures.
    JobCancelled
        If a callback asks to stop while pictures are encoded.

    Notes
    -----
    Rows have length 1. What was encoded once is kept in memory by its digest,
    in the same 256 MB as texts.

    References
    ----------
    Radford, A. et al. (2021). Learning transferable visual models from
    natural language supervision. ICML, 8748-8763.
    """

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name
        "model": [str],
        "batch_size": [interval(Integral, 1, None, closed="left")],
    }

    model: str = "clip-ViT-B-32"
    batch_size: int = 32

    def fit(self, X: Pixels, y: object = None) -> Self:
        """Load the encoder; the pictures teach it nothing.

        Parameters
        ----------
        X : ndarray of uint8, shape (n, height, width) or (n, height, width, 3)
            Pictures.
        y : object, optional
            Ignored.

        Returns
        -------
        PretrainedImages
            Itself.
        """
        validate_params(self)
        check_images(X, "PretrainedImages")
        encoder = pretrained._encoder(self.model)
        if not encoder.reads_images:
            raise ValueError(
                f"The model {self.model!r} reads texts only. Name one that reads pictures, such "
                "as 'clip-ViT-B-32'."
            )
        self.n_dimensions_ = encoder.width
        return self

    def transform(self, X: Pixels) -> NDArray[np.float32]:
        """Encode pictures.

        Parameters
        ----------
        X : ndarray of uint8, shape (n, height, width) or (n, height, width, 3)
            Pictures.

        Returns
        -------
        ndarray of float32, shape (n, n_dimensions_)
            Rows of length 1.
        """
        from PIL import Image

        check_is_fitted(self)
        images = check_images(X, "PretrainedImages")
        encoder = pretrained._encoder(self.model)
        keys = [encoder.key(_content(image)) for image in images]
        rows = np.empty((len(images), self.n_dimensions_), dtype=np.float32)
        missing = []
        for at, key in enumerate(keys):
            known = pretrained._CACHE.get(key)
            if known is None:
                missing.append(at)
            else:
                rows[at] = known
        for start in range(0, len(missing), _CHUNK):
            if self._notify(start, len(missing)):
                raise JobCancelled("Cancelled while pictures were encoded.")
            chunk = missing[start : start + _CHUNK]
            pictures = [Image.fromarray(images[at]).convert("RGB") for at in chunk]
            for at, row in zip(chunk, encoder.encode(pictures, self.batch_size), strict=True):
                rows[at] = row
                pretrained._CACHE.put(keys[at], row)
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names for the columns.

        Parameters
        ----------
        input_features : object, optional
            Ignored.

        Returns
        -------
        ndarray of str, shape (n_dimensions_,)
            "v0", "v1", ...
        """
        check_is_fitted(self)
        return np.array([f"v{i}" for i in range(self.n_dimensions_)], dtype=object)


def _content(image: NDArray[np.uint8]) -> bytes:
    """What a picture is, as bytes: no text begins so."""
    return (
        b"\0picture"
        + hashlib.blake2b(
            repr(image.shape).encode() + np.ascontiguousarray(image).tobytes(), digest_size=32
        ).digest()
    )
