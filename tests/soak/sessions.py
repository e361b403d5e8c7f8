"""The app under load: many visitors on one server, hostile ones among them.

    python tests/soak/sessions.py
    python tests/soak/sessions.py --visitors 40 --think 1 4
    python tests/soak/sessions.py --hostile --seconds 600
    python tests/soak/sessions.py --crowd

starts the app on an empty store, trains the methods of the emoji demo, and talks to it over
websockets as browsers do (`app_client`): visitors who read for a while, then go to another page or
change something; some of them train. A second is from the message that says what was changed to
the one that says all is drawn; memory is that of the whole server process. With `--hostile` two
more come: one hands in a bad file after the other, another 30 rows now and then; and the memory is
told again once all have left and their sessions are over. With `--crowd` one visitor opens pages
while others hand in four files of 190 MB at once, begin hundreds of requests and end none, open
hundreds of connections, ask for a page thousands of times, and ask for jobs that need more memory
than there is; `--crowd idle refused stopped` tries these alone.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from app_client import PATIENCE, Tab
from websockets.exceptions import InvalidHandshake

from simviz.datasets import load_demo
from simviz.pipeline import default_pipeline

ROOT = Path(__file__).parents[2]
DATA = "data=demo:emoji"
#: Pages by the names in their addresses; home with its demo shows all at once.
PAGES = ("train", "compare", "map", "search", "data", "methods", "papers")
#: Seconds for which Streamlit keeps the session of a visitor who left, and some more.
_KEPT = 150.0
#: Seconds of visits before the memory is told that the bad files may not exceed for long.
_WARM = 60.0


class App:
    """One server on a store of its own, open to all unless told otherwise."""

    def __init__(self, home: str, *, public: bool = True, **variables: str) -> None:
        self.store = Path(home) / "store"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        options = ["--server.port", str(self.port), "--server.headless", "true"]
        self.log = Path(home) / "server.log"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), *options],
                cwd=ROOT,
                env=os.environ
                | {"SIMVIZ_HOME": str(self.store), "SIMVIZ_PUBLIC": str(int(public))}
                | variables,
                stdout=log,
                stderr=log,
            )
        for _ in range(3_000):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/_stcore/health", timeout=2)
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError("the app did not start within five minutes")

    def memory(self) -> float:
        """MB of the process that are in memory."""
        return self.told("VmRSS") / 1e3

    def told(self, name: str) -> int:
        """A number that the system tells of the process, such as "VmHWM" or "Threads"."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split(f"{name}:")[1].split()[0])


@contextmanager
def started(**variables: str) -> Iterator[App]:
    """A server that ends with the block."""
    with tempfile.TemporaryDirectory() as home:
        app = App(home, **variables)
        try:
            yield app
        finally:
            app.process.terminate()
            app.process.wait(30)


async def prepare(app: App) -> None:
    """Train the demo, and look at every page once, as the first visitor of a day does."""
    async with Tab(app.port) as tab:
        await tab.open("", "demo=emoji")
        for _ in range(600):
            await asyncio.sleep(0.5)
            if not tab.is_waiting:
                break
        else:
            raise RuntimeError("the demo was not trained within five minutes")
        for page in PAGES:
            await tab.open(page, DATA)
        fail_on(tab.errors)


async def visit(
    app: App, number: int, trains: bool, seconds: float, think: tuple[float, float]
) -> tuple[list[float], list[str]]:
    """One visitor: seconds of every interaction, and what went wrong."""
    rng = random.Random(number)
    took: list[float] = []
    async with Tab(app.port) as tab:
        await asyncio.sleep(rng.uniform(0, think[1]))
        took.append(await tab.open(PAGES[number % len(PAGES)], DATA))
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await asyncio.sleep(rng.uniform(*think))
            widgets = tab.widgets()
            if trains and not tab.is_waiting:
                k = rng.randrange(10, 200)
                took.append(await tab.open("map", f"demo=emoji&method=cca&k={k}"))
            elif not widgets or rng.random() < 0.4:
                took.append(await tab.open(rng.choice(PAGES), DATA))
            else:
                took.append(await tab.change(rng.choice(widgets)))
        return took, tab.errors


