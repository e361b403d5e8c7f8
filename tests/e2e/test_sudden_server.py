"""A server killed while visitors work on it; `tests/soak/sudden_end.py` has more moments."""

from __future__ import annotations

import asyncio

import pytest
from server import Server
from visitor import ENDLESS, Tab, until_running, visit

from simviz.data import PairSet
from simviz.jobs import JobQueue, JobSpec
from simviz.jobs.run_drawings import QUICK_LAYOUT, draw_now
from simviz.store import Store
from simviz.store.directory import LOCAL_WORKSPACE

from sudden_state import Promises, look, rows_of  # isort: skip
from sudden_visits import delete, keep, leave, publish, save, withdraw  # isort: skip

pytestmark = pytest.mark.e2e


@pytest.fixture
def kept(tmp_path):
    """A store with one data set, and one run on it that is drawn."""
    store = Store(tmp_path / "store")
    mine = store.workspaces.open(LOCAL_WORKSPACE)
    pairs = PairSet.from_texts(*zip(*rows_of("kept"), strict=True), name="kept")
    data = store.datasets.put(pairs, mine)
    with JobQueue(store) as queue:
        spec = JobSpec(data, pairs.digest, "lsa", {"n_components": 3}, workspace=mine)
        run = store.runs.get(queue.wait(queue.submit(spec), 120).run_id, mine)
    draw_now(run, pairs, QUICK_LAYOUT)
    return store, data


async def work(server: Server, store: Store, data: str) -> Promises:
    """Do each thing that a server acknowledges, while a job runs that would take minutes."""
    told = Promises()
    told.data["kept"] = {True}
    async with Tab(server.port) as trainer, Tab(server.port) as tab:
        await trainer.open("map", ENDLESS)
        await asyncio.to_thread(until_running, store.root)
        await keep(tab, told, "uploaded")
        await delete(tab, told, "uploaded again", await keep(tab, told, "uploaded again"))
        await save(tab, told, "of the only run", data, 0)
        await publish(tab, told, data, "map")
        await withdraw(tab, told, await publish(tab, told, data, "search"))
        await leave(tab, told, "left unkept")
        assert not tab.errors and not trainer.errors
        server.kill()
    return told


async def go_on(server: Server, told: Promises, job: str) -> None:
    """Find all that was left, and train again what was interrupted."""
    async with Tab(server.port) as tab:
        await tab.open("data", "view=other")
        assert "data-keep" in tab.keys(), "the upload that was left waits"
        (token,) = (token for token, states in told.shares.items() if states == {True})
        await tab.open("map", f"share={token}")
        assert "map-canvas" in tab.keys()
        await tab.open("train", "data=demo:emoji")
        said = " ".join(text.body for text in tab.drawn("markdown"))
        assert "interrupted: the app was restarted" in said
        await tab.press(f"train-again-{job}")
        cancel = await tab.key("train-cancel-")
        assert [key for key in tab.keys() if key.startswith("train-cancel-")] == [cancel]
        await tab.press(cancel)
        assert not tab.errors


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(kept):
    store, data = kept
    server = Server(store.root, public=False)
    try:
        told = visit(work(server, store, data))
        server.start()
        (broken,) = (job for job in look(store.root, told) if job.state != "succeeded")
        assert broken.state == "interrupted"
        visit(go_on(server, told, broken.id))
    finally:
        server.close()
