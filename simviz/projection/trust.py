"""How far to trust a drawing, in words."""

from __future__ import annotations

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
