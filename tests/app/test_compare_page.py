"""Compare says which run is better, how sure that is, and where two differ."""

from __future__ import annotations

import csv
import io
import re
import types
from functools import partial
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from on_page import control, go, html, link, press, run, said
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from waiting import until

from simviz.data import Items, PairSet
from simviz.datasets import load_demo
from simviz.evaluation import ChanceScorer, evaluate
from simviz.evaluation.tables import table_latex
from simviz.jobs import SplitSpec
from simviz.relevance import Relevance
from simviz.reports.run_summary import RunEntry, RunTable
from simviz.workbench.compare import downloads, page as compare_page, queries, significance
from simviz.workbench.shell import display, progress, state
from simviz.workbench.shell.query_params import PAGES
from simviz.workbench.shell.runs import label_runs

PAGE = "compare"
HOSTILE = "<img src=x onerror=alert(1)> [a](javascript:1) **b** $c$"


@pytest.fixture(scope="module")
def home(make_home):
    """A store with finished runs: a demo on two tests, icons, and hostile texts of one's own."""
    words = [f"{HOSTILE} {a}{b}" for a in "abcdefgh" for b in "aeiou"]
    kinds = np.array(["odd" if i % 2 else "even" for i in range(len(words))], dtype=object)
    own = PairSet(
        Items([f"x{i}" for i in range(len(words))], words, "text", {"<kind>": kinds}),
        Items([f"y{i}" for i in range(len(words))], words, "text"),
        Relevance.coerce(None, len(words), len(words)),
        name=HOSTILE,
        x_name=HOSTILE,
        y_name="=1+1",
    )
    by_y = SplitSpec(by="y")
    home = make_home(
        {"own": own},
        {
            "bm25": ("demo:emoji", "bm25"),
            "tfidf": ("demo:emoji", "tfidf_cosine"),
            "elsewhere": ("demo:emoji", "lsa", {"n_components": 4}, SplitSpec(seed=1)),
            "cca": ("demo:icons", "cca", {"n_components": 20}, by_y),
            "small": ("demo:icons", "cca", {"n_components": 5}, by_y),
            "own": ("own", "bm25"),
            "own too": ("own", "cca", {"n_components": 4}),
        },
    )
    home.store.runs.rename(home.runs["own"], home.mine, name=HOSTILE)
    return home


@pytest.fixture
def visit(visit):
    """Opens pages on the test part, whose differences are tested."""
    return lambda page=None, **params: visit(page, **{"part": "test"} | params)


def pills(app):
    return control(app, "Runs")


def asked(app):
    """The query whose answers are shown."""
    return next(b for e in app.get("html") if 'class="sv-asked"' in (b := e.proto.body))


def box(app, name):
    return app.selectbox(key=f"compare-{name}")


def select(app, name, option):
    run(box(app, name).select(option))


def drawn(app):
    """What the first figure of a page is."""
    return app.get("plotly_chart")[0].proto.spec


def titles(app):
    """What stands above the columns of the tables."""
    heads = re.findall(r"<th[^>]*>(.*?)</th>", html(app))
    return [re.sub("<[^>]*>", "", head) for head in heads]


# -- the table ------------------------------------------------------------------------


def test_tests_are_kept_apart_and_said(visit, home):
    page = visit(data="demo:emoji")
    part = box(page, "group")
    assert "2 different splits" in part.label
    assert {option.partition(" · ")[2] for option in part.options} == {"2 runs", "1 run"}
    assert set(pills(page).value) == {home.runs["bm25"], home.runs["tfidf"]}
    select(page, "group", next(o for o in part.options if "seed 1" in o))
    assert pills(page).value == [home.runs["elsewhere"]] and "seed 1" in said(page)
    assert ": 0.5 % of the English names are empty" in said(page)
    run(pills(page).set_value([]))
    assert "Choose at least one run" in said(page)


