"""What the server refuses before Streamlit hears of it: too many at once, and too much."""

import asyncio

import pytest

from simviz.jobs import memory
from simviz.workbench import guard

MB = 10**6


class Streamlit:
    """Holds what it is asked until it is told to answer."""

    def __init__(self):
        self.n, self.answers = 0, asyncio.Event()

    async def __call__(self, scope, receive, send):
        self.n += 1
        await self.answers.wait()
        await send({"type": "http.response.start", "status": 204, "headers": []})


async def ask(guarded, kind, length=None):
    """What is answered: the status of an upload, the code of a connection that is refused."""
    headers = [(b"host", b"localhost")]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    path = "/_stcore/upload_file/session/file" if kind == "http" else "/_stcore/stream"
    scope = {"type": kind, "method": "PUT", "path": path, "headers": headers}
    told = []

    async def send(message):
        told.append(message)

    await guarded(scope, None, send)
    return told[0].get("status", told[0].get("code"))


@pytest.fixture
def room(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1_000 * MB)


def test_uploads_at_once_find_room_in_memory_or_are_refused(room):
    async def visit():
        app = Streamlit()
        guarded = guard.Guard(app)
        two = [asyncio.create_task(ask(guarded, "http", 200 * MB)) for _ in range(2)]
        await asyncio.sleep(0)
        assert await ask(guarded, "http", 200 * MB) == 503
        assert await ask(guarded, "http") == 503  # as long as it may be
        assert app.n == 2
        app.answers.set()
        assert await asyncio.gather(*two) == [204, 204]
        assert await ask(guarded, "http", 200 * MB) == 204  # there is room again

    asyncio.run(visit())


def test_an_upload_that_does_not_arrive_gives_its_room_back(room, monkeypatch):
    monkeypatch.setattr(guard, "ARRIVES", 0.0)

    async def visit():
        guarded = guard.Guard(Streamlit())
        assert [await ask(guarded, "http", 400 * MB) for _ in range(3)] == [408] * 3

    asyncio.run(visit())


def test_connections_beyond_the_limit_are_refused_until_others_leave(monkeypatch):
    monkeypatch.setattr(guard, "MAX_OPEN", 3)

    async def visit():
        app = Streamlit()
        guarded = guard.Guard(app)
        three = [asyncio.create_task(ask(guarded, "websocket")) for _ in range(3)]
        await asyncio.sleep(0)
        assert await ask(guarded, "websocket") == 1013
        app.answers.set()
        await asyncio.gather(*three)
        assert app.n == 3 and await ask(guarded, "websocket") == 204

    asyncio.run(visit())
