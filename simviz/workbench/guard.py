"""What stands between the server and Streamlit: who is answered, and how the server ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit


class Guard:
    """Refuses, before Streamlit, pages of other sites and on a public server its figures.

    Asked by a page of another site, Streamlit asks an address service on the internet whether
    that is its own address. `app.py` puts this in front.
    """

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or answer it by a refusal."""
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse
        from starlette.websockets import WebSocketClose

        answer: Any = self._app
        if scope["type"] == "websocket":
            headers = Headers(scope=scope)
            origin, host = headers.get("origin"), headers.get("host")
            if not _is_own(origin, host):
                answer = WebSocketClose(1008)  # of its policy
            elif origin is not None and urlsplit(origin).netloc != host:
                # Streamlit, too, would have to be convinced; it takes those who name no origin.
                kept = [(name, value) for name, value in scope["headers"] if name != b"origin"]
                scope = {**scope, "headers": kept}
        elif scope["type"] == "http" and scope["path"].endswith("/_stcore/metrics"):
            from simviz.workbench.shell.state import Deployment

            if Deployment.of().public:
                answer = PlainTextResponse("Not Found", 404)
        await answer(scope, receive, send)


def _is_own(origin: str | None, host: str | None) -> bool:
    """Whether who opens a connection is no browser, or on a page of this app or its operator."""
    from streamlit import config

    if origin is None or not config.get_option("server.enableCORS"):
        return True
    try:
        asks = urlsplit(origin)
        name = asks.hostname
    except ValueError:
        return False
    named = config.get_option("browser.serverAddress"), os.environ.get("SIMVIZ_BASE_URL", "")
    known = [*named, *config.get_option("server.corsAllowedOrigins"), "localhost", "127.0.0.1"]
    hosts = {urlsplit(one if "//" in one else f"//{one}").hostname for one in known}
    return bool(name) and (asks.netloc == host or name in hosts)


@asynccontextmanager
async def ending(app: Any) -> AsyncIterator[None]:
    """Let Python do what it does at exit, such as ending jobs, when a signal ends the server."""
    yield
    if sys.platform != "win32":
        # Having ended, the server sends itself the signal again, which would end Python at once.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
