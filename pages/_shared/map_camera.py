"""Where the reader looks, as a link says it."""

from __future__ import annotations

import math

#: How far across and up from the middle of the map, in halves of its extent; and the zoom.
Place = tuple[float, float, float]
#: The whole map: what a link need not say.
WHOLE: Place = (0.0, 0.0, 1.0)
_FARTHEST = 3.0
_ZOOM = (0.5, 500.0)


def checked(told: object) -> Place | None:
    """A place out of what the browser told; None if it is none."""
    if not isinstance(told, list | tuple) or len(told) != 3:
        return None
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in told):
        return None
    across, up, zoom = (float(value) for value in told)
    if max(abs(across), abs(up)) > _FARTHEST or not _ZOOM[0] <= zoom <= _ZOOM[1]:
        return None
    return across, up, zoom


def parse(text: str | None) -> Place | None:
    """A place out of a link; None if it says nothing or nonsense.

    Examples
    --------
    >>> parse("0.1,-0.25,4"), parse("here")
    ((0.1, -0.25, 4.0), None)
    """
    try:
        return checked([float(value) for value in (text or "")[:60].split(",")])
    except ValueError:
        return None


def link(place: Place | None) -> dict[str, str]:
    """What a link says of a place; nothing for the whole map."""
    if place is None or place == WHOLE:
        return {}
    return {"at": ",".join(f"{value:.3f}".rstrip("0").rstrip(".") for value in place)}