def test_finding_table_and_baselines_and_every_mark_names_its_test(visit):
    page = visit(data="demo:emoji", tab="dimensions", test="tea leaves", correction="<b>")
    body = html(page)
    assert "tea leaves" not in body and "<b>" not in link(page).values()
    assert "over 385 queries (English names) of the test part" in body
    assert "paired randomisation, 385 queries" in body, "the verdict"
    assert "two-sided, 385 queries" in said(page), "the note; one comparison is not corrected"
    assert "cannot be told apart" in body or "is ahead of" in body
    assert re.search("p\N{NO-BREAK SPACE}(=|&lt;)\N{NO-BREAK SPACE}[01]", body), "on one line"
    assert body.count("<tr") == 1 + 2 + 2, "a heading, two runs, two baselines"
    assert body.count('class="sv-base"') == 2
    heads = ["method", "MRR", "group", "Δ to TF-IDF cosine", "p, randomisation", "AUC"]
    assert titles(page) == heads
    assert len(re.findall("<th [^>]*title=", body)) == 5, "all but the method have a word on hover"
    assert "the 385 Spanish names of the test part" in said(page)
    assert "are empty" not in said(page)
    assert "16.5 % of the terms of the English names and 13.7 % of the terms of" in said(page)
    assert said(page).count("did not occur in training") == 1, "both have the same terms"
    run(page.toggle(key="compare-more").set_value(True))
    assert len(titles(page)) == 1 + 6 + 8 + 2  # six metrics, eight of the test, dimensions, time
    select(page, "test", "wilcoxon")
    assert "Wilcoxon signed-rank" in html(page) and "p, Wilcoxon" in titles(page)
    assert link(page)["test"] == "wilcoxon"


def test_baseline_is_chosen_differences_turn_and_it_stays(visit, home):
    page = visit(data="demo:emoji", metric="recall@10")

    def delta():
        (found,) = re.findall(r"<td>([+−]0\.\d{3})</td>", html(page))
        return found

    before, first = delta(), box(page, "against").value
    other = next(home.runs[n] for n in ("bm25", "tfidf") if home.runs[n] != first)
    select(page, "against", other)
    assert delta()[1:] == before[1:] and delta()[0] != before[0]
    select(page, "metric", "MAP")
    press(page, "Measured on", "validation")
    assert box(page, "against").value == other == link(page)["against"]


def test_the_baseline_becomes_the_first_lexical_run_unless_another_was_chosen(visit, home):
    learned, lexical = home.runs["own too"], home.runs["own"]
    page = visit(data=home.data["own"], runs=learned)
    assert page.session_state["compare-against"] == learned
    pills(page).set_value([learned, lexical]).run()
    assert box(page, "against").value == lexical
    select(page, "against", learned)
    select(page, "metric", "top-1")
    assert box(page, "against").value == learned


@pytest.mark.parametrize(
    ("metric", "test"), [("top-1", "unpaired t"), ("AUC", "t of subsets"), ("MAP", "paired t")]
)
def test_published_protocols_have_a_better_test_beside(visit, metric, test):
    page = visit(data="demo:emoji", metric=metric, test="published")
    assert {f"p, {test}", "p, randomisation"} <= set(titles(page))
    assert "share a letter" in said(page)


def test_metric_and_direction_change_the_finding_and_the_link(visit):
    page = visit(data="demo:emoji")
    page.selectbox(key="compare-metric").select("top-1").run()
    direction = control(page, "Query side")
    run(direction.set_value("x2y"))
    assert "queries (English names) of the test part, out of the 385 Spanish names" in html(page)
    assert link(page)["metric"] == "top-1"
    assert link(page)["direction"] == "x2y"
    assert "first answer is relevant" in page.selectbox(key="compare-metric").help


def test_answers_and_queries_are_named_by_their_sides(visit):
    page = visit(data="demo:icons")
    assert "first 5 answers (keywords)" in html(page)
    assert "queries (icons) of the test part" in html(page)
    assert "CCA, dim 20" in html(page)
    assert 'class="sv-kin"' in html(page), "another setting stands below the best"
    assert ">dim 5<" in html(page) or "dim 5</td>" in html(page)
    go(page, data="demo:icons", direction="x2y")
    assert "first 5 answers (icons)" in html(page)
    assert "queries (keywords) of the test part" in html(page)
    assert '<img src="data:image' in html(visit("train", data="demo:icons", direction="y2x"))
    go(page, data="demo:icons", direction="mean")
    assert "let one side ask to be strict" in said(page), "both share judgments"


def test_link_restores_everything(visit, home):
    runs = home.runs
    named = f"{runs['tfidf']},{runs['elsewhere']},{'0' * 32},<b>"
    page = visit(runs=named, direction="y2x", metric="P@5", tab="dimensions")
    assert link(page)["data"] == "demo:emoji", "the runs name their data"
    assert pills(page).value == [runs["tfidf"]]
    assert page.selectbox(key="compare-metric").value == "P@5"
    assert "Spanish names" in html(page)
    assert page.session_state["compare-tab"] is None
    assert page.session_state["compare-curve"] == "dimensions"
    assert "no smaller model" in said(page), "what the place of the curve says"
    assert "1 of the 3 runs in this link is not here" in said(page)
    assert "1 of the runs asked for was measured on another split" in said(page)
    page.run()
    assert "not here" not in said(page), "said once"


