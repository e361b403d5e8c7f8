"""Several augmenters one after the other."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from simviz.data.augment.base import Augmenter
from simviz.data.augment.extra_words import MinedWords, SampledWords
from simviz.data.augment.feedback import Feedback
from simviz.data.augment.synonyms import InducedSynonyms, ListedSynonyms
from simviz.data.augment.typos import Typos
from simviz.data.pairs import PairSet
from simviz.discovery import unknown_name
from simviz.exceptions import DatasetError

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
