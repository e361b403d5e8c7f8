"""A model as a page: its size, its times, and whether it answers as the server does.

    python benchmarks/model_page.py [emoji/cca job_titles/cca ...]

Needs Chromium and Playwright. Times of a page are seconds as they pass, and processor time of its
main thread (`Performance.getMetrics`, TaskDuration); that of a key holds all tasks up to the frame
that shows the list, and what it takes to ask the page. Those of the server are processor time of
one query against an index of the same items. Agreement is that of 500 queries a demo, words of one
item with some of another, in the browser itself.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

import simviz
from simviz.datasets import load_demo
from simviz.projection import joint_map

USUAL = "job_titles/tfidf_cosine icons/cca job_titles/cca emoji/cca emoji/cca/100"
WINDOWS = {"1280": (1280, 800), "420": (420, 900)}
N_QUERIES = 500
TOLERANCE = 2e-3
ROW = "| {} | {:.1f} | {:.1f} | {} | {} | {} | {:.1f} | {:.1g} | {} |"


def queries(pairs: Any, rng: np.random.Generator) -> list[tuple[str, str]]:
    """Words of an item of a side in any order, with a few of another."""
    sides = [side for side in "xy" if getattr(pairs, side).kind in ("text", "keyword")]
    made = []
    for n in range(N_QUERIES):
        side = sides[n % len(sides)]
        content = getattr(pairs, side).content
        one, other = (str(content[i]).split() for i in rng.integers(len(content), size=2))
        some = rng.permutation(len(one))[: rng.integers(1, 12)]
        made.append((side, " ".join([*(one[i] for i in some), *other[: rng.integers(0, 4)]])))
    return made


def opened(
    browser: Browser, path: Path, size: tuple[int, int], text: str
) -> tuple[Page, str, str]:
    """Open a page and type: seconds of opening and ms of a key at worst, with those of the CPU."""
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height})
    told = page.context.new_cdp_session(page)
    told.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = told.send("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))

    start = time.perf_counter()
    page.goto(path.as_uri())
    page.locator("body[data-ready]").wait_for()
    opening, opened_by = time.perf_counter() - start, busy()
    keys = []
    for n in range(1, len(text) + 1):
        before = busy()
        # From the key to the list, and to the frame that shows it.
        passed = page.evaluate(
            """async (typed) => {
              const box = document.getElementById("typed");
              box.value = typed;
              const start = performance.now();
              box.dispatchEvent(new Event("input"));
              const listed = performance.now() - start;
              await new Promise(requestAnimationFrame);
              await new Promise((done) => setTimeout(done));
              return [listed, performance.now() - start];
            }""",
            text[:n],
        )
        keys.append([*passed, 1000 * (busy() - before)])
    listed, drawn, cpu = np.max(keys, axis=0)
    return page, f"{opening:.2f} ({opened_by:.2f})", f"{listed:.0f} / {drawn:.0f} ({cpu:.0f})"


def agreement(page: Page, pipeline: Any, pairs: Any, asked: list[tuple[str, str]]) -> Any:
    """The greatest difference of a score, by the highest of all, and answers out of order."""
    greatest, highest, wrong = 0.0, 1.0, 0
    for side in "xy":
        texts = [text for own, text in asked if own == side]
        if not texts:
            continue
        there = page.evaluate(
            """([side, texts]) => {
              const { model } = globalThis[Symbol.for("simviz.page")];
              return texts.map((text) => [...model.scores(side, text)]);
            }""",
            [side, texts],
        )
        here = (
            pipeline.similarity(texts, pairs.y)
            if side == "x"
            else pipeline.similarity(pairs.x, texts).T
        )
        scores, found = here.astype(np.float64), np.asarray(there)
        greatest = max(greatest, float(np.abs(found - scores).max()))
        highest = max(highest, float(np.abs(scores).max()))
        ordered = np.take_along_axis(scores, np.argsort(-found, axis=1, kind="stable"), axis=1)
        below = np.minimum.accumulate(ordered, axis=1)
        wrong += int((ordered - below > TOLERANCE * max(1.0, highest)).any(axis=1).sum())
    return greatest / highest, wrong


def main(wanted: list[str]) -> None:
    """Print a line a model."""
    print(
        "| model | MB | written, s CPU | opens at 1280, s (CPU) | at 420 | key → list / frame, "
        "ms (CPU), 1280; 420 | server's answer, ms CPU | largest difference | out of order |\n"
        "|---|---|---|---|---|---|---|---|---|"
    )
    with sync_playwright() as player, tempfile.TemporaryDirectory() as folder:
        chromium = os.environ.get("SIMVIZ_CHROMIUM", "/usr/bin/chromium")
        browser = player.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in wanted:
            demo, method, *k = name.split("/")
            pairs = load_demo(demo)
            params = {"n_components": int(k[0])} if k else {}
            pipeline = simviz.default_pipeline(method, pairs, **params).fit(pairs)
            rng = np.random.default_rng(0)
            points = (rng.normal(size=(len(side), 3)) for side in (pairs.x, pairs.y))
            drawing = simviz.Drawing(joint_map(*points, "pca"), pairs)
            start = time.process_time()
            text = simviz.model_page(pipeline, pairs, drawing=drawing)
            written = time.process_time() - start
            path = Path(folder) / "model.html"
            path.write_text(text, encoding="utf-8")
            asked = queries(pairs, rng)
            timed = [opened(browser, path, size, asked[0][1][:24]) for size in WINDOWS.values()]
            index = pipeline.index(pairs.y)
            by_x = [text for side, text in asked if side == "x"][:100]
            start = time.process_time()
            for one in by_x:
                index.search([one], 8)
            server = 1000 * (time.process_time() - start) / len(by_x)
            greatest, wrong = agreement(timed[0][0], pipeline, pairs, asked)
            keys = "; ".join(key for *_, key in timed)
            size = len(text.encode()) / 1e6
            opens = [opening for _, opening, _ in timed]
            print(
                ROW.format(name, size, written, *opens, keys, server, greatest, wrong), flush=True
            )
            for page, *_ in timed:
                page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:] or USUAL.split())
