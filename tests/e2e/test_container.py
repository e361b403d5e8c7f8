"""What the Dockerfile says, done without Docker: it starts, is healthy, and ends when told to."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import LONG, until

ROOT = Path(__file__).parents[2]
FILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
pytestmark = pytest.mark.e2e


def said(instruction):
    """What stands behind an instruction, each time it is given."""
    return re.findall(rf"^{instruction}\s+(.*)$", FILE, re.MULTILINE)


def test_all_that_is_copied_is_there_and_is_not_kept_back():
    ignored = (ROOT / ".dockerignore").read_text().split()
    for line in said("COPY"):
        *sources, _ = line.split()
        for source in sources:
            assert (ROOT / source).exists() and source not in ignored


@pytest.mark.parametrize("path", ["", "simviz"])
def test_it_starts_is_healthy_and_ends_when_told_to(browser, tmp_path, path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    variables = dict(part.split("=", 1) for line in said("ENV") for part in shlex.split(line))
    assert variables["SIMVIZ_HOME"] in said("VOLUME")
    env = os.environ | variables
    env |= {"SIMVIZ_HOME": str(tmp_path), "STREAMLIT_SERVER_BASE_URL_PATH": path}
    command = [part.replace("8501", port) for part in json.loads(said("CMD")[-1])]
    assert command[0] == "python"
    (health,) = re.findall(r"CMD python (-c .*)$", said("HEALTHCHECK")[0])
    check = [sys.executable, *shlex.split(health.replace("8501", port))]
    app = subprocess.Popen(
        [sys.executable, *command[1:]],
        cwd=ROOT,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:

        def is_healthy():
            assert app.poll() is None
            quiet = {"stderr": subprocess.DEVNULL, "check": False}
            return not subprocess.run(check, env=env, **quiet).returncode

        until(is_healthy)
        page = browser.new_page()
        long = "method=ssi&max_iter=3000&patience=3000&n_components=200"
        root = f"http://127.0.0.1:{port}/{path}".rstrip("/")
        page.goto(f"{root}/map?demo=emoji&{long}")
        page.get_by_test_id("stProgress").first.wait_for()
        app.send_signal(signal.SIGTERM)  # as `docker stop` does: it waits for no training's end
        app.wait(LONG)
        page.close()
    finally:
        app.kill()
        app.wait()
    (status,) = tmp_path.glob("jobs/*/status.json")
    assert json.loads(status.read_text())["state"] == "interrupted"
