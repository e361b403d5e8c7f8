"""The map page: what is drawn, selected, linked to, and what stands there before."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import json
import shutil
from html import unescape
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from on_page import canvas, go, html, link, run, said
from scipy.spatial import procrustes
from waiting import LONG, until, until_trained

from simviz.charts.canvas import pack_bits, unpack_bits
from simviz.data import Items, PairSet
from simviz.datasets import DEMOS
from simviz.jobs import JobSpec, SplitSpec
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now, map_name
from simviz.relevance import Relevance
from simviz.store import load_map
from simviz.workbench.map import page, scene, selection, view
from simviz.workbench.shell import drawings, state

PAGE = "map"
HOSTILE = "<img src=x onerror=alert(1)> *bold* :red[x] [a](b)"
OF_THE_TEST = "Of the test part: 12 left items and 12 right items; left"


@pytest.fixture(scope="module")
def home(make_home, sentences):
    """One run on the sentences."""
    return make_home({"own": sentences}, {"cca": ("own", "cca", {"n_components": 5})})


@pytest.fixture
def show(visit, home):
    """Opens the map of this run."""
    return lambda **address: visit(data=home.data["own"], **address)


@pytest.fixture
def own(show):
    return show()


@pytest.fixture
def draw(show, home):
    """Opens a drawing that must first be made."""

    def drawn(drawing, **query):
        app = show(run=home.runs["cca"], drawing=drawing, **query)
        kept = map_name(f"{drawing}-{query['gap']}" if "gap" in query else drawing)
        until(lambda: kept in home.run("cca").maps())
        return run(app)

    return drawn


def words(app):
    """Everything that is written on the page."""
    return f"{said(app)} {unescape(html(app))}"


def charts(app):
    return app.get("plotly_chart")


def rows(app, title):
    """What a list beside the map is told; None where there is none."""
    told = [json.loads(e.proto.json or "{}") for e in app.get("bidi_component")]
    return next((data for data in told if data.get("title", "").startswith(title)), None)


def listed(app, title):
    """The rows of the drawing that such a list has."""
    return unpack_bits(base64.b64decode(rows(app, title)["rows"]), 1_000).tolist()


def shown(app):
    """How many items of each side the flat map shows."""
    told = canvas(app)
    n_x, n_y = (entry["count"] for entry in told["legend"][:2])
    hidden = unpack_bits(base64.b64decode(told["hidden"] or ""), n_x + n_y)
    n_hidden = int((hidden < n_x).sum())
    return n_x - n_hidden, n_y - (len(hidden) - n_hidden)


def trained_on(app, pairs, method="cca", **params):
    """Keep a pair set in the visitor's workspace, with a run that is drawn; return both ids."""
    store = state.store()
    if "workspace" not in app.session_state:
        app.session_state.workspace = store.workspaces.create()
    mine = app.session_state.workspace
    dataset_id = store.datasets.put(pairs, mine)
    spec = JobSpec(dataset_id, pairs.digest, method, params, workspace=mine)
    run_id = state.queue().wait(state.queue().submit(spec), LONG).run_id
    draw_now(store.runs.get(run_id), pairs, QUICK_LAYOUT)
    return dataset_id, run_id


@pytest.fixture
def trained(app, sentences):
    """A visitor's own run of 12 dimensions."""
    return state.store().runs.get(trained_on(app, sentences, n_components=12)[1])


TOLD = itertools.count(1)


def tell(app, **told):
    """What the canvas tells: something that was picked, enclosed or asked."""
    numbered = {name: {**value, "n": next(TOLD)} for name, value in told.items()}
    app.session_state["map-canvas"] = numbered
    run(app)


def test_click_shows_the_nearest_in_the_model(show, home, sentences):
    app = show()
    assert not charts(app)
    told = canvas(app)
    assert told["selected"] is None
    assert "60 left items and 60 right items" in told["alt"] and "list beside" in told["alt"]
    shown = {"part": "validation", "direction": "x2y"}
    assert link(app) == {"data": home.data["own"], "run": home.runs["cca"]} | shown
    tell(app, picked={"key": "x7"})
    assert link(app)["sel"] == "x7"
    text = words(app)
    assert sentences.x.content[7] in text
    assert "Nearest in the model's 5 dimensions, whatever the drawing shows:" in text
    assert "of these 10 near" in text
    near, selected = rows(app, "Nearest")["entries"], canvas(app)["selected"]
    assert selected["item"] == 7
    assert selected["partners"] == [60 + 7], "the y side follows the x side"
    places, scores, belongs = zip(*selected["nearest"], strict=True)
    assert len(scores) == 10 and list(scores) == sorted(scores, reverse=True)
    assert belongs[places.index(67)] is True
    assert tuple(row for row, *_ in near) == places
    assert [float(note.split()[0]) for *_, note in near] == pytest.approx(scores, abs=0.0051)
    tell(app, picked={"key": near[0][1]})
    assert link(app)["sel"] == near[0][1] and near[0][1].startswith("y")


