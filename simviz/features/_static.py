"""Static sentence encoders in a folder: the mean of the vectors of a text's tokens.

A folder of model2vec (Tulkens & van Dongen 2024) holds ``model.safetensors`` with a vector for
each token, ``tokenizer.json`` and ``config.json``. It is read without torch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simviz._extras import require

STATIC = "A static encoder"
#: Files of a model, and the most bytes that are read of each.
_FILES = {"config.json": 2**20, "tokenizer.json": 2**26, "model.safetensors": 2**31}
_KIND, _MATRIX, _LONGEST = "model2vec", "embeddings", 512  # the last: tokens of a text


def is_static(folder: str) -> bool:
    """Whether a folder says that it holds a static model."""
    try:
        return _config(Path(folder)).get("model_type") == _KIND
    except (OSError, ValueError):
        return False


def _config(folder: Path) -> dict[str, Any]:
    config = json.loads(_file(folder, "config.json").read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError("config.json holds no object.")
    return config


def _file(folder: Path, name: str) -> Path:
    """A file of the model, unless it is too large to be one."""
    path = folder / name
    if not path.is_file():
        raise ValueError(f"{name} is not there.")
    if path.stat().st_size > _FILES[name]:
        raise ValueError(f"{name} has more than {_FILES[name]:,} bytes.")
    return path


class StaticModel:
    """A matrix with a vector for each token, and what finds the tokens of a text."""

    def __init__(self, folder: str) -> None:
        require("static", STATIC)
        from safetensors import SafetensorError, safe_open
        from tokenizers import Tokenizer

        where = Path(folder)
        try:
            with safe_open(_file(where, "model.safetensors"), framework="numpy") as tensors:
                if set(tensors.keys()) != {_MATRIX}:
                    raise ValueError(
                        f"model.safetensors holds {', '.join(sorted(tensors.keys()))[:80]}; a "
                        f"static model has one tensor, {_MATRIX}."
                    )
                rows = tensors.get_tensor(_MATRIX)
        except SafetensorError as error:
            raise ValueError(f"model.safetensors cannot be read: {error}") from error
        if rows.ndim != 2 or rows.dtype.kind != "f" or not rows.size:
            raise ValueError(
                f"{_MATRIX} is a matrix of floating numbers, got shape {rows.shape} of "
                f"{rows.dtype}."
            )
        self._rows = rows.astype(np.float32)
        if not np.isfinite(self._rows).all():
            raise ValueError(f"{_MATRIX} holds numbers that are not finite.")
        path = _file(where, "tokenizer.json")
        try:
            text = path.read_text(encoding="utf-8")
            self._tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # the library raises no narrower class
            raise ValueError(f"tokenizer.json cannot be read: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        if (n := self._tokenizer.get_vocab_size()) > len(rows):
            raise ValueError(f"tokenizer.json knows {n:,} tokens, {_MATRIX} has {len(rows):,}.")
        known = json.loads(text).get("model", {})
        self._unknown = self._tokenizer.token_to_id(str(known.get("unk_token")))

    def get_embedding_dimension(self) -> int:
        return int(self._rows.shape[1])

    def encode(self, texts: list[str], **_: Any) -> NDArray[np.float32]:
        """Mean vectors of length 1; zeros where no token is known."""
        vectors = np.zeros((len(texts), self._rows.shape[1]), dtype=np.float32)
        tokenized = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        for row, one in zip(vectors, tokenized, strict=True):
            if ids := [i for i in one.ids if i != self._unknown][:_LONGEST]:
                row[:] = self._rows[ids].mean(axis=0)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=vectors, where=lengths > 0)
