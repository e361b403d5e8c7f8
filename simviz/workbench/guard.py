"""What stands between the server and Streamlit: who is answered, and how the server ends."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.websockets import WebSocketClose
from streamlit import config

from simviz.workbench.deployment import Deployment

#: Connections of visitors at once; a page that is drawn has a thread.
MAX_OPEN = 500
#: Seconds in which an upload has to arrive whole.
ARRIVES = 1_800.0
#: Times its bytes that an upload takes in memory: as it came, and as it is read.
_COPIES = 2


class Guard:
    """Refuses, before Streamlit, pages of other sites and on a public server its figures.

    Connections beyond some hundreds, and uploads for which there is no memory, are refused too.
    Asked by a page of another site, Streamlit asks an address service on the internet whether
    that is its own address. `app.py` puts this in front.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._n_open = self._n_arriving = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or answer it by a refusal."""
        answer: Any = self._app
        if scope["type"] == "websocket":
            headers = Headers(scope=scope)
            origin, host = headers.get("origin"), headers.get("host")
            if not _is_own(origin, host):
                answer = WebSocketClose(1008)  # of its policy
            elif origin is not None and urlsplit(origin).netloc != host:
                # Streamlit, too, would have to be convinced; it takes those who name no origin.
                allowed = [(name, value) for name, value in scope["headers"] if name != b"origin"]
                scope = {**scope, "headers": allowed}
            if answer is self._app:
                answer = self._connect
        elif scope["type"] == "http" and "/_stcore/upload_file/" in scope["path"]:
            if scope["method"] == "PUT":
                answer = self._take_upload
        elif scope["type"] == "http" and scope["path"].endswith("/_stcore/metrics"):
            if Deployment.of().public:
                answer = PlainTextResponse("Not Found", 404)
        await answer(scope, receive, send)

    async def _connect(self, scope: Any, receive: Any, send: Any) -> None:
        if self._n_open >= MAX_OPEN:
            await WebSocketClose(1013)(scope, receive, send)  # try again later
            return
        self._n_open += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._n_open -= 1

    async def _take_upload(self, scope: Any, receive: Any, send: Any) -> None:
        """Take an upload if it finds room in memory, with those that arrive beside it."""
        from simviz.jobs.memory import free_bytes

        length = Headers(scope=scope).get("content-length", "")
        limit = 2**20 * int(config.get_option("server.maxUploadSize"))
        n_bytes = min(limit, int(length)) if length.isascii() and length.isdigit() else limit
        if _COPIES * n_bytes > free_bytes() - _COPIES * self._n_arriving:
            text = "The server has no memory for this file now. Try again in some minutes."
            await PlainTextResponse(text, 503, {"Retry-After": "120"})(scope, receive, send)
            return
        self._n_arriving += n_bytes
        try:
            async with asyncio.timeout(ARRIVES):
                await self._app(scope, receive, send)
        except TimeoutError:
            late = PlainTextResponse("This file took too long to arrive.", 408)
            await late(scope, receive, send)
        finally:
            self._n_arriving -= n_bytes


def _is_own(origin: str | None, host: str | None) -> bool:
    """Whether who opens a connection is no browser, or on a page of this app or its operator."""
    if origin is None or not config.get_option("server.enableCORS"):
        return True
    try:
        parts = urlsplit(origin)
        name = parts.hostname
    except ValueError:
        return False
    named = config.get_option("browser.serverAddress"), os.environ.get("SIMVIZ_BASE_URL", "")
    known = [*named, *config.get_option("server.corsAllowedOrigins"), "localhost", "127.0.0.1"]
    hosts = {urlsplit(one if "//" in one else f"//{one}").hostname for one in known}
    return bool(name) and (parts.netloc == host or name in hosts)


@asynccontextmanager
async def exit_cleanly(app: Any) -> AsyncIterator[None]:
    """Let Python do what it does at exit, such as ending jobs, when a signal ends the server."""
    yield
    if sys.platform != "win32":
        # Having ended, the server sends itself the signal again, which would end Python at once.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
