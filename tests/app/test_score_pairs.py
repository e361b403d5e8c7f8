"""Score pairs: a threshold with what to expect of it, two texts by hand, a file of pairs."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest
from on_page import go, html, run

from simviz.data import Items, PairSet
from simviz.evaluation import choose_threshold, operating_point
from simviz.jobs.spec import SplitSpec
from simviz.workbench.search import score
from simviz.workbench.shell import state


@pytest.fixture(scope="module")
def home(make_home, sentences):
    return make_home({"own": sentences}, {"cca": ("own", "cca", {"n_components": 8})})


@pytest.fixture
def scoring(visit, home):
    """The page in this mode, drawn once."""
    return visit("search", data=home.data["own"], mode="score")


def of_the_run(app):
    [info] = state.store().runs.find(app.session_state.workspace)
    return state.store().runs.get(info.id)


def test_the_threshold_keeps_its_rate_on_validation_and_says_what_to_expect(
    scoring, sentences, open_page
):
    run(scoring.number_input(key="score-rate").set_value(5.0))
    stored = of_the_run(scoring)
    part = stored.take(sentences, "validation")
    sides = part.x, part.y, part.relevance
    threshold = choose_threshold(stored.pipeline(), *sides, false_alarm_rate=0.05)
    point = operating_point(stored.pipeline(), *sides, threshold=threshold)
    assert point.false_alarm_rate.value <= 0.05
    shown, told = html(scoring), f"{threshold:.3f}".replace("-", "−")
    assert all(words in shown for words in (told, "recall (", "precision (", "false alarms ("))
    assert f"{point.n_positive + point.n_negative:,} pairs of the validation part" in shown
    run(scoring.number_input(key="score-prevalence").set_value(50.0))
    assert "50 % of the pairs belong together" in html(scoring) != shown
    scoring.session_state["search-share"] = True
    run(scoring.run().button(key="search-publish").click())
    [share] = state.store().shares.find(scoring.session_state.workspace)
    visitor = go(open_page("search"), share=share.token)
    assert visitor.number_input(key="score-rate").value == 5.0 and "recall (" in html(visitor)


def test_intervals_take_groups_whole_where_the_split_does(make_home, serve, open_page, sentences):
    pages = np.arange(len(sentences.x)) // 2
    grouped = PairSet(
        *(Items(s.ids, s.content, s.kind, {"page": pages}) for s in (sentences.x, sentences.y)),
        sentences.relevance,
    )
    split = SplitSpec("group", (0.5, 0.3, 0.2), group_key="page")
    home = make_home({"own": grouped}, {"tfidf": ("own", "cca", {"n_components": 8}, split)})
    serve(home.root)
    app = go(open_page("search", home.mine), data=home.data["own"], mode="score")
    shown, stored = html(app), of_the_run(app)
    part = stored.take(grouped, "validation")
    sides = part.x, part.y, part.relevance
    threshold = choose_threshold(stored.pipeline(), *sides, false_alarm_rate=0.01)
    whole = {"x": part.x.metadata["page"], "y": part.y.metadata["page"]}
    for groups in (whole, None):
        point = operating_point(stored.pipeline(), *sides, threshold=threshold, groups=groups)
        low, high = point.false_alarm_rate.low, point.false_alarm_rate.high
        words = f"false alarms ({score.in_percent(low)} to {score.in_percent(high)})"
        assert (words in shown) == (groups is whole)


def test_two_texts_are_scored_and_are_above_or_below(scoring, sentences):
    inputs = [t for t in scoring.text_input if t.key and t.key.startswith("score-")]
    x, y = (t.value for t in inputs)
    assert x in sentences.x.content and y in sentences.y.content
    found = float(of_the_run(scoring).pipeline().score_pairs([x], [y])[0])
    assert f"Score {found:.3f}".replace("-", "−") in html(scoring)
    run(inputs[1].set_value("<b>zzzz qqqq"))
    assert "Score 0.000, below the threshold" in html(scoring)
    assert "<b>zzzz" not in html(scoring)


def upload(app, data, name="pairs.csv"):
    app.get("file_uploader")[0].upload(name, data, "text/csv")
    return run(app)


def columns_of(app):
    return [s for s in app.selectbox if s.key and s.key.startswith("score-column")]


def test_a_file_of_pairs_is_scored(scoring, sentences):
    x, y = sentences.x.content, sentences.y.content
    lines = [["note", "b", "a"], ["=1+1", y[0], x[0]], ["", y[1], x[2]], ["", "", x[3]]]
    file = io.StringIO()
    csv.writer(file).writerows(lines)
    upload(scoring, file.getvalue().encode())
    for column, name in zip(columns_of(scoring), "ab", strict=True):
        column.set_value(name)
    run(scoring)
    assert "2 pairs scored" in html(scoring) and "1 row without both texts" in html(scoring)
    (_, table), (_, scores) = (scoring.session_state[f"score-{name}"] for name in ("table", "of"))
    wanted = of_the_run(scoring).pipeline().score_pairs([x[0], x[2]], [y[0], y[1]])
    np.testing.assert_allclose(scores, [*wanted, np.nan])
    head, *rows = csv.reader(io.StringIO(score.scored_csv(table, scores, float(wanted.min()))))
    assert head == ["note", "b", "a", "score", "above the threshold"]
    assert rows[0][0] == "'=1+1"
    assert float(rows[0][3]) == pytest.approx(wanted[0], rel=1e-5)
    assert [row[4] for row in rows] == ["yes", "yes", ""] and rows[2][3] == ""


@pytest.mark.parametrize(
    ("names", "guesses"),
    [
        (["vector", "here", "price"], ["here", "price"]),
        (["left", "right", "here", "there"], ["here", "there"]),
    ],
)
def test_columns_are_guessed_as_data_guesses_them(scoring, names, guesses):
    texts = {"here": ["a lamp", "a chair"], "there": ["lamp of brass", "oak chair"]}
    cells = texts | {"price": [9.5, 3.0]}
    table = pd.DataFrame({name: cells.get(name, [[0.1, 0.2], [0.3, 0.5]]) for name in names})
    upload(scoring, table.to_parquet(), "pairs.parquet")
    assert [column.value for column in columns_of(scoring)] == guesses


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"one\nalone\n", "one column only"), (b"\x80\x04\x95\x00", "pickle"), (b"", "empty")],
)
def test_a_file_that_is_no_table_is_refused_in_a_sentence(scoring, data, words):
    upload(scoring, data)
    assert words in html(scoring)
