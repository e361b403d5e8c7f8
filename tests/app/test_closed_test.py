"""One's own test part stays closed on Map, Search and Normalise until it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages._shared import map_final
from simviz.jobs import JobSpec
from simviz.jobs.placed import Placed
from simviz.projection import Neighbors, joint_map

pytestmark = pytest.mark.app
APP = Path(__file__).parents[2] / "app.py"


@pytest.fixture
def app(tmp_path, monkeypatch, sentences):
    """An app with a run on data of one's own; its first x items of each part are `rows`."""
    from pages._shared import state

    monkeypatch.setenv("SIMVIZ_HOME", str(tmp_path / "store"))
    st.cache_resource.clear()
    st.cache_data.clear()
    at = AppTest.from_file(APP, default_timeout=60)
    mine = at.session_state.workspace = state.store().create_workspace()
    at.session_state.dataset_id = state.store().put_dataset(sentences, mine)
    spec = JobSpec(
        at.session_state.dataset_id, sentences.digest, "cca", {"n_components": 5}, workspace=mine
    )
    at.session_state["a-run"] = state.queue().wait(state.queue().submit(spec), 90).run_id
    yield at
    state.queue().close()
    st.cache_resource.clear()


def rows(app, part):
    from pages._shared import state

    return state.store().get_run(app.session_state["a-run"]).arrays()[part].tolist()


def go(app, page, **query):
    app.switch_page(f"pages/{page}.py")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, app.exception
    return app


def html(app):
    return " ".join(e.proto.body for e in app.get("html") if "<style" not in e.proto.body)


def canvas(app):
    told = [e.proto for e in app.get("bidi_component")]
    return next(json.loads(p.json) for p in told if p.component_name == "simviz_map")


def open_test(app):
    go(app, "compare")
    app.button(key="compare-final-show").click().run()
    assert not app.exception


def test_map_leaves_the_test_part_out_until_it_is_opened(app, sentences):
    test = rows(app, "x_test")[0]
    go(app, "map", sel=f"x{test}")
    assert "The test part (12 x and 12 y) is left out" in html(app)
    assert "48 x and 48 y" in canvas(app)["alt"]
    assert "sel" not in app.query_params, "nor is one of its items opened by a link"
    assert str(sentences.x.content[test]) not in html(app)
    go(app, "map", sel=f"x{rows(app, 'x_train')[0]}")
    near = [b for b in app.button if b.key.startswith("map-go-")]
    assert len(near) == 10
    hidden = {str(sentences.y.content[i]) for i in rows(app, "y_test")}
    assert not hidden & {b.label for b in near}
    app.toggle(key="map-scrub").set_value(True).run()
    assert not app.exception
    assert "Of the validation part" in html(app)
    open_test(app)
    go(app, "map", sel=f"x{test}")
    assert "is left out until" not in html(app)
    assert "60 x and 60 y" in canvas(app)["alt"]
    assert str(sentences.x.content[test]) in html(app)


def test_search_neither_offers_nor_knows_the_test_part(app, sentences):
    go(app, "search")
    item = app.selectbox(key="search-item-x")
    assert item.value in rows(app, "x_validation")
    assert len(item.options) == 48
    assert "Answers among 48 y." in html(app)
    test = rows(app, "x_test")[0]
    app.text_input(key="search-own-x").set_value(str(sentences.x.content[test])).run()
    assert "nobody judged what is right" in html(app)
    open_test(app)
    go(app, "search")
    assert len(app.selectbox(key="search-item-x").options) == 60
    assert "Answers among all 60 y." in html(app)


def test_normalise_takes_examples_of_the_validation_part(app, sentences):
    app.session_state["search-mode"] = "column"
    go(app, "search", mode="column")
    assert app.button(key="normalise-examples").label == "Take some of the validation part"
    test = str(sentences.x.content[rows(app, "x_test")[0]])
    app.text_area(key="normalise-text").set_value(test).run()
    assert "group is known" not in html(app)
    assert "model = simviz.default_pipeline" in app.code[0].value
    open_test(app)
    app.session_state["search-mode"] = "column"
    go(app, "search", mode="column")
    app.text_area(key="normalise-text").set_value(test).run()
    assert "Of 1 whose group is known" in html(app)


def test_drawings_without_some_items_keep_their_quality():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 4)), rng.normal(size=(15, 4))
    placed = Placed(joint_map(x, y), np.arange(20), np.arange(15))
    x_open, y_open = np.arange(20) != 3, np.arange(15) < 10
    closed = map_final.Closed(x_open, y_open)
    drawn = closed.drawn(placed)
    quality, whole = drawn.drawing.quality, placed.drawing.quality
    assert len(drawn.x_rows) == 19 and len(drawn.drawing.y) == 10
    assert drawn.row_of("x", 3) is None and drawn.row_of("x", 4) == 3
    kept = np.concatenate([x_open, y_open])
    assert quality.sample.tolist() == list(range(29))
    assert np.array_equal(quality.false_neighbors, whole.false_neighbors[kept])
    assert closed.n_hidden("x") == 1 and not closed.allows("y", 12)
    found = Neighbors("y", np.array([12, 1, 14, 2, 3]), np.array([5.0, 4, 3, 2, 1]))
    assert closed.best(found, 2).index.tolist() == [1, 2]
    nothing = map_final.Closed()
    assert not nothing and nothing.drawn(placed) is placed and nothing.best(found, 2) is found


@pytest.mark.parametrize(("view", "n"), [({}, 48), ({"test": "open"}, 60)])
def test_a_published_map_shows_what_its_owner_saw(app, view, n):
    from pages._shared import state

    token = state.store().publish(
        app.session_state.workspace,
        "map",
        run_ids=[app.session_state["a-run"]],
        dataset_ids=[app.session_state.dataset_id],
        view=view,
        days=7,
    )
    # Nobody opens more of it by its address.
    go(app, "map", share=token, test="open")
    assert f"{n} x and {n} y" in canvas(app)["alt"]
