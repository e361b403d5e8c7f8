"""What if some pairs belonged together, or did not: a model that follows at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from simviz.data.augment import Augmenter, Corrections, Feedback, Groups, augment
from simviz.data.pairs import Items, PairSet
from simviz.data.splitting import Split
from simviz.evaluation.comparisons import compare_evaluations
from simviz.evaluation.differences import Differences, paired_differences, query_metric
from simviz.evaluation.metrics import Metric, default_metric
from simviz.evaluation.result import DIRECTIONS, Direction, Evaluation
from simviz.evaluation.scoring import evaluate
from simviz.evaluation.significance import Comparison
from simviz.exceptions import DatasetError
from simviz.pipeline import PairPipeline, Pipeline
from simviz.registry import unknown_name

_PARTS = ("validation", "test")


@dataclass(frozen=True, slots=True, eq=False)
class Revision:
    """A pipeline that followed other pairs, and what that brought on the validation part.

    Parameters
    ----------
    pipeline : PairPipeline
        The one that followed.
    train : PairSet
        What it learned from.
    before, after : Evaluation
        Of the validation part.
    metric : Metric
        What is compared.
    directions : tuple of {"x2y", "y2x"}
        Which sides ask.
    steps : tuple of Augmenter
        What was changed of the training part.
    """

    pipeline: PairPipeline
    train: PairSet
    before: Evaluation
    after: Evaluation
    metric: Metric
    directions: tuple[Direction, ...]
    steps: tuple[Augmenter, ...]

    @property
    def comparison(self) -> Comparison:
        """After against before, query by query, with its interval."""
        return compare_evaluations(self.after, self.before, self.metric, self.directions)

    @property
    def differences(self) -> Differences:
        """After less before, one value a query."""
        return paired_differences(self.after, self.before, self.metric, self.directions)


class WhatIf:
    """Mark pairs that should, or should not, belong together, and ask what that brings.

    Features stay as they were fitted. Spectral methods are fitted again and S2Net goes on
    from where it is, see `simviz.pipeline.PairPipeline.refit`. Nothing is learned from
    held-out items, and nothing is measured on the test part.

    Parameters
    ----------
    pipeline : PairPipeline
        Fitted on the training part.
    split : Split
        The parts.
    metric : Metric or str, optional
        What the validation part is measured by; the usual one of such judgments when omitted.
    directions : sequence of {"x2y", "y2x"}
        Which sides ask there.

    Raises
    ------
    ValueError
        If the pipeline cannot follow; the text says why.

    Examples
    --------
    >>> import simviz
    >>> colours, things = ["red", "blue", "green", "gold"], ["car", "bus", "tram", "ship"]
    >>> texts = [f"{colour} {thing}" for colour in colours for thing in things]
    >>> parts = simviz.split(simviz.PairSet.from_texts(texts, texts))
    >>> fitted = simviz.default_pipeline("cca", parts.train, n_components=4).fit(parts.train)
    >>> what_if = WhatIf(fitted, parts)
    >>> x, y = parts.train.x.ids[0], parts.train.y.ids[1]
    >>> revised = what_if.revise(together=[(x, y)])
    >>> asked = parts.train.x.take([0]), parts.train.y.take([1])
    >>> bool(revised.pipeline.similarity(*asked) > fitted.similarity(*asked))
    True
    """

    def __init__(
        self,
        pipeline: Pipeline,
        split: Split,
        metric: Metric | str | None = None,
        directions: Sequence[Direction] = DIRECTIONS,
    ) -> None:
        if reason := self.why_not(pipeline):
            raise ValueError(reason)
        self.pipeline, self.split = pipeline, split
        held_out = split.validation
        self.metric = query_metric(metric or default_metric(held_out.relevance))
        self.directions = tuple(directions)
        train = split.train
        self._rows = pipeline.rows(train.x, "x"), pipeline.rows(train.y, "y")
        self._held = pipeline.rows(held_out.x, "x"), pipeline.rows(held_out.y, "y")
        self._before = self._measure(pipeline)

    @staticmethod
    def why_not(pipeline: Pipeline) -> str | None:
        """Say why a pipeline cannot follow; None where it can.

        Parameters
        ----------
        pipeline : Pipeline
            A fitted one.

        Returns
        -------
        str or None
        """
        if isinstance(pipeline, PairPipeline):
            return pipeline.why_no_refit()
        return "A blend or CSLS cannot follow: mark pairs of one of its parts."

    def revise(
        self, together: Iterable[tuple[str, str]] = (), apart: Iterable[tuple[str, str]] = ()
    ) -> Revision:
        """Follow pairs of items of the training part.

        Parameters
        ----------
        together, apart : iterable of tuple of str
            Ids of an x item and a y item that belong together, or do not. A pair that was
            given and does not is taken away; one that was not given is learned from as
            rejected by methods of both signs, and refused for others.

        Returns
        -------
        Revision

        Raises
        ------
        DatasetError
            If an item is held out or unknown, or the method cannot learn from such a mark.
        """
        relevance = self.split.train.relevance
        values = relevance.matrix.data
        # As relevant as it usually is here, or as little.
        median = float(np.median(values[relevance.positive])) if relevance.positive.any() else 1.0
        wrong = -median if relevance.kind == "grade" else float(values.min(initial=0))
        pairs = [(x, y, median) for x, y in together] + [(x, y, wrong) for x, y in apart]
        return self.apply([Corrections(pairs)])

    def apply(self, steps: Iterable[Augmenter]) -> Revision:
        """Apply changes to the training part.

        Parameters
        ----------
        steps : iterable of Augmenter
            `simviz.data.augment.Corrections` of items that are there, or
            `simviz.data.augment.Feedback` on texts.

        Returns
        -------
        Revision

        Raises
        ------
        DatasetError
            If something is held out or unknown, or the method cannot learn from it.
        """
        steps, old = tuple(steps), self.split.train
        for step in steps:
            self.check(step)
        train = augment(old, steps)
        n = len(old.x)
        difference = (train.relevance.matrix[:n] != old.relevance.matrix).tocsr()
        changed = np.flatnonzero(np.diff(difference.indptr))
        X, Y = self._rows
        if len(train.x) > n:
            fresh = np.arange(n, len(train.x))
            changed = np.concatenate([changed, fresh])
            X = _stacked(X, self.pipeline.rows(train.x.take(fresh), "x"))
        lost = train.relevance.only_rejected[changed]
        if self.pipeline.model.continued() is not None and lost.any():
            name = _named(train.x, int(changed[lost][0]))
            raise DatasetError(
                f"Nothing belongs to {name} any more, so that nothing can be learned of it. Mark "
                "first what does belong to it."
            )
        pipeline, after = self.pipeline, self._before
        if len(changed):
            pipeline = self.pipeline.refit(train, changed, rows=(X, Y))
            after = self._measure(pipeline)
        figures = self._before, after, self.metric, self.directions
        return Revision(pipeline, train, *figures, steps)

    def _measure(self, pipeline: PairPipeline) -> Evaluation:
        # Of the method alone: whatever it follows, features stay.
        sides = *self._held, self.split.validation.relevance
        return evaluate(pipeline.model_, *sides, [self.metric], directions=self.directions)

    def check(self, step: Augmenter) -> None:
        """Refuse what would be learned from held-out items, or cannot be learned.

        Parameters
        ----------
        step : Augmenter
            As `apply` takes it.

        Raises
        ------
        DatasetError
            If something is held out or unknown, or the method cannot learn from it.
        """
        if isinstance(step, Feedback):
            for text, _, _ in step.pairs:
                for part in _PARTS:
                    held_out = getattr(self.split, part).x
                    if text.casefold() in map(str.casefold, held_out.content):
                        raise DatasetError(_held_out(f"“{text}”", part))
            for _, target, _ in step.pairs:
                if target.casefold() not in self._targets:
                    raise DatasetError(
                        f"“{target}” is not in the training part, from which alone is learned."
                    )
        elif isinstance(step, Corrections):
            for pair in step.pairs:
                self._refuse_pair(*pair)

    def _refuse_pair(self, x: str, y: str, grade: float) -> None:
        known, train = self._known, self.split.train
        for part in _PARTS:
            of_x, of_y = known[part]
            for at, (side, name, own) in enumerate((("x", x, of_x), ("y", y, of_y))):
                # Of two items that stand in several parts, the pair itself may be held out.
                if name in own and (name not in known["train"][at] or (x in of_x and y in of_y)):
                    items = getattr(getattr(self.split, part), side)
                    raise DatasetError(_held_out(_named(items, own[name]), part))
        for name, own in zip((x, y), known["train"], strict=True):
            if name not in own:
                raise DatasetError(unknown_name("item of the training part", name, own))
        row, column = known["train"][0][x], known["train"][1][y]
        tags = self.pipeline.model.tags
        if grade <= 0 and tags.uses == "paired" and not train.relevance.positives[row, column]:
            raise DatasetError(
                f"{tags.title} learns only from pairs that belong together. "
                f"{_named(train.x, row)} and {_named(train.y, column)} were not given as such a "
                "pair, so that there is nothing to take away."
            )

    @cached_property
    def _targets(self) -> set[str]:
        groups = Groups(self.split.train)
        return {str(name).casefold() for name in (*groups.columns, *groups.pairs.y.content)}

    @cached_property
    def _known(self) -> dict[str, list[dict[str, int]]]:
        """Rows of the items of each side by their ids, part by part."""
        parts = {part: getattr(self.split, part) for part in ("train", *_PARTS)}
        return {
            name: [{str(key): i for i, key in enumerate(s.ids)} for s in (own.x, own.y)]
            for name, own in parts.items()
        }


def _named(items: Items, row: int) -> str:
    text = str(items.content[row] if items.kind in ("text", "keyword") else items.labels[row])
    return f"“{text[:60]}”"


def _held_out(name: str, part: str) -> str:
    return (
        f"{name} is in the {part} part. What a model is measured on must not be learned from: "
        "mark items of the training part."
    )


def _stacked(old: Any, fresh: Any) -> Any:
    if sp.issparse(old):
        return sp.vstack([old, fresh], format="csr")
    return np.concatenate([old, fresh])
