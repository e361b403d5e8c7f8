"""Two runs on one map: the second chosen, its drawing shown, and both taken along."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from on_page import html, link, run, said

from simviz.charts.canvas import Part, unpack


@pytest.fixture(scope="module")
def home(make_home, sentences):
    cca, opca = ("own", "cca", {"n_components": 5}), ("own", "opca", {"n_components": 9})
    return make_home({"own": sentences}, {"cca": cca, "opca": opca})


@pytest.fixture
def app(home, visit):
    return visit("map", data=home.data["own"], run=home.runs["cca"], drawing="mds-2")


def told(app, component="simviz_map"):
    found = [e.proto for e in app.get("bidi_component")]
    return [json.loads(p.json) for p in found if p.component_name == component and p.json]


def places(app):
    """The parts with places that were sent, by their digests."""
    sent = [e.proto for e in app.get("bidi_component")]
    parts = [p.bytes for p in sent if p.component_name == "simviz_map_parts"]
    opened = [unpack(Part("", data)) for data in parts]
    return {head["digest"]: arrays["places"] for head, arrays in opened if "places" in arrays}


def test_items_go_to_the_drawing_of_the_second_and_are_coloured_by_what_changed(app, home):
    before, words = told(app)[0], "nearest of the other side changed"
    assert words not in [entry["name"] for entry in before["legend"]]
    run(app.radio(key="map-beside").set_value(home.runs["opca"]))
    assert link(app)["beside"] == home.runs["opca"] and link(app)["colour"] == "change"
    both, listed = told(app)[0], next(t for t in told(app) if t.get("title") == "Changed most")
    assert both["places"] == before["places"] and both["items"] == before["items"]
    assert both["legend"][2]["name"] == words
    assert "10 nearest items of the other side" in html(app)
    keys = [key for _, key, *_ in listed["entries"]]
    shares = [float(note.split()[0]) for *_, note in listed["entries"]]
    assert shares == sorted(shares, reverse=True) and {key[0] for key in keys} == {"x", "y"}
    # The second draws: the same items, its own places.
    run(app.segmented_control(key="map-shown").set_value(home.runs["opca"]))
    turned = told(app)[0]
    assert turned["items"] == both["items"] and turned["places"] != both["places"]
    assert turned["marks"][0] == both["marks"][0] and turned["marks"][1] == home.runs["opca"]
    sent = places(app)
    sizes = [np.linalg.norm(np.reshape(sent[t["places"]], (-1, 2))) for t in (both, turned)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05), "one does not shrink in the other"
    # What is selected is answered by the run that draws.
    app.session_state["map-canvas"] = {"picked": {"key": keys[0], "n": 1}}
    run(app)
    assert link(app)["sel"] == keys[0]
    assert "Nearest" in said(app) and link(app)["run"] == home.runs["cca"]
    run(app.radio(key="map-beside").set_value(""))
    assert "beside" not in link(app) and "colour" not in link(app)
    assert told(app)[0]["places"] == before["places"]


def test_a_link_brings_both_and_a_run_that_is_gone_is_left_out(app, home):
    app.query_params["beside"] = home.runs["opca"]
    run(app)
    assert told(app)[0]["marks"][0].split()[1] == home.runs["opca"]
    app.query_params["beside"] = "0" * 32
    run(app)
    assert "beside" not in link(app) and told(app)[0]["marks"] == [home.runs["cca"]]


def test_both_leave_as_one_page(app, home):
    app.radio(key="map-beside").set_value(home.runs["opca"]).run()
    made = app.get("download_button")
    (page,) = [b.proto for b in made if b.proto.label == "Both as one page"]
    assert page.deferred_file_id or page.url
    from simviz.workbench.map import two_models
    from simviz.workbench.shell import state

    pairs = state.store().datasets.get(home.data["own"], home.mine)
    first, second = (state.store().runs.get(home.runs[name]) for name in ("cca", "opca"))
    both = two_models.compare(first, second, pairs, "mds-2-center")
    text = two_models.page(both, pairs)
    packed = json.loads(text.split('id="map-state">')[1].split("</script>")[0])
    assert {"places", "nearest", "then_places", "then_nearest"} <= set(packed)
    assert unpack(Part("", base64.b64decode(packed["then_places"])))[1]["places"].size == 240
    assert text.count('type="radio"') == 2 and "OPCA" in text
