"""The report in a real browser: from the disk, without a network, hostile texts and all."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from simviz.data import Items, PairSet
from simviz.jobs import JobQueue, JobSpec
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.store import Store

pytestmark = pytest.mark.e2e
HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "<svg onload=alert(1)> ${alert(1)} %{x}",
    "a\u2028b\u2029c <a href='javascript:alert(1)'>d</a>",
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("report")
    store = Store(root)
    mine = store.workspaces.create()
    words = [f"{HOSTILE[i % 4]} {'abcdef'[i % 6]}{i}" for i in range(40)]
    items = Items([f"i{i}" for i in range(40)], words, "text", {"label": words})
    pairs = PairSet(
        items, items, Relevance.identity(40), name=HOSTILE[0], x_name=HOSTILE[1], y_name=HOSTILE[2]
    )
    dataset_id = store.datasets.put(pairs, mine)
    with JobQueue(store) as queue:
        runs = []
        for method, params in (("cca", {"n_components": 3}), ("bm25", {})):
            spec = JobSpec(dataset_id, pairs.digest, method, params, workspace=mine)
            runs.append(store.runs.get(queue.wait(queue.submit(spec), 120).run_id, mine))
    for run in runs:
        draw_now(run, pairs, QUICK_LAYOUT)
    path = root / "report.html"
    labels = {run.id: text for run, text in zip(runs, HOSTILE[2:], strict=True)}
    path.write_text(html_report(runs, pairs, labels=labels), encoding="utf-8")
    return path


@pytest.mark.parametrize("look", ["light", "dark"])
def test_opens_from_the_disk_without_a_network(browser, report, look):
    context = browser.new_context(offline=True, color_scheme=look)
    page = context.new_page()
    said, asked = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(report.as_uri())
    for chart in ("roc", "dimensions"):
        page.locator(f"#{chart} .main-svg").first.wait_for()
    expect(page.locator("#roc .scatterlayer .trace")).to_have_count(3)  # chance is a line too
    drawn = page.locator("#map .sv-map")
    expect(drawn).to_have_attribute("data-n", re.compile(r"^(4[1-9]|[5-9]\d|\d{3})$"))
    expect(drawn).to_have_css("--sv-paper", {"light": "#fcfbf8", "dark": "#14171c"}[look])
    # Found by a pattern, in a thread of its own, and selected.
    drawn.get_by_label("How to find").select_option("pattern")
    drawn.get_by_label("Find items on the map").fill("[ab]\\d+$")
    drawn.get_by_text("found", exact=False).wait_for()
    drawn.get_by_label("Find items on the map").press("Enter")
    drawn.locator("[role=status]", has_text="is selected").wait_for(state="attached")
    colour = {"light": "rgb(252, 251, 248)", "dark": "rgb(20, 23, 28)"}[look]
    expect(page.locator("body")).to_have_css("background-color", colour)
    # What stands in the data is read, and nothing of it became an element.
    assert HOSTILE[0] in page.locator("h1").inner_text()
    assert not page.locator("img, [onerror], [onload], [href^=javascript]").count()
    page.locator("#map").hover()
    with page.expect_download() as saved:
        page.locator('#roc [data-title="Save as SVG"]').dispatch_event("click")
    assert saved.value.suggested_filename == "roc.svg"
    # Nothing that gets in could run: not even with an element of its own.
    refused = "inline event handler"
    with page.expect_console_message(lambda message: refused in message.text):
        page.evaluate(
            "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(2)>')"
        )
    assert not [text for text in said if "Content Security Policy" not in text], said
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    context.close()