def come_with(app, address):
    """Have the browser say an address with what is done next."""
    app.query_params.clear()
    app.query_params.update(address)
    return app


def test_what_is_pressed_stands_though_it_comes_with_an_address_of_before(visit, home):
    page = visit(data="demo:emoji", metric="MRR")
    before = link(page)
    page.selectbox(key="compare-metric").select("P@5").run()
    press(come_with(page, before), "Measured on", "validation")
    assert (link(page)["metric"], link(page)["part"]) == ("P@5", "validation")
    page.selectbox(key="data-switch").select(home.data["own"]).run()
    assert link(come_with(page, before).run())["data"] == home.data["own"]
    page.switch_page("pages/train.py").run()
    come_with(page, {"data": "demo:emoji", "metric": "MRR"})
    run(page.switch_page("pages/compare.py"))
    assert (link(page)["data"], link(page)["metric"]) == ("demo:emoji", "MRR"), "by a link"


def test_a_tab_left_open_goes_on_with_what_is_still_there(visit, home, tmp_path, serve, open_page):
    copy = home.copy(tmp_path / "store")
    serve(copy.root)
    page = go(open_page(PAGE, copy.mine), data=copy.data["own"], part="validation")
    assert len(pills(page).value) == 2
    copy.store.runs.delete(copy.runs["own"], copy.mine)
    press(page, "Measured on", "test")
    assert pills(page).value == [copy.runs["own too"]] and link(page)["part"] == "test"
    assert link(page)["runs"] == copy.runs["own too"]


def test_roc(visit):
    page = visit(data="demo:icons", tab="roc")
    assert len(page.get("plotly_chart")) == 1
    plain = page.get("plotly_chart")[0].proto.spec
    assert re.search(r"0\.\d{3} \[0\.\d{3}, 0\.\d{3}\]", html(page)), "areas with intervals"
    assert re.findall(r'"text":"(CCA, dim \d+)"', plain) == ["CCA, dim 20", "CCA, dim 5"]
    (names,) = re.findall('<ul class="sv-key">(.*?)</ul>', html(page))
    assert re.findall("</span>(.*?)</li>", names) == ["CCA, dim 20", "CCA, dim 5"], "on a phone"
    assert "threshold" in plain and "toself" not in plain
    press(page, "False alarms", "log")
    assert "logarithmic" in page.get("plotly_chart")[0].proto.spec
    press(page, "False alarms", "low")
    assert '"range":[-0.00125,0.25]' in page.get("plotly_chart")[0].proto.spec
    run(page.toggle(key="compare-bands").set_value(True))
    assert "toself" in page.get("plotly_chart")[0].proto.spec
    assert "268 icons" in said(page), "whose draws the bands come from"


@pytest.mark.parametrize("kind", ["roc", "precision"])
def test_a_point_of_a_curve_leads_to_pairs_and_a_pair_to_its_query(visit, kind):
    page = visit(data="demo:icons", tab=kind)
    assert "Press a point" in said(page)
    point = {"x": 0.2, "y": 0.5, "customdata": ["cca"], "curve_number": 1, "point_index": 3}
    page.session_state[f"compare-{kind}"] = {"selection": {"points": [point]}}
    run(page)
    assert "pairs score at or above" in said(page)
    assert "False alarms with the highest scores" in said(page)
    run(page.button(key="compare-miss-0").click())
    assert page.session_state["compare-tab"] == "queries"
    assert link(page)["query"].startswith("y2x:")
    assert asked(page)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("precision", "recall"),
        ("scores", "share of each class"),
        ("reliability", "mean gap to the diagonal"),
        ("dimensions", "dimensions"),
    ],
)
def test_other_curves(visit, kind, words):
    page = visit(data="demo:icons", tab=kind)
    assert words in page.get("plotly_chart")[-1].proto.spec
    assert link(page)["tab"] == kind


def test_a_curve_of_another_metric_is_measured(visit):
    page = visit(data="demo:icons", tab="dimensions")
    assert "95 % of it with" in html(page)
    assert "with 95 % bands over queries" in said(page)
    assert "P@5" in drawn(page), "the metric of the page"
    select(page, "metric", "NDCG@3 (exponential gain)")
    assert "NDCG@3" in drawn(page)


