"""Fixtures of several tests of experiments."""

import pytest

from simviz.experiments import s2net_languages
from simviz.experiments.s2net_languages import AcrossLanguages


@pytest.fixture
def few_settings(monkeypatch):
    """Has the experiment on languages try little, for each setting trains a network."""
    little = {
        "n_components": (5, 10),
        "regularization": (1.0,),
        "learning_rate": (0.1,),
        "max_iter": (3,),
    }
    topics = {"cplsa", "jplsa"}
    demo = {
        method: grid
        | {name: values for name, values in little.items() if name in grid}
        | ({"n_components": (5,)} if method in topics else {})
        for method, grid in AcrossLanguages.grids["demo"].items()
    }
    monkeypatch.setattr(AcrossLanguages, "grids", {"demo": demo})
    monkeypatch.setattr(s2net_languages, "GAMMAS", (5.0, 50.0))
    monkeypatch.setattr(s2net_languages, "PENALTIES", (0.0, 0.1))
