"""Large uploads take turns, can be cancelled, and survive a reload until they are kept."""

from __future__ import annotations

import io
import threading
import time
import zipfile

import pytest
import streamlit as st
from on_page import hand_in, html, run

from simviz.data.limits import reading_limits, report_progress
from simviz.data.templates import make_template
from simviz.exceptions import DatasetError, StoreError
from simviz.workbench.data import split, upload
from simviz.workbench.shell import state

PAGE = "data"
GOOD = "query,document,label\n" + "".join(f"question {i},answer {i},1\n" for i in range(40))


@pytest.fixture
def slow(monkeypatch):
    """Reading of packed files goes on until the event is set, or it is cancelled."""
    go_on, read = threading.Event(), upload.read_files

    def wait(digest, files, corrected):
        while files[0][1].startswith(b"PK") and not go_on.is_set():
            report_progress(0.25)
            time.sleep(0.01)
        return read(digest, files, corrected)

    monkeypatch.setattr(upload, "read_files", wait)
    monkeypatch.setattr(upload, "PATIENCE", 0.05)
    yield go_on
    go_on.set()


def settled(app):
    for _ in range(400):
        if "data-reading" not in app.session_state:
            return app
        time.sleep(0.02)
        app.run()
    raise AssertionError("still reading")


@pytest.fixture
def again(open_page):
    """The same visitor after a reload: a session of its own."""
    return lambda app: open_page(PAGE, app.session_state.workspace).run()


def waiting(app):
    return app.session_state["data-waiting"] if "data-waiting" in app.session_state else None


def test_a_small_file_is_read_while_another_visitor_s_is_being_read(app, slow, open_page):
    hand_in(app, "pictures.zip", make_template("pictures.zip"))
    assert not app.exception and waiting(app) is None
    assert app.button(key="data-cancel") and app.get("progress")
    assert not any(b.key == "data-demo-emoji" for b in app.button)
    other = open_page(PAGE, state.store().workspaces.create()).run()
    hand_in(other, "q.csv", GOOD)
    assert "40 pairs" in html(settled(other))
    slow.set()
    settled(app)
    assert not app.exception and "6 pairs" in html(app)


def test_reading_is_cancelled_and_what_waited_still_waits(app, slow):
    hand_in(app, "good.csv", GOOD)
    settled(app)
    hand_in(app, "pictures.zip", make_template("pictures.zip"))
    assert "40 pairs" not in html(app)
    app.button(key="data-cancel").click().run()
    assert not app.exception and "40 pairs" in html(settled(app))
    assert state.store().uploads.get(app.session_state.workspace)[1][0][0] == "good.csv"
    slow.set()
    app.run()
    assert waiting(app).table.name == "good.csv"


def test_another_upload_of_the_workspace_takes_its_place(app, slow, again):
    hand_in(app, "pictures.zip", make_template("pictures.zip"))
    other = again(app)  # a reload finds what is being read
    assert other.button(key="data-cancel")
    hand_in(other, "trec.zip", make_template("trec.zip"))
    slow.set()
    settled(other)
    assert "5 pairs" in html(other)
    settled(app)
    assert waiting(app) is None and "took its place" in html(app)


def test_too_many_pixels_are_refused(app, monkeypatch):
    monkeypatch.setenv("SIMVIZ_MAX_TOTAL_PIXELS", "1000")
    hand_in(app, "pictures.zip", make_template("pictures.zip"))
    assert "pixels in all; the limit is 1,000" in html(settled(app))


def test_a_reading_ends_with_its_time(monkeypatch):
    reading = upload.Reading(("w", "1"), "q.csv", 9, 0.0)
    heard = []
    with (
        reading_limits(seconds=1),
        pytest.raises(DatasetError, match=r"q\.csv was not read within 1 seconds"),
        upload.limit_reading(reading, lambda fraction: heard.append(fraction)),
    ):
        report_progress(0.5)
        report_progress(0.25)
        reading_time = time.monotonic() + 5
        monkeypatch.setattr(upload.time, "monotonic", lambda: reading_time)
        report_progress(0.75)
    assert heard == [0.5, 0.5, 0.75]


