"""A second server of the same store is refused until the first has ended."""

from __future__ import annotations

import subprocess
import sys

from on_page import run

PAGE = "data"
SERVES = """
import sys
from pathlib import Path
from simviz.store.directory import claim

kept = claim(Path(sys.argv[1]))
print("claimed", flush=True)
input()
"""


def test_it_says_who_serves_and_begins_when_that_one_is_gone(app, tmp_path):
    command = [sys.executable, "-c", SERVES, tmp_path / "store"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as other:
        assert other.stdout.readline() == "claimed\n"
        run(app)
        assert [title.value for title in app.title] == ["The store cannot be used"]
        assert f"process {other.pid}, serves the directory" in app.text[0].value
        assert not app.file_uploader
        other.kill()
    run(app)
    assert [title.value for title in app.title] == ["Data"] and app.file_uploader
