"""Rankings alone and blended: settings and weights chosen on validation pairs, then one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from simviz.callbacks import Callback
from simviz.data import Items, PairSet
from simviz.evaluation.blends import BlendCurve, blend_curve
from simviz.evaluation.metrics import MAP, Metric, Precision, RankLoss
from simviz.evaluation.result import Evaluation
from simviz.evaluation.scoring import evaluate
from simviz.evaluation.significance import Comparison
from simviz.experiments._experiment import Experiment, RunResult, Size, describe, tried
from simviz.experiments._findings import Claim, Table, claims_ahead
from simviz.experiments._progress import Progress
from simviz.experiments._published import PUBLISHED
from simviz.features import Vectors
from simviz.features.text import term_weights
from simviz.methods import get_method
from simviz.pipeline import BlendPipeline, PairPipeline

Block = NDArray[np.floating[Any]]

#: Weights of the learned scores that are tried.
ALPHAS = np.linspace(0.0, 1.0, 21)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Queries, what is ranked for them, and what is relevant."""

    pairs: PairSet
    one_collection: bool = False

    def evaluate(
        self, scorer: Any, metrics: Sequence[Metric], callback: Callback | None = None
    ) -> Evaluation:
        """Rank y items for every x item."""
        scorer = WithoutItself(scorer) if self.one_collection else scorer
        sides = self.pairs.x, self.pairs.y, self.pairs.relevance
        return evaluate(scorer, *sides, metrics, directions=["x2y"], callback=callback)

    def curve(
        self, blend: BlendPipeline, metric: Metric, callback: Callback | None = None
    ) -> BlendCurve:
        """A metric at each weight of `ALPHAS`."""
        scorer: Any = WithoutItself(blend) if self.one_collection else blend
        sides = self.pairs.x, self.pairs.y, self.pairs.relevance
        return blend_curve(
            scorer, *sides, ALPHAS, metrics=[metric], directions=["x2y"], callback=callback
        )


