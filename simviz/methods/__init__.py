"""Methods: one learning algorithm, one class, one file.

A method is found by its file; its id is the module's name.
"""

from __future__ import annotations

import functools
import sys

from simviz.base import PairModel
from simviz.registry import find_classes, unknown_name


@functools.cache
def _found() -> dict[str, type[PairModel]]:
    return find_classes(sys.modules[__name__], PairModel)  # type: ignore[type-abstract]


def all_methods() -> dict[str, type[PairModel]]:
    """Every method by its id, sorted.

    Returns
    -------
    dict of str to type
        Module name to class.

    Examples
    --------
    >>> all_methods()["cca"].tags.family
    'spectral'
    """
    return dict(_found())


def get_method(method: str) -> type[PairModel]:
    """The class of a method.

    Parameters
    ----------
    method : str
        Its id, such as "cca".

    Returns
    -------
    type
        A subclass of `simviz.base.PairModel`.

    Raises
    ------
    ValueError
        If there is none of that name; a near miss is suggested.
    """
    known = _found()
    if method not in known:
        raise ValueError(unknown_name("method", method, known))
    return known[method]


def method_id(model: PairModel | type[PairModel]) -> str:
    """The id of a model's method: the name of the module that defines it.

    Parameters
    ----------
    model : PairModel or type
        A model or its class.

    Returns
    -------
    str
        Such as "cca".
    """
    cls = model if isinstance(model, type) else type(model)
    return cls.__module__.rpartition(".")[2]
