"""Everything on Compare can be taken along, and is made only when it is asked for."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest
import streamlit as st
from on_page import run
from waiting import LONG

from simviz.data import PairSet
from simviz.jobs import JobQueue, blend_spec
from simviz.relevance import Relevance

PAGE = "compare"


@pytest.fixture(scope="module")
def home(make_home):
    """Three runs on plain pairs, one of them a blend, and one on grades that are not whole."""
    words = [f"{a}{b} {b}{c}" for a in "abcd" for b in "efgh" for c in "ij"]
    plain = PairSet.from_texts(words, [w[::-1] for w in words], name="plain")
    halves = Relevance.from_pairs(range(32), range(32), [0.5, 1] * 16, shape=(32, 32))
    graded = PairSet.from_texts(words, words, halves, name="graded")
    runs = {"cca": ("plain", "cca", {"n_components": 3}), "bm25": ("plain", "bm25")}
    home = make_home({"plain": plain, "graded": graded}, runs | {"graded": ("graded", "bm25")})
    parts = (home.run(name).info for name in ("cca", "bm25"))
    with JobQueue(home.store) as queue:
        queue.wait(queue.submit(blend_spec(*parts, 0.25, workspace=home.mine)), LONG)
    return home


@pytest.fixture
def saved(monkeypatch):
    """What each button would save, by its label, and how it is offered."""
    saved = {}
    real = st.download_button

    def note(label, data, *args, **options):
        saved[label] = data, options
        return real(label, data, *args, **options)

    monkeypatch.setattr(st, "download_button", note)
    return saved


def names_in(saved, label):
    """Files of an archive that would be saved."""
    return set(zipfile.ZipFile(io.BytesIO(saved[label][0]())).namelist())


@pytest.mark.parametrize(("part", "n"), [("validation", 3), ("test", 7)])
def test_files_are_made_when_asked_for(saved, visit, home, part, n):
    visit(data=home.data["plain"], part=part)
    rows = list(csv.DictReader(io.StringIO(saved["Table as CSV"][0]())))
    assert {(row["part"], row["x items"]) for row in rows} == {(part, str(n))}
    assert ("p" in rows[0]) == ("group" in rows[0]) == (part == "test")
    for label in ("Table as LaTeX", "Table as Markdown"):
        text = saved[label][0]()
        assert f"{part} part, {n} × {n}" in text.replace("$\\times$", "×")
        assert ("share a letter" in text) == (part == "test")
    text = saved["Report as one page"][0]().decode()
    assert f"Results on the {part} part" in text and "0.25 CCA + 0.75 BM25" in text
    assert text.count("n_components=3") == 2, "parts of the blend, with what they were asked for"
    lines = saved["Queries of all runs as CSV"][0]().decode().splitlines()
    assert len(lines) == 1 + 2 * n
    assert len(names_in(saved, "TREC run and judgments")) == 1 + (1 + 3), "of the side that asks"
    visit(data=home.data["plain"], direction="y2x")
    assert not [name for name in names_in(saved, "TREC run and judgments") if "x-to-y" in name]
    text = saved["Report as one page"][0]().decode().replace("&#34;", '"')
    assert ', "y2x"))' in text


def test_files_of_validation_mark_what_stopped_early_by_it(saved, visit, home, monkeypatch):
    monkeypatch.setattr(
        "simviz.reports.run_summary.stopped_by_validation", lambda run: run.info.method == "cca"
    )
    visit(data=home.data["plain"], part="validation")
    rows = csv.DictReader(io.StringIO(saved["Table as CSV"][0]()))
    marked = {row["method"] for row in rows if row["stopped early by"] == "validation"}
    assert marked == {"CCA"}
    assert "Stopped early by this part: CCA." in saved["Table as LaTeX"][0]()


def test_what_trec_cannot_hold_is_said(saved, visit, home):
    visit(data=home.data["graded"])
    options = saved["TREC run and judgments"][1]
    assert options["disabled"]
    assert "whole numbers" in options["help"]
    assert b"<table>" in saved["Report as one page"][0]()


def test_runs_on_data_that_changed_say_so(saved, visit, home, monkeypatch):
    monkeypatch.setattr(PairSet, "digest", "0" * 32)
    visit(data=home.data["plain"])
    for label in ("Report as one page", "TREC run and judgments", "Queries of all runs as CSV"):
        assert saved[label][1]["disabled"]
        assert "Train them again" in saved[label][1]["help"]


def test_models_leave_whole_and_for_other_programs(saved, visit, home):
    app = visit(data=home.data["plain"])
    assert "BM25" in app.selectbox(key="take-model").options

    def open_forms(name):
        app.selectbox(key="take-model").select(home.runs[name]).run()
        run(app.toggle(key=f"take-forms-{home.runs[name]}").set_value(True))

    open_forms("cca")
    assert "objects.json" in names_in(saved, "Whole model")
    assert {"embed.py", "model.json", "x_projection.npy"} <= names_in(saved, "NumPy arrays")
    assert "x.onnx" in names_in(saved, "ONNX graphs")
    assert saved["sentence-transformers"][1]["disabled"]
    open_forms("bm25")
    assert saved["NumPy arrays"][1]["disabled"] and saved["ONNX graphs"][1]["disabled"]
    assert any("there is no matrix to write" in caption.value for caption in app.caption)
