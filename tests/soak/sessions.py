"""The app under load: what a server has to bear, and how long another visitor waits meanwhile.

    python tests/soak/sessions.py
    python tests/soak/sessions.py idle refused stopped

starts the app on an empty store and talks to it over websockets as browsers do (`app_client`). One
visitor opens pages while others visit and train, hand in bad files of all kinds, or four files of
190 MB at once, begin hundreds of requests and end none, open hundreds of connections, ask for a
page thousands of times, and ask for jobs that need more memory than there is; or only the trials
that are named. A second is from the message that says what was changed to the one that says all is
drawn; memory is that of the whole server process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
import urllib.error
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from app_client import PATIENCE, Tab
from websockets.exceptions import InvalidHandshake

sys.path.append(str(Path(__file__).parents[1]))
from made_up import saved, zipped
from server import ROOT, Server

DATA = "data=demo:emoji"
#: Pages by the names in their addresses; home with its demo shows all at once.
PAGES = ("train", "compare", "map", "search", "data", "methods", "papers")
#: Visitors who come at once, of whom some train, for so many seconds.
_VISITORS, _TRAINERS, _SECONDS = 20, 4, 60.0


def told(app: Server, name: str) -> int:
    """A number that the system tells of a process, such as "VmHWM" or "Threads"."""
    status = Path(f"/proc/{app.process.pid}/status").read_text()
    return int(status.split(f"{name}:")[1].split()[0])


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
    with tempfile.TemporaryDirectory() as home:
        (Path(home) / "greedy.py").write_text(_GREEDY)
        about = Path(home) / "greedy-1.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: greedy\nVersion: 1\n")
        (about / "entry_points.txt").write_text(
            "[simviz.methods]\ngreedy = greedy:Greedy\nbroken = nowhere:Nothing\n"
        )
        path = os.pathsep.join([home, str(ROOT)])
        app = Server(Path(home) / "store", PYTHONPATH=path, SIMVIZ_MEMORY_MB="2500")
        try:
            async with Tab(app.port) as tab:
                for page in PAGES:  # what is loaded at the first visit
                    await tab.open(page, DATA)
            print(
                "| trial | what became of it | pages of another: median, slowest | memory "
                "| threads | load |\n|---|---|---:|---:|---:|---:|"
            )
            for trial in map(_TRIALS.__getitem__, names or _TRIALS):
                print(await _tried(app, trial), flush=True)
            assert app.process.poll() is None
        finally:
            app.close()


async def _tried(app: Server, trial: Callable[[Server], Awaitable[str]]) -> str:
    """A row of the table."""
    (Path("/proc") / str(app.process.pid) / "clear_refs").write_text("5")
    ended, before = asyncio.Event(), told(app, "VmRSS") / 1e3
    other = asyncio.create_task(_look_around(app, ended))
    try:
        said = await trial(app)
    finally:
        ended.set()
    took, threads = await other
    waited = f"{statistics.median(took):.2f}, {max(took):.2f} s of {len(took)}"
    memory = f"{before:,.0f}, at most {told(app, 'VmHWM') / 1e3:,.0f} MB"
    cells = ((trial.__doc__ or "").rstrip("."), said, waited, memory, str(threads))
    return f"| {' | '.join(cells)} | {os.getloadavg()[0]:.1f} |"


async def _look_around(app: Server, ended: asyncio.Event) -> tuple[list[float], int]:
    """Open pages until the end; their seconds, and the most threads of the server."""
    took: list[float] = []
    threads = 0
    async with Tab(app.port) as tab:
        while not ended.is_set() or not took:
            for page in ("methods", "data", "train"):
                took.append(await tab.open(page, DATA))
                threads = max(threads, told(app, "Threads"))
                await asyncio.sleep(0.2)
        fail_on(tab.errors)
    return took, threads


async def _idle(app: Server) -> str:
    """Nothing."""
    await asyncio.sleep(5)
    return "–"


async def _visits(app: Server) -> str:
    """20 visitors, four of whom train."""
    async with Tab(app.port) as tab:
        await tab.open("", "demo=emoji")
        async with asyncio.timeout(10 * PATIENCE):
            while tab.is_waiting:
                await asyncio.sleep(0.5)
        fail_on(tab.errors)
    visits = [_visit(app, number) for number in range(_VISITORS)]
    ended = await asyncio.gather(*visits, return_exceptions=True)
    took = [seconds for one in ended if isinstance(one, list) for seconds in one]
    broken = [repr(one)[:60] for one in ended if not isinstance(one, list)]
    said = f"median {statistics.median(took):.2f}, p95 {statistics.quantiles(took, n=20)[-1]:.2f}"
    return f"{len(took)} interactions: {said} s, {len(broken)} visits broken {broken[:1]}"


async def _visit(app: Server, number: int) -> list[float]:
    """One visitor, who reads, goes to another page or changes something; seconds of each."""
    rng = random.Random(number)
    took: list[float] = []
    async with Tab(app.port) as tab:
        await asyncio.sleep(rng.uniform(0, 8))
        took.append(await tab.open(PAGES[number % len(PAGES)], DATA))
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end:
            await asyncio.sleep(rng.uniform(2, 8))
            widgets = tab.widgets()
            if number < _TRAINERS and not tab.is_waiting:
                k = rng.randrange(10, 200)
                took.append(await tab.open("map", f"demo=emoji&method=cca&k={k}"))
            elif not widgets or rng.random() < 0.4:
                took.append(await tab.open(rng.choice(PAGES), DATA))
            else:
                took.append(await tab.change(*rng.choice(widgets)))
        fail_on(tab.errors)
    return took


def _bad_files() -> Iterator[tuple[str, bytes]]:
    """Name and content of bad files, some of each kind."""
    rng = np.random.default_rng(0)
    names = ",".join(f"c{i}" for i in range(1_000_000))
    yield "columns.csv", f"{names}\n{names}\n".encode()
    yield "deep.json", b"[" * 1_000_000
    for n in (300, 40):  # huge pictures; within the limit
        yield f"{n} pictures.zip", _pictures(n)
    yield "unpacks to 400 MB.zip", zipped({"pairs.csv": b"left,right\n" * 40_000_000})
    for ending in ("csv", "xlsx", "parquet", "arrow", "npz", "zip", "json", "txt"):
        yield f"rubbish.{ending}", rng.bytes(300_000)


async def _bad(app: Server) -> str:
    """Bad files of all kinds, one after the other."""
    said = []
    for name, data in _bad_files():
        tab = await hand_in(app, name, data)
        fail_on(tab.errors)
        said.append("taken as data" if "data-keep" in tab.keys() else "refused")
    return _counted(said)


async def hand_in(app: Server, name: str, data: bytes) -> Tab:
    """Upload a file as a new visitor, and wait until it is understood or refused."""
    async with Tab(app.port) as tab:
        await tab.open("data", "view=other")
        async with asyncio.timeout(PATIENCE):
            await tab.upload("data-file-0", name, data)
            while "data-cancel" in tab.keys():
                await asyncio.sleep(0.05)
            return tab


async def _four_files(app: Server) -> str:
    """Four files of 190 MB at once."""
    data = bytes(190_000_000)

    async def one(i: int) -> str:
        try:
            tab = await hand_in(app, f"{i}.csv", data)
        except urllib.error.HTTPError as error:
            return f"status {error.code}"
        fail_on(tab.errors)
        return "read and refused"

    return _counted(await asyncio.gather(*map(one, range(4))))


async def _slow(app: Server) -> str:
    """300 requests of which half a line comes."""
    slow = [await asyncio.open_connection("127.0.0.1", app.port) for _ in range(300)]
    for _, writer in slow:
        writer.write(b"PUT /_stcore/upload_file/a/b HTTP/1.1\r\nContent-Length: 200000000\r\nX")
    await asyncio.sleep(5)
    for _, writer in slow:
        writer.close()
    return "held for 5 s"


async def _connections(app: Server) -> str:
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


async def _reruns(app: Server) -> str:
    """One connection that asks for a page 3,000 times."""
    async with Tab(app.port) as tab:
        await tab.open("methods", DATA)
        for _ in range(3_000):
            await tab._send("", name="methods")
        await tab.open("data", DATA)
    return "answered"


async def _refused(app: Server) -> str:
    """Ten jobs that would need too much by their estimate."""
    return _counted([await _job(app, f"method=ssi&k={4 * 10**5 + i}") for i in range(10)])


async def _stopped(app: Server) -> str:
    """Ten jobs that take more than their estimate."""
    return _counted([await _job(app, "method=greedy") for _ in range(10)])


async def _job(app: Server, how: str) -> str:
    """Ask for a job by an address; what it said at its end."""
    known = {*app.home.glob("jobs/*")}
    async with Tab(app.port) as tab:
        await tab.open("map", f"demo=emoji&{how}")
        async with asyncio.timeout(PATIENCE):
            while True:
                for path in {*app.home.glob("jobs/*")} - known:
                    status = json.loads((path / "status.json").read_text())
                    asked = json.loads((path / "spec.json").read_text())["spec"]
                    if asked["method"] in how and status["finished"]:
                        return f"{status['state']}: {status['message'].split(':')[0][:60]}"
                await asyncio.sleep(0.1)


_TRIALS = {
    "idle": _idle,
    "visits": _visits,
    "bad": _bad,
    "files": _four_files,
    "slow": _slow,
    "connections": _connections,
    "reruns": _reruns,
    "refused": _refused,
    "stopped": _stopped,
}


def _counted(said: Sequence[str]) -> str:
    return ", ".join(f"{n} {what}" for what, n in Counter(said).items())


def _pictures(n: int) -> bytes:
    """A zip of white pictures of one bit a pixel, in two folders."""
    from PIL import Image

    picture = saved(Image.new("1", (5000, 5000), 1).save, "PNG")
    return zipped({f"{'odd' if i % 2 else 'even'}/{i}.png": picture for i in range(n)})


def fail_on(errors: list[str]) -> None:
    """End with what a page said went wrong."""
    if errors:
        raise RuntimeError(f"{len(errors)} errors; the first: {errors[0]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trials", nargs="*", choices=[*_TRIALS, []])
    asyncio.run(crowd(parser.parse_args().trials))
