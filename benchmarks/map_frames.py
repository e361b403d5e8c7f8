"""How smoothly the map moves, and how soon it answers, in a browser without a graphics card.

    python benchmarks/map_frames.py

starts the app and a page with a synthetic map, looks at both with headless
Chromium, and prints a table. A frame is counted when the map was drawn anew
while the mouse drags it; 1,400 × 900 pixels.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[1]
Rows = list[tuple[str, str, str]]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
FIND = """() => {
  const roots = [...document.querySelectorAll(".stBidiComponent *")].map((e) => e.shadowRoot);
  window.map = roots.find((root) => root && root.svView)?.svView;
  return Boolean(window.map && window.map.frames > 0 &&
    (!window.map.items.header.sheet || window.map.pictures.sheet));
}"""
# The mouse is held down; from here on it moves once a frame, to and fro, so that the margin of
# the picture is left again and again. The events take the way that those of a hand take.
DRAG = """([x, y, seconds]) => new Promise((resolve) => {
  const {canvas} = window.map, began = performance.now(), drawn = window.map.frames;
  let ticks = 0, last = began, longest = 0;
  const tick = (now) => {
    ticks++;
    longest = Math.max(longest, now - last);
    last = now;
    const at = (now - began) / 1000;
    if (at > seconds) {
      resolve([ticks / at, (window.map.frames - drawn) / at, longest]);
      return;
    }
    canvas.dispatchEvent(new PointerEvent("pointermove", {
      pointerId: 1, pointerType: "mouse", bubbles: true,
      clientX: x + 420 * Math.sin(2.4 * at), clientY: y + 180 * Math.sin(1.7 * at),
    }));
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
})"""
# The place on the screen of an item that the mouse can hit, far from all others.
PLACE = """(k) => {
  const {camera, xs, ys, canvas} = window.map, box = canvas.getBoundingClientRect();
  const seen = [];
  for (let i = 0; i < xs.length; i++) {
    const x = camera.toScreenX(xs[i]), y = camera.toScreenY(ys[i]);
    if (x > 60 && y > 90 && x < camera.width - 90 && y < camera.height - 60 &&
        window.map.itemAt(x, y) === i) seen.push([box.x + x, box.y + y, i]);
  }
  return seen[Math.floor((k * 0.618034 % 1) * seen.length)];
}"""
# From an event to the next frame of the map: pointing at the k-th row, brushing a range of years.
POINT = """(k) => new Promise((resolve) => {
  const rows = [...map.lists][0].list, box = rows.getBoundingClientRect();
  const drawn = map.frames, began = performance.now();
  rows.dispatchEvent(new PointerEvent("pointermove", {
    bubbles: true, clientX: box.x + 40, clientY: box.y + 15 + 30 * k,
  }));
  const look = () => {
    if (map.frames > drawn) resolve(performance.now() - began);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""
BRUSH = """(k) => new Promise((resolve) => {
  const drawn = map.frames, began = performance.now();
  map.filterBy(0, [6, 7, 8, 9, 10].map((bin) => bin + (k % 8)));
  const look = () => {
    if (map.frames > drawn) resolve(performance.now() - began);
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""
ANSWER = """() => {
  window.answered = null;
  const canvas = window.map.canvas;
  canvas.addEventListener("pointerup", () => {
    const began = performance.now();
    const look = () => {
      if (window.map.selected?.nearest.length) window.answered = performance.now() - began;
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, {once: true});
}"""


class Server:
    """Streamlit with one script, until the block ends."""

    def __init__(self, script: Path, home: Path, **changed: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        options = ["--server.port", self.url.rpartition(":")[2], "--server.headless", "true"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(script), *options],
            cwd=ROOT,
            env=os.environ | {"SIMVIZ_HOME": str(home)} | changed,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __enter__(self) -> str:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2)
                return self.url
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the server did not start within a minute")

    def __exit__(self, *exc: object) -> None:
        self.process.terminate()
        self.process.wait(20)


def drag(page: Page, seconds: float = 3.0) -> tuple[float, float, float]:
    """Frames a second offered by the browser and drawn by the map, and the longest wait in ms."""
    box = page.evaluate(
        "() => { const b = map.canvas.getBoundingClientRect(); return [b.x, b.y, b.width]; }"
    )
    x, y = box[0] + box[2] / 2, box[1] + 300
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y, steps=4)
    found: list[float] = page.evaluate(DRAG, [x, y, seconds])
    page.mouse.up()
    return found[0], found[1], found[2]


def wait(page: Page) -> None:
    """Wait until a map is drawn, with its pictures."""
    page.wait_for_function(FIND, timeout=600_000, polling="raf")


def frames(browser: Browser, home: Path, rows: Rows) -> None:
    """Drag large maps."""
    with Server(ROOT / "benchmarks" / "_map_page.py", home) as url:
        for what, query, least in (
            ("20,000 points", "n=20000", 30),
            ("1,958 words and pictures", "kind=pictures", 30),
            ("100,000 points", "n=100000", 15),
        ):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{url}/?{query}")
            wait(page)
            page.wait_for_timeout(2_000)
            whole = drag(page)
            page.evaluate("() => { map.camera.zoom = 4; map.moved(); }")
            page.wait_for_timeout(1_500)
            near = drag(page)
            told = (
                f"{whole[1]:.0f}, zoomed in {near[1]:.0f} "
                f"(longest wait {max(whole[2], near[2]):.0f} ms)"
            )
            rows.append((f"{what}, frames/s while dragged", told, f"≥ {least}"))
            print(*rows[-1], sep=" | ", flush=True)
            page.close()


def panel(browser: Browser, home: Path, rows: Rows) -> None:
    """Point at rows of the panel, and brush a histogram in it."""
    with Server(ROOT / "benchmarks" / "_map_page.py", home) as url:
        for n, what, script, least in (
            (2_000, "row pointed at to item and neighbours drawn, ms", POINT, 50),
            (20_000, "range brushed to map, list and histograms drawn, ms", BRUSH, 100),
        ):
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{url}/?n={n}&panel=1")
            wait(page)
            page.wait_for_function("() => [...map.lists][0]?.rows.length", timeout=60_000)
            page.wait_for_timeout(2_000)
            times = [page.evaluate(script, k % 8) for k in range(1, 21)]
            median, worst = statistics.median(times), max(times)
            told = f"{median:.0f} (worst of {len(times)}: {worst:.0f})"
            rows.append((f"{n:,} points, {what}", told, f"≤ {least}"))
            print(*rows[-1], sep=" | ", flush=True)
            page.close()


def app(browser: Browser, home: Path, rows: Rows) -> None:
    """Load the page of the icons, and click on its items."""
    with Server(ROOT / "app.py", home) as url:
        address = f"{url}/map?demo=icons&method=cca&k=50"
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(address)
        wait(page)
        for width, height in ((1280, 800), (1400, 900)):
            page.set_viewport_size({"width": width, "height": height})
            page.wait_for_timeout(500)
            share = page.locator(".sv-canvas").bounding_box()["height"] / height
            told = f"{100 * share:.0f} %"
            rows.append((f"height of the map at {width:,} × {height}", told, "≥ 70 %"))
            print(*rows[-1], sep=" | ", flush=True)
        page.wait_for_timeout(3_000)
        loads = []
        for _ in range(3):
            page.goto(address)
            wait(page)
            loads.append(page.evaluate("() => performance.now()") / 1000)
            page.wait_for_timeout(1_500)
        median, worst = statistics.median(loads), max(loads)
        rows.append(("icons, warm first paint, s", f"{median:.2f} (worst {worst:.2f})", "≤ 3"))
        print(*rows[-1], sep=" | ", flush=True)
        answers = []
        for k in range(1, 17):
            x, y, _ = page.evaluate(PLACE, k)
            page.evaluate(ANSWER)
            page.mouse.move(x, y)
            page.mouse.click(x, y)
            page.wait_for_function("() => answered !== null", timeout=30_000)
            answers.append(page.evaluate("() => answered"))
            page.wait_for_timeout(600)
        answers = answers[1:]  # the first loads the model
        median, worst = statistics.median(answers), max(answers)
        told = f"{median:.0f} (worst of {len(answers)}: {worst:.0f})"
        rows.append(("icons, click to lines drawn, ms", told, "≤ 300"))
        print(*rows[-1], sep=" | ", flush=True)


def main() -> None:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    rows: Rows = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as temporary:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        for part in (frames, panel, app):
            part(browser, Path(temporary), rows)
        browser.close()
    print("\n| what | measured | target |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
