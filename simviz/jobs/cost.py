"""What training will cost, before it starts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from simviz.base import PairModel
from simviz.data import PairSet
from simviz.evaluation._tuning_fits import grouped
from simviz.evaluation.tuning import make_candidates
from simviz.features import PretrainedImages, PretrainedText
from simviz.features.pretrained import encoding_seconds
from simviz.jobs.memory import free_bytes
from simviz.methods import all_methods, get_method
from simviz.params import validate_params
from simviz.pipeline import Features, PairPipeline, default_pipeline, same_vocabulary

if TYPE_CHECKING:
    from simviz.jobs.spec import JobSpec

#: Stages of a training in their order.
STAGES = ("reading", "features", "training", "scoring")
#: Longest training and largest memory that is accepted.
MAX_SECONDS = 3_600.0
MAX_BYTES = 8 * 2**30

# Measured on one core of a 2.x GHz server in 2026.
_REFERENCE = 0.004  # seconds of what `_speed` times
_FLOPS = 3e10  # decompositions, and dense products in double precision
_GEMM = 6e10  # dense products in single precision
_PRODUCT = 2e9  # multiply-adds of sparse with narrow dense blocks, compiled
_SPARSE = 8e8  # multiply-adds of sparse with dense
_RECURRENT = 3e10  # operations of a recurrent layer, forth and back
_TRIPLE = 3e-10  # seconds for each touched weight of a gradient step
_MEETING = 3e-8  # seconds for each weight of a full matrix
_DENSE_ROW = 200  # entries of a row up to which triples are taken one by one
_PAIR = 4e-9  # to rank one pair
_WHOLE_SIDE = 1_500  # all eigenvectors are found up to this side
#: What is whitened is factored up to so many columns or rows, else by so many directions.
_FACTOR_SIDE, _FACTOR_ROWS, _DIRECTIONS = 24_000, 12_000, 200
_BASIS = 3.5  # times as many directions are searched as are wanted
#: Share of the items that are trained on.
_TRAINED = 0.7
_SAMPLE = 300
_TIME_FROM = 15.0  # seconds from which a network is timed, which takes one or two
_ENCODERS = (PretrainedText, PretrainedImages)
_ENCODED = 384  # length of the vectors of an encoder, and about that of a picture
#: Settings of a search of which so many are estimated; the others cost what lies between.
_MAX_ESTIMATED = 3
_RIDGE = "model__regularization"
_PICTURE = 0.12  # seconds that CLIP's ViT-B/32 takes for one
_GROWTH = 0.55  # vocabulary grows with texts to this power: .33 to .67 on 16 sides of 8 sets


@dataclass(frozen=True, slots=True)
class Cost:
    """What training will cost: seconds from start to figures, and bytes of memory at the peak.

    `reason_to_refuse` says why it should not be started, and what to do instead. `stages` have
    their seconds in order; of the planned passes a share of `passes` is expected to be made, 0
    where there are none.
    """

    seconds: float
    bytes: int
    reason_to_refuse: str | None = None
    stages: Mapping[str, float] = field(default_factory=lambda: dict.fromkeys(STAGES, 0.0))
    passes: float = 0.0


def estimate(
    method: str,
    pairs: PairSet,
    params: Mapping[str, Any] | None = None,
    features: Features = "usual",
) -> Cost:
    """What training a method on a whole data set will cost, right to a factor of about 3.

    Features are tried on a small sample of the items, the rest follows from counting
    operations. There is a reason to refuse where the items do not suit the method, or the cost
    is beyond `MAX_SECONDS` or the memory of the machine.

    Examples
    --------
    >>> words = [f"word {i}" for i in range(50)]
    >>> expected = estimate("cca", PairSet.from_texts(words, words))
    >>> expected.seconds < 5, expected.reason_to_refuse
    (True, None)
    """
    rng = np.random.default_rng(0)
    index = [
        np.sort(rng.choice(n, _SAMPLE, replace=False)) if n > _SAMPLE else np.arange(n)
        for n in pairs.shape
    ]
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
        if reason := pipeline.model.tags.why_missing():
            return Cost(0.0, 0, reason)
        start = time.thread_time()
        rows, encoding = _features(pipeline, some)
        # Fitted once, applied about once more.
        seconds = 2 * (time.thread_time() - start) + encoding
    except (ValueError, TypeError) as error:
        return Cost(0.0, 0, str(error))
    seconds *= (len(pairs.x) + len(pairs.y)) / (len(some.x) + len(some.y))
    model, size = pipeline.model, _size(pipeline, pairs, rows)
    n_x, n_y = (round(_TRAINED * n) for n in size.n)
    n_pairs, filled = round(_TRAINED * size.n_pairs), [_TRAINED * nnz for nnz in size.nnz]
    learned = replace(size, n=(n_x, n_y), n_pairs=n_pairs, nnz=(filled[0], filled[1]))
    # The queries of both held-out parts, three tenths, are ranked against all.
    judged = 0.3 * size.n[0] * size.n[1]
    stages = {
        "reading": 0.0,
        "features": seconds,
        "training": _speed() * _training_seconds(model, learned, rows),
        "scoring": _speed() * (3 * judged * _PAIR + 2 * judged * 2 * size.k / _FLOPS),
    }
    seconds = sum(stages.values())
    needed = int(_bytes(model, size) + _content_bytes(pairs))
    has_passes = "max_iter" in model.get_params(deep=False)
    passes = size.passes / size.max_iter if has_passes else 0.0
    return Cost(seconds, needed, _reason(model, seconds, needed), stages, passes)


def estimate_search(spec: JobSpec, pairs: PairSet) -> Cost:
    """What a search will cost: fits that settings share are counted once."""
    search: Mapping[str, Any] = spec.search or {}
    try:
        candidates = make_candidates(search["params"], search["n_iter"], spec.split.seed)
        pipeline = searched_pipeline(spec, pairs)
        groups = grouped(pipeline, candidates)
    except ValueError as error:
        return Cost(0.0, 0, str(error))
    # The largest setting of some groups, from the first to the last, stands for all.
    step = max(1, (len(groups) - 1) // (_MAX_ESTIMATED - 1))
    costs = []
    for group in groups[::step][:_MAX_ESTIMATED]:
        largest = dict(spec.params) | _largest([candidates[i] for i in group.members])
        costs.append(estimate(spec.method, pairs, largest, spec.features))
    # Ridges share a decomposition at best; where they do not, each is a fit.
    n_fits = sum(len({repr(own.get(_RIDGE)) for own in group.free}) for group in groups)
    if reason := next((c.reason_to_refuse for c in costs if c.reason_to_refuse), None):
        return Cost(0.0, 0, reason)
    share = 1 - spec.split.fractions[2]
    folds = search["folds"]
    share *= 1 if folds == 1 else (folds - 1) / folds
    mean = sum(cost.seconds for cost in costs) / len(costs)
    seconds = share / _TRAINED * mean * n_fits * folds
    advice = "Give fewer values or folds, or draw some at random."
    reason = why_too_long("This search would take", seconds, advice)
    return Cost(seconds, max(cost.bytes for cost in costs), reason)


def sum_costs(costs: Sequence[Cost], times: int) -> Cost:
    """What several trainings cost one after another, all of them so many times."""
    reason = next((cost.reason_to_refuse for cost in costs if cost.reason_to_refuse), None)
    seconds = times * sum(cost.seconds for cost in costs)
    return Cost(seconds, max(cost.bytes for cost in costs), reason)


def why_too_long(what: str, seconds: float, advice: str, on: str = "") -> str | None:
    """Why a job of so many seconds is refused; None where it is not."""
    if seconds <= MAX_SECONDS:
        return None
    hours, limit = seconds / 3_600, MAX_SECONDS / 3_600
    return f"{what} about {hours:.1f} hours{on}; jobs may take {limit:.0f}. {advice}"


def searched_pipeline(spec: JobSpec, pairs: PairSet) -> PairPipeline:
    """Return what a search begins with: a first value of each parameter that it varies."""
    first = {name: values[0] for name, values in (spec.search or {})["params"].items()}
    return default_pipeline(spec.method, pairs, features=spec.features, **{**spec.params, **first})


def _largest(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The most of each number among settings, else the first value."""
    largest = dict(settings[0])
    for setting in settings[1:]:
        for name, value in setting.items():
            both = (largest[name], value)
            if all(isinstance(v, int | float) for v in both):
                largest[name] = max(both)
    return largest


