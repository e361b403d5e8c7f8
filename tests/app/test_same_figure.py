"""One figure, six places: Home, Train, Compare, Map, the report and the library agree."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from on_page import control, html, link, run

from simviz.data import PairSet
from simviz.evaluation import confidence_interval, evaluate, query_values
from simviz.jobs import SplitSpec
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.workbench.shell import preferences

#: Data set to the metric that is looked at first; queries ask, by the name of their side.
FIRST = {"demo:icons": "P@5", "own": "NDCG@10 (exponential gain)"}
METHOD = ("lsa", {"n_components": 6})


def graded():
    """Pages about things, and short queries for them, some answered well and some a little."""
    colours = "red green blue gold grey pink black white".split()
    things = "car bus tram ship boat bike".split()
    names = [f"{colour} {thing}" for colour in colours for thing in things]
    rng = np.random.default_rng(0)
    pages = [
        f"{name}, and what is said of {rng.choice(colours)} things like a {rng.choice(things)}"
        for name in names
    ]
    about = rng.permutation(len(names))[:30]
    x = np.concatenate([about, (about + 1) % len(names), (about + 6) % len(names)])
    grades = np.repeat([3.0, 1.0, 1.0], 30)
    relevance = Relevance.from_pairs(x, np.tile(np.arange(30), 3), grades, shape=(len(names), 30))
    queries = [f"{names[i].split()[0]} {names[i].split()[1][:3]}" for i in about]
    pairs = PairSet.from_texts(
        pages, queries, relevance, name="graded", x_name="pages", y_name="queries"
    )
    held = np.resize(np.array(["train", "train", "test"], dtype=object), 30)
    return replace(pairs, y=replace(pairs.y, metadata={"split": held}))


@pytest.fixture(scope="module")
def home(make_home, give_demos):
    """A run on the same pairs as data of one's own and as a demo."""
    pairs = graded()
    splits = {"demo:icons": SplitSpec(by="y"), "own": SplitSpec(by="column")}
    runs = {name: (name, *METHOD, splits[name]) for name in FIRST}
    with pytest.MonkeyPatch.context() as patch:
        give_demos(patch, {"icons": pairs})
        yield make_home({"own": pairs}, runs, drawn=list(FIRST))


@pytest.fixture
def show(home, visit):
    """A page of a data set; Home follows the job it was given: no other method is trained."""

    def show(page, name, **params):
        if page != "home":
            return visit(page, data=home.data[name], **params)
        return visit(session={"home-jobs-icons": [home.jobs[name]]}, demo="icons", **params)

    return show


def cell(text, column):
    """The figure of the first run in the first table with that column."""
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        head, *rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        names = [
            unescape(re.sub(r"<[^>]*>", "", cell)).strip()
            for cell in re.findall(r"<th.*?</th>", head, re.DOTALL)
        ]
        if column in names and rows:
            cells = re.findall(r"<t[hd].*?</t[hd]>", rows[0], re.DOTALL)
            told = re.sub(r"<[^>]*>", " ", cells[names.index(column)])
            return re.search(r"\d\.\d{3}", told)[0]
    raise AssertionError(f"no table has a column {column}")


def dataset(home, name):
    return home.store.datasets.get(home.data[name], home.mine)


def every_place(show, home, name, direction, part):
    """The same figure as each place shows it, to the last digit."""
    run, pairs, metric = home.run(name), home.pairs["own"], FIRST[name]
    told = {"Compare": cell(html(show("compare", name, part=part, direction=direction)), metric)}
    # Nothing is said in the links that follow: part and direction are kept with the data set.
    for place in ("Train", "Home") if name.startswith("demo:") else ("Train",):
        app = show(place.lower(), name)
        told[place] = cell(html(app), metric)
        drawn = app.get("plotly_chart")[-1].proto.spec
        assert f"best {metric[:20]}" in drawn, "quality by dimension is of the same metric"
    app = show("map", name, dims=str(METHOD[1]["n_components"]))
    assert link(app)["direction"] == direction, "what a published map says to its readers"
    told["Map"] = re.search(rf"<b>([0-9.]+)</b><span>{re.escape(metric)}</span>", html(app))[1]
    report = html_report([run], pairs, metric=metric, direction=direction, part=part)
    told["report"] = cell(report, metric)
    at = run.arrays()
    held_out = pairs.take(at[f"x_{part}"], at[f"y_{part}"])
    found = evaluate(run.pipeline(), held_out.x, held_out.y, held_out.relevance)
    told["library"] = f"{found.value(metric, direction):.3f}"
    told["stored"] = f"{run.part(part).evaluation.value(metric, direction):.3f}"
    return told


@pytest.mark.parametrize("name", FIRST)
def test_the_figure_looked_at_first_is_the_same_everywhere(show, home, name):
    run, pairs, metric, part = home.run(name), home.pairs["own"], FIRST[name], "validation"
    assert preferences.default_direction_of(home.data[name], pairs).direction == "y2x"
    # Without any choice the pages open on that part and direction by themselves.
    first = cell(html(show("compare", name)), metric)
    told = every_place(show, home, name, "y2x", part)
    assert {first} == set(told.values()), told
    # No direction is named: the run was measured for the side that asks.
    evaluation = run.part(part).evaluation
    value = evaluation.value(metric)
    assert evaluation.directions[0] == "y2x" and f"{value:.3f}" == first
    report = html_report([run], pairs, metric=metric, part=part)
    assert cell(report, metric) == first
    assert ("where it names no validation part" in report) == (name == "own")
    low, high = confidence_interval(query_values(evaluation, metric).values)
    assert low <= value <= high
    assert run.info.summary[metric] == pytest.approx(value)


@pytest.mark.parametrize("direction", ["x2y", "mean"])
def test_another_direction_is_followed_everywhere_and_kept(show, home, direction):
    told = every_place(show, home, "own", direction, "test")
    assert len(set(told.values())) == 1, told
    assert told != every_place(show, home, "own", "y2x", "test")
    app = show("compare", "own")
    sides = control(app, "Query side")
    assert sides.value == "y2x" == link(app)["direction"]
    assert "Default: queries, by its name" in sides.proto.help.replace("\\", "")
    run(sides.set_value(direction))
    for page in (app, show("compare", "own")):
        assert cell(html(page), FIRST["own"]) == told["Compare"]
    kept = home.store.view_preferences.get(home.data["own"], home.mine, "direction")
    assert kept == direction
