"""Figure 1 of Wu, Xu and Li (2010): keywords and their pictures on one map."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Ints
from simviz.data import Items, PairSet
from simviz.evaluation import ChanceScorer, evaluate, paired_randomization
from simviz.evaluation.metrics import Precision
from simviz.exceptions import DatasetError
from simviz.experiments._bench import describe, tried
from simviz.experiments._experiment import Experiment, RunResult, Size
from simviz.experiments._findings import Cell, Claim, Series
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.pipeline import PairPipeline, default_pipeline
from simviz.projection import joint_map

#: Keywords more alike than this are other names of one thing.
_SYNONYM = 0.6
#: Mean similarity between two groups at most.
_APART = 0.05
_RARE, _FREQUENT = 8, 60
METHOD = "heterogeneous_svd"
_N_PICTURES, _SHUFFLES = 5, 10_000
_HITS = Precision(_N_PICTURES)
#: Pictures of the test that a keyword of the figure has at least.
_LEAST = 3
#: Ink of drawings, which can be read on a light ground and on a dark one.
_INK, _SIDE = (110, 120, 135), 48


def related_keywords(
    positives: sp.csr_array, allowed: NDArray[np.bool_], n_groups: int = 3, size: int = 7
) -> list[Ints]:
    """Find groups of related keywords, unrelated to each other."""
    # Two keywords are as similar as the cosine of the sets of pictures that they are given to.
    # From each keyword on a group grows by the one that is most similar to its members on
    # average; then the best groups are taken.
    # Only keywords given to 8 to 60 pictures take part, and no two of a group share more than
    # 0.6: names of one thing would make a group of one meaning.
    marks = sp.csr_array(positives, copy=True)
    marks.data = np.ones(len(marks.data))
    uses = np.diff(marks.indptr)
    some = np.flatnonzero(allowed & (uses >= _RARE) & (uses <= _FREQUENT))
    together = (marks[some] @ marks[some].T).toarray()
    cosine = together / np.sqrt(np.outer(uses[some], uses[some]))
    np.fill_diagonal(cosine, 0)
    grown = (_grown(cosine, seed, size) for seed in range(len(some)))
    chosen: list[Ints] = []
    for group in sorted(
        (group for group in grown if len(group) == size),
        key=lambda group: (-cosine[np.ix_(group, group)].sum(), group[0]),
    ):
        if len(chosen) < n_groups and all(
            not np.intersect1d(group, other).size and cosine[np.ix_(group, other)].mean() < _APART
            for other in chosen
        ):
            chosen.append(group)
    if len(chosen) < n_groups:
        raise DatasetError(
            f"There are {len(chosen)} groups of {size} related keywords that have {_RARE} to "
            f"{_FREQUENT} pictures each, not {n_groups}. Bring more annotated pictures."
        )
    return [some[group].astype(np.int64) for group in chosen]


def _grown(cosine: NDArray[np.float64], seed: int, size: int) -> Ints:
    """From one keyword on; shorter where nothing similar is left."""
    group = [seed]
    while len(group) < size:
        value = cosine[group].mean(axis=0)
        value[(cosine[group] > _SYNONYM).any(axis=0)] = 0
        value[group] = 0
        if not value.max() > 0:
            break
        group.append(int(value.argmax()))
    return np.array(group, dtype=np.int64)


class KeywordMap(Experiment[Parts]):
    """Three groups of seven keywords and their first five pictures, by scaling."""

    def suits(self, pairs: PairSet) -> bool:
        """Whether it can be run on pairs."""
        return pairs.x.kind == "keyword" and pairs.y.kind in ("image", "vector")

    def _run(
        self, data: Parts, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        seen = np.diff(data.test.relevance.positives.indptr) >= _LEAST
        groups = related_keywords(data.train.relevance.positives, seen)

        def make(**params: Any) -> tuple[PairPipeline, tuple[PairSet]]:
            return default_pipeline(METHOD, data.train, **params), (data.train,)

        def value(one: tuple[Any, PairPipeline]) -> float:
            return data.ranked(one[1], [_HITS], "validation", ["y2x"]).value(_HITS)

        every = tried(METHOD, self.grids[size][METHOD], make, progress.part(0, 0.9))
        params, model = max(every, key=value)
        progress("Drawing", 0.9)
        shown = data.test.take(np.concatenate(groups))
        scores = model.similarity(shown.x, shown.y)
        first = np.argsort(-scores, axis=1, kind="stable")[:, :_N_PICTURES]
        group = np.repeat(np.arange(len(groups)), len(groups[0]))
        near = np.unique(first)
        # A picture is of the group by most of whose keywords it is shown.
        shown_by = [near[:, None, None] == first[group == g] for g in range(len(groups))]
        of_pictures = np.argmax([hits.sum(axis=(1, 2)) for hits in shown_by], axis=0)
        pictures = shown.y.take(near)
        words, near_words = model.coordinates(shown.x, pictures)
        drawn = joint_map(words, near_words, "mds", quality=False)
        series = []
        for g in range(len(groups)):
            title = f"{', '.join(shown.x.labels[group == g][:3])} …"
            series += _series(title, shown.x, drawn.x, group == g)
            series += _series(f"pictures of {title}", pictures, drawn.y, of_pictures == g)
        nearest = _nearest(drawn.x, drawn.x), _nearest(drawn.y, drawn.x)
        shares: list[_Share] = [
            (group, lambda of: of[nearest[0]] == of, f"{len(group)} keywords"),
            (of_pictures, lambda of: group[nearest[1]] == of, f"{len(near)} pictures"),
        ]
        return RunResult(
            f"{data.describe()}; {len(data.test.y):,} pictures of the test may be shown",
            tables=[self.table("main", _rows(shown, first))],
            figures=[self.figure("map", series)],
            claims=self._claims(shown, model, shares, seed),
            notes=[
                *data.notes,
                f"Chosen by P@5 of the keywords of validation pictures: {describe(params)}.",
                *self.remarks,
            ],
        )

    def _claims(
        self, shown: PairSet, model: PairPipeline, shares: Sequence[_Share], seed: int
    ) -> list[Claim]:
        """Of the pictures that come first, and of shares that are higher than of other groups."""
        first, *others = self.claims
        rankings = (
            evaluate(scorer, shown, metrics=[_HITS], directions=["x2y"])
            for scorer in (model, ChanceScorer())
        )
        hits = paired_randomization(*(one.per_query(_HITS) for one in rankings))
        claims = [Claim.tested(first.said, hits, first.on, published=self.published_of(first))]
        rng = np.random.default_rng(seed)
        for spec, (group, share, counted) in zip(others, shares, strict=True):
            value = float(share(group).mean())
            shuffled = np.array([share(rng.permutation(group)).mean() for _ in range(_SHUFFLES)])
            mean, p = shuffled.mean(), (1 + (shuffled >= value - 1e-12).sum()) / (1 + _SHUFFLES)
            test = f"groups shuffled {_SHUFFLES:,} times (mean {mean:.3f}), {counted}"
            paper = self.published_of(spec)
            claims.append(Claim(spec.said, value, float(mean), spec.on, paper, test, float(p)))
        return claims


#: A group of each point, whether points are near their group, if it is so, and what was counted.
_Share = tuple[Ints, Callable[[Ints], NDArray[np.bool_]], str]


def _nearest(a: NDArray[np.float64], b: NDArray[np.float64]) -> Ints:
    """The nearest other point of each."""
    distance = np.linalg.norm(a[:, None] - b[None], axis=2)
    if a is b:
        np.fill_diagonal(distance, np.inf)
    return distance.argmin(axis=1)


def _series(
    label: str, items: Items, where: NDArray[np.float64], some: NDArray[np.bool_]
) -> list[Series]:
    """Some of the points as a series, if there are any, with their names and pictures."""
    shown, points = items.take(np.flatnonzero(some)), where[some]
    x, y = (tuple(points[:, axis].tolist()) for axis in (0, 1))
    pictures = tuple(map(_address, shown.content)) if items.kind == "image" else ()
    names = tuple(map(str, shown.labels))
    return [Series(label, x, y, names=names, pictures=pictures)] if len(x) else []


def _address(pixels: NDArray[np.uint8]) -> str:
    """A picture as a ``data:`` address."""
    from PIL import Image

    picture = Image.fromarray(pixels)
    if pixels.ndim == 2:  # a drawing: its ink on no ground
        strength = Image.fromarray(255 - pixels)
        picture = Image.new("RGBA", strength.size, _INK)
        picture.putalpha(strength)
    picture.thumbnail((_SIDE, _SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


def _rows(shown: PairSet, first: Ints) -> Iterator[dict[str, Cell]]:
    """The first pictures of each keyword."""
    relevant, names = shown.relevance.positives.toarray() > 0, shown.y.labels
    for word, has, order in zip(shown.x.labels, relevant, first, strict=True):
        five = ", ".join(f"{names[j]}{'*' if has[j] else ''}" for j in order)
        yield {"keyword": str(word), "pictures that have it": int(has.sum()), "first five": five}
