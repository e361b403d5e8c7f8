"""What is installed from the wheel opens the same app as a clone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile

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


def test_the_demo_picture_and_the_canvas_are_in_the_wheel(installed):
    packages = installed.site.parents[2]
    assert (installed.site / "docs/map-light.png").is_file()
    assert (packages / "simviz/charts/canvas/mount.js").is_file()
    assert (packages / "simviz/workbench/shell/icon.svg").is_file()
    assert (packages / "simviz/evaluation/__init__.pyi").is_file()
