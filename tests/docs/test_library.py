"""The lines of the library's page and of the tutorials run, are few, and have types."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mypy import api

import simviz

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "library.md"
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
#: Run with every change; the others take long.
QUICK = ("larger-than-memory",)
HEAD = "import numpy as np\nimport pandas as pd\nimport simviz\n"


def pieces(text):
    """Examples of doctest by heading."""
    sections = re.split(r"^#+ (.*)$", text, flags=re.M)
    named = zip(sections[1::2], sections[2::2], strict=True)
    found = {title: doctest.DocTestParser().get_examples(body) for title, body in named}
    return {title: examples for title, examples in found.items() if examples}


def run(page, folder, monkeypatch, head=""):
    """Execute a page in a folder of its own; the number of its examples."""
    monkeypatch.chdir(folder)
    names = {}
    exec(head, names)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    told = doctest.testfile(
        str(page), module_relative=False, globs=names, optionflags=flags, encoding="utf-8"
    )
    assert not told.failed
    return told.attempted


def test_every_piece_runs(tmp_path, monkeypatch):
    assert run(PAGE, tmp_path, monkeypatch, HEAD) > 25


@pytest.mark.filterwarnings("ignore:.*is more than the data can give:UserWarning")
@pytest.mark.parametrize(
    "page",
    [
        page
        if page.stem in QUICK
        else pytest.param(page, marks=pytest.mark.soak("minutes of all; `make docs` runs them"))
        for page in TUTORIALS
    ],
    ids=lambda page: page.stem,
)
def test_every_tutorial_runs(page, tmp_path, monkeypatch):
    assert run(page, tmp_path, monkeypatch) >= 5


def test_there_are_eight_tutorials_and_each_has_its_place_in_the_sidebar():
    listed = re.findall(r"^tutorials/(.+)$", (ROOT / "docs" / "index.md").read_text(), re.M)
    assert sorted(listed) == [page.stem for page in TUTORIALS] and len(listed) == 8


def test_every_piece_has_five_lines_at_most_and_that_of_three_parts_twelve():
    lengths = {
        title: sum(example.source.count("\n") for example in examples)
        for title, examples in pieces(PAGE.read_text(encoding="utf-8")).items()
    }
    assert lengths.pop("A metric, words and a method of your own") <= 12
    assert len(lengths) >= 9 and max(lengths.values()) <= 5, lengths


def test_the_lines_have_types(monkeypatch, tmp_path):
    texts = {
        path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", PAGE, *TUTORIALS)
    }
    # sentence-transformers is looked at by no checker, its encoder has no types.
    texts = {path: text for path, text in texts.items() if "sentence_transformers" not in text}
    for path, text in texts.items():
        lines = "".join(e.source for examples in pieces(text).values() for e in examples)
        source = lines if path in TUTORIALS else HEAD + lines
        (tmp_path / f"lines_of_{path.stem.replace('-', '_')}.py").write_text(source)
    monkeypatch.chdir(ROOT)
    told, errors, status = api.run(["--strict", *map(str, sorted(tmp_path.glob("*.py")))])
    assert status == 0, told + errors
    assert f"{len(texts)} source files" in told and len(texts) >= 9


def test_all_methods_but_one_learn_without_pytorch(tmp_path):
    pairs = simviz.from_frame(x=["red car", "old bus"] * 8, y=["a car", "a bus"] * 8).pairs
    network = simviz.default_pipeline("siamese_blstm", pairs, hidden_units=2, max_iter=1)
    network.fit(pairs).save(tmp_path / "network.simviz")
    call = [sys.executable, str(ROOT / "tests" / "without_torch.py"), "network.simviz"]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(call, cwd=tmp_path, env=path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(f"{len(simviz.all_methods())} methods")
