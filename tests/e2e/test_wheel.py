"""What is installed from the wheel opens the same app as a clone."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect
from server import ROOT, answers, dockerfile, free_port, until_up
from settling import press, until_run
from visitor import Tab, states, visit
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
#: Says that the kernels are compiled: nothing is trained here.
STAMP = """
from simviz.compilation import folder

folder().mkdir(parents=True)
(folder() / "done").touch()
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """The folder that the wheel is unpacked in."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]
    # A build leaves its own files beside the sources: it is made of a copy.
    source = shutil.copytree(ROOT, folder / "source", ignore=LEFT)
    subprocess.run([*build, str(folder), str(source)], check=True)
    (wheel,) = folder.glob("simviz-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "packages")
    return folder / "packages"


@pytest.fixture
def command(request, tmp_path):
    """The command that is tested, and its environment: SIMVIZ_COMMAND, or that of the wheel."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    if "SIMVIZ_COMMAND" in os.environ:
        return [os.environ["SIMVIZ_COMMAND"]], environment
    packages = request.getfixturevalue("packages")
    (scripts,) = packages.glob("simviz-*.dist-info/entry_points.txt")
    assert "simviz = simviz.cli:main" in scripts.read_text()
    environment |= {"PYTHONPATH": str(packages), "NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    subprocess.run([sys.executable, "-c", STAMP], check=True, env=environment)
    return [sys.executable, "-m", "simviz"], environment


async def titles(port: int) -> dict[str, list[str]]:
    """What stands at the top of every page, none of which may fail."""
    found = {}
    async with Tab(port) as tab:
        for page in PAGES:
            await tab.open(page, "")
            found[page] = [heading.body for heading in tab.drawn("heading")][:1]
        assert not tab.errors
    return found


@pytest.mark.soak("`.ci/run` asks it of the package that it installs")
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
            assert url.endswith("/data")
            until_up(process, lambda: answers(url))
            assert visit(titles(urlsplit(url).port)) == {p: [t] for p, t in PAGES.items()}
            page = browser.new_page()
            page.goto(url)
            page.get_by_text("60 pairs").first.wait_for()
            theme = "rgb(252, 251, 248)"  # the theme beside the pages
            expect(page.locator(".stApp")).to_have_css("background-color", theme)
            press(page.get_by_test_id("stSidebar").get_by_role("link", name="Home"))
            page.wait_for_url(re.compile(r":\d+/(\?.*)?$"))
            page.get_by_role("heading", name=PAGES[""], exact=True).first.wait_for()
            until_run(page)  # a new installation compiles, and says each second how far it is
            assert not page.get_by_test_id("stException").count()
            page.close()
            process.send_signal(signal.SIGINT)
            assert process.wait(LONG) == 0
        finally:
            process.kill()


def test_the_folder_of_a_space_is_built_starts_and_trains_a_demo(packages: Path, tmp_path: Path):
    # As docs/deploy.md has it: the wheel beside the two files, which copy it by its name.
    space = shutil.copytree(ROOT / "deploy/space", tmp_path / "space")
    assert sorted(path.name for path in space.iterdir()) == ["Dockerfile", "README.md"]
    (wheel,) = packages.parent.glob("simviz-*.whl")
    shutil.copy(wheel, space)
    port = free_port()
    said, variables, (name, *words) = dockerfile(space / "Dockerfile", port)
    assert [*space.glob(said["COPY"][0].split()[0])] == [space / wheel.name]
    installed = shutil.copytree(packages, tmp_path / "site")
    home, kernels = tmp_path / "data", tmp_path / "kernels"
    home.mkdir()
    own = {"SIMVIZ_HOME": str(home), "NUMBA_CACHE_DIR": str(kernels)}
    environment = os.environ | variables | own | {"PYTHONPATH": str(installed)}
    subprocess.run([sys.executable, "-c", STAMP], check=True, env=environment)
    assert name == "simviz" and "--public" in words
    started = [sys.executable, "-m", name, *words]
    with subprocess.Popen(started, cwd=tmp_path, env=environment) as process:

        async def train():
            async with Tab(port) as tab:
                await tab.open("map", "demo=job_titles&method=tfidf_cosine")
                assert not tab.errors
                await asyncio.to_thread(until, lambda: "succeeded" in states(home))

        try:
            until_up(process, lambda: answers(f"http://127.0.0.1:{port}/_stcore/health"))
            visit(train())
        finally:
            process.kill()


def test_all_that_the_app_reads_is_in_the_wheel(packages: Path):
    made = (".pyc", ".nbi", ".nbc")
    ours = {
        path.relative_to(ROOT)
        for path in (ROOT / "simviz").rglob("*")
        if path.is_file() and path.suffix not in made and "__pycache__" not in path.parts
    }
    assert len(ours) > 250
    assert not [path for path in ours if not (packages / path).is_file()]
    site = packages / "simviz/workbench/site"
    for path in [ROOT / "app.py", *(ROOT / "pages").glob("*.py"), ROOT / ".streamlit/config.toml"]:
        assert (site / path.relative_to(ROOT)).is_file(), path
    assert (site / "docs/home-light.png").is_file()