def test_numbers_stand_behind_a_curve(visit):
    page = visit(data="demo:icons", tab="precision")
    page.session_state["compare-rows-precision"] = True
    run(page)
    assert {"threshold", "recall", "precision"} <= set(page.dataframe[0].value.columns)


def test_curves_by_training_size_are_made_when_asked_for(visit, home):
    page = visit(data="demo:icons", tab="training")
    assert not page.get("plotly_chart") and "solved at once" in said(page)
    page = visit(data="demo:icons", tab="size")
    assert "What would more pairs bring" in said(page)
    run(page.button(key="compare-size-train").click())
    background = progress.background("size")
    keys = [(home.runs[name], "test") for name in ("cca", "small")]
    until(lambda: all(background.progress(key) is None for key in keys))
    run(page)
    assert "pairs trained on" in drawn(page) and "last doubling" in html(page)


def test_numbers_have_a_true_minus_and_nothing_is_minus_0():
    assert [display.number(x) for x in (-1.25, -4e-4, float("nan"))] == ["−1.250", "0.000", "–"]
    assert [display.signed(x) for x in (0.5, -0.5, 4e-4)] == ["+0.500", "−0.500", "0.000"]


def test_where_two_differ(visit):
    page = visit(data="demo:icons", tab="queries")
    (frame,) = page.dataframe
    table = frame.value
    assert (table["difference"].abs().diff().dropna() <= 1e-12).all(), "biggest movers first"
    assert table["picture"].str.startswith("data:image/png;base64,").all()
    shown = convert_arrow_bytes_to_pandas_df(frame.proto.arrow_data.styler.display_values)
    assert list(shown["difference"]) == [display.signed(value) for value in table["difference"]]
    counts = control(page, "Queries")
    n = [int(o.content.rpartition("  **")[2].strip("*")) for o in counts.proto.options]
    sign = np.sign(table.difference)
    assert n == [(sign == which).sum() for which in (1, 0, -1)] and sum(n) == 268
    body = html(page)
    assert body.count("<caption>") == 2
    for words in ("✓", "Lines from the place of each answer", "Ideal", "Biggest rank change"):
        assert words in body
    assert link(page)["query"].startswith("y2x:")
    run(counts.set_value("b"))
    assert (page.dataframe[0].value.difference < 0).all()


def test_a_tab_is_found_as_it_was_left(visit):
    page = visit(data="demo:icons", tab="queries")
    control(page, "Queries").set_value("b").run()
    run_ids = "-".join(pills(page).value)
    key = f"compare-lines-test-{run_ids}-P-5-y2x--b-0"
    page.session_state[key] = {"selection": {"rows": [3], "columns": [], "cells": []}}
    before = link(page)["query"]
    run(page)
    left = link(page)["query"]
    assert left != before and page.dataframe[0].value["text"][3] in asked(page)
    page.switch_page("pages/methods.py").run()
    page.query_params.clear()
    page.switch_page("pages/compare.py")
    go(page, data="demo:icons")
    assert page.session_state["compare-tab"] == "queries"
    assert control(page, "Queries").value == "b"
    assert link(page)["query"] == left


def test_a_part_is_set_by_its_visitor_alone(visit):
    page = visit(data="demo:icons")
    # A browser takes over what a page sets, and would undo what is pressed meanwhile.
    assert not control(page.run(), "Look further").proto.set_value
    press(page, "Look further", "more")
    assert not any(control(page.run(), part).proto.set_value for part in ("Look further", "More"))


def test_each_pair_behind_a_point_opens_its_query(visit):
    page = visit(data="demo:icons", tab="queries")
    control(page, "Queries").set_value("b").run()
    points = [{"x": 0.1, "y": 0.5, "customdata": ["cca"]}]
    page.session_state["compare-roc"] = {"selection": {"points": points}}
    page.run()
    seen = {link(page)["query"]}
    for key in [f"compare-{kind}-{n}" for kind in ("alarm", "miss") for n in range(3)]:
        run(page.button(key=key).click())
        _, icon = page.button(key=key).label.split(" ↔ ")
        assert icon.rpartition(" · ")[0].replace("\\", "") in asked(page)
        seen.add(link(page)["query"])
    assert len(seen) > 3
    assert control(page, "Queries").value is None, "a filter would hide it"


