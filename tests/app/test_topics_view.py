"""Topics in the app: the table of a run, labels and notes on the map, bars of an item."""

from __future__ import annotations

import csv
import io
from html import unescape

import pytest
from on_page import canvas, control, html, link, run, said

from simviz.charts.canvas import Part, unpack
from simviz.data import PairSet
from simviz.explain.topics import RunTopics
from simviz.workbench.compare import topics

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def home(make_home):
    """A store with topic models and another one on the same words, some of them hostile."""
    stories = [
        ("the cat sleeps near the warm house", "el gato duerme cerca de la casa"),
        ("a fast car drives along the road", "un coche va por la carretera"),
        ("our sun shines over the blue sea", "nuestro sol brilla sobre el mar"),
        (f"an {HOSTILE} tag is never shown here", f"la etiqueta {HOSTILE} no se ve nunca"),
    ]
    x, y = ([f"{story[side]} {i}" for i in range(20) for story in stories] for side in (0, 1))
    pairs = PairSet.from_texts(x, y, x_name="<b>English</b>", y_name="Spanish")
    runs = {name: ("own", name, {"n_components": 4}) for name in ("jplsa", "lda", "cca")}
    runs["jplsa"][2]["shared"] = False
    return make_home({"own": pairs}, runs)


@pytest.fixture
def compare(home, visit):
    """The topics of the named runs."""
    address = {"data": home.data["own"], "tab": "topics"}
    return lambda *names: visit("compare", runs=",".join(map(home.runs.get, names)), **address)


@pytest.fixture
def map_of(home, visit):
    """The map of a run."""
    return lambda name, **params: visit(
        "map", data=home.data["own"], run=home.runs[name], **params
    )


def table(app):
    """The rows of the table of topics, without its head."""
    return next(b for e in app.get("html") if "sv-topics" in (b := e.proto.body)).split("<tr>")[2:]


def test_topics_of_a_run_are_read_side_by_side_and_hostile_terms_are_text(compare):
    app = compare("jplsa", "cca")
    assert link(app)["tab"] == "topics"
    rows, body = table(app), html(app)
    assert len(rows) == 4
    cat = next(row for row in rows if "cat" in row)
    assert all(words in cat for words in ("gato", "%", "sv-typical", "the cat sleeps near"))
    assert app.selectbox(key="topics-run").options == ["JPLSA"]
    assert "<img src=x" not in body and "<b>English</b>" not in body
    assert "&lt;b&gt;English" in body
    assert HOSTILE in unescape(body), "typical items are shown as they are"
    run(app.text_input(key="topics-search").input("GAT"))
    assert len(table(app)) == 1 and "<mark>gato</mark>" in html(app)
    app.text_input(key="topics-search").input("nowhere").run()
    assert "No topic has such a term" in said(app)


def test_order_by_coherence(compare, home):
    found = RunTopics.of(home.run("jplsa").pipeline(), home.pairs["own"])
    shares = [t.share for t in topics.ordered(found.topics, "weight")]
    assert shares == sorted(shares, reverse=True)
    by = topics.ordered(found.topics, "coherence")
    means = [t.x_coherence + t.y_coherence for t in by]
    assert means == sorted(means, reverse=True)
    app = compare("jplsa")
    run(control(app, "Order by").set_value("coherence"))
    assert by[0].x_terms[0] in unescape(table(app)[0])


def test_all_topics_leave_as_a_file(home):
    found = RunTopics.of(home.run("lda").pipeline(), home.pairs["own"])
    lines = list(csv.DictReader(io.StringIO(topics.topics_csv(found, home.pairs["own"]))))
    assert len(lines) == 4
    assert sum(float(line["share of tokens"]) for line in lines) == pytest.approx(1, abs=1e-4)
    assert {"Spanish: terms", "Spanish: NPMI", "Spanish: typical"} <= set(lines[0])


def test_without_a_topic_model_there_is_no_such_tab(compare):
    app = compare("cca")
    assert "Topics" not in [o.content for o in control(app, "Look further").proto.options]
    assert app.session_state["compare-curve"] == "roc"


def notes(app):
    """What the map says of each item when it is pointed at."""
    digest = canvas(app)["places"]
    parts = [Part("", e.proto.bytes) for e in app.get("bidi_component") if e.proto.bytes]
    headers = [unpack(part)[0] for part in parts]
    return next(header for header in headers if header["digest"] == digest)["notes"]


def regions(app):
    return [" ".join(region[5]) for region in canvas(app)["regions"]]


def test_map_of_a_topic_model_says_what_its_parts_are_about(map_of):
    app = map_of("jplsa", sel="x0")
    assert any("gato" in text or "casa" in text for text in regions(app))
    assert any(note.endswith(" %") for note in notes(app))
    bars = next(b for e in app.get("html") if "<caption>Topics" in (b := e.proto.body))
    assert "cat" in bars and "width:" in bars and " %" in bars
    assert "All topics" in [link.proto.label for link in app.get("page_link")]
    run(control(app, "Labels of regions").set_value([]))
    assert not regions(app) and link(app)["regions"] == "0"
    assert any(" %" in note for note in notes(app))
    assert "<img src=x" not in html(map_of("jplsa", sel="y3"))


def test_other_runs_have_regions_unless_they_are_put_away(map_of):
    app = map_of("cca", sel="x0")
    assert regions(app) and notes(app) is None and "<caption>Topics" not in html(app)
    app = map_of("cca", regions="0", sel="x0")
    assert not regions(app) and link(app)["regions"] == "0"
