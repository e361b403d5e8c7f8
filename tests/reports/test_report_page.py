"""A report holds everything it shows, and nothing in it is anybody's code."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from simviz.data import Items, PairSet
from simviz.exceptions import DatasetError
from simviz.jobs import JobQueue, JobSpec, SplitSpec, blend_spec
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.store import Store

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
    mine = store.create_workspace()
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
    dataset_id = store.put_dataset(pairs, mine)

    def spec(method, **params):
        return JobSpec(dataset_id, pairs.digest, method, params, workspace=mine)

    with JobQueue(store) as queue:
        done = [
            queue.wait(queue.submit(s), 120).run_id
            for s in (spec("bm25"), spec("cca", n_components=3))
        ]
        infos = [store.get_run(run_id, mine).info for run_id in done]
        blend = blend_spec(infos[1], infos[0], 0.3, workspace=mine)
        done.append(queue.wait(queue.submit(blend), 120).run_id)
        other = replace(spec("bm25"), split=SplitSpec(seed=1))
        elsewhere = queue.wait(queue.submit(other), 120).run_id
    runs = [store.get_run(run_id, mine) for run_id in done]
    return runs, pairs, store.get_run(elsewhere, mine)


class Page(HTMLParser):
    """Every element with its attributes, and the text of scripts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.open, self.seen = [], [], [], []
        self.feed(text)
        self.close()

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
            self.seen.append(data)


@pytest.fixture(scope="module")
def report(world):
    runs, pairs, _ = world
    labels = {run.id: HOSTILE[i + 3] for i, run in enumerate(runs)}
    return html_report(runs, pairs, labels=labels, made="2026-01-01")


def test_elements_are_ours_alone(report):
    page = Page(report)
    assert not page.open
    kinds = {tag for tag, _ in page.elements}
    assert kinds <= set(
        "html head meta title style body h1 h2 h3 p nav a section div table thead tbody tr th td "
        "span svg line details summary dl dt dd figure figcaption pre code footer script".split()
    )
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"], tag
        assert attributes.get("href", "#").startswith("#")
    assert report.encode()  # no lone surrogate is left


def test_the_policy_allows_its_own_scripts_and_nothing_else(report):
    page = Page(report)
    (policy,) = [
        a["content"] for t, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]
    data, library, drawing = page.scripts[0], *page.scripts[1:]
    digests = {
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        for script in (library, drawing)
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
    assert not re.search("[<>\u2028\u2029]", data)


def test_charts_hold_both_looks_without_webgl(report):
    figures = json.loads(Page(report).scripts[0])
    assert set(figures) == {"roc", "dimensions", "map"}
    for chart in figures.values():
        assert {trace["type"] for look in ("light", "dark") for trace in chart[look]["data"]} == {
            "scatter"
        }
        texts = json.dumps(chart)
        assert not re.search("<(?!/?b>|br>|extra>|/extra>)[a-z!]", texts, re.IGNORECASE)


def test_everything_that_was_promised_is_there(report, world):
    runs, pairs, _ = world
    seen = " ".join(" ".join(Page(report).seen).split())
    for words in (
        pairs.digest,
        "train / validation / test 70 / 10 / 20 %, seed 0",
        "guessing by popularity",
        "all answers of the test part",
        "paired randomisation of",
        "n_components",
        "simviz.BlendPipeline.of(",
        "Made 2026-01-01 with simviz",
        "scikit-learn",
        *(run.id for run in runs),
    ):
        assert words in seen
    assert str(runs[0].folder.parent) not in report
    assert len(report.encode()) < 8e6


def test_the_best_run_is_first_and_its_value_is_the_stored_one(report, world):
    runs, _, _ = world
    values = {
        run.id: next(
            r["value"]
            for r in run.records()
            if r["metric"] == run.evaluation()["metrics"][0] and r["direction"] == "mean"
        )
        for run in runs
    }
    cells = re.findall(r"<td[^>]*>(\d\.\d{3}) ", report)
    assert cells[0] == f"{max(values.values()):.3f}"
    order = [report.index(f"<dd>{run_id}</dd>") for run_id in sorted(values, key=values.get)]
    assert order[-1] == min(order)


def test_a_single_run_needs_no_test(world):
    runs, pairs, _ = world
    text = html_report(runs[:1], pairs, direction="x2y", metric="MRR", drawing="mds-2-none")
    page = Page(text)
    assert set(json.loads(page.scripts[0])) == {"roc"}
    assert "cannot be told apart" not in text
    assert 'print(result.value("MRR", "x2y"))' in "".join(page.seen)


def test_what_does_not_belong_together_is_refused(world):
    runs, pairs, elsewhere = world
    with pytest.raises(ValueError, match="different tests"):
        html_report([runs[0], elsewhere], pairs)
    with pytest.raises(ValueError, match="at least one run"):
        html_report([], pairs)
    with pytest.raises(DatasetError, match="other data"):
        html_report(runs, pairs.take([0, 1], [0, 1]))
    with pytest.raises(ValueError, match="direction must be"):
        html_report(runs, pairs, direction="back")
    with pytest.raises(ValueError, match="not measured by"):
        html_report(runs, pairs, metric="P@7")


def test_labels_are_told_apart(world):
    runs, pairs, _ = world
    text = html_report(runs[:2], pairs, labels={run.id: "same" for run in runs})
    assert "same (1)" in text
    assert "same (2)" in text
