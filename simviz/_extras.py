"""Libraries of extras: what needs one that is missing names the command that installs it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec

from simviz.exceptions import MissingLibraryError

#: What is imported of an extra.
LIBRARIES = {
    "demos": ("fontawesomefree",),
    "neural": ("torch",),
    "pretrained": ("sentence_transformers", "torch"),
    "static": ("tokenizers",),
    "onnx": ("onnx",),
    "cluster": ("distributed",),
    "search": ("faiss",),
    "notebook": ("anywidget",),
}


def missing(libraries: Iterable[str]) -> list[str]:
    return [name for name in libraries if find_spec(name) is None]


def why_missing(extra: str, what: str, *other_extras: str) -> str | None:
    """Say what to install for an extra, and further libraries of it; None where it is there."""
    names = missing((*LIBRARIES[extra], *other_extras))
    if not names:
        return None
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{what} needs {' and '.join(names)}, which {verb} not installed. "
        f'Install what is missing with: pip install "simviz[{extra}]"'
    )


def require(extra: str, what: str) -> None:
    """Raise MissingLibraryError unless the libraries of an extra are installed."""
    if reason := why_missing(extra, what):
        raise MissingLibraryError(reason)