class BadFiles:
    """Bad files of all kinds, one after the other."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        names = ",".join(f"c{i}" for i in range(1_000_000))
        bomb = io.BytesIO()
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("pairs.csv", b"left,right\n" * 40_000_000)
        pairs = load_demo("emoji").take(np.arange(200), np.arange(200))
        with tempfile.TemporaryDirectory() as folder:
            model = default_pipeline("cca", pairs, n_components=5).fit(pairs)
            model.save(Path(folder) / "model.simviz")
            self._model = (Path(folder) / "model.simviz").read_bytes()
        self._fixed = {
            "huge pictures": ("zip", _pictures(300)),
            "huge pictures, within the limit": ("zip", _pictures(40)),
            "a million columns": ("csv", f"{names}\n{names}\n".encode()),
            "unpacks to 400 MB": ("zip", bomb.getvalue()),
            "a deep tree": ("json", b"[" * 1_000_000),
        }

    def __iter__(self) -> Iterator[tuple[str, str, bytes]]:
        """Kind, name and content, without an end."""
        for i in count():
            for kind, (ending, data) in self._fixed.items():
                yield kind, f"{i}.{ending}", data
            for ending in ("csv", "xlsx", "parquet", "arrow", "npz", "zip", "json", "txt"):
                yield "rubbish", f"{i}.{ending}", self._rng.bytes(300_000)
                damaged = bytearray(self._model)
                for at in self._rng.integers(len(damaged), size=8):
                    damaged[at] = self._rng.integers(256)
                yield "a damaged model", f"m{i}.{('zip', 'npz')[i % 2]}", bytes(damaged)


async def hand_in(app: App, name: str, data: bytes) -> tuple[float, Tab]:
    """Upload a file as a new visitor; the seconds until it is understood or refused."""
    async with Tab(app.port) as tab:
        await tab.open("data", "view=other")
        async with asyncio.timeout(PATIENCE):
            return await _understood(tab, name, data), tab


async def attack(
    app: App, files: BadFiles, seconds: float, took: dict[str, list[float]]
) -> tuple[list[float], list[str]]:
    """Hand in bad files without a pause; what went wrong, and in `took` seconds by kind."""
    errors: list[str] = []
    end = time.monotonic() + seconds
    for kind, name, data in files:
        if time.monotonic() > end:
            break
        try:
            spent, tab = await hand_in(app, name, data)
        except TimeoutError:
            spent = PATIENCE
        else:
            errors += tab.errors
            if "data-keep" in tab.keys():
                print(f"taken as data: {kind}, {name}")
        took.setdefault(kind, []).append(spent)
    return [], errors


async def bring(
    app: App, seconds: float, took: dict[str, list[float]]
) -> tuple[list[float], list[str]]:
    """Hand in 30 rows now and then; what went wrong, and in `took` the seconds."""
    errors: list[str] = []
    end = time.monotonic() + seconds
    for i in count():
        if time.monotonic() > end:
            break
        spent, tab = await hand_in(app, f"rows {i}.csv", _rows(30))
        errors += [*tab.errors, *([] if "data-keep" in tab.keys() else ["30 rows not read"])]
        took.setdefault("30 rows of another", []).append(spent)
        await asyncio.sleep(3)
    return [], errors


async def idle(app: App, n: int) -> float:
    """MB that every visitor costs who has a page open and does nothing."""
    before = app.memory()
    tabs = [Tab(app.port) for _ in range(n)]
    for i, tab in enumerate(tabs):
        await tab.__aenter__()
        await tab.open(PAGES[i % len(PAGES)], DATA)
    await asyncio.sleep(2)
    after = app.memory()
    for tab in tabs:
        await tab.__aexit__()
    print(f"memory: {before:,.0f} MB without visitors, {after:,.0f} MB with {n} who are idle")
    return (after - before) / n


_GREEDY = """
import numpy as np
from simviz.methods.lsa import LSA

class Greedy(LSA):
    \"\"\"Takes 100 MB a step that no estimate knows of.\"\"\"

    def _fit(self, X, Y, relevance):
        taken = []
        for step in range(100):
            taken.append(np.ones(12_500_000))
            self._notify(step, 100)
