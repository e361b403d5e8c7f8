"""What a method is and needs, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class MethodTags:
    """What a method is and needs; forms, tables and defaults are derived from it.

    Parameters
    ----------
    title : str
        Name as the field writes it.
    reference : str
        Author and year of the paper.
    year : int
        Year of that paper.
    family : {"lexical", "spectral", "topic", "metric", "gradient", "sequence"}
        Kin it stands with.
    input : {"tfidf", "counts", "vectors", "characters", "trigrams", "pretrained"}
        Features it is made for.
    space : {"one", "two", "either"}
        Whether both sides share one feature space, never do, or may
        (parameter ``shared``).
    uses : {"unsupervised", "paired", "discriminative"}
        Whether it ignores judgments, uses the relevant pairs, or both signs.
    nested : bool
        Whether the first k columns are the k-dimensional model.
    stops_early : bool
        Whether a fit that is given a validation set stops, or chooses what it
        keeps, by its score there, so that figures on that set flatter it. A
        method that only tells how it does there says no.
    """

    title: str
    reference: str
    year: int
    family: Literal["lexical", "spectral", "topic", "metric", "gradient", "sequence"]
    input: Literal["tfidf", "counts", "vectors", "characters", "trigrams", "pretrained"]
    space: Literal["one", "two", "either"]
    uses: Literal["unsupervised", "paired", "discriminative"]
    nested: bool = False
    stops_early: bool = False