def _features(pipeline: PairPipeline, some: PairSet) -> tuple[list[Any], float]:
    """Return the rows of both sides of the sample, and the seconds that encoding it takes."""
    contents = pipeline.x_content(some.x), some.y.content
    if pipeline.y_features is None and not isinstance(pipeline.x_features, _ENCODERS):
        fitted = pipeline.x_features.fit(np.concatenate(contents))
        return [fitted.transform(content) for content in contents], 0.0
    rows, seconds = [], 0.0
    sides = pipeline.x_features, pipeline.y_features or pipeline.x_features
    for features, content in zip(sides, contents, strict=True):
        if not isinstance(features, _ENCODERS):
            rows.append(features.fit_transform(content))
            continue
        # Loading and asking an encoder would take longer than an estimate may.
        rows.append(np.ones((len(content), _ENCODED), dtype=np.float32))
        is_text = isinstance(features, PretrainedText)  # what was encoded once is remembered
        seconds += encoding_seconds(content) if is_text else len(content) * _PICTURE
    return rows, seconds


@dataclass(frozen=True, slots=True)
class _Size:
    """The problem a method meets; rows, columns and filled entries as (x, y)."""

    n: tuple[int, int]
    d: tuple[int, int]
    nnz: tuple[float, float]
    is_dense: tuple[bool, bool]
    n_pairs: int
    k: int
    max_iter: int

    @property
    def filled(self) -> float:
        return sum(self.nnz)

    @property
    def passes(self) -> float:
        """Passes that are made before one no longer helps."""
        return min(self.max_iter, max(20.0, self.max_iter / 2))

    @property
    def product(self) -> float:
        """Seconds of a product of all rows with one column."""
        rates = (_GEMM if dense else _PRODUCT for dense in self.is_dense)
        return sum(nnz / rate for nnz, rate in zip(self.nnz, rates, strict=True))

    @property
    def sides(self) -> list[int]:
        """What is decomposed to whiten each side."""
        return [min(n, d) for n, d in zip(self.n, self.d, strict=True)]

    @property
    def factors(self) -> list[int]:
        """Sides of the factors by which each side is whitened; 0 where there is none."""
        return [
            side if n <= _FACTOR_ROWS or d <= _FACTOR_SIDE else 0
            for side, n, d in zip(self.sides, self.n, self.d, strict=True)
        ]

    @property
    def joint(self) -> int:
        """What is decomposed where both sides meet."""
        return min(max(self.n), sum(self.d))


