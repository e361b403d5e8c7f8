"""Several augmenters one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from simviz.data.augment.base import Augmenter, Groups, Made, append
from simviz.data.augment.words import (
    InducedSynonyms,
    ListedSynonyms,
    MinedWords,
    SampledWords,
    Typos,
)
from simviz.data.pairs import PairSet
from simviz.exceptions import DatasetError
from simviz.registry import unknown_name


@dataclass(frozen=True, slots=True)
class Feedback(Augmenter):
    """Inputs that somebody put into a group, or kept out of one.

    Parameters
    ----------
    pairs : sequence of (str, str, float)
        Input; a text of the y side, or the name of a group; and the verdict:
        above 0 the input belongs to that group, below 0 it does not. The last
        verdict on an input and a group holds.
    weight : float, default=5
        How many usual judgments one of these counts for. Corrections are few
        beside the pairs of a taxonomy, and made because something was wrong.

    Raises
    ------
    DatasetError
        If an entry has no verdict, names neither a text nor a group, or the
        weight is not positive.

    Notes
    -----
    An input that is on the x side already keeps its judgments, but for the
    groups that are named. Where pairs that are not listed count as negative,
    an input that was only kept out of groups says nothing about where it
    belongs, and is left out: it would be a negative of its own group, too.

    Examples
    --------
    >>> from simviz.data.pairs import PairSet
    >>> pairs = PairSet.from_texts(["cooks", "nurses"], ["cook", "nurse"])
    >>> more = Feedback([("kitchen hero", "cook", 1), ("kitchen hero", "nurse", -1)])
    >>> more.transform(pairs).relevance.matrix.toarray()[2].tolist()
    [5.0, -5.0]
    """

    kind: ClassVar[str] = "feedback"
    pairs: Sequence[tuple[str, str, float]] = ()
    weight: float = 5.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.weight) and self.weight > 0):
            raise DatasetError(f"The weight of feedback is a number above 0; got {self.weight!r}.")
        checked = []
        for entry in self.pairs:
            if len(entry) != 3 or not str(entry[0]).strip() or not str(entry[1]).strip():
                raise DatasetError(
                    f"Feedback is an input, a title or group, and a verdict; got {entry!r}."
                )
            verdict = float(entry[2])
            if not np.isfinite(verdict) or verdict == 0:
                raise DatasetError(
                    f"A verdict is above 0 (belongs) or below 0 (does not); got {entry[2]!r} "
                    f"for {entry[0]!r}."
                )
            checked.append((" ".join(str(entry[0]).split()), str(entry[1]).strip(), verdict))
        object.__setattr__(self, "pairs", tuple(checked))

    def make(self, groups: Groups) -> list[Made]:  # noqa: D102 -- as in Augmenter
        named = {text.casefold(): of for text, of in zip(groups.pairs.y.content, groups.of_y)}  # noqa: B905 -- one group list a text
        verdicts: dict[str, dict[str, float]] = {}
        for text, target, verdict in self.pairs:
            of = (target,) if target in groups.columns else named.get(target.casefold())
            if of is None:
                known = [*groups.columns, *groups.pairs.y.content]
                raise DatasetError(unknown_name("title or group", target, known[:50]))
            verdicts.setdefault(text, {}).update(dict.fromkeys(of, verdict))
        made = []
        for text, given in verdicts.items():
            accepted = tuple(name for name, verdict in given.items() if verdict > 0)
            rejected = tuple(name for name, verdict in given.items() if verdict < 0)
            made.append(Made(text, "", accepted, rejected, weight=self.weight))
        return made

    def transform(self, pairs: PairSet, exclude: Iterable[str] = ()) -> PairSet:  # noqa: D102
        groups = Groups(pairs)
        shut = {text.casefold() for text in exclude}
        made = [m for m in self.make(groups) if m.text.casefold() not in shut]
        place = {text.casefold(): i for i, text in enumerate(pairs.x.content)}
        closed = pairs.relevance.unjudged == "negative"
        known = [m for m in made if m.text.casefold() in place]
        fresh = [m for m in made if m.text.casefold() not in place and (m.groups or not closed)]
        more = append(groups, fresh, self.kind) if fresh else pairs
        if not known:
            return more
        matrix = sp.lil_array(more.relevance.matrix)
        for m in known:
            row = place[m.text.casefold()]
            for names, value in ((m.rejected, -self.weight), (m.groups, self.weight)):
                for name in names:
                    matrix[row, groups.columns[name]] = value
        changed = replace(more.relevance, matrix=sp.csr_array(matrix))
        return replace(more, relevance=changed)


#: By kind, in the order in which they are best applied: typos come last, so
#: that what the others made is mistyped, too.
AUGMENTERS: Mapping[str, type[Augmenter]] = {
    cls.kind: cls
    for cls in (ListedSynonyms, InducedSynonyms, MinedWords, SampledWords, Feedback, Typos)
}


def augment(pairs: PairSet, steps: Iterable[Augmenter], exclude: Iterable[str] = ()) -> PairSet:
    """Apply augmenters one after the other.

    Parameters
    ----------
    pairs : PairSet
        Training pairs, texts on both sides.
    steps : iterable of Augmenter
        In the order given; each sees what those before it made.
    exclude : iterable of str, optional
        Texts that must not be made, such as those of validation and test.

    Returns
    -------
    PairSet
        With the same y side.

    Raises
    ------
    DatasetError
        If a side is not made of texts.

    Examples
    --------
    >>> pairs = PairSet.from_texts(["tax lawyer"] , ["lawyer"])
    >>> steps = [ListedSynonyms([("lawyer", "attorney")]), Typos(share=0.5)]
    >>> augment(pairs, steps).shape
    (4, 1)
    """
    kept_out = tuple(exclude)
    for step in steps:
        pairs = step.transform(pairs, kept_out)
    return pairs


def to_json(steps: Iterable[Augmenter]) -> list[dict[str, Any]]:
    """Augmenters as JSON's types.

    Parameters
    ----------
    steps : iterable of Augmenter
        In their order.

    Returns
    -------
    list of dict
        Kind and parameters of each.
    """
    return [step.to_json() for step in steps]


def from_json(trees: Sequence[Mapping[str, Any]]) -> tuple[Augmenter, ...]:
    """Read what `to_json` answered.

    Parameters
    ----------
    trees : sequence of mapping
        Kind and parameters of each step.

    Returns
    -------
    tuple of Augmenter
        In the same order.

    Raises
    ------
    DatasetError
        If a kind or a parameter is unknown.

    Examples
    --------
    >>> from_json([{"kind": "typos", "share": 0.2}])
    (Typos(share=0.2, substituted=0.2, deleted=0.05, seed=0),)
    """
    steps = []
    for tree in trees:
        values = dict(tree)
        kind = values.pop("kind", None)
        if kind not in AUGMENTERS:
            raise DatasetError(unknown_name("augmentation", str(kind), AUGMENTERS))
        known = inspect.signature(AUGMENTERS[kind]).parameters
        for name in values:
            if name not in known:
                raise DatasetError(unknown_name(f"parameter of {kind}", name, known))
        steps.append(AUGMENTERS[kind](**values))
    return tuple(steps)
