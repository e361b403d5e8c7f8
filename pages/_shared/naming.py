"""What runs and requests are called on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simviz.store.records import RunInfo


def run_title(info: RunInfo) -> str:
    """The name a run was given, else that of what was trained."""
    return info.name or trained_title(info.method, info.spec)


def trained_title(method: str, spec: Mapping[str, Any]) -> str:
    """The title of a method, with what its texts became where that is not the usual.

    Parameters
    ----------
    method : str
        Its id.
    spec : mapping
        The request, as JSON.

    Returns
    -------
    str
        Such as "S2Net on pretrained vectors".
    """
    from simviz.methods import get_method

    title = get_method(method).tags.title
    return f"{title} on pretrained vectors" if spec.get("features") == "pretrained" else title