def _size(pipeline: PairPipeline, pairs: PairSet, rows: Sequence[Any]) -> _Size:
    """Grow the sample to the whole."""
    widths, filled = [], []
    for side, sample in zip((pairs.x, pairs.y), rows, strict=True):
        growth, is_sparse = len(side) / sample.shape[0], sp.issparse(sample)
        # Images and vectors keep their width; words keep coming.
        more = growth**_GROWTH if side.kind in ("text", "keyword") and is_sparse else 1
        widths.append(int(sample.shape[1] * more))
        filled.append(float(sample.nnz if is_sparse else np.count_nonzero(sample)) * growth)
    params = pipeline.model.get_params(deep=False)
    return _Size(
        n=pairs.shape,
        d=(widths[0], widths[1]),
        nnz=(filled[0], filled[1]),
        is_dense=(not sp.issparse(rows[0]), not sp.issparse(rows[1])),
        n_pairs=pairs.relevance.positives.nnz,
        k=int(params.get("n_components") or 50),
        max_iter=int(params.get("max_iter") or 50),
    )


def _training_seconds(model: PairModel, size: _Size, rows: Sequence[Any]) -> float:
    params = model.get_params(deep=False)
    n_pairs, k = size.n_pairs, size.k
    if hasattr(
        model, "seconds_per_text"
    ):  # a network that is trained, unlike a pretrained encoder
        return _network_seconds(model, size, rows)
    if batch := params.get("batch_size"):
        # Each pair is compared with its batch, forth and back.
        products = 6 * (size.product + n_pairs / _PRODUCT) * k
        compared = 6.0 * n_pairs * min(batch, n_pairs) * k / _GEMM
        return _start_seconds(params, size) + size.passes * (products + compared)
    if constraints := params.get("n_constraints"):
        # Each costs a few products of a matrix with a vector.
        constraints = min(constraints, size.n[0] * size.n[1])
        passes = size.passes * constraints * (1.5e-6 + 3 * k**2 / _FLOPS)
        return _start_seconds(params, size) + passes
    match model.tags.family:
        case "lexical":
            seconds = size.filled / _SPARSE
        case "spectral":
            seconds = _spectral_seconds(size, whitens="regularization" in params)
            seconds *= _ridge_fits(model, size)
        case "gradient":
            # Triples touch one x row and two y rows each; a full matrix, where both meet.
            x, y = (min(nnz / n, _DENSE_ROW) for nnz, n in zip(size.nnz, size.n, strict=True))
            step = _TRIPLE * (x + 2 * y) * k if "n_components" in params else _MEETING * x * y
            seconds = size.passes * max(20_000, n_pairs) * (1e-6 + step)
            if "init" in params:
                seconds += _spectral_seconds(size, whitens=False)
        case _:
            seconds = size.passes * (size.filled + n_pairs) * k / _SPARSE
    if landmarks := params.get("max_landmarks"):
        sides = [(n, min(n, landmarks)) for n in size.n]
        seconds += sum(6.0 * m**3 + 2.0 * n * m**2 for n, m in sides) / _FLOPS
        if params["x_kernel"] == "auto" or params["y_kernel"] == "auto":
            # Some 30 small fits choose, each of two kernels and what stands between them.
            seconds += 30 * 3 * 6.0 * min(400, *size.n) ** 3 / _FLOPS
    return seconds


