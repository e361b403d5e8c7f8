"""What is installed from the wheel opens the same app as a clone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import playwright.sync_api
import pytest
from server import ROOT, Server

pytestmark = pytest.mark.e2e

PAGES = {
    "": "Learned similarity, measured honestly",
    "data": "Data",
    "train": "Train",
    "compare": "Compare",
    "map": "Map",
    "search": "Search",
    "methods": "Methods",
    "papers": "Papers",
}
#: What is no part of the sources.
LEFT = shutil.ignore_patterns(".*_cache", ".git", ".venv", "__pycache__", "build", "*.egg-info")


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A server of the pages inside the wheel, with the wheel's modules and no others of ours."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    # A build leaves its own files beside the sources: it is made of a copy.
    source = shutil.copytree(ROOT, folder / "source", ignore=LEFT)
    subprocess.run([*build, str(folder), str(source)], check=True)
    (wheel,) = folder.glob("simviz-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "packages")
    packages = folder / "packages"
    server = Server(folder / "store", site=packages / "simviz/workbench/site", path=packages)
    yield server
    server.close()


@pytest.mark.parametrize("page", PAGES)
def test_every_page_opens_from_the_wheel(installed, browser, page):
    tab = browser.new_page()
    tab.goto(f"{installed.url}/{page}")
    tab.get_by_role("heading", name=PAGES[page], exact=True).first.wait_for(timeout=60_000)
    assert not tab.get_by_test_id("stException").count()
    tab.close()


def test_one_command_opens_home_and_files(installed, browser, tmp_path):
    lines = (f"question {i},answer {i}\n" for i in range(60))
    (tmp_path / "pairs.csv").write_text("query,document\n" + "".join(lines))
    packages = installed.site.parents[2]
    (scripts,) = packages.glob("simviz-*.dist-info/entry_points.txt")
    assert "simviz = simviz.cli:main" in scripts.read_text()
    command = [sys.executable, "-m", "simviz", "pairs.csv", "--no-browser", "--home", "store"]
    server = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(packages)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with server as process:
        try:
            url = process.stdout.readline().split()[-1]
            tab = browser.new_page()
            until = time.monotonic() + 60
            while True:
                try:
                    tab.goto(url)
                    break
                except playwright.sync_api.Error:  # it does not listen yet
                    assert process.poll() is None and time.monotonic() < until
                    time.sleep(0.1)
            tab.get_by_text("60 pairs").first.wait_for(timeout=60_000)
            app = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
            assert tab.evaluate(app) == "rgb(252, 251, 248)"  # the theme beside the pages
            tab.goto(url.removesuffix("/data"))
            heading = tab.get_by_role("heading", name=PAGES[""], exact=True)
            heading.first.wait_for(timeout=60_000)
            assert not tab.get_by_test_id("stException").count()
            tab.close()
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_the_demo_picture_and_the_canvas_are_in_the_wheel(installed):
    packages = installed.site.parents[2]
    assert (installed.site / "docs/map-light.png").is_file()
    assert (packages / "simviz/charts/canvas/mount.js").is_file()
    assert (packages / "simviz/workbench/shell/icon.svg").is_file()
    assert (packages / "simviz/evaluation/__init__.pyi").is_file()
