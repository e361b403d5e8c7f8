"""Old path of `simviz.explain.terms`, as far as it is about occlusion."""

from simviz._moved import moved

_NAMES = ("MOST_PARTS", "Occlusion", "Similar", "occlude")

__getattr__ = moved(__name__, dict.fromkeys(_NAMES, "simviz.explain.terms"))
