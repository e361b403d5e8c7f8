"""Whatever people upload is shown as text, wherever it is shown."""

from __future__ import annotations

import csv

import pytest
from payloads import PAYLOADS
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from settling import press, rest

from simviz.data import Items, PairSet
from simviz.jobs import JobQueue, JobSpec, SplitSpec
from simviz.relevance import Relevance
from simviz.reports import html_report
from simviz.store import Store

pytestmark = pytest.mark.e2e

PAGES = ("data", "train", "compare", "map", "search", "methods")


@pytest.fixture
def hostile(tmp_path):
    """A store in which every text that a visitor can choose is a payload."""
    n = len(PAYLOADS)
    store = Store(tmp_path / "store")
    mine = store.workspaces.open("local")

    def side(tail):
        texts = [f"{text} {tail}{i % 9}" for i, text in enumerate(PAYLOADS)]
        columns = {PAYLOADS[0]: PAYLOADS[::-1], "label": texts, "group": PAYLOADS[:3] * n}
        return Items(
            [f"{i}{text}" for i, text in enumerate(PAYLOADS)],
            texts,
            "text",
            {name: values[:n] for name, values in columns.items()},
        )

    pairs = PairSet(
        side("a"),
        side("b"),
        Relevance.identity(n),
        name=PAYLOADS[9],
        x_name=PAYLOADS[10],
        y_name=PAYLOADS[54],
    )
    data = store.datasets.put(pairs, mine, notes=PAYLOADS[:5])
    with JobQueue(store) as queue:
        runs = []
        for method, params in (("cca", {"n_components": 5}), ("bm25", {})):
            spec = JobSpec(data, pairs.digest, method, params, workspace=mine)
            runs.append(queue.wait(queue.submit(spec), 120).run_id)
        # A column that is not there: the job fails, and says its name.
        by = SplitSpec(by="group", group_key=PAYLOADS[12])
        failed = queue.submit(JobSpec(data, pairs.digest, "bm25", {}, by, workspace=mine))
        assert "onerror" in queue.wait(failed, 60).message
    store.runs.rename(runs[0], mine, PAYLOADS[11], PAYLOADS[47])
    token = store.shares.publish(mine, "map", run_ids=runs, view={PAYLOADS[1]: PAYLOADS[2]})
    found = [store.runs.get(run_id, mine) for run_id in runs]
    report = tmp_path / "report.html"
    report.write_text(
        html_report(found, pairs, labels={run.id: PAYLOADS[9] for run in found}), "utf-8"
    )
    return {"data": data, "token": token, "report": report}


def guard(page):
    """Note what must not happen."""
    happened: list[str] = []
    page.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
    return happened


def stir(page):
    """Move over the page and open what opens."""
    for x in range(350, 1380, 115):
        for y in range(150, 1150, 125):
            page.mouse.move(x, y)
    for kind in ("summary", "[data-testid=stPopover] button"):
        for opener in page.locator(kind).all()[:6]:
            rest(page)
            if not opener.is_visible():
                continue
            try:
                opener.click(timeout=15_000)
            except PlaywrightTimeout:
                assert not opener.is_visible(), "a redraw may take it away, nothing else"
                continue
            rest(page)
            page.keyboard.press("Escape")
    rest(page)


def test_stored_texts_are_inert_on_every_page(hostile, start_server, browser):
    server = start_server(public=False)
    page = browser.new_page(viewport={"width": 1400, "height": 1200})
    happened = guard(page)
    addresses = [f"{name}?data={hostile['data']}" for name in PAGES]
    addresses += [
        f"search?data={hostile['data']}&ask={PAYLOADS[9]}",
        f"map?share={hostile['token']}",
    ]
    for address in addresses:
        page.goto(f"{server.url}/{address}")
        rest(page)
        stir(page)
        if address.startswith("compare"):  # and on the other part
            press(page.get_by_role("radio", name="Test", exact=True))
            page.get_by_text("of the test part").first.wait_for()
            rest(page)
            stir(page)
        assert page.evaluate("window.__xss") is None, address
        assert not page.get_by_test_id("stException").count(), address
    assert not happened


def test_a_report_is_inert(hostile, browser):
    page = browser.new_page(viewport={"width": 1400, "height": 1200})
    happened = guard(page)
    page.goto(hostile["report"].as_uri())
    page.locator(".main-svg").first.wait_for()
    page.locator(".sv-map[data-n]").wait_for()
    stir(page)
    assert page.evaluate("window.__xss") is None and not happened
    assert "onerror" in page.locator("body").inner_text(), "the texts are there, as texts"


def test_an_upload_is_inert_before_it_is_kept(demo_server, browser, tmp_path):
    table = tmp_path / "a<img src=x onerror=window.__xss=1>.csv"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([PAYLOADS[9], PAYLOADS[0], PAYLOADS[54]])
        writer.writerows(zip(PAYLOADS, PAYLOADS[::-1], PAYLOADS, strict=True))
    page = browser.new_page(viewport={"width": 1400, "height": 1200})
    happened = guard(page)
    page.goto(f"{demo_server.url}/data")
    page.locator("input[type=file]").first.set_input_files(str(table))
    page.get_by_role("button", name="Save and continue").wait_for()
    rest(page)
    stir(page)
    assert page.evaluate("window.__xss") is None and not happened
    assert not page.get_by_test_id("stException").count()
