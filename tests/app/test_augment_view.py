"""The Train page offers to augment pairs of texts, shows what is made, and trains on it."""

from __future__ import annotations

import numpy as np
import pytest
from on_page import give, html, run

from simviz.data import Items, PairSet
from simviz.methods import get_method
from simviz.relevance import Relevance
from simviz.workbench.shell import state

PAGE = "train"
TITLES = {
    "developer": ["java developer", "java programmer", "web programmer", "web designer"],
    "lawyer": ["tax lawyer", "tax attorney", "trial lawyer", "family lawyer"],
    "cook": ["head cook", "head chef", "line cook", "sous chef"],
    "nurse": ["ward nurse", "ward sister", "night nurse", "theatre nurse"],
}


def titles():
    texts = [title for members in TITLES.values() for title in members]
    of = np.array([name for name, members in TITLES.items() for _ in members], dtype=object)
    names = [str(i) for i in range(len(texts))]
    x = Items(names, [f"{t} wanted" for t in texts], "text", {"group": of, "ad": of})
    y = Items(names, texts, "text", {"group": of})
    rows, columns = np.nonzero(of[:, None] == of[None, :])
    relevance = Relevance.from_pairs(rows, columns, shape=(len(of), len(of)), unjudged="negative")
    return PairSet(x, y, relevance, name="titles", x_name="inputs", y_name="titles")


@pytest.fixture
def own(app):
    split = {"by": "x", "fractions": (0.6, 0.2, 0.2), "seed": 0, "group_key": None}
    give(app, titles())
    app.session_state.split = {app.session_state.dataset_id: split}
    return app


def key(app, rest):
    return f"train-{app.session_state.dataset_id}-augment-{rest}"


def table(app):
    return " ".join(e.proto.body for e in app.get("html") if 'class="sv-made"' in e.proto.body)


def expander(app):
    return next(e.label for e in app.expander if e.label.startswith("Texts"))


def requests(app):
    return [s.spec for s in state.queue().jobs(app.session_state.workspace)]


def test_terms_of_texts_are_set_once_for_all_methods(own):
    run(own)
    assert expander(own) == "Texts: words or characters, default weights, not augmented"
    assert own.selectbox(key=key(own, "terms-Stop words")).disabled
    own.selectbox(key=key(own, "terms-Terms")).set_value("words")
    own.selectbox(key=key(own, "terms-Weights")).set_value("ln(1 + tf) · idf")
    run(own.number_input(key=key(own, "terms-most")).set_value(20))
    own.selectbox(key=key(own, "terms-Stop words")).set_value("no English stop words")
    run(own.selectbox(key=key(own, "terms-column")).set_value("ad"))
    label = "Texts: words, ln(1 + tf) · idf, no English stop words, 20 at most, with ad"
    assert expander(own) == f"{label}, not augmented"
    for c in own.checkbox:
        if "-tick-" in c.key:
            c.set_value(c.key.rpartition("-")[2] in ("lsa", "bm25", "ngram_matcher"))
    run(own)
    assert 'stop_words": "english"' in own.code[0].value
    run(own.button(key="train-start").click())
    terms = {
        "analyzer": "word", "tf": "log1p", "stop_words": "english", "max_features": 20,
        "x_column": "ad",
    }  # fmt: skip
    asked = {spec.method: spec.features for spec in requests(own)}
    assert asked == {"lsa": terms, "bm25": terms, "ngram_matcher": {"x_column": "ad"}}


def test_a_preview_shows_what_is_made_and_the_job_asks_for_it(own):
    run(own)
    own.toggle(key=key(own, "typos")).set_value(True)
    run(own.toggle(key=key(own, "synonyms")).set_value(True))
    assert "Write at least one line" in html(own)
    run(own.text_area(key=key(own, "synonyms-lines")).set_value("lawyer attorney"))
    assert "needs an equals sign" in html(own) and "Synonyms" not in table(own)
    run(own.text_area(key=key(own, "synonyms-lines")).set_value("wanted = <b>needed</b>\n"))
    assert "Typos: " in table(own) and "Synonyms from a list: " in table(own)
    assert "&lt;b&gt;needed" in table(own) and "<b>needed" not in table(own)
    run(own.button(key="train-start").click())
    asked = {spec.method: spec.augment for spec in requests(own)}
    assert asked
    for method, steps in asked.items():
        kinds = [step["kind"] for step in steps]
        learns = get_method(method).tags.uses != "unsupervised"
        assert kinds == (["synonyms", "typos"] if learns else [])


def test_feedback_is_read_line_by_line(own):
    run(own)
    run(own.toggle(key=key(own, "feedback")).set_value(True))
    lines = "kitchen hero = cook\n-kitchen hero = tax lawyer"
    run(own.text_area(key=key(own, "feedback-lines")).set_value(lines))
    assert "Feedback: 1" in table(own) and "kitchen hero" in table(own)
    run(own.text_area(key=key(own, "feedback-lines")).set_value("kitchen hero = cok"))
    assert "Did you mean &#x27;cook&#x27;" in html(own) and not table(own)


def test_a_demo_has_its_own_lists_and_takes_no_text_of_a_visitor(app):
    app.session_state.dataset_id = "demo:job_titles"
    run(app)
    kinds = [t.key.rpartition("-")[2] for t in app.toggle if "-augment-" in t.key]
    assert kinds == ["synonyms", "induced", "mined", "extra_words", "typos"]
    run(app.toggle(key=key(app, "mined")).set_value(True))
    assert not [t for t in app.text_area if "-augment-" in t.key]
    assert "Inputs that contain a title: 225" in table(app)
    assert "1,840 texts become 2,065" in html(app)
    app.session_state.dataset_id = "demo:icons"
    assert not [t for t in run(app).toggle if "-augment-" in t.key], "pictures are not augmented"