def test_queries_that_share_a_word_are_offered(visit):
    page = visit(data="demo:emoji", tab="queries")
    words = control(page, "Query words")
    everything = len(page.dataframe[0].value)
    assert 1 <= len(words.proto.options) <= 10
    name, _, n = re.fullmatch(r"(\S+)  (\S+) · (\d+)", words.proto.options[0].content).groups()
    run(words.set_value(name))
    table = page.dataframe[0].value
    assert len(table) == int(n) < everything
    assert table["text"].str.contains(name, case=False).all()
    assert f"“{name}”: {n} queries, mean difference" in said(page).replace("\\", "")


def test_queries_are_filtered_by_a_column(visit, home):
    page = visit(data=home.data["own"], tab="queries", direction="x2y")
    (column,) = (one for one in page.selectbox if one.label == "Only queries with")
    assert column.value is None
    assert {option.partition(":")[0] for option in column.options} == {"<kind>"}
    n = len(page.dataframe[0].value)
    run(column.select_index(0))
    assert 0 < len(page.dataframe[0].value) < n
    assert "<kind>: " in said(page).replace("\\", "")


def test_a_link_to_a_query_opens_it(visit, home):
    pairs = load_demo("icons")
    at = int(state.run(home.runs["cca"]).arrays()["y_test"][100])
    page = visit(data="demo:icons", tab="queries", query=f"y2x:{at}")
    assert str(pairs.y.labels[at]) in asked(page)
    assert link(page)["query"] == f"y2x:{at}"


def test_pooled_metric_has_a_stand_in_for_queries_and_one_run_asks_for_a_second(visit, home):
    page = visit(data="demo:emoji", tab="queries", metric="AUC")
    assert "stands for it" in said(page)
    assert re.search(r"over [\d,]+ pairs of the test part", html(page))
    page = visit(runs=home.runs["bm25"], tab="queries")
    assert "Choose a second run" in said(page)


# -- other people's text, and files ---------------------------------------------------


def test_hostile_text_is_text(visit, home):
    page = visit(data=home.data["own"], tab="queries")
    body = html(page)
    assert "<img src=x" not in body and "&lt;img src=x" in body
    marked_up = [str(e.value) for kind in (page.markdown, page.caption) for e in kind]
    told = [text for text in marked_up if "javascript" in text]
    assert told, "the name of the data stands there"
    bare = " ".join(told).replace("\\<", "").replace("\\]", "")
    assert "](javascript" not in bare and "<img" not in bare
    labels = [o.content for o in pills(page).proto.options]
    assert any("\\<img" in label and "\\[a\\]" in label for label in labels)
    assert "All queries as CSV" in {b.proto.label for b in page.get("download_button")}


def choose_all(home, names, data, direction="y2x", metric="MRR"):
    """Runs as the page would choose them, without the page."""
    runs = [home.run(name) for name in names]
    labels = label_runs([run.info for run in runs])
    entries = [RunEntry(run, labels[run.id], run.info.method, "test") for run in runs]
    pairs = home.store.datasets.get(data, home.mine)
    return RunTable(pairs, entries, direction, metric, [metric])


def test_files_say_what_was_tested(home):
    table = choose_all(home, ("bm25", "tfidf"), "demo:emoji", "mean")
    now = significance.Setting("t", "t", "holm", table.entries[0])
    results = significance.TestResults(now, significance.compare_all(table, "t", "holm"), None)
    given = (table, ["MRR"], results)
    base, other, *_ = csv.DictReader(io.StringIO(downloads.csv_table(*given)))
    assert base["Δ to BM25"] == base["p"] == ""
    assert other["test"] == "paired t, two-sided, 385 pairs"
    assert sum(int(other[name]) for name in ("better", "same", "worse")) == 385

    def bounded(row, value, ends):
        low, found, high = (float(row[n]) for n in (f"{ends} low", value, f"{ends} high"))
        assert low < found < high
        return found

    delta = bounded(other, "Δ to BM25", "Δ 95 %")
    assert delta == pytest.approx(float(other["MRR"]) - bounded(base, "MRR", "bootstrap 95 %"))
    assert 0 <= float(other["p"]) <= 1
    text = downloads.printed_table(partial(table_latex, n_runs=2), *given)
    assert r"group & $\Delta$ to BM25 & p & dimensions" in text
    assert "(paired t, two-sided, 385 pairs)" in text


def test_csv_of_queries_reads_back(home):
    table = choose_all(home, ("own", "own too"), home.data["own"])
    both = queries.compare_two(table, *table.entries)
    head, *lines = csv.reader(io.StringIO(queries.queries_csv(both)))
    assert head[:3] == ["side", "id", "query"] and len(lines) == len(both.differences)
    for line in lines:
        assert line[0] == "'=1+1"
        assert float(line[3]) - float(line[5]) == pytest.approx(float(line[7]))


