"""What training will cost, before it starts."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.base import EmbeddingModel, PairModel
from simviz.data import PairSet
from simviz.features import PretrainedImages, PretrainedText
from simviz.features.pretrained import encoding_seconds
from simviz.methods import get_method
from simviz.params import validate_params
from simviz.pipeline import Features, PairPipeline, default_pipeline, same_vocabulary
from simviz.projection.drawing import MAX_DRAWN, MAX_UNFOLDED

#: Longest training and largest memory that is accepted.
MAX_SECONDS = 3_600.0
MAX_BYTES = 8 * 2**30

# Measured on one core of a 2.x GHz server in 2026; good to a factor of about 3.
_FLOPS = 1.5e10  # decompositions, and dense products in double precision
_GEMM = 6e10  # dense products in single precision
_PRODUCT = 2e9  # multiply-adds of sparse with narrow dense blocks, compiled
_SPARSE = 4e8  # multiply-adds of sparse with dense
_RECURRENT = 3e10  # operations of a recurrent layer, forth and back
_TRIPLE = 1.2e-9  # seconds for each touched weight of a gradient step
_DENSE_ROW = 200  # entries of a row up to which triples are taken one by one
_PAIR = 4e-9  # to rank one pair
_NEIGHBOR = 7e-8  # to compare one pair of points of a map
_WHOLE_SIDE = 1_500  # all eigenvectors are found up to this side
_FACTOR_SIDE = 24_000  # what is whitened is factored up to this one
_BASIS = 3.5  # times as many directions are searched as are wanted
_SAMPLE = 300
_ENCODERS = (PretrainedText, PretrainedImages)
_ENCODED = 384  # length of the vectors of an encoder, and about that of a picture
_PICTURE = 0.12  # seconds that CLIP's ViT-B/32 takes for one
_GROWTH = 0.7  # vocabulary grows with texts to this power (Heaps' law)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What training will cost.

    Parameters
    ----------
    seconds : float
        From start to drawing.
    bytes : int
        Of memory, at the peak.
    reason_to_refuse : str or None
        Why it should not be started, and what to do instead.
    """

    seconds: float
    bytes: int
    reason_to_refuse: str | None = None


@dataclass(frozen=True, slots=True)
class _Size:
    """The problem a method meets: rows, columns and filled entries of each side."""

    n_x: int
    n_y: int
    d_x: int
    d_y: int
    nnz_x: float
    nnz_y: float
    n_pairs: int
    k: int
    max_iter: int

    @property
    def filled(self) -> float:
        return self.nnz_x + self.nnz_y


def estimate(
    method: str,
    pairs: PairSet,
    params: Mapping[str, Any] | None = None,
    features: Features = "usual",
) -> Estimate:
    """What training a method on a pair set will cost.

    Features are tried on a small sample of the items, the rest follows from
    counting operations.

    Parameters
    ----------
    method : str
        Id of a method.
    pairs : PairSet
        The whole data set.
    params : mapping, optional
        Parameters of the method.
    features : {"usual", "pretrained"} or str, default="usual"
        What texts and pictures become.

    Returns
    -------
    Estimate
        Right to a factor of about 3; a reason to refuse where the items do
        not suit the method or the cost is beyond `MAX_SECONDS` or the memory
        of the machine.

    Examples
    --------
    >>> words = [f"word {i}" for i in range(50)]
    >>> expected = estimate("cca", PairSet.from_texts(words, words))
    >>> expected.seconds < 5, expected.reason_to_refuse
    (True, None)
    """
    rng = np.random.default_rng(0)
    index = [_sample(len(side), rng) for side in (pairs.x, pairs.y)]
    params = dict(params or {})
    try:
        some = PairSet(
            pairs.x.take(index[0]), pairs.y.take(index[1]), pairs.relevance.take(*index)
        )
        if "shared" not in params and get_method(method).tags.space == "either":
            # Decided from all pairs: a sample may hold no relevant one.
            params["shared"] = same_vocabulary(pairs)
        pipeline = default_pipeline(method, some, features=features, **params)
        validate_params(pipeline.model)
        start = time.perf_counter()
        rows = _features(pipeline, some)
        # Fitted once, applied about twice more.
        seconds = 3 * (time.perf_counter() - start) + _encoding_seconds(pipeline, some)
    except (ValueError, TypeError) as error:
        return Estimate(0.0, 0, str(error))
    seconds *= (len(pairs.x) + len(pairs.y)) / (len(some.x) + len(some.y))
    model, size = pipeline.model, _size(pipeline, pairs, rows)
    seconds += _training_seconds(model, size) + _measuring_seconds(model, size)
    needed = int(_bytes(model, size) + _content_bytes(pairs))
    return Estimate(seconds, needed, _reason(model, seconds, needed))


