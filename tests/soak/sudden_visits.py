"""Visitors of a server that is going to be killed: they upload, train, name, delete and publish.

Each tells what it is about to do and what the app has answered, see `sudden_state.Promises`.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack
from itertools import count, cycle

from app_client import Tab
from sudden_state import Promises, change, csv_of

_TOKEN = re.compile(r"[?&]share=([\w-]+)")
#: Seconds after which a server counts as hung: a busy machine starts one in a minute.
HUNG = 600.0


class PageError(Exception):
    """A page said that something went wrong."""


class Visitor(Tab):
    """One tab of somebody who waits for the answer, or for the kill; no page may fail."""

    def __init__(self, port: int) -> None:
        super().__init__(port, HUNG)

    async def __aexit__(self, *exc: object) -> None:
        await super().__aexit__(*exc)
        if self.errors:
            raise PageError(self.errors[0])


async def hand_in(tab: Tab, name: str) -> None:
    """Upload a file, and wait until it is understood."""
    await tab.open("data", "view=other")
    await tab.upload(await tab.key("data-file-"), f"{name}.csv", csv_of(name))
    await tab.key("data-keep")


async def keep(tab: Tab, told: Promises, name: str) -> str:
    """Upload a file and keep it; the id of the data set."""
    await hand_in(tab, name)
    with change(told.data[name], True):
        await tab.press("data-keep")
    return tab.query.removeprefix("data=")


async def train(tab: Tab, told: Promises) -> None:
    """Press the button of the page with its usual ticks, and wait for the end of all."""
    await tab.press("train-start")
    asked = jobs_in(tab, "cancel")
    told.jobs.update({job: told.jobs.get(job, False) for job in asked})
    await wait(tab)
    broken = jobs_in(tab, "again")
    told.jobs.update({job: True for job in asked if job not in broken})


def jobs_in(tab: Tab, button: str) -> list[str]:
    """Jobs for which a page shows a button, such as "cancel" or "again"."""
    start = f"train-{button}-"
    return [k.removeprefix(start) for k in tab.keys() if re.match(rf"{start}[0-9a-f]{{32}}-", k)]


async def wait(tab: Tab) -> None:
    """Wait until nothing on the page wants to be asked again."""
    while tab.is_waiting:
        await asyncio.sleep(0.1)


async def uploads(port: int, told: Promises, tag: str) -> None:
    """One after the other, every second one deleted again."""
    async with Visitor(port) as tab:
        for i in count():
            name = f"{tag} upload {i}"
            made = await keep(tab, told, name)
            if i % 2:
                await delete(tab, told, name, made)
            await asyncio.sleep(0.2)


async def delete(tab: Tab, told: Promises, name: str, data: str) -> None:
    """Delete a data set."""
    await tab.open("data", "view=other")
    with change(told.data[name], False):
        await tab.press(f"data-delete-{data}")


async def waits(port: int, told: Promises, tag: str) -> None:
    """Uploads one file after the other and keeps none."""
    for i in count():
        async with Visitor(port) as tab:
            await leave(tab, told, f"{tag} waits {i}")


async def leave(tab: Tab, told: Promises, name: str) -> None:
    """Upload a file and leave it unkept."""
    if not told.waiting:
        told.waiting.add("")
    with change(told.waiting, name):
        await hand_in(tab, name)


async def trains(port: int, told: Promises, tag: str) -> None:
    """Uploads and trains on it, again and again."""
    async with Visitor(port) as tab:
        for i in count():
            await keep(tab, told, f"{tag} trained {i}")
            await train(tab, told)


async def trains_once(port: int, told: Promises, data: str) -> None:
    """Trains on a data set that was kept before, then opens one page after the other."""
    async with Visitor(port) as tab:
        await tab.open("train", f"data={data}")
        await train(tab, told)
        for page in cycle(("compare", "map", "search", "methods", "papers")):
            await tab.open(page, f"data={data}")
            await asyncio.sleep(0.2)


async def saves(port: int, told: Promises, tag: str, data: str) -> None:
    """Names a run, notes something, deletes it and brings it back."""
    async with Visitor(port) as tab:
        for i in count():
            await save(tab, told, f"{tag} {i}", data, i % 2)


async def save(tab: Tab, told: Promises, tag: str, data: str, row: int) -> None:
    """Name the run of a row, note something, delete the first run and bring it back."""
    run = await _tick(tab, data, row)
    for action, promises in (("name", told.names), ("note", told.notes)):
        text = f"{action} {tag}"
        with change(promises[run], text):
            await tab.write(f"train-{action}-{run}", text)
    run = await _tick(tab, data, 0)
    with change(told.runs[run], False):
        await tab.press("train-delete")
    # One button brings back all, also what was deleted before an earlier kill.
    with ExitStack() as gone:
        for states in [states for states in told.runs.values() if False in states]:
            gone.enter_context(change(states, True))
        await tab.press("train-undo")


async def _tick(tab: Tab, data: str, row: int) -> str:
    """Open the runs of a data set and tick one; its id."""
    await tab.open("train", f"data={data}")
    await tab.tick(await tab.key("train-runs-"), [row])
    return (await tab.key("train-name-")).removeprefix("train-name-")


async def publishes(port: int, told: Promises, data: str) -> None:
    """Publishes a map or answers, and withdraws every second of them."""
    async with Visitor(port) as tab:
        for i in count():
            token = await publish(tab, told, data, ("map", "search")[i % 2])
            if len(told.shares) % 2:
                await withdraw(tab, told, token)


async def publish(tab: Tab, told: Promises, data: str, page: str) -> str:
    """Publish what a page shows; the token of its link."""
    await tab.open(page, f"data={data}")
    async with asyncio.timeout(tab.patience):
        while f"{page}-share" not in tab.keys():  # a map is drawn first
            await asyncio.sleep(0.5)
            await tab.open(page, f"data={data}")
    await tab.unfold(f"{page}-share")
    before = set(told.shares)
    told.publishing = 1
    await tab.press(f"{page}-publish")
    shown = {t for code in tab.drawn("code") for t in _TOKEN.findall(code.code_text)}
    (token,) = shown - before
    told.shares[token] = {True}
    told.publishing = 0
    return token


async def withdraw(tab: Tab, told: Promises, token: str) -> None:
    """Withdraw what was published on this page."""
    with change(told.shares[token], False):
        await tab.press(f"withdraw-{token}")