def test_click_is_taken_once(show):
    app = show(sel="y3")
    tell(app, picked={"key": "x7"})
    assert link(app)["sel"] == "x7"
    app.button(key="map-close").click().run()
    assert "sel" not in link(app) and canvas(app)["selected"] is None
    app.run()
    assert "sel" not in link(app), "the old click does not come back"
    for nonsense in ("z99", "x99999"):
        tell(app, picked={"key": nonsense})
        assert "sel" not in link(app)


def test_a_click_counts_though_an_address_of_before_comes_after_it(own):
    tell(own, picked={"key": "x3"})
    tell(own, picked={"key": "x7"})
    own.query_params["sel"] = "x3"  # the browser moved the map before it heard of the last one
    run(own)
    assert link(own)["sel"] == "x7" and canvas(own)["selected"]["item"] == 7
    own.query_params["sel"] = "x9"
    run(own)
    assert canvas(own)["selected"]["item"] == 9, "an address that is new is followed"


def test_what_is_found_is_explained_on_the_spot(show, home):
    app = show(sel="x3")
    run(app.button(key="map-why").click())
    chosen = app.selectbox(key="map-why-of")
    nearest = [int(key[1:]) for _, key, *_ in rows(app, "Nearest")["entries"]]
    assert chosen.value == nearest[0] and len(chosen.options) == len(nearest)
    assert "sv-sum" in html(app), "the bars have a sum"
    assert "sv-sum" not in html(go(app, data=home.data["own"], sel="x3", dims="2"))
    assert "map-why" not in {button.key for button in app.button}, "a cut has no words"


def test_what_is_selected_or_typed_is_asked_on_search(show, home):
    app = show(sel="y3")
    [way] = [e.proto for e in app.get("page_link") if e.proto.label == "Search this"]
    assert dict(parse_qsl(way.query_string)) == {"data": home.data["own"], "ask": "y3"}
    assert app.session_state["map-selected"] == {home.data["own"]: "y3"}
    del app.session_state["map-selected"]  # as Search does when it asks for it
    app.run()
    assert "map-selected" not in app.session_state, "what is typed there stays"
    tell(app, picked={"key": "x7"})
    assert app.session_state["map-selected"] == {home.data["own"]: "x7"}
    tell(app, asked={"text": "some words", "side": "y"})
    search = run(app.switch_page("pages/search.py"))
    assert search.text_input(key="search-own-y").value == "some words"


def test_query_falls_among_its_nearest(own, home, open_page, sentences):
    assert canvas(own)["asked"] == [{"side": "x", "name": "x"}, {"side": "y", "name": "y"}]
    text = sentences.x.content[7]
    tell(own, asked={"text": f"  {text} ", "side": "x"})
    query = canvas(own)["query"]
    assert query["text"].rstrip("…") in text and query["spread"] >= 0
    assert query["nearest"][0][0] == 67, "it is what it says"
    assert "Query, read as one of the left items" in words(own)
    assert "sel" not in link(own) and link(own)["ask"] == f"x:{text}"
    # The drawing is named: else a better one may take its place between the two looks.
    elsewhere = go(open_page(PAGE, home.mine), **link(own) | {"drawing": "mds-2", "table": "1"})
    assert canvas(elsewhere)["query"]["nearest"] == query["nearest"]
    assert rows(elsewhere, "Items on the map") is not None
    tell(own, asked={"text": "zzz qqq", "side": "x"})
    assert canvas(own)["query"] is None
    answered = canvas(own)["answered"]
    own.run()
    assert canvas(own)["answered"] == answered
    tell(own, asked={"text": "zzz qqq", "side": "x"})
    assert canvas(own)["answered"] > answered, "an answer though it is the same"
    assert "cannot answer this query" in words(own)
    tell(own, asked={"text": "anything", "side": "nowhere"})
    tell(own, picked={"key": "x1"})
    assert canvas(own)["query"] is None and link(own)["sel"] == "x1"


