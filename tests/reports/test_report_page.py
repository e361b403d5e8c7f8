"""A report holds everything it shows, and nothing in it is anybody's code."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from waiting import finished

from simviz.charts.canvas import Part, unpack
from simviz.data import Items, PairSet
from simviz.exceptions import DatasetError, StoreError
from simviz.jobs import JobQueue, JobSpec, SplitSpec, blend_spec
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now
from simviz.jobs.training import measure
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.store import Store
from simviz.store.run import MEASURED, write_part

HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "<!-- <script> ]]> ${alert(1)} %{x} {{x}}",
    "line\u2028separator\u2029and\x00nul\ud800",
    "javascript:alert(1)",
)
VOID = {"meta", "img", "br", "link", "input", "hr"}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Hostile texts, names and labels, with three finished runs on them."""
    store = Store(tmp_path_factory.mktemp("reports"))
    mine = store.workspaces.create()
    words = [f"{HOSTILE[i % 4]} word{i} {'abcdefgh'[i % 8]}" for i in range(48)]
    metadata = {"label": [f"{HOSTILE[(i + 1) % 4]}{i}" for i in range(48)]}
    pairs = PairSet(
        Items([f"x {i}" for i in range(48)], words, "text"),
        Items([f"y{i}" for i in range(48)], [w[::-1] for w in words], "text", metadata),
        Relevance.identity(48),
        name=HOSTILE[0],
        x_name=HOSTILE[1],
        y_name=HOSTILE[3],
    )
    dataset_id = store.datasets.put(pairs, mine)

    def spec(method, **params):
        return JobSpec(dataset_id, pairs.digest, method, params, workspace=mine)

    with JobQueue(store) as queue:
        runs = [finished(queue, s) for s in (spec("bm25"), spec("cca", n_components=3))]
        blend = blend_spec(runs[1].info, runs[0].info, 0.3, workspace=mine)
        runs.append(finished(queue, blend))
        elsewhere = finished(queue, replace(spec("bm25"), split=SplitSpec(seed=1)))
    for run in runs:
        draw_now(run, pairs, QUICK_LAYOUT)
    return runs, pairs, elsewhere


@pytest.fixture(scope="module")
def runs(world):
    return world[0]


@pytest.fixture(scope="module")
def pairs(world):
    return world[1]


