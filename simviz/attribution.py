"""Old path of `simviz.explain.terms`."""

from simviz._moved import moved

_NAMES = ("Contributions", "TermPair", "TermWeighted", "contributions", "explain")

__getattr__ = moved(__name__, dict.fromkeys(_NAMES, "simviz.explain.terms"))