@pytest.mark.parametrize("kind", ["text", "packed"])
def test_a_reload_brings_back_what_is_not_kept_and_what_was_corrected(app, kind, again):
    app.run()
    files = {"text": ("q.csv", GOOD), "packed": ("p.zip", make_template("pictures.zip"))}
    name, data = files[kind]
    hand_in(app, name, data)
    settled(app)
    assert "not saved yet" not in html(app)
    after = settled(again(app))
    assert not after.exception
    assert "Uploaded 1 minute ago and not saved yet" in html(after)
    assert waiting(after).result.pairs.digest == waiting(app).result.pairs.digest
    if kind == "text":
        for column, role in (("document", "x"), ("query", "y"), ("", "label")):
            next(s for s in app.selectbox if s.key.endswith(f"-{role}")).select(column).run()
        app.button_group[-1].set_value("ignore").run()
        after = again(app)
        assert waiting(after).roles == waiting(app).roles != waiting(app).guessed
        assert waiting(after).result.pairs.digest == waiting(app).result.pairs.digest
        assert waiting(after).result.pairs.relevance.unjudged == "ignore"
        assert next(s for s in after.selectbox if s.key.endswith("-x")).value == "document"
    after.button(key="data-discard").click().run()
    assert not after.exception and waiting(after) is None
    assert waiting(again(app)) is None


FILES = [
    ("queries_final.csv", b"id,text\nq1,heart\nq2,car\n", "text/csv"),
    ("documents.csv", b"id,headline,body\nd1,pump,moves blood\nd2,wheels,four\n", "text/csv"),
    ("qrels.csv", b"q,d,grade\nq1,d1,2\nq2,d2,1\nq2,d1,0\n", "text/csv"),
]


def test_a_first_line_that_is_a_row_is_taken_for_one_and_back(app, again):
    lines = b"red car\tvehicle\nblue sky\tweather\nold dog\tanimal\n"
    app.run().file_uploader[0].upload("q.tsv", lines).run()
    assert list(waiting(app).table.frame) == ["red car", "vehicle"]
    (box,) = (box for box in app.checkbox if box.key.startswith("data-header-"))
    box.uncheck().run()
    assert not app.exception
    assert len(waiting(app).result.pairs.x) == 3
    after = again(app)
    assert waiting(after).result.pairs.x.content.tolist() == ["red car", "blue sky", "old dog"]
    (box,) = (box for box in after.checkbox if box.key.startswith("data-header-"))
    assert not box.value
    box.check().run()
    assert len(waiting(after).result.pairs.x) == len(waiting(again(app)).result.pairs.x) == 2


def test_columns_of_several_files_are_corrected_and_come_back(app, again):
    app.run()
    app.file_uploader[0].set_value(FILES).run()
    assert app.dataframe[0].value["y"].tolist() == ["moves blood", "four", "moves blood"]
    assert app.dataframe[0].value["value"].tolist() == [2, 1, 0]
    text = next(s for s in app.selectbox if s.key.endswith("-y_text"))
    run(text.select("headline"))
    [meaning] = [c for c in app.button_group if "unjudged" in c.key]
    meaning.set_value("negative").run()
    after = again(app)
    assert after.dataframe[0].value["y"].tolist() == ["pump", "wheels", "pump"]
    assert next(s for s in after.selectbox if s.key.endswith("-y_text")).value == "headline"
    assert waiting(after).result.pairs.relevance.unjudged == "negative"
    pairs = waiting(after).result.pairs
    assert (pairs.x_name, pairs.name) == ("queries", "queries and documents")
    wrong = next(s for s in after.selectbox if s.key.endswith("-relevance"))
    wrong.select("documents.csv").run()
    assert not after.exception and "both" in html(after)
    assert after.dataframe[0].value["y"].tolist() == ["pump", "wheels", "pump"]


