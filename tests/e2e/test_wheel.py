"""What is installed from the wheel opens the same app as a clone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import zipfile

import playwright.sync_api
import pytest
from playwright.sync_api import expect
from server import ROOT, Server
from settling import until_run
from waiting import LONG, until

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
    tab.get_by_role("heading", name=PAGES[page], exact=True).first.wait_for()
    until_run(tab)
    assert not tab.get_by_test_id("stException").count()
    tab.close()


@pytest.fixture
def command(request):
    """The command that is tested, and its environment: SIMVIZ_COMMAND, or that of the wheel."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if "SIMVIZ_COMMAND" in os.environ:
        return [os.environ["SIMVIZ_COMMAND"]], environment
    packages = request.getfixturevalue("installed").site.parents[2]
    (scripts,) = packages.glob("simviz-*.dist-info/entry_points.txt")
    assert "simviz = simviz.cli:main" in scripts.read_text()
    return [sys.executable, "-m", "simviz"], environment | {"PYTHONPATH": str(packages)}


def test_one_command_opens_home_and_files(command, browser, tmp_path):
    lines = (f"question {i},answer {i}\n" for i in range(60))
    (tmp_path / "pairs.csv").write_text("query,document\n" + "".join(lines))
    words, environment = command
    server = subprocess.Popen(
        [*words, "pairs.csv", "--no-browser", "--home", "store"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server as process:
        try:
            url = process.stdout.readline().split()[-1]
            tab = browser.new_page()

            def opens():
                assert process.poll() is None
                try:
                    return tab.goto(url)
                except playwright.sync_api.Error:  # it does not listen yet
                    return False

            until(opens)
            tab.get_by_text("60 pairs").first.wait_for()
            theme = "rgb(252, 251, 248)"  # the theme beside the pages
            expect(tab.locator(".stApp")).to_have_css("background-color", theme)
            tab.goto(url.removesuffix("/data"))
            heading = tab.get_by_role("heading", name=PAGES[""], exact=True)
            heading.first.wait_for()
            until_run(tab)
            assert not tab.get_by_test_id("stException").count()
            tab.close()
            process.send_signal(signal.SIGINT)
            assert process.wait(LONG) == 0
        finally:
            process.kill()


def test_the_demo_picture_and_the_canvas_are_in_the_wheel(installed):
    packages = installed.site.parents[2]
    assert (installed.site / "docs/home-light.png").is_file()
    assert (packages / "simviz/charts/canvas/mount.js").is_file()
    assert (packages / "simviz/workbench/shell/icon.svg").is_file()
    assert (packages / "simviz/evaluation/__init__.pyi").is_file()
