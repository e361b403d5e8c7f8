"""Figure 1 of Wu, Xu and Li (2010): keywords and their pictures on one map."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz._types import Ints
from simviz.data import Items, PairSet
from simviz.evaluation import ChanceScorer, evaluate, paired_randomization
from simviz.evaluation.metrics import Precision
from simviz.exceptions import DatasetError
from simviz.experiments._experiment import Experiment, RunResult, Size, describe, tried
from simviz.experiments._findings import Cell, Claim, Figure, Series, Table
from simviz.experiments._parts import Parts
from simviz.experiments._progress import Progress
from simviz.experiments._published import PUBLISHED
from simviz.pipeline import PairPipeline, default_pipeline
from simviz.projection import joint_map

#: What the figure draws: keywords near related ones, and near pictures that have them.
_FIGURE_1 = "wxl", "figure 1", "nearness"
_WORDS = PUBLISHED.text_of(*_FIGURE_1, "related keywords", "ahead of", "other keywords")
_PICTURES = PUBLISHED.text_of(*_FIGURE_1, "pictures of a keyword", "ahead of", "other pictures")

#: Keywords more alike than this are other names of one thing.
_SYNONYM = 0.6
#: Mean similarity between two groups at most.
_APART = 0.05
_RARE, _FREQUENT = 8, 60
METHOD = "heterogeneous_svd"
_N_PICTURES, _SHUFFLES = 5, 10_000
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
    grown = [_grown(cosine, seed, size) for seed in range(len(some))]
    ranked = sorted(
        (group for group in grown if len(group) == size),
        key=lambda group: (-cosine[np.ix_(group, group)].sum(), group[0]),
    )
    chosen: list[Ints] = []
    for group in ranked:
        if all(
            not np.intersect1d(group, other).size and cosine[np.ix_(group, other)].mean() < _APART
            for other in chosen
        ):
            chosen.append(group)
        if len(chosen) == n_groups:
            return [some[group].astype(np.int64) for group in chosen]
    raise DatasetError(
        f"There are {len(chosen)} groups of {size} related keywords that have {_RARE} to "
        f"{_FREQUENT} pictures each, not {n_groups}. Bring more annotated pictures."
    )


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


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Points of the figure."""

    group: NDArray[np.int64]
    where: NDArray[np.float64]
    pictures: NDArray[np.int64]
    picture_group: NDArray[np.int64]
    picture_where: NDArray[np.float64]


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
        model, setting = _select_model(data, self.grids[size][METHOD], progress.part(0, 0.9))
        progress("Drawing", 0.9)
        keywords = np.concatenate(groups)
        shown = data.test.take(keywords)
        drawn = _drawn(model, shown, np.repeat(np.arange(len(groups)), len(groups[0])))
        return RunResult(
            f"{data.describe()}; {len(data.test.y):,} pictures of the test may be shown",
            tables=[_table(model, shown)],
            figures=[_figure(drawn, shown)],
            claims=_claims(model, shown, drawn, seed),
            notes=[
                *data.notes,
                f"Chosen by P@5 of the keywords of validation pictures: {setting}.",
                *self.remarks,
            ],
        )


def _select_model(
    data: Parts, grid: Mapping[str, Any], progress: Progress
) -> tuple[PairPipeline, str]:
    """Dimensions and weight of negatives, by keywords of validation pictures."""
    held = data.validation
    sides = held.x, held.y, held.relevance

    def make(**params: Any) -> tuple[PairPipeline, tuple[PairSet]]:
        return default_pipeline(METHOD, data.train, **params), (data.train,)

    def value(one: tuple[Any, PairPipeline]) -> float:
        evaluation = evaluate(one[1], *sides, [Precision(5)], directions=["y2x"])
        return evaluation.value(Precision(5), "y2x")

    params, model = max(tried(METHOD, grid, make, progress), key=value)
    return model, describe(params)


def _drawn(model: PairPipeline, shown: PairSet, group: NDArray[np.int64]) -> Drawn:
    order = _first(model, shown)
    pictures = np.unique(order)
    votes = np.zeros((len(pictures), group.max() + 1))
    np.add.at(votes, (np.searchsorted(pictures, order).ravel(), np.repeat(group, _N_PICTURES)), 1)
    sides = model.coordinates(shown.x, shown.y.take(pictures))
    drawn = joint_map(*sides, "mds", quality=False)
    return Drawn(group, drawn.x, pictures, votes.argmax(axis=1), drawn.y)


def _first(model: PairPipeline, shown: PairSet) -> NDArray[np.int64]:
    scores = model.similarity(shown.x, shown.y)
    return np.argsort(-scores, axis=1, kind="stable")[:, :_N_PICTURES].astype(np.int64)


