"""Old path of `simviz.scale`."""

from simviz import scale
from simviz._moved import moved

__getattr__ = moved(__name__, dict.fromkeys(dir(scale), "simviz.scale"))