def test_enclosed_items_become_a_table_with_figures(own):
    inside = np.isin(np.arange(120), [3, 5, 64])
    corners = [[-0.5, -0.5], [0.5, -0.5], [0.25, 0.5]]
    tell(own, region={"rows": base64.b64encode(pack_bits(inside)).decode(), "corners": corners})
    for text in (
        "3 items enclosed", "2 left items · 1 right items", "MRR of 2 left items (all:",
        "MRR of 1 right items",
    ):  # fmt: skip
        assert text in words(own)
    assert listed(own, "Items enclosed") == [3, 5, 64]
    found = base64.b64decode(rows(own, "Items enclosed")["found"])
    assert len(np.frombuffer(found, "<f4")) == 3
    assert canvas(own)["region"] == corners
    assert link(own)["lasso"] == "-0.500,-0.500;0.500,-0.500;0.250,0.500"
    run(own.button(key="map-let-go").click())
    assert "enclosed" not in words(own) and canvas(own)["region"] is None
    assert "lasso" not in link(own)
    tell(own, region={"rows": "!!"})
    assert "enclosed" not in words(own), "nonsense encloses nothing"


def test_table_says_what_the_map_shows_and_leaves_as_a_file(own, home, sentences):
    def offered():
        return [button.label for button in own.get("download_button")]

    assert rows(own, "Items") is None and offered() == ["Positions as CSV"]
    own.toggle(key="map-table").set_value(True).run()
    assert listed(own, "Items") == [*range(120)] and rows(own, "Items")["filters"]
    assert "These items as CSV" in offered()
    own.radio(key="map-part").set_value("test").run()
    assert len(listed(own, "Items")) == 24

    trained = home.run("cca")
    placed, parts = drawings.stored_drawing(trained, "mds-2"), drawings.parts(trained, sentences)
    lines = list(csv.DictReader(io.StringIO(page.positions_csv(placed, parts, sentences))))
    assert len(lines) == 120 and lines[3]["label"] == sentences.x.content[3]
    assert float(lines[60]["map_x"]) == pytest.approx(placed.drawing.y[0, 0])
    assert {line["part"] for line in lines} == {"train", "validation", "test"}


def test_halos_and_the_gap_are_in_the_link(show, draw):
    app = show()
    assert canvas(app)["halos"] is None
    run(app.toggle(key="map-halos").set_value(True))
    assert {len(base64.b64decode(told)) for told in canvas(app)["halos"].values()} == {120}
    assert link(app)["halos"] == "1" and "False neighbours" in str(canvas(app)["legend"])
    before = canvas(app)["places"]
    app = draw("mds-2", gap="rank")
    assert link(app)["gap"] == "rank" and canvas(app)["places"] != before
    assert "matched by rank" in words(app) and "MRR on the map" in words(app)


def test_two_sided_drawing_is_shown_when_it_is_there(draw):
    app = draw("two-sided-2")
    assert "drawing" not in link(app)
    assert "within and across the sides" in canvas(app)["alt"]
    assert app.select_slider(key="map-across").value == 70
    app = draw("two-sided-2-50")
    assert link(app)["drawing"] == "two-sided-2-50"
    assert app.select_slider(key="map-across").value == 50
    before = canvas(app)
    run(app.radio(key="map-method").set_value("mds"))
    assert link(app)["drawing"] == "mds-2" and "(MDS)" in canvas(app)["alt"]
    assert canvas(app)["items"] == before["items"], "items are sent once"
    assert canvas(app)["places"] != before["places"]


def test_drawing_from_other_seeds_says_what_moves(draw, home):
    app = draw("two-sided-2")
    run(app.button(key="map-seeds").click())
    until(lambda: load_map(home.run("cca"), "two-sided-2-70")[0].quality.moved is not None)
    go(app, data=home.data["own"], run=home.runs["cca"], sel="x3")
    run(app.button(key="map-seeds").click())
    run(app)
    assert "drawings with other seeds" in words(app) and "have others in 3 of 5" in words(app)


def test_dimensions_slide_and_all_follows(app, trained):
    go(app, data=trained.spec["dataset_id"], sel="x7")
    whole = canvas(app)
    run(app.toggle(key="map-scrub").set_value(True))
    slider = app.select_slider(key="map-k")
    assert slider.value == 12 and len(charts(app)) == 2
    assert canvas(app)["places"] == whole["places"]
    run(slider.set_value(2))
    cut = canvas(app)
    assert cut["places"] != whole["places"] and cut["items"] == whole["items"]
    assert whole["regions"] and not cut["regions"], "regions are of the whole drawing"
    assert cut["selected"]["nearest"] != whole["selected"]["nearest"]
    assert "Nearest in the model's 2 dimensions" in words(app)
    assert "at 2." in charts(app)[0].proto.alt


