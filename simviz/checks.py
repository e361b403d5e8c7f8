"""Old path of `simviz.base.checks`."""

from simviz._moved import moved

_NAMES = ("Fixture", "fixtures", "yield_checks")

__getattr__ = moved(__name__, dict.fromkeys(_NAMES, "simviz.base.checks"))