def _sample(n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.arange(n) if n <= _SAMPLE else np.sort(rng.choice(n, _SAMPLE, replace=False))


def _features(pipeline: PairPipeline, some: PairSet) -> tuple[Any, Any]:
    """Return the rows of both sides of the sample."""

    def rows(features: Any, content: Any) -> Any:
        if isinstance(features, _ENCODERS):
            # Loading and asking an encoder would take longer than an estimate may.
            return np.ones((len(content), _ENCODED), dtype=np.float32)
        return features.fit_transform(content)

    x, y = some.x.content, some.y.content
    if pipeline.y_features is None and not isinstance(pipeline.x_features, _ENCODERS):
        fitted = pipeline.x_features.fit(np.concatenate([x, y]))
        return fitted.transform(x), fitted.transform(y)
    return rows(pipeline.x_features, x), rows(pipeline.y_features or pipeline.x_features, y)


def _encoding_seconds(pipeline: PairPipeline, some: PairSet) -> float:
    """Return the time to encode the sample; what was encoded once is remembered."""
    seconds = 0.0
    sides = (pipeline.x_features, pipeline.y_features or pipeline.x_features)
    for features, side in zip(sides, (some.x, some.y), strict=True):
        if isinstance(features, PretrainedText):
            seconds += encoding_seconds(side.content)
        elif isinstance(features, PretrainedImages):
            seconds += len(side) * _PICTURE
    return seconds


def _size(pipeline: PairPipeline, pairs: PairSet, rows: tuple[Any, Any]) -> _Size:
    """Grow the sample to the whole."""
    widths, filled = [], []
    for side, sample in zip((pairs.x, pairs.y), rows, strict=True):
        growth = len(side) / sample.shape[0]
        # Images and vectors keep their width; words keep coming.
        widths.append(
            int(sample.shape[1] * growth**_GROWTH)
            if side.kind in ("text", "keyword") and sp.issparse(sample)
            else sample.shape[1]
        )
        entries = sample.nnz if sp.issparse(sample) else np.count_nonzero(sample)
        filled.append(float(entries) * growth)
    params = pipeline.model.get_params(deep=False)
    return _Size(
        n_x=len(pairs.x),
        n_y=len(pairs.y),
        d_x=widths[0],
        d_y=widths[1],
        nnz_x=filled[0],
        nnz_y=filled[1],
        n_pairs=pairs.relevance.positives.nnz,
        k=int(params.get("n_components") or 50),
        max_iter=int(params.get("max_iter") or 50),
    )


def _spectral(size: _Size) -> float:
    """Decompose small sides whole, search the leading directions of others block by block."""
    width, n = size.d_x + size.d_y, max(size.n_x, size.n_y)
    # The slowest of the family whiten each side before they meet.
    sides = (min(size.n_x, size.d_x), min(size.n_y, size.d_y), min(n, width))
    products = 2 * _BASIS * size.k * (size.filled + size.n_pairs) / _PRODUCT
    return products + sum(_decomposition(side, size.k) for side in sides)


def _decomposition(side: int, k: int) -> float:
    if side <= _WHOLE_SIDE:
        return 6.0 * side**3 / _FLOPS
    basis = min(side, _BASIS * k)
    factored = min(side, _FACTOR_SIDE)
    flops = factored**3 + 4 * factored**2 * basis + 4 * side * basis**2
    return flops / _GEMM + 6.0 * basis**3 / _FLOPS


def _gradient(size: _Size) -> float:
    """Triples touch one x row and two y rows each; dense rows are projected once a batch."""
    row = min(size.nnz_x / size.n_x + 2 * size.nnz_y / size.n_y, _DENSE_ROW)
    steps = size.max_iter * max(20_000, size.n_pairs)
    return _spectral(size) + steps * (1e-6 + _TRIPLE * row * size.k)


def _batches(size: _Size, batch: int) -> float:
    """Each pair is compared with its batch, forth and back; half of the passes are made."""
    products = 6 * (size.filled + size.n_pairs) * size.k / _PRODUCT
    compared = 6.0 * size.n_pairs * min(batch, size.n_pairs) * size.k / _GEMM
    return _spectral(size) + 0.5 * size.max_iter * (products + compared)


def _metric(size: _Size, n_constraints: int) -> float:
    """Each pair costs a few products of a matrix with a vector; a third of the passes are made."""
    pairs = min(n_constraints, size.n_x * size.n_y)
    return _spectral(size) + size.max_iter / 3 * pairs * (1e-6 + 3 * size.k**2 / _FLOPS)


def _sequence(model: PairModel, size: _Size) -> float:
    """Each pass reads every query and a partner, step by step; half of the passes are made."""
    chosen: dict[str, Any] = model.settings()
    hidden = chosen["hidden_units"]
    wide = 2 * hidden  # what a layer reads from the two directions below it
    widths = [chosen["embedding_size"], *[wide] * (chosen["n_layers"] - 1)]
    weights = sum(2 * 4 * hidden * (width + hidden) for width in widths)
    weights += wide * chosen["embedding_size"] * chosen["convolution"]
    steps = min(chosen["max_length"], size.filled / (size.n_x + size.n_y))
    if chosen["padding"] == "fixed":
        steps = chosen["max_length"]
    # Two operations a weight, once forth and twice back.
    return 0.5 * size.max_iter * 2 * size.n_x * steps * 6 * weights / _RECURRENT


def _training_seconds(model: PairModel, size: _Size) -> float:
    params = model.get_params(deep=False)
    if hasattr(model, "settings"):  # a network that is trained, unlike a pretrained encoder
        return _sequence(model, size)
    if batch := params.get("batch_size"):
        return _batches(size, batch)
    if constraints := params.get("n_constraints"):
        return _metric(size, constraints)
    match model.tags.family:
        case "lexical":
            seconds = size.filled / _SPARSE
        case "spectral":
            seconds = _spectral(size)
        case "gradient":
            seconds = _gradient(size)
        case _:
            seconds = size.max_iter * (size.filled + size.n_pairs) * size.k / _SPARSE
    if landmarks := params.get("max_landmarks"):
        sides = [(n, min(n, landmarks)) for n in (size.n_x, size.n_y)]
        seconds += sum(6.0 * m**3 + 2.0 * n * m**2 for n, m in sides) / _FLOPS
    return seconds


def _measuring_seconds(model: PairModel, size: _Size) -> float:
    """Rank the queries of both held-out parts, three tenths, against all, and draw."""
    judged = 0.3 * size.n_x * size.n_y
    scoring = 3 * judged * _PAIR + 2 * judged * 2 * size.k / _FLOPS
    limit = MAX_DRAWN if isinstance(model, EmbeddingModel) else MAX_UNFOLDED
    points = min(size.n_x, limit) + min(size.n_y, limit)
    drawing = min(points, 4_000) * points * _NEIGHBOR + points * size.k**2 / _FLOPS
    if not isinstance(model, EmbeddingModel):
        drawing += min(size.n_x, limit) * min(size.n_y, limit) * 50 * 20 / _FLOPS
    return scoring + drawing


def _bytes(model: PairModel, size: _Size) -> float:
    rows = 4 * 12 * size.filled
    projections = 3 * 8 * (size.d_x + size.d_y + size.n_x + size.n_y) * size.k
    peak = rows + projections + 2**27
    if model.tags.family == "spectral":
        n, width = max(size.n_x, size.n_y), size.d_x + size.d_y
        peak += 2 * 4 * min(n, width) * _BASIS * size.k + 4 * 8 * _WHOLE_SIDE**2
        if "rank" in model.get_params(deep=False):
            for side in (min(size.n_x, size.d_x), min(size.n_y, size.d_y)):
                peak += 2 * 4 * min(side, _FACTOR_SIDE) ** 2
        if landmarks := model.get_params(deep=False).get("max_landmarks"):
            peak += sum(3 * 8 * n * min(n, landmarks) for n in (size.n_x, size.n_y))
    if not isinstance(model, EmbeddingModel):
        peak += 8 * min(size.n_x, MAX_UNFOLDED) * min(size.n_y, MAX_UNFOLDED)
    return peak


def _content_bytes(pairs: PairSet) -> int:
    size = 0
    for side in (pairs.x, pairs.y):
        if side.kind in ("text", "keyword"):
            size += sum(map(len, side.content))
        elif not sp.issparse(side.content):
            size += side.content.nbytes
    return 2 * size


def _reason(model: PairModel, seconds: float, needed: int) -> str | None:
    available = min(MAX_BYTES, _free_bytes())
    advice = "Take a sample of the data, fewer components, or a quicker method such as cl_lsi."
    if needed > available:
        return (
            f"{model.tags.title} would need about {needed / 1e9:.1f} GB of memory for these "
            f"data, and {available / 1e9:.1f} GB may be used. {advice}"
        )
    if seconds > MAX_SECONDS:
        return (
            f"{model.tags.title} would take about {seconds / 3_600:.1f} hours on these data; "
            f"jobs may take {MAX_SECONDS / 3_600:.0f}. {advice}"
        )
    return None


def _free_bytes() -> int:
    """Memory that is free on this machine; the ceiling where nobody tells."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return MAX_BYTES
