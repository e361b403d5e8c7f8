"""The report in a real browser: from the disk, without a network, hostile texts and all."""

from __future__ import annotations

import pytest

from simviz.data import Items, PairSet
from simviz.jobs import JobQueue, JobSpec
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
    for chart in ("roc", "dimensions", "map"):
        page.locator(f"#{chart} .main-svg").first.wait_for(timeout=30_000)
    assert page.locator("#roc .scatterlayer .trace").count() == 3  # chance is a line too
    assert page.locator("#map .points path").count() > 40
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colour == {"light": "rgb(252, 251, 248)", "dark": "rgb(20, 23, 28)"}[look]
    # What stands in the data is read, and nothing of it became an element.
    assert HOSTILE[0] in page.locator("h1").inner_text()
    assert not page.locator("img, [onerror], [onload], [href^=javascript]").count()
    page.locator("#map").hover()
    page.wait_for_timeout(300)
    with page.expect_download() as saved:
        page.locator('#roc [data-title="Save as SVG"]').dispatch_event("click")
    assert saved.value.suggested_filename == "roc.svg"
    # Nothing that gets in could run: not even with an element of its own.
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=alert(2)>')")
    page.wait_for_timeout(200)
    assert not [text for text in said if "Content Security Policy" not in text], said
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    context.close()