def _spectral_seconds(size: _Size, *, whitens: bool = True) -> float:
    """Decompose small sides whole, search the leading directions of others block by block."""
    seconds = 5 * _BASIS * size.k * (size.product + size.n_pairs / _PRODUCT)
    if not whitens:
        basis = min(size.joint, _BASIS * size.k)
        return seconds + 4 * size.joint * basis**2 / _GEMM + 6.0 * basis**3 / _FLOPS
    # Each side is whitened before they meet.
    parts = [*zip(size.sides, size.factors, strict=True), (size.joint, max(size.factors))]
    for side, factored in parts:
        if side <= _WHOLE_SIDE:
            seconds += 6.0 * side**3 / _FLOPS
            continue
        basis = min(side, _BASIS * (size.k if factored else max(size.k, _DIRECTIONS)))
        flops = factored**3 + 4 * factored**2 * basis + 4 * side * basis**2
        seconds += flops / _GEMM + 6.0 * basis**3 / _FLOPS
    return seconds


def _start_seconds(params: Mapping[str, Any], size: _Size) -> float:
    init = params["init"]
    if isinstance(init, str):
        init = get_method(init)() if init in all_methods() else None
    return _spectral_seconds(size) * _ridge_fits(init, size)


def _ridge_fits(model: PairModel | None, size: _Size) -> int:
    """Fits of a model: one, and one more for each ridge that held-out items choose among."""
    is_searched = getattr(model, "regularization", 0) is None and all(size.is_dense)
    return 1 + len(getattr(model, "ridges", ())) * is_searched


def _network_seconds(model: Any, size: _Size, rows: Sequence[Any]) -> float:
    """Each pass reads every query and a partner, step by step."""
    hidden = model.hidden_units
    wide = 2 * hidden  # what a layer reads from the two directions below it
    widths = [model.embedding_size, *[wide] * (model.n_layers - 1)]
    weights = sum(2 * 4 * hidden * (width + hidden) for width in widths)
    weights += wide * model.embedding_size * model.convolution
    steps = model.max_length
    if model.padding != "fixed":
        steps = min(steps, size.filled / sum(size.n))
    # A seventh as many are watched, without gradients; all are encoded at the end.
    a_pass = 2 * size.n[0]
    texts = size.passes * a_pass * (1 + 1 / 21) + sum(size.n) / _TRAINED
    # Two operations a weight, once forth and twice back.
    counted = float(texts * steps * 6 * weights / _RECURRENT)
    # Steps over time depend on the machine: where they take long, a piece of them is timed.
    if counted < _TIME_FROM:
        return counted
    return float(texts * model.seconds_per_text(*rows, n_texts=a_pass))


@cache
def _speed() -> float:
    """Return how many times as long this machine takes as the one where the rest was measured."""
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((60, 60))  # too small for several threads
    rows = sp.random_array((2_000, 2_000), density=0.01, rng=rng, format="csr")
    seconds = []
    for _ in range(6):
        start = time.thread_time()
        for _ in range(5):
            np.linalg.svd(dense)
        rows @ rows[:200].T
        seconds.append(time.thread_time() - start)
    return min(seconds) / _REFERENCE


def _bytes(model: PairModel, size: _Size) -> float:
    params = model.get_params(deep=False)
    peak = 4 * 12 * size.filled + 2**27
    if model.tags.family != "lexical":  # which has no directions
        peak += 3 * 8 * (sum(size.d) + sum(size.n)) * size.k
    if budget := params.get("max_memory"):
        peak += min(20 * size.d[0] * size.d[1], budget * 2**20)
    if model.tags.family == "spectral":
        peak += 2 * 4 * size.joint * _BASIS * size.k + 4 * 8 * _WHOLE_SIDE**2
        if "rank" in params:
            for factored, d in zip(size.factors, size.d, strict=True):
                peak += 2 * 4 * (factored**2 or d * _BASIS * _DIRECTIONS)
        if landmarks := params.get("max_landmarks"):
            peak += sum(3 * 8 * n * min(n, landmarks) for n in size.n)
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
    available = max(0.0, min(MAX_BYTES, free_bytes()))
    advice = "Take a sample of the data, fewer components, or a quicker method such as cl_lsi."
    if needed > available:
        return (
            f"{model.tags.title} would need about {needed / 1e9:.1f} GB of memory for these "
            f"data, and {available / 1e9:.1f} GB may be used. {advice}"
        )
    return why_too_long(f"{model.tags.title} would take", seconds, advice, " on these data")
