"""What the Dockerfile says, done without Docker: it starts, is healthy, and ends when told to."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from server import ROOT, dockerfile, free_port, until_up
from visitor import ENDLESS, Tab, states, until_running, visit
from waiting import LONG

PATH = ROOT / "Dockerfile"
SAID, VARIABLES, _ = dockerfile(PATH, 8501)
pytestmark = pytest.mark.e2e


def test_all_that_is_copied_is_there_and_is_not_kept_back():
    ignored = (ROOT / ".dockerignore").read_text().split()
    for line in SAID["COPY"]:
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists() and source not in ignored


def is_healthy(port: int, path: str = "") -> bool:
    """What the Dockerfile asks, of another port."""
    (health,) = re.findall(r"CMD python (-c .*)$", SAID["HEALTHCHECK"][0])
    check = [sys.executable, *shlex.split(health.replace("8501", str(port)))]
    env = os.environ | {"STREAMLIT_SERVER_BASE_URL_PATH": path}
    done = subprocess.run(check, env=env, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def test_a_server_is_healthy_where_it_is_served(public_server):
    port = urlsplit(public_server.url).port
    assert is_healthy(port)
    assert not is_healthy(port, "elsewhere")


def test_it_starts_is_healthy_and_ends_when_told_to(tmp_path):
    assert VARIABLES["SIMVIZ_HOME"] in SAID["VOLUME"]
    own = {"SIMVIZ_HOME": str(tmp_path), "STREAMLIT_SERVER_BASE_URL_PATH": "simviz"}
    port = free_port()
    _, _, (name, *words) = dockerfile(PATH, port)
    assert name == "python"
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    env = os.environ | VARIABLES | own
    app = subprocess.Popen([sys.executable, *words], cwd=ROOT, env=env, **silent)

    async def train_and_stop():
        tab = Tab(port)
        tab.address = f"ws://127.0.0.1:{port}/simviz/_stcore/stream"
        async with tab:
            await tab.open("map", ENDLESS)
            assert not tab.errors
            await asyncio.to_thread(until_running, tmp_path)
            app.send_signal(signal.SIGTERM)  # as `docker stop` does: it waits for no training
            await asyncio.to_thread(app.wait, LONG)

    try:
        until_up(app, lambda: is_healthy(port, "simviz"))
        assert not is_healthy(port), "it is served under the path alone"
        visit(train_and_stop())
    finally:
        app.kill()
        app.wait()
    assert states(tmp_path) == ["interrupted"]