def test_a_later_file_replaces_what_it_does_not_belong_to(app):
    app.run()
    one = ("good.csv", GOOD.encode(), "text/csv")
    app.file_uploader[0].set_value(one).run()
    ids = app.session_state["data-taken"]
    uploader = app.file_uploader[0].set_value([one, ("other.csv", b"x,y\na,b\n", "text/csv")])
    uploader._files[0] = (ids[0], *uploader._files[0][1:])
    uploader.run()
    assert not app.exception and waiting(app).table.name == "other.csv"
    assert app.session_state["data-replaced"] == ids


def test_a_table_that_comes_after_a_zip_of_pictures_belongs_to_it(app):
    whole, bare = zipfile.ZipFile(io.BytesIO(make_template("pictures.zip"))), io.BytesIO()
    with zipfile.ZipFile(bare, "w") as archive:
        for name in whole.namelist():
            if name.endswith(".png"):
                archive.writestr(name, whole.read(name))
    hand_in(app, "bare.zip", bare.getvalue())
    assert "no table of keywords" in html(settled(app))
    pictures = ("bare.zip", bare.getvalue(), "application/zip")
    words = ("words.csv", b"file,words\nred-square.png,warm\n", "text/csv")
    (before,) = app.session_state["data-taken"]
    uploader = app.file_uploader[0].set_value([pictures, words])
    uploader._files[0] = (before, *uploader._files[0][1:])
    run(uploader)
    assert "1 pair" in html(settled(app)) and "no table of keywords" not in html(app)
    assert app.dataframe[0].value["y"][0].startswith("data:image/png;base64,")


def test_what_is_kept_or_refused_is_no_draft(app):
    hand_in(app, "bad.csv", b"one\nword\n")
    assert state.store().uploads.get(app.session_state.workspace) is None
    hand_in(app, "q.csv", GOOD)
    assert state.store().uploads.get(app.session_state.workspace) is not None
    app.button(key="data-keep").click().run()
    assert state.store().uploads.get(app.session_state.workspace) is None


def test_a_disk_that_is_full_costs_the_draft_only(app, monkeypatch):
    def put(*args):
        raise StoreError("full")

    app.run()
    monkeypatch.setattr(state.store().uploads, "put", put)
    hand_in(app, "q.csv", GOOD)
    assert not app.exception and "40 pairs" in html(app)


def test_packed_or_large_or_of_numbers_is_not_read_by_the_page(app, monkeypatch):
    app.run()
    seen, read = [], upload.read_and_save

    def noted(*args):
        seen.append(threading.current_thread().name)
        return read(*args)

    monkeypatch.setattr(upload, "read_and_save", noted)
    for name, data in (
        *[("q.csv", GOOD)] * 2,  # the same bytes are read once
        ("p.zip", make_template("pictures.zip")),
        ("large.csv", GOOD.encode() + b"x,y,1\n" * 200_000),
        ("v.npz", make_template("vectors.npz")),
    ):
        hand_in(app, name, data)
        assert not settled(app).exception
    assert ["simviz-reader" in name for name in seen] == [False, True, True, True]


def test_a_press_is_followed_though_another_redraw_ends_its_run(app, monkeypatch):
    hand_in(app, "pairs.csv", GOOD.encode())
    parts_of, redraws = split.parts_of, [True]

    def redrawn(*args):
        if redraws:  # such as the end of a job, between two elements of the page
            redraws.pop()
            st.rerun()
        return parts_of(*args)

    monkeypatch.setattr(split, "parts_of", redrawn)
    run(app.button(key="data-keep").click())
    mine = app.session_state.workspace
    assert [i.name for i in state.store().datasets.find(mine) if not i.is_demo] == ["pairs"]
