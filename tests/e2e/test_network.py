"""The server asks no other computer for anything, and answers none unless told to."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from server import Server
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

pytestmark = pytest.mark.e2e

#: Python reads it first: names and addresses of other computers are noted, none is reached.
FORBIDDEN = """
import socket
from pathlib import Path

def refused(call, at):
    def asked(*arguments, **named):
        where = arguments[at]
        host = str(where[0] if isinstance(where, tuple) else where)
        if host not in ("localhost", "::1", "0.0.0.0") and not host.startswith("127."):
            with Path(__file__).with_name("asked").open("a") as file:
                print(host, file=file)
            raise OSError("forbidden")
        return call(*arguments, **named)
    return asked

socket.socket.connect = refused(socket.socket.connect, 1)
socket.getaddrinfo = refused(socket.getaddrinfo, 0)
"""


def opens(server, origin):
    """Whether a page of that origin may talk to a server."""
    stream = f"{server.url.replace('http', 'ws', 1)}/_stcore/stream"
    try:
        connect(stream, origin=origin, subprotocols=["streamlit"]).__enter__().close()
    except InvalidStatus as error:
        assert error.response.status_code == 403
        return False
    return True


def answers(port):
    """Whether another address of this computer is answered: it stands for another computer."""
    try:
        socket.create_connection(("127.0.0.2", port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_only_this_computer_is_served(public_server):
    assert not answers(urlsplit(public_server.url).port)


def test_a_page_of_another_site_is_refused_and_nobody_is_asked(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMVIZ_BASE_URL", "https://app.invalid/simviz")
    monkeypatch.setenv("STREAMLIT_SERVER_CORS_ALLOWED_ORIGINS", "https://other.invalid")
    monkeypatch.setenv("STREAMLIT_SERVER_ADDRESS", "0.0.0.0")
    (tmp_path / "sitecustomize.py").write_text(FORBIDDEN)
    with closing(Server(tmp_path / "store", PYTHONPATH=str(tmp_path))) as server:
        site = "https://site.invalid"
        strangers = site, f"{site}:{server.port}", "null", "http://["
        assert not any(opens(server, origin) for origin in strangers)
        known = server.url, "https://app.invalid", "https://other.invalid:444", "http://localhost"
        assert all(opens(server, origin) for origin in (None, *known))
        assert answers(server.port), "others are served where it is asked for"
        assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize(("kind", "status"), [("public", 404), ("private", 200)])
def test_figures_of_the_process_are_nobodys_on_a_public_server(request, kind, status):
    server = request.getfixturevalue(f"{kind}_server")
    try:
        answered = urllib.request.urlopen(f"{server.url}/_stcore/metrics").status
    except urllib.error.HTTPError as error:
        answered = error.code
    assert answered == status