def test_figures_are_of_the_part_that_is_shown(app, trained):
    path = trained.folder / "test" / "figures.json"
    figures = json.loads(path.read_text())
    figures["curve"] = [{**record, "value": 0.25} for record in figures["curve"]]
    path.write_text(json.dumps(figures))
    go(app, data=trained.spec["dataset_id"], dims="12")
    assert "Of the validation part: 6 left items and 6 right items; left" in words(app)
    before = charts(app)[0].proto.alt
    run(app.segmented_control(key="part-shown").set_value("test"))
    assert OF_THE_TEST in words(app) and link(app)["part"] == "test"
    assert "0.250 at 12" in charts(app)[0].proto.alt != before
    assert shown(app) == (60, 60), "no item is hidden"
    run(app.segmented_control(key="part-shown").set_value("validation"))
    assert charts(app)[0].proto.alt == before
    shutil.rmtree(trained.folder / "validation")
    run(app)
    assert "without scores for the validation part" in words(app) and not charts(app)


def test_published_map_opens_with_the_part_of_its_owner(app, trained, open_page):
    go(app, data=trained.spec["dataset_id"], dims="12", part="test")
    app.session_state["map-share"] = True
    app.run().button(key="map-publish").click().run()
    (published,) = state.store().shares.find(app.session_state.workspace)
    assert published.view["part"] == "test" and published.run_ids == (trained.id,)
    reader = go(open_page(PAGE), share=published.token)
    assert OF_THE_TEST in words(reader) and link(reader)["part"] == "test"


def test_link_shows_the_same_again(draw, home):
    app = draw("pca-2", sel="y3", at="0.1,-0.25,4")
    told = link(app)
    assert (told["sel"], told["drawing"], told["at"]) == ("y3", "pca-2", "0.1,-0.25,4")
    assert "(PCA)" in canvas(app)["alt"]
    go(app, data=home.data["own"], sel="y999", drawing="../etc", at="nowhere", run="f" * 32)
    assert "sel" not in link(app)
    assert link(app)["drawing"] == "pca-2", "nonsense changes nothing"
    assert canvas(app)["camera"]["at"] == [0.1, -0.25, 4.0]
    assert "The run of this link is not here" in words(app)
    assert link(app)["run"] == home.runs["cca"]


def test_a_link_to_a_demo_trains_and_draws_the_same_elsewhere(
    make_home, give_demos, serve, open_page, sentences, tmp_path, monkeypatch
):
    spec = "demo:emoji", "lsa", {"n_components": 10}, SplitSpec(by=DEMOS["emoji"].split_by)
    give_demos(monkeypatch, {"emoji": sentences})
    home = make_home({}, {"here": spec}, drawn=["here"])
    serve(home.root)
    here = go(open_page(PAGE, home.mine), data="demo:emoji", run=home.runs["here"])
    here.session_state["map-share"] = True
    address = next(code.value for code in here.run().code if "/map?" in code.value)
    told = dict(parse_qsl(urlsplit(address).query))
    assert told["demo"] == "emoji" and told["method"] == "lsa" and "run" not in told
    serve(tmp_path / "elsewhere")
    there = go(open_page(PAGE), **told)
    until_trained(there)
    (job,) = state.queue().jobs(there.session_state.workspace)
    assert job.run_id == home.runs["here"], "the same request"
    run = state.store().runs.get(job.run_id)
    go(there, **told)  # asks for the drawing
    until(lambda: map_name(QUICK_LAYOUT) in run.maps())
    assert canvas(go(there, **told))["alt"] == canvas(here)["alt"]
    drawn = [load_map(one, map_name(QUICK_LAYOUT))[0] for one in (home.run("here"), run)]
    _, _, disparity = procrustes(*(np.vstack([drawing.x, drawing.y]) for drawing in drawn))
    assert disparity < 1e-4


def test_filter_keeps_what_is_selected(own):
    assert shown(own) == (60, 60)
    run(own.radio(key="map-part").set_value("test"))
    assert shown(own) == (12, 12)
    own.radio(key="map-side").set_value("x").run()
    assert shown(own) == (12, 0)
    tell(own, picked={"key": "x0"})
    is_added = "x · test part" not in words(own)
    assert shown(own) == (12 + is_added, 10), "its nearest are shown too"


def things(*, has_kinds=False):
    kinds = {"kind": [f"kind {i % 2}" for i in range(40)]} if has_kinds else {}
    texts = [f"thing {i}" for i in range(40)]
    return Items([str(i) for i in range(40)], texts, "text", kinds)


