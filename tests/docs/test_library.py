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
PAGE, EMBEDDINGS, TUTORIALS = (
    ROOT / "docs" / f"{name}.md" for name in ("library", "embeddings", "tutorials")
)
HEAD = "import numpy as np\nimport pandas as pd\nimport simviz\n"


def pieces(text):
    """Examples of doctest by heading."""
    sections = re.split(r"^#+ (.*)$", text, flags=re.M)
    named = zip(sections[1::2], sections[2::2], strict=True)
    found = {title: doctest.DocTestParser().get_examples(body) for title, body in named}
    return {title: examples for title, examples in found.items() if examples}


@pytest.fixture
def collection(tmp_path, monkeypatch):
    """Judged texts in the files of TREC, and a run that puts the right one second."""
    words = [f"{a} {b}" for a in "red blue green gold grey".split() for b in "abcdefgh"]
    folder = tmp_path / "collection"
    folder.mkdir()
    rows = [f"{i}\t{text.replace(' ', ' x')}" for i, text in enumerate(words)]
    for name in ("queries.tsv", "corpus.tsv"):
        (folder / name).write_text("\n".join(["id\ttext", *rows]) + "\n")
    (folder / "qrels.txt").write_text("".join(f"{i} 0 {i} 1\n" for i in range(len(rows))))
    run = "".join(
        f"{i} Q0 {j} 1 2.0 theirs\n{i} Q0 {i} 2 1.0 theirs\n"
        for i in range(len(rows))
        for j in range(len(rows))
        if i != j
    )
    (tmp_path / "theirs.trec").write_text(run)
    ours = "".join(f"{i} Q0 {i} 1 1.0 ours\n" for i in range(len(rows)))
    (tmp_path / "ours.trec").write_text(ours)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("page", "least"),
    [
        (PAGE, 25),
        (EMBEDDINGS, 8),
        pytest.param(
            TUTORIALS, 25, marks=pytest.mark.soak("half a minute; `make docs` runs them, too")
        ),
    ],
)
def test_every_piece_runs(collection, page, least):
    names = {}
    exec(HEAD, names)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    told = doctest.testfile(
        str(page), module_relative=False, globs=names, optionflags=flags, encoding="utf-8"
    )
    assert told.attempted > least and not told.failed


def test_every_piece_has_five_lines_at_most_and_that_of_three_parts_twelve():
    lengths = {
        title: sum(example.source.count("\n") for example in examples)
        for title, examples in pieces(PAGE.read_text(encoding="utf-8")).items()
    }
    assert lengths.pop("A metric, words and a method of your own") <= 12
    assert len(lengths) >= 9 and max(lengths.values()) <= 5, lengths


def test_the_lines_have_types(monkeypatch, tmp_path):
    paths = ROOT / "README.md", PAGE, EMBEDDINGS, TUTORIALS
    for path in paths:
        found = pieces(path.read_text(encoding="utf-8"))
        source = HEAD + "".join(e.source for examples in found.values() for e in examples)
        (tmp_path / f"lines_of_{path.stem}.py").write_text(source)
    monkeypatch.chdir(ROOT)
    told, errors, status = api.run(["--strict", *map(str, sorted(tmp_path.glob("*.py")))])
    assert status == 0, told + errors
    assert f"{len(paths)} source files" in told


def test_all_methods_but_one_learn_without_pytorch(tmp_path):
    pairs = simviz.from_frame(x=["red car", "old bus"] * 8, y=["a car", "a bus"] * 8).pairs
    network = simviz.default_pipeline("siamese_blstm", pairs, hidden_units=2, max_iter=1)
    network.fit(pairs).save(tmp_path / "network.simviz")
    call = [sys.executable, str(ROOT / "tests" / "without_torch.py"), "network.simviz"]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    told = subprocess.run(call, cwd=tmp_path, env=path, capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith(f"{len(simviz.all_methods())} methods")