def test_a_published_view_opens_as_its_owner_saw_it(visit, home):
    runs = [home.runs[name] for name in ("own", "own too")]
    view = {"metric": "AUC", "direction": "y2x", "against": runs[1], "test": "t", "tab": "scores"}
    what = {"run_ids": runs, "dataset_ids": [home.data["own"]], "view": view}
    token = state.store().shares.publish(home.mine, "compare", **what)
    page = visit(workspace=state.store().workspaces.create(), share=token)
    keys = ["further" if name == "tab" else name for name in view]
    assert [page.session_state[f"compare-{key}"] for key in keys] == [*view.values()]
    select(page, "metric", "MRR")
    assert box(page.run(), "metric").value == "MRR", "what a reader changes stays changed"
    assert "compare-publish" not in [button.key for button in page.button]


def test_the_link_of_a_demo_opens_the_same_comparison(visit):
    page = visit(data="demo:emoji", metric="P@5", direction="y2x")
    chosen = pills(page).value
    page.session_state["compare-share"] = True
    shown = next(c.value for c in page.run().code if "/compare?" in c.value)
    query = dict(parse_qsl(urlsplit(shown).query))
    assert query["data"] == "demo:emoji" and set(query["runs"].split(",")) == set(chosen)
    again = visit(**query)
    assert (box(again, "metric").value, pills(again).value) == ("P@5", chosen)
    assert link(again)["direction"] == "y2x"


def test_what_is_on_the_screen_is_published(visit, home):
    page = visit(data=home.data["own"])
    select(page, "metric", "AUC")
    page.session_state["compare-share"] = True
    run(page.run().button(key="compare-publish").click())
    shared = max(state.store().shares.find(home.mine), key=lambda share: share.created)
    view = dict(shared.view)
    assert view.keys() == PAGES["Compare"].keys(), "what is usual too"
    told = [view[name] for name in ("metric", "tab", "correction", "test")]
    assert told == ["AUC", "roc", "holm", "randomization"]


# -- any metric, and settings of one method -------------------------------------------


@pytest.mark.parametrize(
    "metric", ["P@7", "MRR@5", "NDCG@20 (linear gain, jk)", "rank loss", "pAUC@0.1"]
)
def test_metrics_that_were_not_stored_are_read_from_stored_ranks(visit, home, metric):
    page = visit(data="demo:emoji", metric=metric, direction="y2x")
    assert box(page, "metric").value == metric == link(page)["metric"]
    assert metric in titles(page)
    value = home.run("bm25").part("test").evaluation.value(metric, "y2x")
    assert f"{value:.3f}" in html(page)
    test = home.run("bm25").take(load_demo("emoji"), "test")
    chance = evaluate(ChanceScorer(), test.x, test.y, test.relevance).value(metric, "y2x")
    assert re.search(rf"pure chance</td><td[^>]*>{chance:.3f}", html(page))


def test_k_is_free(visit):
    page = visit(data="demo:emoji")
    for metric, k, found in (
        ("P@5", 8, "P@8"),
        ("NDCG@10 (linear gain)", None, "NDCG (linear gain)"),
        ("MRR", 10, "MRR@10"),
        ("success@5", 1, "top-1"),
        ("pAUC@0.25", 1.0, "pAUC@0.01"),
    ):
        select(page, "metric", metric)
        run(page.number_input(key="compare-k").set_value(k))
        assert box(page, "metric").value == found == link(page)["metric"]


def test_brushed_parameters_choose_runs(visit, home, monkeypatch):
    page = visit(data="demo:icons", tab="parameters")
    figure = page.get("plotly_chart")[-1].proto.spec
    assert "components" in figure and home.runs["small"] in figure
    points = [{"customdata": home.runs["small"]}, {"x": 5}, {"customdata": [home.runs["small"]]}]
    brushed = types.SimpleNamespace(get=lambda key: {"selection": {"points": points}})
    monkeypatch.setattr(compare_page.st, "session_state", brushed)
    compare_page.choose_brushed()
    monkeypatch.undo()
    page.session_state["run_ids"] = brushed.run_ids
    run(page)
    assert pills(page).value == [home.runs["small"]]
    assert "Parameters" not in [o.content for o in control(page, "Look further").proto.options]