def test_colours_by_what_is_found_by_score_by_part_and_by_column(app):
    pairs = PairSet(things(has_kinds=True), things(has_kinds=True), Relevance.identity(40))
    go(app, data=trained_on(app, pairs, n_components=5)[0])
    colour = app.selectbox(key="map-colour")
    assert colour.options == ["side", "part", "found", "score", "kind"]

    def legend(choice):
        run(app.selectbox(key="map-colour").set_value(choice))
        return {entry.get("name"): entry for entry in canvas(app)["legend"]}

    for choice, name in (("part", "validation"), ("=kind", "kind 1")):
        assert name in legend(choice)
        assert len(base64.b64decode(canvas(app)["groups"])) == 80
    groups = [entry for entry in legend("found").values() if entry.get("shape") == "square"]
    assert groups[0]["name"] == "found first"
    assert sum(entry["count"] for entry in groups) == 80
    scale = legend("score")["similarity to the nearest"]
    assert scale["scale"] and float(scale["high"]) <= 1.0


def test_column_of_one_side_colours_and_filters_both(app):
    pairs = PairSet(things(has_kinds=True), things(), Relevance.identity(40))
    dataset_id, run_id = trained_on(app, pairs, n_components=5)
    go(app, data=dataset_id, filter="0:1", table="1")
    app.selectbox(key="map-colour").set_value("=kind").run()
    codes = np.frombuffer(base64.b64decode(canvas(app)["groups"]), np.uint8)
    assert (codes[:40] == codes[40:]).all() and len(set(codes)) == 2
    assert canvas(app)["set"]["filter"] == "0:1" == link(app)["filter"]

    drawn = scene.scene_of(state.store().runs.get(run_id), pairs, "mds-2")
    wanted = view.View(dataset_id, filter="0:1")
    lines = list(csv.DictReader(io.StringIO(selection.items_csv(wanted, drawn, np.arange(80)))))
    assert len(lines) == 40 and {line["kind"] for line in lines} == {"kind 1", ""}
    go(app, data=dataset_id, filter="0:1;<b>")
    assert canvas(app)["set"]["filter"] == "0:1", "nonsense changes nothing"


def test_method_without_vectors_has_neighbours_too(app):
    texts = [f"red car {i:03}" for i in range(40)]
    pairs = PairSet.from_texts([*texts, "zebra"], [*texts, "yak"])
    dataset_id, _ = trained_on(app, pairs, "bm25")
    go(app, data=dataset_id, sel="x7")
    assert "Nearest by the model's own scores" in words(app)
    tell(app, picked={"key": "x40"})
    assert "cannot place this item" in words(app) or "all scores are 0" in words(app)
    assert rows(app, "Nearest") is None


def test_large_data_are_drawn_in_part_and_what_is_selected_always(app, sentences, monkeypatch):
    monkeypatch.setattr("simviz.projection.pipeline_map.MAX_DRAWN", 30)
    dataset_id, run_id = trained_on(app, sentences, n_components=5)
    placed = drawings.stored_drawing(state.store().runs.get(run_id), "mds-2")
    assert placed.x_rows.tolist() == placed.y_rows.tolist(), "pairs are kept together"
    left_out = next(i for i in range(60) if i not in placed.x_rows)
    go(app, data=dataset_id, sel=f"x{left_out}")
    drawn = "Drawn: 30 of 60 left items and 30 of 60 right items, a random sample (seed 0)"
    assert drawn in words(app)
    told = canvas(app)
    assert told["selected"] is None and len(told["query"]["nearest"]) == 10
    assert sentences.x.content[left_out].startswith(told["query"]["text"].rstrip("…"))
    assert "This item is not in the sample that is drawn" in words(app)
    tell(app, picked={"key": f"x{placed.x_rows[0]}"})
    assert canvas(app)["query"] is None and canvas(app)["selected"]["item"] == 0


def test_uploaded_text_is_never_markup(app):
    texts = [f"{HOSTILE} {a}{a} {b}{b}" for a in "qwertz" for b in "asdfg"]
    pairs = PairSet.from_texts(texts, texts, x_name="a*b*", y_name="<b>y</b>")
    dataset_id, _ = trained_on(app, pairs, n_components=3)
    body = html(go(app, data=dataset_id, sel="x5"))
    assert "<img src=x" not in body and "<b>y</b>" not in body and "&lt;img src=x" in body
    near = rows(app, "Nearest")["entries"][0][2]
    assert near.startswith(HOSTILE), "it is put down as text by the browser"
    go(app, data=dataset_id, sel="", ask=f"x:{HOSTILE}", find=f"p:{HOSTILE}", hide=HOSTILE)
    assert "<img src=x" not in html(app) and canvas(app)["typed"] == ["x", HOSTILE]
