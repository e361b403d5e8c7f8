"""The sidebar: which data set is worked on, and what ended while another page was open."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qsl

import pytest
from on_page import go, html, link, run, said

from simviz.data import PairSet
from simviz.datasets import DEMOS
from simviz.jobs.spec import AuditSpec
from simviz.workbench.shell import frame, state

SWITCH = "data-switch"


@pytest.fixture(scope="module")
def home(make_home):
    def named(name):
        texts = [f"{name} {i}" for i in range(30)]
        return replace(PairSet.from_texts(texts, [f"b {text}" for text in texts]), name=name)

    sets = {name: named(name) for name in ("older", "newer", "*same*")}
    sets["again"] = replace(named("again"), name="*same*")
    runs = {"bm25": ("newer", "bm25"), "tfidf": ("older", "tfidf_cosine")}
    return make_home(sets, runs | {name: (name, "bm25") for name in ("*same*", "again")})


def test_own_sets_stand_before_the_demos_and_the_same_name_is_told_apart(visit, home):
    box = visit("methods", data=home.data["newer"]).sidebar.selectbox(key=SWITCH)
    assert box.value == home.data["newer"]
    demos = [f"{demo.title} (demo)" for demo in DEMOS.values()]
    assert box.options == ["*same* (2)", "*same* (1)", "newer", "older", *demos]
    on_home = visit()
    assert "Recent runs" in said(on_home)
    ways = [e.proto for e in on_home.get("page_link")]
    labels = {way.label for way in ways if home.data["newer"] in way.query_string}
    assert {"Compare", "Map"} <= labels
    recent = [one.value for one in on_home.markdown if "BM25" in one.value]
    names = ["**\\*same\\* (2)**", "**\\*same\\* (1)**", "**newer**"]
    assert [words.split(" · ")[0] for words in recent] == names
    kept = html(visit("data", data=home.data["newer"], view="other"))
    assert "*same* (1)" in kept and "*same* (2)" in kept


def test_count_of_runs_moves_while_a_job_runs(visit, home, monkeypatch):
    for active, count in ((1, "1 run · 1 training"), (0, "1 run")):
        monkeypatch.setattr(frame, "count_active", lambda active=active: active)
        app = visit("methods", data=home.data["newer"])
        assert count in [c.value for c in app.sidebar.caption]


def test_another_data_set_takes_its_place_on_the_same_page(visit, home):
    app = visit("compare", data=home.data["newer"], part="test")
    run(app.sidebar.selectbox(key=SWITCH).set_value(home.data["older"]))
    assert app.title[0].value == "Compare" and "TF-IDF cosine" in html(app)
    assert link(app)["data"] == home.data["older"]
    assert link(app)["runs"] == home.runs["tfidf"]
    assert app.session_state.dataset_id == home.data["older"]
    app = visit("methods", data=home.data["newer"], method="bm25")
    app.sidebar.selectbox(key=SWITCH).set_value("demo:emoji").run()
    assert link(app) == {"data": "demo:emoji", "method": "bm25"}, "where nothing is of the data"


def test_from_home_own_data_lead_to_their_results(visit, home):
    app = visit()
    assert app.sidebar.selectbox(key=SWITCH).value is None, "nothing is chosen yet"
    run(app.sidebar.selectbox(key=SWITCH).set_value(home.data["older"]))
    assert app.title[0].value == "Train" and link(app)["data"] == home.data["older"]


def test_pages_whose_address_names_no_data_open_the_set_opened_last(visit, home):
    for name in ("newer", "older"):
        visit("data", data=home.data[name])
        for page in ("compare", "map"):
            app = visit(page)
            assert app.session_state.dataset_id == home.data[name], page
    assert "dataset_id" not in visit().session_state, "Home shows the demos"
    assert "dataset_id" not in visit("compare", workspace=None).session_state, "a stranger"


@pytest.fixture
def queued(home, visit, monkeypatch):
    """A job of which the test says what has become of it."""
    status, now = state.queue().status(home.jobs["bm25"], home.mine), {"state": "running"}
    monkeypatch.setattr(state, "jobs", lambda: [replace(status, **now)])
    return now


def notices(app):
    return [e.proto.body for e in app.get("html") if 'role="status"' in e.proto.body]


@pytest.mark.parametrize(
    ("state", "words", "page"),
    [
        ("succeeded", "Finished on newer: BM25", "compare"),
        ("failed", "Not finished on newer: BM25", "train"),
        ("succeeded", "Finished on newer: Audit of the pairs", "data"),
    ],
)
def test_a_job_that_ends_says_so_wherever_one_is(visit, home, queued, state, words, page):
    app = visit("methods", data=home.data["older"])
    assert not notices(app)
    queued["state"] = state
    if page == "data":
        queued |= {"spec": AuditSpec(home.data["newer"], "", "audit"), "run_id": None}
    (notice,) = notices(run(app))
    assert words in notice
    ways = [e.proto for e in app.get("page_link") if home.data["newer"] in e.proto.query_string]
    assert [(way.page, "view=audit" in way.query_string) for way in ways] == [
        (page, page == "data")
    ]
    assert notices(run(app)), "until it is closed, or read"
    app.button(key="close-jobs-ended").click().run()
    assert not notices(app)
    assert not notices(run(app)), "said once"


@pytest.mark.parametrize(("state", "shown"), [("cancelled", "newer"), ("succeeded", "bm25")])
def test_what_was_cancelled_or_stands_on_the_page_is_no_news(visit, home, queued, state, shown):
    app = visit("methods", data=home.data["older"])
    app.session_state["jobs-on-page"] = {"Methods": {home.jobs.get(shown)}}
    queued["state"] = state
    assert not notices(run(app))


def test_the_link_to_a_page_leads_there_from_itself_each_time(visit):
    app = visit(None, data="demo:emoji")
    for _ in range(2):
        home = next(e.proto for e in app.get("page_link") if e.proto.label == "Home")
        go(app, **dict(parse_qsl(home.query_string)))
        assert app.title[0].value == "Learned similarity, measured honestly"
        assert link(app) == {"data": "demo:emoji"}
        app.button(key="try-emoji").click().run()
        assert link(app) == {"demo": "emoji"}


def test_own_data_and_their_sides_are_renamed_on_all_pages(visit, home):
    dataset_id = home.data["again"]
    app = visit("data", data=dataset_id)
    key = f"data-rename-{dataset_id}-0"
    for part, name in (("name", "Shop *titles*"), ("left", "titles"), ("right", " ")):
        app.text_input(key=f"{key}-{part}").set_value(name)
    run(app.button(key=f"{key}-save").click())
    assert '<h2 class="sv-name">Shop *titles*</h2>' in html(app)
    assert "<span>titles, texts" in html(app)
    info = home.store.datasets.info(dataset_id, home.mine)
    assert (info.name, info.x_name, info.y_name) == ("Shop *titles*", "titles", "y")
    assert home.store.datasets.get(dataset_id, home.mine).x_name == "titles"
    assert "30 titles, 30 right items, 30 matching pairs" in html(visit("train", data=dataset_id))
    assert "Shop *titles*" in app.sidebar.selectbox(key=SWITCH).options
    assert not [e for e in visit("data", data="demo:emoji").text_input if "rename" in e.key]
