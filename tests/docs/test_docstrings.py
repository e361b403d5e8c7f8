"""Everything public says what it takes, gives and raises, as numpydoc wants it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from numpydoc.validate import get_doc_object, validate

import simviz
from simviz.methods import all_methods

# What numpydoc reports and this project does otherwise.
IGNORED = {
    "GL01": "the summary stands beside the opening quotes",
    "GL08": "an override without a docstring inherits one; ruff finds the others (D1)",
    "SS02": "a summary may start with a name: 'float32 stays float32.'",
    "SS05": "a summary states a fact about the thing: 'Scores every pair alike.'",
    "ES01": "where one sentence says everything, there is no second paragraph",
    "RT02": "two results are told apart by their names",
    "RT03": "'self' needs no more words",
    "RT04": "a description may start with a name: '`train` as rows.'",
    "SA01": "a relative is named where there is one",
    "EX01": "every method has examples (below); elsewhere a number is shown where it teaches",
}
# What is waived where the contents stand in another place.
SECTIONS = {"PR01", "RT01", "YD01", "PR04"}


def is_package(module: ModuleType) -> bool:
    return hasattr(module, "__path__")


#: The application, a command and what serves both. No page tells users to call them, so they
#: say in sentences what each thing does.
PACKAGES = {info.name for info in pkgutil.iter_modules(simviz.__path__) if info.ispkg}
PROGRAMS = PACKAGES - set(simviz.__all__)
#: Single modules whose public names are part of the interface.
SINGLE = ("simviz.relevance", "simviz.callbacks", "simviz.explain.terms")


def modules() -> Iterator[ModuleType]:
    yield simviz
    for info in pkgutil.walk_packages(simviz.__path__, "simviz."):
        path = info.name.split(".")
        if not any(part.startswith("_") for part in path) and path[1] not in PROGRAMS:
            yield importlib.import_module(info.name)


def full_name(thing: Any) -> str:
    return f"{thing.__module__}.{thing.__qualname__}"


def is_ours(thing: object) -> bool:
    kind = inspect.isclass(thing) or inspect.isfunction(thing)
    return kind and getattr(thing, "__module__", "").startswith("simviz.")


def exported() -> dict[str, Any]:
    """The public interface: `__all__` of packages, some single modules, and the methods."""
    found = list(all_methods().values())
    for module in modules():
        if is_package(module):
            found += [getattr(module, name) for name in getattr(module, "__all__", ())]
        elif module.__name__ in SINGLE:
            found += [
                t
                for n, t in vars(module).items()
                if not n.startswith("_") and getattr(t, "__module__", "") == module.__name__
            ]
    return {full_name(thing): thing for thing in found if is_ours(thing)}


def with_members(things: dict[str, Any]) -> dict[str, Any]:
    """The same, and the methods that each class defines itself."""
    found = dict(things)
    for name, thing in things.items():
        for attribute, member in vars(thing).items() if inspect.isclass(thing) else ():
            function = getattr(member, "__func__", member)  # behind class and static methods
            if not attribute.startswith("_") and inspect.isfunction(function):
                found[f"{name}.{attribute}"] = function
    return dict(sorted(found.items()))


EXPORTED = with_members(exported())


def waived(name: str, thing: Any) -> set[str]:
    """Codes that do not apply, each with its reason."""
    owner = EXPORTED.get(name.rpartition(".")[0])
    if getattr(thing, "_is_protocol", False):
        return {"PR01"}  # nobody calls it to make one
    if inspect.isclass(owner):
        if any(hasattr(base, thing.__name__) for base in owner.__mro__[1:]):
            return SECTIONS  # an override: sections stand where it was first defined
        if len(inspect.signature(thing).parameters) <= 1:
            return {"RT01"}  # without arguments, the summary says what it gives
    return set()


@pytest.mark.parametrize("name", EXPORTED)
def test_numpydoc_finds_nothing(name):
    skipped = IGNORED.keys() | waived(name, EXPORTED[name])
    found = [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in skipped]
    # numpydoc takes any first argument `cls` for that of a class method.
    assert [text for text in found if "Unknown parameters {'cls'}" not in text] == []


#: What a function raises and catches itself.
CAUGHT = {
    ("simviz.pipeline._defaults.default_pipeline", "MissingLibraryError"),
    ("simviz.pipeline._loading.load_index", "ValueError"),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_what_is_raised_is_documented(name):
    thing = EXPORTED[name]
    places = [thing, EXPORTED.get(name.rpartition(".")[0])]  # a class speaks for `fit`
    told = {e.type for place in places if place for e in get_doc_object(place)["Raises"]}
    bodies = [thing]
    if inspect.isclass(thing):
        made_by = (vars(thing).get(one) for one in ("__init__", "__post_init__"))
        # Neither those of dataclasses nor those of protocols have a source here.
        bodies = [
            one
            for one in made_by
            if hasattr(one, "__code__") and "simviz" in one.__code__.co_filename
        ]
    found = {
        error for one in bodies for error in re.findall(r"raise (\w+)\(", inspect.getsource(one))
    }
    assert {error for error in found if (name, error) not in CAUGHT} <= set(
        ", ".join(told).split(", ")
    )


@pytest.mark.parametrize("method", all_methods())
def test_every_method_has_its_paper_and_an_example(method):
    cls = all_methods()[method]
    doc = get_doc_object(cls)
    for section in ("Parameters", "Attributes", "Notes", "References", "Examples", "See Also"):
        assert doc[section] or (section == "Parameters" and not cls().get_params()), section
    year = cls.tags.reference[-4:]
    assert year.isdigit() and year in "".join(doc["References"])
    shown = [line for line in doc["Examples"] if line and not line.startswith((">>>", "..."))]
    assert any(character.isdigit() for line in shown for character in line)


def test_the_walk_meets_every_package():
    for name in (
        "simviz.data.pairs.PairSet.take",
        "simviz.methods.cca.RidgeCCA",
        "simviz.evaluation.scoring.evaluate",
        "simviz.ranking._ranks.expected_auc",
    ):
        assert name in EXPORTED
    assert "simviz.data.splitting.by_pair" not in EXPORTED