def _figure(drawn: Drawn, shown: PairSet) -> Figure:
    """A series of words and one of pictures for each group."""
    words, names = shown.x.labels, shown.y.labels
    series = []
    for g in range(drawn.group.max() + 1):
        of, near = np.flatnonzero(drawn.group == g), np.flatnonzero(drawn.picture_group == g)
        title = ", ".join(words[of[:3]])
        series.append(
            Series(f"{title} …", *_points(drawn.where[of]), names=tuple(str(words[i]) for i in of))
        )
        if len(near):
            places = drawn.pictures[near]
            series.append(
                Series(
                    f"pictures of {title} …",
                    *_points(drawn.picture_where[near]),
                    names=tuple(str(names[i]) for i in places),
                    pictures=_pictures(shown.y.take(places)),
                )
            )
    return Figure(
        "Figure 1: keywords and their first pictures",
        "scatter",
        tuple(series),
        note="Classical multidimensional scaling of the learned space; a keyword and a picture "
        "lie near each other where the model finds them alike.",
    )


def _points(where: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(where[:, 0].tolist()), tuple(where[:, 1].tolist())


def _pictures(items: Items) -> tuple[str, ...]:
    """Each picture as a ``data:`` address; none where there are no pixels."""
    if items.kind != "image":
        return ()
    from PIL import Image

    addresses = []
    for pixels in items.content:
        picture = Image.fromarray(pixels)
        if pixels.ndim == 2:  # a drawing: its ink on no ground
            strength = Image.fromarray(255 - pixels)
            picture = Image.new("RGBA", strength.size, _INK)
            picture.putalpha(strength)
        picture.thumbnail((_SIDE, _SIDE))
        buffer = io.BytesIO()
        picture.save(buffer, format="PNG")
        code = base64.b64encode(buffer.getvalue()).decode("ascii")
        addresses.append(f"data:image/png;base64,{code}")
    return tuple(addresses)


def _table(model: PairPipeline, shown: PairSet) -> Table:
    relevant, names = shown.relevance.positives, shown.y.labels

    def row(i: int, order: NDArray[np.int64]) -> dict[str, Cell]:
        relevant_ids = set(relevant[[i]].indices.tolist())
        first = ", ".join(f"{names[j]}{'*' if int(j) in relevant_ids else ''}" for j in order)
        word = str(shown.x.labels[i])
        return {"keyword": word, "pictures that have it": len(relevant_ids), "first five": first}

    return Table.of(
        "The first five pictures of each keyword",
        (row(i, order) for i, order in enumerate(_first(model, shown))),
        "* has this keyword. Pictures are of the test.",
    )


def _claims(model: PairPipeline, shown: PairSet, drawn: Drawn, seed: int) -> list[Claim]:
    args = shown.x, shown.y, shown.relevance, [Precision(5)]
    related, chance = (
        evaluate(scorer, *args, directions=["x2y"]).per_query(Precision(5), "x2y")
        for scorer in (model, ChanceScorer())
    )
    n_words, n_pictures = len(drawn.group), len(drawn.pictures)
    rng = np.random.default_rng(seed)
    return [
        Claim.ahead(
            "The first five pictures have the keyword more often than by chance.",
            paired_randomization(related, chance),
            "P@5 of unseen pictures, learned − chance",
            published=_PICTURES,
        ),
        _together(
            "A keyword's nearest keyword is of its group more often than by chance.",
            "share of keywords whose nearest is of their group",
            lambda group: _same_nearest(drawn.where, drawn.where, group, group),
            drawn.group,
            _WORDS,
            f"{n_words} keywords",
            rng,
        ),
        _together(
            "A picture's nearest keyword is of the picture's group more often than by chance.",
            "share of pictures whose nearest keyword is of their group",
            lambda group: _same_nearest(drawn.picture_where, drawn.where, group, drawn.group),
            drawn.picture_group,
            _PICTURES,
            f"{n_pictures} pictures",
            rng,
        ),
    ]


def _together(
    statement: str,
    quantity: str,
    share: Callable[[NDArray[np.int64]], float],
    group: NDArray[np.int64],
    published: str,
    counted: str,
    rng: np.random.Generator,
) -> Claim:
    """Whether a share is higher than that of shuffled groups."""
    found = share(group)
    shuffled = np.array([share(rng.permutation(group)) for _ in range(_SHUFFLES)])
    p = float((1 + (shuffled >= found - 1e-12).sum()) / (1 + _SHUFFLES))
    return Claim(
        statement,
        found,
        float(shuffled.mean()),
        quantity,
        published,
        f"groups shuffled {_SHUFFLES:,} times (mean {shuffled.mean():.3f}), {counted}",
        p,
    )


def _same_nearest(
    a: NDArray[np.float64],
    b: NDArray[np.float64],
    a_group: NDArray[np.int64],
    b_group: NDArray[np.int64],
) -> float:
    """Share of points whose nearest other point on the map is of their group."""
    distance = np.linalg.norm(a[:, None] - b[None], axis=2)
    if a is b:
        np.fill_diagonal(distance, np.inf)
    return float((b_group[distance.argmin(axis=1)] == a_group).mean())
