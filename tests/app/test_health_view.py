"""The Data page says what data are made of, what is wrong with them, and mends it."""

from __future__ import annotations

import numpy as np
from on_page import give, go, hand_in, html, run

from simviz.data import Items, PairSet, read_pairs
from simviz.data.health import check_health
from simviz.relevance import Relevance
from simviz.store import StoreLimits
from simviz.workbench.data import health
from simviz.workbench.shell import state

PAGE = "data"
HOSTILE = "<img src=x onerror=alert(1)>"


def messy():
    """A file whose test part has twins in training, with a hostile text and dates."""
    rows = ["query_id,query,document_id,document,split,date"]
    words = "red green blue gold grey pink teal plum navy lime".split()
    for i in range(60):
        part = ("train", "train", "train", "validation", "test")[i % 5]
        query = f"{words[i % 10]} {words[i // 10]} thing"
        rows.append(f"q{i},{query},d{i},the {query} itself,{part},2026-01-{1 + i % 28:02d}")
    rows[5] = f"q4,{HOSTILE},d4,an odd one,test,2026-02-01"
    rows[1] = f"q0,{HOSTILE.upper()},d0,another odd one,train,2026-02-01"
    return "\n".join(rows).encode()


def store_messy(app):
    give(app, read_pairs(messy(), "messy.csv").pairs)
    go(app, data=app.session_state.dataset_id)
    return app.session_state.dataset_id


def test_demo_is_described_and_checked(app):
    go(app, data="demo:emoji")
    text = html(app)
    assert "distinct words" in text and "Latin" in text
    assert "Shared words alone (TF-IDF) reach MRR 0.41" in text
    assert "nearly the same" in text and "Checked: empty and duplicate items" in text
    go(app, data="demo:icons")
    run(app.button(key="data-remedy-duplicates").click())
    assert not app.session_state.dataset_id.startswith("demo:") and "1,339" in html(app)
    run(app.selectbox(key="data-switch").select("demo:icons"))
    assert "1,340" in html(app), "the demo is left alone"


def test_leak_is_mended_in_a_new_version_and_the_old_one_is_kept(app):
    first = store_messy(app)
    text = html(app)
    assert "1 test item is repeated in training" in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text and "<img" not in text
    run(app.button(key="data-remedy-leak").click())
    second = app.session_state.dataset_id
    assert second != first
    text = html(app)
    assert "messy, version 2" in text
    assert "repeated in training<" not in text
    assert app.session_state["split"][second]["by"] == "column"
    mended = state.store().datasets.get(second, app.session_state.workspace)
    assert mended.digest != state.store().datasets.get(first, app.session_state.workspace).digest
    assert mended.x.metadata["split"][4] == "train"
    notes = state.store().datasets.info(second, app.session_state.workspace).notes
    assert notes[-1].startswith("Fixed: 1 test item is repeated in training.")
    run(app.button(key="data-health-undo").click())
    assert app.session_state.dataset_id == first
    assert any(b.key == "data-remedy-leak" for b in app.button)


def test_remedy_without_room_says_so(app, monkeypatch):
    first = store_messy(app)
    monkeypatch.setattr(state.store()._directory, "limits", StoreLimits(datasets=1))
    run(app.button(key="data-remedy-leak").click())
    assert app.session_state.dataset_id == first
    assert "data sets" in html(app)


def test_long_checks_wait_until_they_are_asked_for(app, monkeypatch):
    monkeypatch.setattr(health, "PATIENCE", 0.0)
    store_messy(app)
    assert "takes about 0 seconds" in html(app)
    assert "repeated in training" not in html(app)
    run(app.button(key="data-health-check").click())
    app.run()
    assert "1 test item is repeated in training" in html(app)


def test_split_by_time_is_offered_where_there_are_dates(app):
    dataset_id = store_messy(app)
    run(app.selectbox(key=f"data-split-{dataset_id}-by").select("time"))
    assert app.session_state["split"][dataset_id]["by"] == "time"
    assert app.session_state["split"][dataset_id]["group_key"] == "date"
    assert "Training knows nothing that came later" in html(app)


def test_rows_that_contradict_one_another_are_shown_before_the_file_is_kept(app):
    rows = "".join(f"question {i},answer {i},{int(i % 3 > 0)}\n" for i in range(40))
    data = f"query,document,label\n{rows}question 4,answer 4,0\n"
    assert "1 pair is judged both relevant and not relevant" in hand_in(app, "q.csv", data)
    [button] = [b for b in app.button if b.key.startswith("data-disputed-")]
    run(button.click())
    assert "39 pairs" in html(app)
    assert "Fixed: 1 pair is judged" in html(app)
    assert not any(b.key.startswith("data-disputed-") for b in app.button)


def test_examples_show_the_pictures_of_items(monkeypatch):
    monkeypatch.setattr(state, "theme", lambda: "dark")
    pixels = np.random.default_rng(0).integers(0, 255, (12, 16, 16, 3), dtype=np.uint8)
    pixels[7] = pixels[3]
    pictures = Items([f"{i}{HOSTILE}" for i in range(12)], pixels, "image")
    words = Items([f"w{i}" for i in range(12)], [f"word {i}" for i in range(12)], "text")
    pairs = PairSet(pictures, words, Relevance.identity(12))
    finding = check_health(pairs).find("duplicates")
    made = health.finding_html(finding, pairs)
    assert made.count('<img src="data:image/png;base64,') == 1 and "<img src=x" not in made
    name = next(cell for cell in finding.examples[0] if hasattr(cell, "item"))
    assert (name.side, name.item) == ("x", 3)
    texts = check_health(PairSet(words, words, pairs.relevance))
    assert all("<img" not in health.finding_html(one, pairs) for one in texts)