"""


async def crowd(names: Sequence[str]) -> None:
    """Trials that a server has to bear, and how long another visitor waits for pages meanwhile."""
    with tempfile.TemporaryDirectory() as plugin:
        (Path(plugin) / "greedy.py").write_text(_GREEDY)
        about = Path(plugin) / "greedy-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: greedy\nVersion: 1\n")
        (about / "entry_points.txt").write_text(
            "[simviz.methods]\ngreedy = greedy:Greedy\nbroken = nowhere:Nothing\n"
        )
        path = os.pathsep.join([plugin, str(ROOT)])
        with started(PYTHONPATH=path, SIMVIZ_MEMORY_MB="2500") as app:
            async with Tab(app.port) as tab:
                for page in PAGES:  # what is loaded at the first visit
                    await tab.open(page, DATA)
            print(
                "| trial | what became of it | pages of another: median, slowest | memory "
                "| threads | load |\n|---|---|---:|---:|---:|---:|"
            )
            for trial in map(_TRIALS.__getitem__, names or _TRIALS):
                (Path("/proc") / str(app.process.pid) / "clear_refs").write_text("5")
                ended, before = asyncio.Event(), app.memory()
                other = asyncio.create_task(_look_around(app, ended))
                try:
                    said = await trial(app)
                finally:
                    ended.set()
                took, threads = await other
                memory = f"{before:,.0f}, at most {app.told('VmHWM') / 1e3:,.0f} MB"
                what = (trial.__doc__ or "").rstrip(".")
                print(
                    f"| {what} | {said} | {statistics.median(took):.2f}, {max(took):.2f} s of "
                    f"{len(took)} | {memory} | {threads} | {os.getloadavg()[0]:.1f} |"
                )
            assert app.process.poll() is None


async def _look_around(app: App, ended: asyncio.Event) -> tuple[list[float], int]:
    """Open pages until the end; their seconds, and the most threads of the server."""
    took: list[float] = []
    threads = 0
    async with Tab(app.port) as tab:
        while not ended.is_set() or not took:
            for page in ("methods", "data", "train"):
                took.append(await tab.open(page, DATA))
                threads = max(threads, app.told("Threads"))
                await asyncio.sleep(0.2)
        fail_on(tab.errors)
    return took, threads


async def _idle(app: App) -> str:
    """Nothing."""
    await asyncio.sleep(5)
    return "–"


async def _four_files(app: App) -> str:
    """Four files of 190 MB at once."""
    data = bytes(190_000_000)

    async def one(i: int) -> str:
        try:
            _, tab = await hand_in(app, f"{i}.csv", data)
        except urllib.error.HTTPError as error:
            return f"status {error.code}"
        fail_on(tab.errors)
        return "read and refused"

    return _counted(await asyncio.gather(*map(one, range(4))))


async def _slow(app: App) -> str:
    """300 requests of which half a line comes."""
    slow = [await asyncio.open_connection("127.0.0.1", app.port) for _ in range(300)]
    for _, writer in slow:
        writer.write(b"PUT /_stcore/upload_file/a/b HTTP/1.1\r\nContent-Length: 200000000\r\nX")
    await asyncio.sleep(5)
    for _, writer in slow:
        writer.close()
    return "held for 5 s"


async def _connections(app: App) -> str:
    """600 connections at once."""

    async def one() -> tuple[str, Tab | None]:
        tab = Tab(app.port)
        try:
            await tab.__aenter__()
        except (OSError, InvalidHandshake) as error:
            return f"refused ({type(error).__name__})", None
        return "let in", tab

    held = await asyncio.gather(*(one() for _ in range(600)))
    await asyncio.sleep(5)
    for _, tab in held:
        if tab is not None:
            await tab.__aexit__()
    return _counted([said for said, _ in held])


async def _reruns(app: App) -> str:
    """One connection that asks for a page 3,000 times."""
    async with Tab(app.port) as tab:
        await tab.open("methods", DATA)
        for _ in range(3_000):
            await tab._send("", name="methods")
        await tab.open("data", DATA)
    return "answered"


async def _refused(app: App) -> str:
    """Ten jobs that would need too much by their estimate."""
    return _counted([await _job(app, f"method=ssi&k={4 * 10**5 + i}") for i in range(10)])


async def _stopped(app: App) -> str:
    """Ten jobs that take more than their estimate."""
    return _counted([await _job(app, "method=greedy") for _ in range(10)])


async def _job(app: App, how: str) -> str:
    """Ask for a job by an address; what it said at its end."""
    known = {*app.store.glob("jobs/*")}
    async with Tab(app.port) as tab:
        await tab.open("map", f"demo=emoji&{how}")
        async with asyncio.timeout(PATIENCE):
            while True:
                for path in {*app.store.glob("jobs/*")} - known:
                    status = json.loads((path / "status.json").read_text())
                    asked = json.loads((path / "spec.json").read_text())["spec"]
                    if asked["method"] in how and status["finished"]:
                        return f"{status['state']}: {status['message'].split(':')[0][:60]}"
                await asyncio.sleep(0.1)


_TRIALS = {
    "idle": _idle,
    "files": _four_files,
    "slow": _slow,
    "connections": _connections,
    "reruns": _reruns,
    "refused": _refused,
    "stopped": _stopped,
}


def _counted(said: Sequence[str]) -> str:
    return ", ".join(f"{n} {what}" for what, n in Counter(said).items())


async def _understood(tab: Tab, name: str, data: bytes) -> float:
    """Seconds until a file is shown as it was understood, or refused."""
    began = time.monotonic()
    await tab.upload("data-file-0", name, data)
    while "data-cancel" in tab.keys():
        await asyncio.sleep(0.05)
    return time.monotonic() - began


def _rows(n: int) -> bytes:
    lines = (f"question {i},answer {i}\n" for i in range(n))
    return f"query,document\n{''.join(lines)}".encode()


def _pictures(n: int) -> bytes:
    """A zip of white pictures of one bit a pixel, in two folders."""
    from PIL import Image

    picture, archive = io.BytesIO(), io.BytesIO()
    Image.new("1", (5000, 5000), 1).save(picture, "PNG")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for i in range(n):
            file.writestr(f"{'odd' if i % 2 else 'even'}/{i}.png", picture.getvalue())
    return archive.getvalue()


def fail_on(errors: list[str]) -> None:
    """End with what a page said went wrong."""
    if errors:
        raise RuntimeError(f"{len(errors)} errors; the first: {errors[0]}")


def quantile(values: list[float], q: float) -> float:
    """The value that a share of all does not exceed."""
    return sorted(values)[min(len(values) - 1, int(q * len(values)))]


async def measure(options: argparse.Namespace) -> None:
    if options.crowd is not None:
        await crowd(options.crowd)
        return
    with started() as app:
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        await prepare(app)
        each = await idle(app, options.visitors)
        print(f"a visitor who is idle: {each:.1f} MB")

        def visits(seconds: float, first: int = 0) -> list[Any]:
            think = tuple(options.think)
            return [
                visit(app, first + i, i < options.trainers, seconds, think)
                for i in range(options.visitors)
            ]

        handed: dict[str, list[float]] = {}
        others = []
        if options.hostile:
            others = [
                attack(app, BadFiles(), options.seconds, handed),
                bring(app, options.seconds, handed),
            ]
            # Some libraries are loaded, and some loops compiled, late.
            warm = await asyncio.gather(*visits(_WARM, options.visitors))
            took = [s for seconds, _ in warm for s in seconds]
            print(
                f"before bad files, {len(took)} interactions in {_WARM:.0f} s: "
                f"p50 {1e3 * quantile(took, 0.5):.0f} ms, p95 {1e3 * quantile(took, 0.95):.0f} ms"
            )
        before = app.memory()
        results = await asyncio.gather(*visits(options.seconds), *others, return_exceptions=True)
        broken = [repr(r) for r in results if isinstance(r, BaseException)]
        done = [r for r in results if not isinstance(r, BaseException)]
        took = [s for seconds, _ in done for s in seconds]
        errors = broken + [error for _, found in done for error in found]
        print(
            f"{options.visitors} visitors, {options.trainers} of them training, "
            f"{len(took)} interactions in {options.seconds:.0f} s: {len(errors)} errors, "
            f"p50 {1e3 * quantile(took, 0.5):.0f} ms, p95 {1e3 * quantile(took, 0.95):.0f} ms, "
            f"slowest {1e3 * max(took):.0f} ms; {app.memory():,.0f} MB at the end; "
            f"load of the machine {os.getloadavg()[0]:.1f}"
        )
        for error in errors[:5]:
            print("  ", error[:300])
        if options.hostile:
            for kind, spent in handed.items():
                print(
                    f"{len(spent)} × {kind}: p50 {quantile(spent, 0.5):.2f} s, "
                    f"p95 {quantile(spent, 0.95):.2f} s, slowest {max(spent):.2f} s"
                )
            await asyncio.sleep(_KEPT)
            async with Tab(app.port) as tab:  # sessions that are over leave when another comes
                await tab.open("", "")
            print(f"memory: {before:,.0f} MB before the visits, {app.memory():,.0f} MB after all")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--trainers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--think", type=float, nargs=2, default=(2.0, 8.0))
    parser.add_argument("--hostile", action="store_true")
    parser.add_argument("--crowd", nargs="*", choices=_TRIALS)
    asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    main()
