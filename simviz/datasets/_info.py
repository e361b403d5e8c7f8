"""What is known about a demo before its data are loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from simviz.data.direction import Direction
from simviz.data.pairs import PairSet

SplitBy = Literal["pair", "x", "y", "group", "column"]


@dataclass(frozen=True, slots=True)
class DemoInfo:
    """One demo as a card shows it.

    Parameters
    ----------
    id : str
        Its key, and the name of its module.
    title : str
        A few words.
    description : str
        One sentence on what is paired with what.
    source : str
        Where the data come from, with the attribution that the licence asks for.
    licence : str
        Under which terms.
    x_name, y_name : str
        What the items of a side are called, in the plural.
    split_by : {"pair", "x", "y", "group", "column"}
        What a fair test holds out; "column" where the data say it themselves.
    methods : mapping of str to mapping
        Methods worth a first look, the quickest first: id to the parameters
        that differ from the defaults.
    metric : str
        The one metric to look at first, by its name.
    direction : {"x2y", "y2x"}
        Which side asks.
    size : str
        How much there is, in a few words.
    loader : callable
        Takes no argument and returns the `PairSet`.
    position : int, default=100
        Place among the cards, lowest first.
    variant_of : str, optional
        Id of the demo on whose card this one is offered, too; without it, the
        demo has a card of its own.
    word_lists : callable, optional
        Takes no argument and returns lists of strings that augmenting its
        pairs can begin with: "synonyms" ("a = b"), "words" and "inputs".
    """

    id: str
    title: str
    description: str
    source: str
    licence: str
    x_name: str
    y_name: str
    split_by: SplitBy
    methods: Mapping[str, Mapping[str, Any]]
    metric: str
    direction: Direction
    size: str
    loader: Callable[[], PairSet]
    position: int = 100
    variant_of: str | None = None
    word_lists: Callable[[], Mapping[str, Sequence[str]]] | None = None
