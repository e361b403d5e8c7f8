"""Methods: one learning algorithm, one class, one file.

A method is found by its file; its id is the module's name. Classes are imported from here:
``from simviz.methods import CCA, OPCA``.
"""

from __future__ import annotations

import functools
import re
import sys
import warnings
from importlib.metadata import entry_points
from typing import TypeVar

from simviz.base import MethodTags, PairModel
from simviz.registry import find_classes, unknown_name

Model = TypeVar("Model", bound=PairModel)


registered: dict[str, type[PairModel]] = {}


@functools.cache
def _own_methods() -> dict[str, type[PairModel]]:
    """Our methods, then those that installed packages bring."""
    classes = find_classes(sys.modules[__name__], PairModel)  # type: ignore[type-abstract]
    for entry in entry_points(group="simviz.methods"):
        try:
            cls = entry.load()
            _add(classes.copy(), cls, entry.name)
            cls().get_params()  # as forms, tables and estimates do
            classes[entry.name] = cls
        except (Exception, SystemExit) as error:
            # Whatever another package does must not stop this one.
            what = f"The method {entry.name} = {entry.value} of a package was not loaded"
            warnings.warn(f"{what}: {type(error).__name__}: {error}", stacklevel=2)
    return classes


def all_methods() -> dict[str, type[PairModel]]:
    """Every method by its id, sorted.

    Returns
    -------
    dict of str to type
        Ours, by the names of their modules; those of installed packages with the
        entry point ``simviz.methods``; and those of `register_method`.

    Examples
    --------
    >>> all_methods()["cca"].tags.family
    'spectral'
    """
    return dict(sorted({**_own_methods(), **registered}.items()))


def __getattr__(name: str) -> type[PairModel]:
    """A class by its name, or its title where that is a name: RidgeCCA is CCA, too."""
    if name[:1].isupper():
        for cls in all_methods().values():
            if name in (cls.__name__, cls.tags.title):
                return cls
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_method(method: str) -> type[PairModel]:
    """The class of a method.

    Parameters
    ----------
    method : str
        Its id, such as "cca", or the name of its class; capitals do not matter.

    Returns
    -------
    type
        A subclass of `simviz.base.PairModel`.

    Raises
    ------
    ValueError
        If there is none of that name; a near miss is suggested.

    Examples
    --------
    >>> get_method("SiameseBLSTM") is get_method("siamese_blstm")
    True
    """
    known = all_methods()
    if method in known:
        return known[method]
    key = str(method).casefold()
    for name, cls in known.items():
        if key in (name.casefold(), cls.__name__.casefold()):
            return cls
    raise ValueError(unknown_name("method", method, known))


def register_method(cls: type[Model], name: str | None = None) -> type[Model]:
    """Make a method of your own known by an id, for as long as Python runs.

    It is then found wherever ours are: by `default_pipeline`, `compare`,
    `load_pipeline` and, in one process, by the app. A package does the same for
    all who install it by an entry point of the group ``simviz.methods``.

    Parameters
    ----------
    cls : type
        A subclass of `simviz.base.PairModel`; it is returned, so that this may
        stand above the class as a decorator.
    name : str, optional
        The id; the name of the class in lower case when omitted.

    Returns
    -------
    type

    Raises
    ------
    ValueError
        If it is no such class, the id will not do, or another method has it.
    """
    _add({**_own_methods(), **registered}, cls, name)
    registered[name or cls.__name__.lower()] = cls
    return cls


def _add(known: dict[str, type[PairModel]], cls: object, name: str | None) -> None:
    """Add a class to others, unless it is no method or its names are taken."""
    if not (
        isinstance(cls, type)
        and issubclass(cls, PairModel)
        and isinstance(getattr(cls, "tags", None), MethodTags)
    ):
        raise ValueError(
            f"A method is a subclass of simviz.base.PairModel with tags, got {cls!r:.80}. Derive "
            "it from LinearPairModel, EmbeddingModel or PairModel."
        )
    name = name or cls.__name__.lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise ValueError(f"An id has lower-case letters, digits and '_', got {name!r}.")
    for taken, other in known.items():
        is_same = (cls.__module__, cls.__qualname__) == (other.__module__, other.__qualname__)
        if not is_same and (taken == name or other.__name__ == cls.__name__):
            raise ValueError(
                f"{other.__name__} has the id {taken!r}. Name {cls.__name__} or its id otherwise."
            )
    known[name] = cls


def method_id(model: PairModel | type[PairModel]) -> str:
    """The id of a model's method, such as "cca"; if it is not known, the name of its class."""
    cls = model if isinstance(model, type) else type(model)
    package, _, module = cls.__module__.rpartition(".")
    if package == __name__:
        return module
    known = all_methods()
    return next((name for name, one in known.items() if one is cls), cls.__name__.lower())