class Page(HTMLParser):
    """Every element with its attributes, the text of scripts, and what is read."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.open, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        self.seen = " ".join(" ".join(self.texts).split())

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.texts.append(data)


@pytest.fixture(scope="module")
def report(runs, pairs):
    labels = {run.id: HOSTILE[i + 3] for i, run in enumerate(runs)}
    return html_report(runs, pairs, labels=labels, created="2026-01-01", direction="mean")


def test_elements_are_ours_alone(report):
    page = Page(report)
    assert not page.open
    kinds = {tag for tag, _ in page.elements}
    assert kinds <= set(
        "html head meta title style body h1 h2 h3 p nav a section div table thead tbody tr th td "
        "span svg line details summary dl dt dd figure figcaption pre code footer script".split()
    )
    assert sum(tag == "script" for tag, _ in page.elements) == 5
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"], tag
        assert attributes.get("href", "#").startswith("#")
    # A wide table scrolls within its box, and the page never sideways.
    assert report.count("<table") == report.count('<div class="scroll" tabindex="0"><table') > 1
    assert report.encode()  # no lone surrogate is left


def test_the_policy_allows_its_own_scripts_and_nothing_else(report):
    page = Page(report)
    (policy,) = [
        a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]
    items, data, library, *drawing = page.scripts
    digests = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in (library, *drawing)
    }
    assert set(re.findall(r"'sha256-([^']+)'", policy)) == digests
    assert policy.startswith("default-src 'none';")
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe-inline'" not in policy
    assert not re.search("https?:", policy)
    for script in page.scripts:
        assert not re.search(r"<(/script|!--)", script, re.IGNORECASE)
    # Outside of plotly.js nothing names an address to fetch from.
    rest = report.replace(library, "")
    assert not re.search(r"(?:src|href|url)\s*[=(:]\s*[\"']?https?:", rest)
    assert not re.search("[<>\u2028\u2029]", data + items)


def test_of_many_items_a_map_shows_some(runs, pairs, monkeypatch):
    monkeypatch.setattr("simviz.reports.html.MAX_POINTS", 3)
    page = Page(html_report(runs, pairs))
    places = base64.b64decode(json.loads(page.scripts[0])["places"])
    assert unpack(Part("", places))[1]["places"].shape == (12,)
    assert "Of more items, so many at random." in page.seen


def test_charts_hold_both_looks_without_webgl(report):
    figures = json.loads(Page(report).scripts[1])
    assert set(figures) == {"roc", "dimensions"}
    for chart in figures.values():
        for look in ("light", "dark"):
            assert {trace["type"] for trace in chart[look]["data"]} == {"scatter"}
        texts = json.dumps(chart)
        assert not re.search("<(?!/?b>|br>|extra>|/extra>)[a-z!]", texts, re.IGNORECASE)


def test_dimensions_are_drawn_in_the_main_metric(runs, pairs):
    lines = {}
    for metric in ("MRR", "top-1"):
        page = Page(html_report(runs, pairs, metric=metric, direction="x2y"))
        drawn = json.loads(page.scripts[1])["dimensions"]["light"]
        assert drawn["layout"]["yaxis"]["title"]["text"] == metric
        assert f"{metric} of the first dimensions" in page.seen
        lines[metric] = np.frombuffer(base64.b64decode(drawn["data"][1]["y"]["bdata"]))
    (cca,) = (run for run in runs if run.info.method == "cca")
    stored = [r["value"] for r in cca.part("test").curve if r["direction"] == "x2y"]
    assert lines["MRR"].tolist() == stored
    assert (lines["top-1"] <= lines["MRR"]).all() and (lines["top-1"] < lines["MRR"]).any()


@pytest.mark.parametrize(("most", "are_drawn"), [(5, True), (0, False)])
def test_bands_are_told_of_only_where_they_are_drawn(runs, pairs, monkeypatch, most, are_drawn):
    for module in ("simviz.reports.html", "simviz.charts.curves"):
        monkeypatch.setattr(f"{module}.MAX_BANDS", most)
    page = Page(html_report(runs, pairs))
    drawn = json.loads(page.scripts[1])["dimensions"]["light"]["data"]
    assert any(trace.get("fill") for trace in drawn) is are_drawn
    assert ("from one training, with 95 % bands;" in page.seen) is are_drawn


def test_everything_that_was_promised_is_there(report, runs, pairs):
    seen = Page(report).seen
    for words in (
        pairs.digest,
        "train / validation / test 70 / 10 / 20 %, seed 0",
        "guessing by popularity",
        "Ranked against the 10 ",
        "out of the 10 ",
        "paired randomisation of",
        "n_components",
        "simviz.BlendPipeline.of(",
        "Made 2026-01-01 with simviz",
        "scikit-learn",
        "did not occur in training. Lexical methods match them",
        *(run.id for run in runs),
    ):
        assert words in seen
    assert str(runs[0].folder.parent) not in report
    assert len(report.encode()) < 8e6


def mean_of(run, part):
    return run.part(part).value("top-1", "mean")


def order_in(text, runs):
    return sorted(runs, key=lambda run: text.index(f"<dd>{run.id}</dd>"))


@pytest.mark.parametrize("part", ["validation", "test"])
def test_the_best_on_validation_is_first_and_its_value_is_the_stored_one(runs, pairs, part):
    text = html_report(runs, pairs, metric="top-1", part=part)
    best = max(runs, key=lambda run: mean_of(run, "validation"))
    assert order_in(text, runs)[0].id == best.id
    cells = re.findall(r'<td>(?:<span class="sv-best">)?(\d\.\d{3})<?', text)
    assert cells[0] == f"{mean_of(best, part):.3f}"
    said = re.search("Runs are ordered by the validation part; (.*), which learns nothing", text)
    assert said and order_in(text, runs)[0].info.method == "bm25"


def test_every_figure_names_part_and_size_and_validation_has_no_verdict(runs, pairs):
    n = {part: len(runs[0].arrays()[f"x_{part}"]) for part in ("validation", "test")}
    for part, other in (("validation", "test"), ("test", "validation")):
        seen = Page(html_report(runs, pairs, metric="MRR", direction="mean", part=part)).seen
        assert f"Results on the {part} part" in seen
        assert f"{part.capitalize()} part, {n[part]} " in seen
        assert seen.count(f"{part} part, {n[part]} ") == 3  # table, curve, what was compared
        assert f"{other} part, {n[other]} " not in seen
        assert f"pairs of the {part} part" in seen
        ranked = seen.partition("Ranked against ")[2].partition("Order of the runs")[0]
        assert ranked.startswith("the ") and ranked.rstrip().endswith(f"of the {part} part")
        assert f"simviz.evaluate(model, parts.{part}.x" in seen
        assert ("p = " in seen or "p < " in seen) == (part == "test")
        assert ("share a letter" in seen) == (part == "test")
        assert f" {n[part]} pairs." in seen  # what the verdict rests on
    ahead = (
        "On the validation part, .* (is ahead of|cannot be told apart)[^.]*: MRR [+0].* \\[.*\\]"
    )
    assert re.search(ahead, html_report(runs, pairs, metric="MRR", part="validation"))


def test_permuting_the_judgments_of_the_test_part_leaves_the_order(runs, pairs, tmp_path):
    before = {part: order_in(html_report(runs, pairs, part=part), runs) for part in MEASURED}
    changed = []
    for i, run in enumerate(runs):
        folder = tmp_path / run.id
        shutil.copytree(run.folder, folder)
        at = run.arrays()
        held_out, train = (pairs.take(at[f"x_{p}"], at[f"y_{p}"]) for p in ("test", "train"))
        n = len(held_out.x)
        partner = np.random.default_rng(i).permutation(n)
        mixed = replace(held_out, relevance=Relevance.from_pairs(range(n), partner, shape=(n, n)))
        shutil.rmtree(folder / "test")
        (folder / "test").mkdir()
        write_part(measure(run.pipeline(), train, mixed), folder / "test")
        changed.append(replace(run, folder=folder))
    assert [mean_of(a, "test") for a in runs] != [mean_of(b, "test") for b in changed]
    for part in MEASURED:
        after = order_in(html_report(changed, pairs, part=part), runs)
        assert [run.id for run in after] == [run.id for run in before[part]]


def test_runs_without_a_validation_part_stand_by_the_part_shown(runs, pairs, tmp_path):
    old = []
    for run in runs:
        shutil.copytree(run.folder, tmp_path / run.id)
        shutil.rmtree(tmp_path / run.id / "validation")
        old.append(replace(run, folder=tmp_path / run.id))
    text = html_report(old, pairs, metric="top-1")
    assert order_in(text, old)[0].id == max(old, key=lambda run: mean_of(run, "test")).id
    assert "no run was measured on validation" in text
    with pytest.raises(StoreError, match=f"{old[1].id}.*not measured on the validation part"):
        html_report([runs[0], old[1]], pairs, part="validation")
    last = html_report([old[0], *runs[1:]], pairs, metric="top-1")
    assert order_in(last, runs)[-1].id == old[0].id


def test_what_stopped_early_by_the_part_is_marked(runs, pairs, monkeypatch):
    watched = "simviz.reports.run_summary.stopped_by_validation"
    monkeypatch.setattr(watched, lambda run: run.id == runs[1].id)
    assert "stopped early by this part" not in html_report(runs, pairs)
    text = html_report(runs, pairs, part="validation", labels={runs[1].id: "watched"})
    assert re.findall(r'(\w+) <span class="sv-se">stopped early by this part<', text) == [
        "watched"
    ]


def test_a_single_run_needs_no_test(runs, pairs):
    text = html_report(runs[:1], pairs, direction="x2y", metric="MRR", drawing="mds-2-none")
    page = Page(text)
    assert set(json.loads(page.scripts[0])) == {"roc"}
    assert "cannot be told apart" not in text
    assert 'print(result.value("MRR", "x2y"))' in page.seen


def test_what_does_not_belong_together_is_refused(world):
    runs, pairs, elsewhere = world
    for some, on, options, error, said in (
        ([runs[0], elsewhere], pairs, {}, ValueError, "different parts"),
        ([], pairs, {}, ValueError, "at least one run"),
        (runs, pairs.take([0, 1], [0, 1]), {}, DatasetError, "other data"),
        (runs, pairs, {"direction": "back"}, ValueError, "direction must be"),
        (runs, pairs, {"metric": "P@7"}, ValueError, "not measured by"),
    ):
        with pytest.raises(error, match=said):
            html_report(some, on, **options)


def test_answers_of_another_system_have_no_code_and_labels_are_told_apart(runs, pairs):
    spec = {**runs[0].spec, "method": "imported", "params": {"name": "theirs"}}
    theirs = replace(runs[0], info=replace(runs[0].info, spec=spec))
    text = html_report([theirs, runs[1]], pairs, labels={run.id: "same" for run in runs})
    assert text.count("<pre><code>") == 1
    assert 'default_pipeline("imported"' not in Page(text).seen
    assert "same (1)" in text and "same (2)" in text


def test_a_split_by_a_column_is_told(runs, pairs):
    spec = {**runs[0].spec, "split": {**runs[0].spec["split"], "by": "column"}}
    theirs = replace(runs[0], info=replace(runs[0].info, spec=spec))
    seen = Page(html_report([theirs], pairs)).seen
    assert "where it names no validation part, one is drawn with seed 0" in seen
