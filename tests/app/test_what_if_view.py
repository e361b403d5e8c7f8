"""Pairs are marked on Search and on the map: the run follows, and is kept only when asked."""

from __future__ import annotations

import re

import pytest
from on_page import canvas, html, run
from waiting import until_trained

from simviz.store.run import Run
from simviz.workbench.shell import display, sharing, state

PAGE = "search"
HELD_OUT = "is in the validation part. What a model is measured on"


@pytest.fixture(scope="module")
def home(make_home, sentences):
    small = {"n_components": 8}
    runs = {name: ("own", name, small) for name in ("cca", "heterogeneous_svd")}
    runs["ngrams"] = ("own", "ngram_matcher")
    return make_home({"own": sentences}, runs)


@pytest.fixture
def opened(home, serve, open_page, tmp_path):
    """Opens the page on a copy of these data, where a run is asked for an item of a part."""
    own = home.copy(tmp_path / "home")
    serve(own.root)

    def ask(part="train", name="cca", page=PAGE):
        app = open_page(page, own.mine)
        app.session_state.dataset_id = own.data["own"]
        app.session_state["search-runs"] = [own.runs[name]]
        app.query_params["run"] = own.runs[name]
        asked = f"x{own.run(name).arrays()[f'x_{part}'][0]}"
        app.query_params["sel" if page == "map" else "ask"] = asked
        return run(app)

    return ask


def press(app, name):
    app.button(key=f"what-if-{name}").click()
    return run(app)


def code(app):
    return "".join(block.value for block in app.code)


def answers(app):
    return [e.proto.body for e in app.get("html") if "sv-small" in e.proto.body]


def test_a_mark_is_followed_undone_and_discarded(opened):
    app = opened()
    before = answers(app)
    assert "on validation" not in html(app) and "simviz.data.augment" not in code(app)
    press(app, "link_off")  # the first answer is the right one, which is taken away
    said = html(app)
    assert "MRR on validation" in said and "CCA with 1 mark and CCA without marks" in said
    assert "simviz.data.augment" in code(app) and "corrections" in code(app)
    assert app.button(key="what-if-link_off").disabled
    assert answers(app) != before
    press(app, "undo")
    assert answers(app) == before and "on validation" not in html(app)
    press(app, "link_off")
    press(app, "link")  # of the same pair the last mark holds
    assert answers(app) == before and "CCA with 1 mark" in html(app)
    press(app, "discard")
    assert "on validation" not in html(app)


def test_what_is_held_out_is_refused_and_nothing_changes(opened):
    app = opened("validation")
    before = answers(app)
    press(app, "link")
    assert HELD_OUT in html(app)
    assert answers(app) == before and "on validation" not in html(app)
    assert "What a model is measured on" not in html(run(app)), "said once"


def test_what_does_not_learn_from_pairs_says_so(opened):
    app = opened(name="ngrams")
    assert "does not learn from pairs, so no pair changes what it answers" in html(app)
    assert not [b for b in app.button if (b.key or "").startswith("what-if")]


def test_marks_are_kept_as_a_run_when_asked(opened, home):
    app = opened()
    press(app, "link_off")
    [(x, y, _)] = app.session_state["what-if-marks"][home.runs["cca"]]
    followed = answers(app)
    press(app, "keep")
    until_trained(app)
    run(app)

    fresh = [i for i in app.session_state["search-runs"] if i not in home.runs.values()]
    [step] = state.store().runs.get(fresh[0], home.mine).spec["augment"]
    assert step == {"kind": "corrections", "pairs": [[x, y, -1.0]]}
    app.session_state["search-runs"] = fresh
    assert answers(run(app)) == followed, "the whole training answers as what followed"


def test_queries_that_lost_are_named_as_text(opened, home, sentences, monkeypatch):
    words = "<b>hostile</b>"
    monkeypatch.setattr(display, "item_text", lambda *_: words)
    app = opened()
    at = home.run("cca").arrays()
    x, y = sentences.x.ids[at["x_train"]], sentences.y.ids[at["y_train"]]
    marks = tuple((str(x[i]), str(y[i - n]), True) for n in range(1, 20) for i in range(len(x)))
    app.session_state["what-if-marks"] = {home.runs["cca"]: marks}
    said = html(run(app))
    assert int(re.search(r"gained, (\d+) lost", said)[1]) > 0
    assert "&lt;b&gt;hostile" in said and words not in said


def test_what_is_shared_is_the_run_without_marks(opened, home, monkeypatch):
    shared = []
    monkeypatch.setattr(sharing, "_show_file", lambda _, run: shared.append(run))
    app = opened()
    press(app, "link_off")
    app.session_state["search-share"] = True
    run(app)
    assert [(type(one), one.id) for one in shared] == [(Run, home.runs["cca"])]


def test_the_map_offers_the_first_item_that_may_be_marked(opened, home):
    app = opened(name="heterogeneous_svd", page="map")
    [chosen] = [box for box in app.selectbox if (box.key or "").startswith("map-mark-of")]
    at = home.run("heterogeneous_svd").arrays()
    asked = int(at["x_train"][0])
    assert chosen.options[0] and chosen.index > 0, "its own match comes first"
    assert chosen.value != asked and chosen.value in at["y_train"]
    press(app, "link_off")
    assert "with 1 mark" in html(app)


def test_the_map_follows_marks_and_shows_what_is_kept(opened, home):
    app = opened("validation", page="map")
    before = canvas(app)
    press(app, "link")
    assert HELD_OUT in html(app) and canvas(app)["places"] == before["places"]
    app = opened(page="map")
    before = canvas(app)
    assert "on validation" not in html(app)
    press(app, "link_off")
    followed = canvas(app)
    assert followed["places"] != before["places"] and followed["items"] == before["items"]
    assert followed["selected"]["nearest"] != before["selected"]["nearest"]
    assert before["marks"] == [home.runs["cca"]] == followed["marks"][:1] != followed["marks"]
    assert "CCA with 1 mark and CCA without marks" in html(app)
    assert not [t for t in app.toggle if t.key == "map-scrub"], "dimensions were not measured so"
    assert "simviz.data.augment" in code(app), "what trains it with the mark"
    press(app, "discard")
    assert canvas(app)["places"] == before["places"]
    assert "simviz.data.augment" not in code(app)
    press(app, "link_off")
    press(app, "keep")
    until_trained(app)
    chosen = run(app).selectbox(key="map-run")
    assert chosen.value not in home.runs.values() and len(chosen.options) == 4
