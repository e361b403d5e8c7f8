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
import time
from pathlib import Path

import pytest

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
def test_it_starts_is_healthy_and_ends_within_seconds(browser, tmp_path, path):
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
        end = time.monotonic() + 60
        while subprocess.run(check, env=env, stderr=subprocess.DEVNULL, check=False).returncode:
            assert time.monotonic() < end and app.poll() is None
            time.sleep(0.2)
        page = browser.new_page()
        long = "method=ssi&max_iter=3000&patience=3000&n_components=200"
        root = f"http://127.0.0.1:{port}/{path}".rstrip("/")
        page.goto(f"{root}/map?demo=emoji&{long}")
        page.get_by_test_id("stProgress").first.wait_for(timeout=60_000)
        asked = time.monotonic()
        app.send_signal(signal.SIGTERM)  # as `docker stop` does, which kills after ten seconds
        app.wait(10)
        assert time.monotonic() - asked < 10
        page.close()
    finally:
        app.kill()
        app.wait()
    (status,) = tmp_path.glob("jobs/*/status.json")
    assert json.loads(status.read_text())["state"] == "interrupted"
