"""Keywords and pictures on one map."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import simviz
from simviz.data import Items, PairSet
from simviz.exceptions import DatasetError
from simviz.experiments import Findings, Parts, get_experiment
from simviz.experiments.keyword_map import related_keywords
from simviz.relevance import Relevance

N_TOPICS, PER_TOPIC = 4, 8


def annotated(kind="image", n=240):
    """Pictures of four topics; each keyword of the topic is given to half of them."""
    rng = np.random.default_rng(0)
    topic = np.arange(n) % N_TOPICS
    words = np.array([f"w{t}{i}" for t in range(N_TOPICS) for i in range(PER_TOPIC)], dtype=object)
    of = np.repeat(np.arange(N_TOPICS), PER_TOPIC)
    marks = (of[:, None] == topic) & (rng.random((len(words), n)) < 0.4)
    if kind == "image":
        content = np.full((n, 32, 32), 255, dtype=np.uint8)
        for picture, t in zip(content, topic, strict=True):
            picture[8 * t : 8 * t + 8, rng.integers(4) : 28] = 0
    else:
        content = sp.csr_array(np.eye(N_TOPICS)[topic] + rng.normal(0, 0.1, (n, N_TOPICS)))
    return PairSet(
        Items(words, words, "keyword"),
        Items([f"p{i}" for i in range(n)], content, kind),
        Relevance(sp.csr_array(marks.astype(float)), unjudged="negative"),
        name="annotated",
    )


def test_groups_are_coherent_and_apart_and_name_a_thing_once():
    marks = annotated().relevance.positives
    n = marks.shape[0]
    groups = related_keywords(marks, np.ones(n, dtype=bool))
    assert [len(group) for group in groups] == [7, 7, 7]
    topics = [set((group // PER_TOPIC).tolist()) for group in groups]
    assert [len(topic) for topic in topics] == [1, 1, 1] and len(set.union(*topics)) == 3
    twice = sp.csr_array(sp.vstack([marks, marks]))
    for group in related_keywords(twice, np.ones(2 * n, dtype=bool)):
        assert len(np.unique(group % n)) == len(group)
    with pytest.raises(DatasetError, match="There are 1 groups of 7"):
        related_keywords(marks, np.arange(n) < PER_TOPIC)


@pytest.mark.parametrize("kind", ["image", "vector"])
def test_the_figure_is_drawn_and_tested(kind):
    experiment = get_experiment("keyword_map")
    pairs = annotated(kind)
    assert experiment.refusal(pairs) == ""
    assert "keywords of pictures" in experiment.refusal(simviz.load_demo("emoji"))
    found = experiment.run(Parts.of(pairs, by="y"))
    assert Findings.from_json(found.to_json()) == found
    (figure,) = found.figures
    assert all(len(s.x) == len(s.y) == len(s.names) for s in figure.series)
    shown = [s for s in figure.series if s.label.startswith("pictures")]
    assert [len(s.names) for s in figure.series if s not in shown] == [7, 7, 7]
    assert all(len(s.pictures) == (len(s.x) if kind == "image" else 0) for s in shown)
    assert all(a.startswith("data:image/png;base64,") for s in shown for a in s.pictures)
    assert len(found.tables[0].rows) == 21
    assert [claim.verdict for claim in found.claims] == ["holds"] * 3
