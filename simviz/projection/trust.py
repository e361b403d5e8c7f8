"""How far to trust a drawing, in words."""

from __future__ import annotations

from simviz.data.wording import percent
from simviz.projection.quality import Quality

# Share of the nearest neighbours that a drawing keeps, and what to call it.
_LEVELS = (
    (0.5, "Close to the model"),
    (0.25, "A fair sketch"),
    (0.1, "A rough sketch"),
    (0.0, "Only a hint"),
)


def trust_level(quality: Quality) -> str:
    """Call a drawing by how many nearest neighbours it keeps.

    Parameters
    ----------
    quality : Quality
        What `map_quality` measured.

    Returns
    -------
    str
        From "Close to the model" (half of them and more) over "A fair
        sketch" (a quarter) and "A rough sketch" (a tenth) to "Only a hint".
    """
    return next(words for least, words in _LEVELS if quality.overlap >= least)


def trust_sentences(quality: Quality) -> tuple[str, ...]:
    """Say what a drawing keeps and what it loses, one thing a sentence.

    Parameters
    ----------
    quality : Quality
        What `map_quality` measured.

    Returns
    -------
    tuple of str
        On neighbours, on what is drawn near but is not, on what is near but
        not drawn so, and on search, where there was something to search.

    Examples
    --------
    >>> from simviz.projection.quality import map_quality
    >>> square = [[0, 0], [0, 1.0], [1, 0], [1, 1.2]]
    >>> trust_sentences(map_quality(square[:2], square[2:], square[:2], square[2:]))[0][:70]
    'Of the 1 nearest items of a point in the model, the drawing keeps 100 '
    """
    k = quality.n_neighbors
    sentences = [
        f"Of the {k} nearest items of a point in the model, the drawing keeps "
        f"{percent(quality.overlap)} near (chance: {percent(quality.random_overlap, digits=1)}).",
        f"Trustworthiness {quality.trustworthiness:.2f}: 1 if whatever is drawn near is near "
        "in the model.",
        f"Continuity {quality.continuity:.2f}: 1 if whatever is near in the model is drawn near.",
    ]
    if quality.mrr_space is not None and quality.mrr_map is not None:
        sentences.append(
            f"Searching by distance finds the first relevant item with MRR "
            f"{quality.mrr_space:.2f} in the model and {quality.mrr_map:.2f} on the drawing, "
            "over all items, those of training included."
        )
    return tuple(sentences)
