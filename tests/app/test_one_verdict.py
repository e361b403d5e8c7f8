"""One pair of runs, one part, one metric: six places say the same of it."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import pytest
from on_page import html
from pandas import DataFrame

import simviz
from simviz import datasets
from simviz.cli import main
from simviz.reports import html_report
from simviz.workbench.shell import preferences

DATA = "demo:emoji"
#: Neither learns from pairs, so that the next one is the strongest baseline, too.
METHODS = {"tfidf_cosine": {}, "bm25": {"k1": 20.0}}
TITLES = {"BM25": "bm25", "TF-IDF cosine": "tfidf_cosine"}
BOTH = f"({'|'.join(TITLES)})"


@pytest.fixture(scope="module")
def home(make_home, give_demos):
    """A quarter of the demo of two languages, which trains two quick methods."""
    some = range(500)
    pairs = datasets.load_demo("emoji").take(some, some)
    info = replace(datasets.DEMOS["emoji"], methods=METHODS)
    with pytest.MonkeyPatch.context() as patch:
        give_demos(patch, {"emoji": pairs}, emoji=info)
        how = preferences.demo_split(info)
        runs = {name: (DATA, name, params, how) for name, params in METHODS.items()}
        yield replace(make_home({}, runs), pairs={"emoji": pairs, "split": how})


def verdict_on(app):
    (words,) = re.findall(r'<p class="sv-next">(.*?)</p>', html(app))
    return unescape(words).replace("\N{NO-BREAK SPACE}", " ")


@pytest.fixture
def pages(visit):
    """The verdict of each page on a part."""

    def shown(part):
        found = {page: visit(page, data=DATA, part=part) for page in ("train", "compare")}
        found["home"] = visit(None, demo="emoji", part=part)
        return {page: verdict_on(app) for page, app in found.items()}

    return shown


def test_six_places_say_the_same(home, pages, tmp_path, capsys):
    pairs, how = home.pairs["emoji"], home.pairs["split"]
    parts = simviz.split(pairs, how.by, how.fractions, how.seed, how.group_key)
    methods = {
        title: simviz.default_pipeline(name, parts.train, **METHODS[name])
        for title, name in TITLES.items()
    }
    result = simviz.compare(pairs, methods, split=parts, metric="MRR")
    (one,) = result.verdict.against.values()
    words = str(result.verdict)
    level = rf"{BOTH} and {BOTH} cannot be told apart: MRR \+0\.\d+ \[−0\.\d+, \+0\.\d+\], "
    assert re.fullmatch(level + r"p = 0\.\d+, paired randomisation, 100 queries\.", words)
    assert set(pages("test").values()) == {words}
    runs = [home.run(name) for name in METHODS]
    assert words in unescape(html_report(runs, pairs, metric="MRR"))
    file = tmp_path / "values.csv"
    values = {name: found.per_query("MRR") for name, found in result.evaluations().items()}
    DataFrame(values).rename("q{}".format).to_csv(file, index_label="query")
    status = main(["compare", str(file), "--metric", "MRR"])
    assert words in capsys.readouterr().out
    assert (status, result.verdict.state, one.state()) == (4, "level", "level")


def test_on_validation_the_same_is_said_without_p(home, pages):
    runs = [home.run(name) for name in METHODS]
    report = unescape(html_report(runs, home.pairs["emoji"], metric="MRR", part="validation"))
    (words,) = set(pages("validation").values())
    assert re.match(f"On the validation part, {BOTH} ", words) and words in report
    on_test = rf"On the test part, ({BOTH}) has MRR (0\.\d+) ± 0\.\d+\.$"
    found = re.search(r": MRR \+\d\.\d+ \[.*\], 50 queries\. " + on_test, words)
    value = home.run(TITLES[found[1]]).part("test").evaluation.value("MRR")
    assert found[3] == f"{value:.3f}"


def test_the_bold_value_is_the_headlines(visit):
    for page, metric in (("train", "top-1"), ("compare", "MRR")):
        body = html(visit(page, data=DATA, part="validation"))
        (bold,) = re.findall(r'class="sv-best">(.*?)<', body)
        (told,) = re.findall(r'<p class="sv-finding">(.*?)</p>', body)
        shown = f"{float(bold):.0%}".replace("%", "\N{NO-BREAK SPACE}%")
        assert (shown if metric == "top-1" else f"{metric} {bold}") in told
        first, second = re.findall(r"<tr>(.*?)</tr>", body)[1:3]
        assert "sv-best" in first and "sv-best" not in second
