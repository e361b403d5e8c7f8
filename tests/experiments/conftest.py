"""Fixtures of several tests of experiments."""

import pytest

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
    left_out = ("1", "20", "0.001", "0.01")
    studies = [one for one in AcrossLanguages.studies if one[1] not in left_out]
    assert len(studies) == len(AcrossLanguages.studies) - 5
    monkeypatch.setattr(AcrossLanguages, "studies", studies)