class WithoutItself:
    """Scores in which an item never is an answer to itself."""

    def __init__(self, scorer: Any) -> None:
        self._scorer = scorer

    def iter_similarity(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[Block]:
        """Similarities in blocks of rows, an item's own below all others of its row."""
        blocks = self._scorer.iter_similarity(x, y, block_size=block_size)
        return (block for (block,) in _lowered(((block,) for block in blocks), x, y))

    def iter_parts(
        self, x: Items, y: Items, /, *, block_size: int | None = None
    ) -> Iterator[tuple[Block, ...]]:
        """Both similarities of a blend, treated in the same way."""
        return _lowered(self._scorer.iter_parts(x, y, block_size=block_size), x, y)


def _lowered(blocks: Iterator[tuple[Block, ...]], x: Items, y: Items) -> Iterator[Any]:
    """Blocks in which an item's own similarity is below all others of its row."""
    place = {name: j for j, name in enumerate(y.ids)}
    own = np.array([place.get(name, -1) for name in x.ids], dtype=np.int64)
    start = 0
    for parts in blocks:
        columns = own[start : start + len(parts[0])]
        rows = np.flatnonzero(columns >= 0)
        lowered = tuple(part.copy() for part in parts)
        for part in lowered:
            # A finite number, which any weight keeps below all others of its row.
            part[rows, columns[rows]] = part[rows].min(axis=1) - 1
        yield lowered
        start += len(columns)


class TermWeights(Vectors):
    """Counts as weights: what `tf` makes of each, times idf, in rows of length 1."""

    def __init__(self, idf: NDArray[np.float64], tf: str = "log1p") -> None:
        super().__init__(normalize=True)
        self.idf = idf
        self.tf = tf

    def transform(self, X: sp.csr_array) -> sp.csr_array:
        """Weigh counts."""
        weighed = sp.csr_array(X, dtype=np.float64, copy=True)
        weighed.eliminate_zeros()
        weighed.data = term_weights(self.tf)(weighed.data) * self.idf[weighed.indices]
        weighed.eliminate_zeros()
        return sp.csr_array(super().transform(weighed), dtype=np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Pairs to learn from, and queries to choose by and to test on.

    `mates` are counterparts across languages, where these are not what is learned.
    """

    name: str
    train: PairSet
    validation: HeldOut
    test: HeldOut
    about: str
    notes: tuple[str, ...] = ()
    mates: PairSet | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What a scorer reaches on test queries, with what validation chose."""

    result: Evaluation
    chosen: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """What validation chose."""

    setting: str
    learned: PairPipeline
    value: float
    alpha: float
    blend: BlendPipeline
    blend_setting: str
    blend_value: float


def choose(
    candidates: Mapping[str, PairPipeline],
    lexical: PairPipeline,
    train: PairSet,
    validation: HeldOut,
    metric: Metric,
    callback: Callback | None = None,
) -> Chosen:
    """Choose a setting alone, and a setting and a weight for the blend."""
    if not candidates:
        raise ValueError("There is nothing to choose from. Bring at least one setting.")
    sign = 1.0 if metric.higher_is_better else -1.0
    blends = {
        setting: BlendPipeline.of(pipeline, lexical, train, normalization="global_std")
        for setting, pipeline in candidates.items()
    }
    curves = {s: validation.curve(blend, metric, callback) for s, blend in blends.items()}
    values = {setting: sign * curve.values() for setting, curve in curves.items()}
    alone = max(values, key=lambda setting: values[setting][-1])
    mixed = max(values, key=lambda setting: values[setting].max())
    alpha = curves[mixed].best()
    return Chosen(
        alone, candidates[alone], float(sign * values[alone][-1]),
        alpha, blends[mixed].with_alpha(alpha), mixed, float(sign * values[mixed].max()),
    )  # fmt: skip


class BlendedRanking(Experiment[Task]):
    """A table of learned scores, alone and blended with lexical ones.

    Attributes
    ----------
    names : mapping of str to str
        Method to what the table calls it, where that is not its title.
    costs : mapping of str to float
        Method to how long it takes, about, in any unit.
    lexical, blend : str
        What the table calls the lexical scores, and a blend with them.
    metrics, metric : tuple of Metric, Metric
        What is shown of the test, and what validation chooses by.
    published_as : str
        Column of the paper that claims are about.
    table : tuple of three str
        Title, heading of the first column, and note.
    paper_test : callable, optional
        The paper's own test of a claim.
    """

    names: ClassVar[Mapping[str, str]] = {}
    costs: ClassVar[Mapping[str, float]]
    lexical: ClassVar[str] = "TFIDF"
    blend: ClassVar[str] = "α {} + (1 − α) TFIDF"
    metrics: ClassVar[tuple[Metric, ...]] = (RankLoss(), MAP(), Precision(10))
    metric: ClassVar[Metric] = MAP()
    published_as: ClassVar[str] = "MAP"
    table: ClassVar[tuple[str, str, str]]
    paper_test: ClassVar[Callable[..., Comparison] | None] = None

    def _run(
        self, data: Task, methods: tuple[str, ...], size: Size, seed: int, progress: Progress
    ) -> RunResult:
        """Train, choose settings and weights by validation, and test."""
        progress("Reading texts")
        task, lexical = self._begun(data)
        scored = {self.lexical: Scored(task.test.evaluate(lexical, self.metrics))}
        tested = progress.part(0.05, 1.0).each(
            lambda method, part: self._tested(method, task, lexical, size, seed, part),
            {method: self.costs[method] for method in methods if method in self.costs},
        )
        for found in tested.values():
            scored |= found
        title, first, note = self.table
        rows = (
            {first: name}
            | {str(metric): one.result.value(metric) for metric in self.metrics}
            | {"chosen by validation": one.chosen}
            for name, one in scored.items()
        )
        return RunResult(
            task.about,
            tables=[Table.of(title, rows, note)],
            claims=self._claims(scored),
            notes=[*task.notes, *self.remarks],
        )

    def _begun(self, data: Task) -> tuple[Task, PairPipeline]:
        """Data as methods take them, and the fitted lexical scorer."""
        raise NotImplementedError

    def _pipeline(
        self, method: str, task: Task, lexical: PairPipeline, seed: int, **params: Any
    ) -> PairPipeline:
        """What is fitted to training pairs."""
        raise NotImplementedError

    def _tested(
        self,
        method: str,
        task: Task,
        lexical: PairPipeline,
        size: Size,
        seed: int,
        progress: Progress,
    ) -> dict[str, Scored]:
        """Test the best setting of a method alone, and the best one blended."""
        name = self._name(method)

        def make(**params: Any) -> tuple[PairPipeline, tuple[PairSet, PairSet]]:
            made = self._pipeline(method, task, lexical, seed, **params)
            return made, (task.train, task.validation.pairs)

        grid = self.grids[size][method]
        every = tried(method, grid, make, progress.part(0, 0.75))
        candidates = {describe(params): model for params, model in every}
        listen = progress.part(0.75, 0.9).listen(f"Weighing {name}")
        found = choose(candidates, lexical, task.train, task.validation, self.metric, listen)
        progress(f"Testing {name}", 0.9)
        alone, mixed = (task.test.evaluate(s, self.metrics) for s in (found.learned, found.blend))
        weight = f"α = {found.alpha:.2f}, {found.blend_setting}"
        return {
            name: Scored(alone, found.setting),
            self.blend.format(name): Scored(mixed, weight),
        }

    def _claims(self, scored: Mapping[str, Scored]) -> list[Claim]:
        """What the paper concludes, each with its test."""
        values = {name: one.result.per_query(self.metric) for name, one in scored.items()}
        said = partial(PUBLISHED.ahead, self.paper.id, self.shown_as.lower(), self.published_as)
        test = type(self).paper_test
        return claims_ahead(self.claims, values, str(self.metric), paper=test, published=said)

    def _name(self, method: str) -> str:
        return self.names.get(method) or str(get_method(method).tags.title)
