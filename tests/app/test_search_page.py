"""The Search page asks every chosen run, marks what is right, and says why."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from made_up import saved
from on_page import control, go, html, press, run
from PIL import Image
from waiting import until_trained

from simviz.charts.pictures import AGAINST, FOR
from simviz.data import PairSet
from simviz.data.images import make_sprite, resize_like
from simviz.data.splitting import PARTS
from simviz.jobs import JobSpec
from simviz.workbench.shell import state

PAGE = "search"


@pytest.fixture(scope="module")
def home(make_home, sentences):
    """A small data set with two trained runs, and one of texts that look like markup."""
    x, y = ([f"<{tag}>bold{i}</{tag}> <i>word{i % 5}</i>" for i in range(24)] for tag in "bu")
    marked = PairSet.from_texts(x, y, name="<b>marked</b>")
    of = ("own", "cca", 8), ("own", "cl_lsi", 9), ("marked", "cca", 4)
    runs = {f"{on} {name}": (on, name, {"n_components": k}) for on, name, k in of}
    return make_home({"own": sentences, "marked": marked}, runs)


@pytest.fixture
def trained(visit, home):
    """The page on these data."""
    return visit(data=home.data["own"])


def lines(app, i):
    return [b for b in app.button if b.key and b.key.startswith(f"search-go-{i}-")]


def ask(app, words):
    """Ask words of one's own; return the page's HTML after that."""
    return html(run(app.text_input(key="search-own-x").set_value(words)))


def marked(app):
    """The row that is marked as the one that is explained."""
    styles = " ".join(e.proto.body for e in app.get("html"))
    [row] = set(re.findall(r":has\(\.st-key-(search-go-\d+-\d+)\)", styles))
    return row


def test_every_run_answers_and_says_why(trained):
    first = trained.selectbox(key="search-item-x").value
    body = html(trained)
    assert "It is in the validation part." in body and "✓" in body
    assert lines(trained, 0) and lines(trained, 1)
    assert "sv-sum" in body  # a sum of contributions
    bars = re.findall(r"margin-left:(.*?)%;width:(.*?)%;background:(.*?)\"", body)
    zeros = [float(left) + float(wide) * (colour == AGAINST) for left, wide, colour in bars]
    assert {colour for *_, colour in bars} == {FOR, AGAINST}
    assert min(float(left) for left, *_ in bars) == 0, "within the cell"
    assert zeros == pytest.approx([zeros[0]] * len(bars), abs=0.11), "bars meet at one zero"
    assert trained.query_params["ask"] == f"x{first}"
    assert marked(trained) == lines(trained, 0)[0].key, "the first is open"
    other = lines(trained, 1)[3]
    run(other.click())
    assert other.label[:8] in trained.subheader[0].value
    assert marked(trained) == other.key


def test_of_a_score_that_is_no_sum_parts_are_hidden_in_turn(
    make_home, serve, open_page, sentences
):
    home = make_home({"own": sentences}, {"ngrams": ("own", "ngram_matcher")})
    serve(home.root)
    shown = html(go(open_page(PAGE, home.mine), data=home.data["own"]))
    assert "Approximate: the more the score of" in shown and "sv-sum" not in shown
    assert "<mark" in shown


def test_words_of_ones_own_are_asked_and_never_in_the_link(trained, sentences):
    first = trained.selectbox(key="search-item-x").value
    body = ask(trained, "<b>" + sentences.x.content[0])
    assert "ask" not in trained.query_params
    assert "none is marked as right" in body and "<b>" not in body.replace("<b>{", "")
    for unknown in ("zzzz qqqq", f"x{first}"):  # which looks like the place of an item
        assert "No answer: no word" in ask(trained, unknown)
    known = ask(trained, sentences.x.content[5])
    assert "none is marked as right" not in known and "✓" in known, "it is the item it is"


def rows(app, name):
    run_id = app.session_state["search-runs"][0]
    return state.store().runs.get(run_id).arrays()[name].tolist()


def test_nothing_is_hidden_and_the_example_is_of_the_part_shown(trained, sentences):
    assert trained.query_params["part"] == "validation"
    item = trained.selectbox(key="search-item-x")
    assert len(item.options) == len(sentences.x) and item.value == rows(trained, "x_validation")[0]
    assert f"Answers among all {len(sentences.y)} items;" in html(trained)
    press(trained, "Measured on", "test")
    test = rows(trained, "x_test")[0]
    assert trained.selectbox(key="search-item-x").value == test
    assert (trained.query_params["part"], trained.query_params["ask"]) == ("test", f"x{test}")
    assert "It is in the test part." in html(trained)
    assert "✓" in html(trained), "what belongs to it is said"
    press(trained, "Query side", "y")
    assert trained.selectbox(key="search-item-y").value == rows(trained, "y_test")[0]


def test_words_of_ones_own_stay_beside_an_address_of_before_and_another_part(trained):
    address = trained.query_params["ask"]
    ask(trained, "words of mine")
    trained.query_params["ask"] = address
    assert "none is marked as right" in ask(trained, "other words of mine")
    assert "ask" not in trained.query_params
    press(trained, "Measured on", "test")
    assert trained.text_input(key="search-own-x").value == "other words of mine"


def test_a_published_view_keeps_its_part_and_can_be_asked(trained, open_page):
    press(trained, "Measured on", "test")
    test = rows(trained, "x_test")[0]
    trained.session_state["search-share"] = True
    run(trained)
    told = " ".join(caption.value for caption in trained.caption)
    assert "a file in every browser for good" in told and "whoever has it can read them" in told
    (file,) = (b for b in trained.get("download_button") if "search-file" in b.proto.id)
    assert not file.proto.disabled
    run(trained.button(key="search-publish").click())
    [share] = state.store().shares.find(trained.session_state.workspace)
    shown = {"runs": ",".join(share.run_ids), "part": "test", "ask": f"x{test}"}
    assert dict(share.view) == shown | {"mode": "query", "rate": "1"}
    visitor = go(open_page(PAGE), share=share.token)
    assert visitor.selectbox(key="search-item-x").value == test
    assert visitor.query_params["part"] == "test"
    ask(visitor, "words of mine")
    assert run(visitor).text_input(key="search-own-x").value == "words of mine"


def test_runs_are_asked_in_the_order_of_their_validation_part(app, pairs, result):
    store = state.store()
    mine = app.session_state.workspace = store.workspaces.create()
    data = app.session_state.dataset_id = store.datasets.put(pairs, mine)
    spec = JobSpec(data, pairs.digest, "cca", {"n_components": 2}, workspace=mine).to_json()
    held_out = {f"{side}_{part}": np.arange(4) for side in "xy" for part in PARTS}
    figures = [(0.2, 0.9), (0.9, 0.1), (None, 0.8), (None, 0.7)]  # validation, test
    for i, (validation, test) in enumerate(figures):
        values = {"validation": validation, "test": test}
        measured = {p: result.measured[p] for p, value in values.items() if value is not None}
        kept = replace(result, measured=measured, parts=held_out)
        store.runs.put(str(i) * 32, kept, spec, mine)
        for part in measured:
            path = store.root / "runs" / (str(i) * 32) / part / "figures.json"
            figure = {"metric": "MRR", "direction": "x2y", "value": values[part]}
            known = {"metrics": ["MRR"], "records": {"run": [figure]}}
            path.write_text(json.dumps(json.loads(path.read_text()) | known))
        time.sleep(0.01)  # so that one is newer than the other
    run(app)
    assert app.session_state["search-runs"] == ["1" * 32, "0" * 32, "3" * 32]
    assert len(control(app, "Runs").options) == 4


def test_the_other_side_asks_too_and_a_link_asks_what_it_says(trained):
    go(trained, ask="y7")
    assert trained.session_state["search-side"] == "y"
    assert trained.selectbox(key="search-item-y").value == 7
    go(trained, ask="y99999999")


def test_a_link_to_a_demo_trains_its_run_and_asks_what_it_says(app):
    go(app, demo="emoji", method="cl_lsi", k="5", ask="x7")
    assert "opens when the first" in " ".join(c.value for c in app.caption)
    until_trained(app)
    run(app)
    [info] = state.store().runs.find(app.session_state.workspace, "demo:emoji")
    assert app.session_state["search-runs"] == [info.id]
    assert app.selectbox(key="search-item-x").value == 7


@pytest.mark.parametrize("ground", [0, 255])
def test_a_picture_is_brought_into_the_form_of_the_others(ground):
    picture = Image.new("RGB", (40, 80), "white")
    picture.paste("black", (10, 20, 30, 60))
    sprite = make_sprite(saved(lambda file: picture.save(file, "PNG")))
    kept = resize_like(sprite, np.full((3, 32, 48), ground, dtype=np.uint8))
    assert kept.shape == (32, 48)
    assert abs(int(kept[0, 0]) - ground) < 8 and abs(int(kept[16, 24]) - ground) > 200
    assert resize_like(sprite, np.zeros((1, 16, 16, 3), np.uint8)).shape == (16, 16, 3)


def test_words_in_bars_answers_and_the_question_are_no_markup(visit, home):
    app = visit(data=home.data["marked"])
    body = html(app)
    bars = body[body.index("sv-parts") :]
    assert "&lt;" in bars
    assert not any(tag in body for tag in ("<b>bold", "<u>bold", "<i>word"))
    body = ask(app, "<b>bold3</b> mine")
    assert "none is marked as right" in body
    bars = body[body.index("sv-parts") :]
    assert "&lt;b&gt;bold3" in bars and "<b>bold" not in bars
