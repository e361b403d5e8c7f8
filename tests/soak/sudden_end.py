"""A real server, killed at random moments while visitors work on it.

    python tests/soak/sudden_end.py              # 50 moments, half an hour or less
    python tests/soak/sudden_end.py --moments 3

starts the app on an empty store and lets six visitors work at once over HTTP and websockets
(`app_client`): one publishes and withdraws, one names, deletes and brings back runs, and either
two upload and delete files and two upload and train, or one uploads files and keeps none while
three train and look around. At a random moment the process is killed with SIGKILL; then it is
started anew on the same store, and what it has is compared with what it had acknowledged. Every
page must open; every interrupted job must say so on its page, and a press on *Again* must bring it
to its end. With `--home FOLDER` the store and what the servers wrote stay there.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import tempfile
import time
from contextlib import nullcontext, suppress
from pathlib import Path

from sessions import Server
from sudden_state import LostError, Promises, look
from sudden_visits import (
    PageError,
    Visitor,
    jobs_in,
    keep,
    publishes,
    saves,
    train,
    trains,
    trains_once,
    uploads,
    wait,
    waits,
)

from simviz.jobs import JobStatus

PAGES = ("", "data", "train", "compare", "map", "search", "methods", "papers")
#: Kept from the start: runs on the one are published, on the other named and deleted.
FIRST = ("published", "named")


async def prepare(app: Server, told: Promises) -> list[str]:
    """Upload data sets and train on them; their ids."""
    made = []
    async with Visitor(app.port) as tab:
        for name in FIRST:
            made.append(await keep(tab, told, name))
            await train(tab, told)
        for page in PAGES:  # what is loaded and compiled at the first visit
            await tab.open(page, f"data={made[0]}")
    return made


async def work(app: Server, told: Promises, kill: int, data: list[str], seconds: float) -> None:
    """Let all visitors work, and kill the server."""
    tag = f"kill {kill}"
    own = [publishes(app.port, told, data[0]), saves(app.port, told, tag, data[1])]
    if kill % 2:  # one upload of a workspace waits, and is forgotten when another is kept
        async with Visitor(app.port) as tab:
            kept = [await keep(tab, told, f"{tag} trained {i}") for i in range(3)]
        own += [waits(app.port, told, tag), *(trains_once(app.port, told, one) for one in kept)]
    else:
        own += [visit(app.port, told, f"{tag} {i}") for visit in (uploads, trains) for i in "ab"]
    visits = [asyncio.create_task(visit) for visit in own]
    ended, _ = await asyncio.wait(visits, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    app.kill()
    for visit in visits:
        visit.cancel()
    for visit in visits:
        with suppress(asyncio.CancelledError, OSError, TimeoutError):
            try:
                await visit
            except Exception as error:  # before the kill nothing may go wrong
                if visit in ended or isinstance(error, PageError):
                    raise


async def open_all(app: Server, told: Promises, data: str) -> None:
    """Every page of a data set, and what is published."""
    async with Visitor(app.port) as tab:
        for page in PAGES:
            await tab.open(page, f"data={data}")
        token = next((t for t, states in told.shares.items() if states == {True}), None)
        if token:
            await tab.open("map", f"share={token}")
            if not any(key.startswith("map-") for key in tab.keys()):
                raise LostError("a published view cannot be opened")


async def bring_back(app: Server, told: Promises) -> None:
    """See the page offer the upload that waits."""
    async with Visitor(app.port) as tab:
        if told.waiting:
            await tab.open("data", "view=other")
            await tab.key("data-keep")
            told.waiting.clear()


async def repeat(app: Server, statuses: list[JobStatus], told: Promises) -> int:
    """Press *Again* for what was interrupted, wherever its page offers that; how many."""
    pressed = 0
    broken: dict[str, list[str]] = {}
    for status in statuses:
        if status.state == "interrupted" and status.spec is not None:
            broken.setdefault(status.spec.dataset_id, []).append(status.id)
    async with Visitor(app.port) as tab:
        for data, jobs in broken.items():
            await tab.open("train", f"data={data}")
            offered = jobs_in(tab, "again")
            said = " ".join(text.body for text in tab.drawn("markdown"))
            if (
                not {*offered}.isdisjoint(jobs)
                and "interrupted: the app was restarted" not in said
            ):
                raise LostError(f"the page does not say that one of {jobs} was interrupted")
            for job in offered:
                await tab.press(f"train-again-{job}")
            pressed += len(offered)
            began = dict.fromkeys(jobs_in(tab, "cancel"), False)
            told.jobs.update(began)
            await wait(tab)
            if left := jobs_in(tab, "again"):
                raise LostError(f"{left} did not succeed when they were repeated")
            told.jobs.update(dict.fromkeys(began, True))
    return pressed


async def tidy(app: Server, told: Promises, data: list[str]) -> None:
    """Delete what the visitors kept: a workspace has room for so many."""
    async with Visitor(app.port) as tab:
        await tab.open("data", "view=other")
        if "data-discard" in tab.keys():  # an upload that was read, but not kept before the kill
            await tab.press("data-discard")
        start = "data-delete-"
        for key in tab.keys():
            if key.startswith(start) and key.removeprefix(start) not in data:
                await tab.press(key)
    for name in [name for name in told.data if name not in FIRST]:
        del told.data[name]
    async with Visitor(app.port) as tab:
        await tab.open("map", f"data={data[0]}")
        await tab.unfold("map-share")
        for token, states in told.shares.items():
            if states == {True}:
                await tab.press(f"withdraw-{token}")
                told.shares[token] = {False}


async def measure(moments: int, seed: int, home: str | None) -> None:
    rng, told = random.Random(seed), Promises()
    interrupted: set[str] = set()
    kills = repeated = 0
    began = time.monotonic()
    with nullcontext(home) if home else tempfile.TemporaryDirectory() as folder:
        app = Server(Path(folder) / "store", public=False, log=Path(folder) / "server.log")
        try:
            data = await prepare(app, told)
            while kills < moments:
                seconds = rng.uniform(0.3, 10)
                await work(app, told, kills, data, seconds)
                app.start()
                await open_all(app, told, data[kills % 2])
                statuses = look(app.home, told)
                await bring_back(app, told)
                interrupted.update(s.id for s in statuses if s.state == "interrupted")
                repeated += await repeat(app, statuses, told)
                await tidy(app, told, data)
                kills += 1
                print(f"{kills}: killed after {seconds:.1f} s", flush=True)
        finally:
            app.kill()
            # Also of what was seen until something went wrong, or until it was stopped.
            seconds = time.monotonic() - began
            print(
                f"{kills} kills in {seconds:.0f} s, load {os.getloadavg()[0]:.1f}: "
                f"{len(interrupted)} jobs interrupted, {repeated} repeated with success",
                flush=True,
            )
    print("nothing lost")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--home")
    asyncio.run(measure(**vars(parser.parse_args())))
