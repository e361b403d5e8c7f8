"""The Train page offers what fits, trains it once, and keeps what became of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import waiting
from on_page import give, go, html, run, said

from simviz import _extras
from simviz.data import Items, PairSet
from simviz.datasets import DEMOS
from simviz.jobs import JobSpec
from simviz.methods import get_method
from simviz.relevance import Relevance
from simviz.store.directory import LOCAL_WORKSPACE
from simviz.workbench.shell import progress, state
from simviz.workbench.shell.forms import describe

PAGE = "train"
ENDLESS = {"max_iter": 3_000, "patience": 3_000, "n_components": 20}


@pytest.fixture
def own(app, sentences):
    """The page on a small data set of the visitor's own."""
    return give(app, sentences)


def captions(app):
    return " ".join(c.value for c in app.caption)


def popovers(app):
    return [block.proto.popover.label for block in app.get("popover")]


def box(app, method):
    return app.checkbox(key=f"train-{app.session_state.dataset_id}-tick-{method}")


def field(app, method, name):
    key = f"train-{app.session_state.dataset_id}-{method}-{name}"
    return next(e for kind in (app.number_input, app.toggle) for e in kind if e.key == key)


def tick_only(app, *methods):
    for c in app.checkbox:
        if "-tick-" in c.key:
            c.set_value(c.key.rpartition("-")[2] in methods)
    return run(app)


def tick_row(app, row):
    key = app.dataframe[0].proto.id.split("-", 2)[2]
    app.session_state[key] = {"selection": {"rows": [row], "columns": [], "cells": []}}
    return run(app)


def button(app):
    return app.button(key="train-start")


def can_train(app):
    return any(b.key == "train-start" for b in app.button)


def ask(app, method, **params):
    """Ask for a job behind the page's back, as another tab would."""
    dataset_id = app.session_state.dataset_id
    digest = state.store().datasets.get(dataset_id).digest
    spec = JobSpec(dataset_id, digest, method, params, workspace=app.session_state.workspace)
    return state.queue().submit(spec)


def until_trained(app):
    waiting.until_trained(app)
    return run(app)


def trained(app, *params):
    """The page with a run of BM25 for each of these parameters."""
    run(app)
    for given in params:
        ask(app, "bm25", **given)
    return until_trained(app)


def test_shared_view_is_not_trained_on(own):
    mine, shown = own.session_state.workspace, own.session_state.dataset_id
    own.query_params["share"] = state.store().shares.publish(mine, "map", dataset_ids=[shown])
    own.session_state.workspace = state.store().workspaces.create()
    run(own)
    assert "Nothing can be trained in a published view" in said(own)
    assert not own.checkbox


def test_demo_starts_with_its_own_methods_and_says_what_does_not_fit(app):
    go(app, data="demo:icons")
    ticked = {c.key.rpartition("-")[2] for c in app.checkbox if c.value}
    methods = DEMOS["icons"].methods
    assert ticked == set(methods)
    for method, params in methods.items():
        if params:
            assert f"Parameters: {describe(params)}" in popovers(app), method
    unfit = app.checkbox(key="train-unfit-bm25")
    assert unfit.disabled and unfit.label == "BM25", "no markup in what is read aloud"
    assert "An image is not a list of things to count" in captions(app)
    assert "not keyword with image items" in captions(app)
    assert "shared" not in {t.label for t in app.toggle}, "two kinds have no common vocabulary"
    assert "GB of memory" in html(app) and "new icons" in html(app)
    run(button(app).click())
    known = {job.digest for job in state.queue().jobs(app.session_state.workspace)}
    asked_by_home = {replace(spec, workspace="x").digest for spec in progress.demo_specs("icons")}
    assert known == asked_by_home


def test_a_method_whose_library_is_missing_says_what_to_install(own, monkeypatch):
    monkeypatch.setitem(_extras.LIBRARIES, "neural", ("no_such_library",))
    run(own)
    methods = {c.key.rpartition("-")[2] for c in own.checkbox if "-tick-" in c.key}
    assert "s2net" in methods and "siamese_blstm" not in methods
    assert 'pip install "simviz[neural]"' in said(own)


def test_a_preset_is_one_choice_with_inputs_of_its_own(own):
    run(own)
    tick_only(own, "heterogeneous_svd")
    key = f"train-{own.session_state.dataset_id}-heterogeneous_svd"
    run(own.number_input(key=f"{key}-n_components").set_value(7))
    values = next(g for g in own.get("button_group") if g.key == f"{key}-preset")
    run(values.set_value("paper"))
    assert "Parameters: as in the paper" in popovers(own)
    run(own.number_input(key=f"{key}-paper-n_components").set_value(5))
    assert "Parameters: as in the paper, n_components 5" in popovers(own)
    assert 'negative_weight="paper"' in own.code[0].value
    run(own.selectbox(key=f"{key}-paper-measure").set_value("cosine"))
    assert "Parameters: n_components 5, negative_weight paper" in popovers(own)
    run(next(g for g in own.get("button_group") if g.key == f"{key}-preset").set_value(""))
    assert "Parameters: n_components 7" in popovers(own)


def test_trains_what_is_ticked_once(own):
    tick_only(run(own), "bm25", "cca")
    run(field(own, "cca", "n_components").set_value(7))
    assert any("n_components 7" in label for label in popovers(own))
    assert button(own).label == "Train 2 methods"
    run(button(own).click())
    until_trained(own)
    table = own.dataframe[0].value
    assert set(table["run"]) == {"BM25", "CCA"}
    assert dict(zip(table["run"], table["parameters"], strict=True))["CCA"] == "n_components 7"
    assert table["MRR, validation"].between(0.05, 1).all()
    assert not can_train(own)
    assert own.button(key="train-next").label == "Compare 2 runs"
    assert "Already trained" in html(own)
    assert "Trained · " in captions(own)
    run(field(own, "cca", "n_components").set_value(8))
    for page in ("app.py", "pages/train.py"):
        run(own.switch_page(page))
    assert button(own).label == "Train 1 method"
    assert field(own, "cca", "n_components").value == 8, "kept while another page was open"


def test_job_can_be_followed_cancelled_repeated_and_forgotten(own):
    tick_only(run(own), "ssi")
    for name, value in ENDLESS.items():
        field(own, "ssi", name).set_value(value)
    run(own)
    run(button(own).click())
    assert "In training" in said(own) and "Now in training: SSI" in html(own)
    run(next(b for b in own.button if b.label == "Cancel SSI").click())
    assert "Not finished" in said(own) and "cancelled" in said(own)
    run(next(b for b in own.button if b.label == "Retry").click())
    assert "In training" in said(own)
    run(next(b for b in own.button if b.label == "Cancel SSI").click())
    run(own.button(key="train-clear").click())
    assert "cancelled" not in said(own)


def test_job_of_a_server_that_is_gone_reads_interrupted(own):
    run(own)
    job_id = ask(own, "ssi", **ENDLESS)
    waiting.until(lambda: state.queue().status(job_id).state != "queued")
    state.queue().close()
    state.queue.clear()
    run(own)
    assert "interrupted: the app was restarted" in said(own)
    run(next(b for b in own.button if b.label == "Retry").click())
    assert "In training" in said(own)


def test_what_is_too_large_is_refused_with_its_reason(app):
    app.query_params["data"] = "demo:icons"
    tick_only(run(app), "ssi")
    assert button(app).label == "Train 1 method"
    run(field(app, "ssi", "max_iter").set_value(90_000))
    assert "hours on these data" in html(app)
    assert not can_train(app)
    field(app, "ssi", "max_iter").set_value(5)
    run(field(app, "ssi", "margin").set_value(0.0))
    assert "margin" in html(app), "a value that the method does not allow is told in its words"
    assert not can_train(app)


def test_a_split_that_cannot_be_is_said_once_and_stops_training(own):
    texts = [f"word {i}" for i in range(40)]
    belongs = np.tile([1.0, 0.0], (40, 1))
    give(own, PairSet.from_texts(texts, texts[:2], relevance=Relevance(belongs)))
    dataset_id = own.session_state.dataset_id
    own.session_state["split"] = {dataset_id: {"by": "pair"}}
    tick_only(run(own), "bm25")
    assert html(own).count("hang together") == 1
    assert button(own).disabled and "hang together" in button(own).help
    choose_way(own, "bm25", "search")
    assert own.button(key=f"{form_key(own, 'bm25')}-search-start").disabled
    assert any(link.proto.page == "data" for link in own.get("page_link"))
    choose_way(own, "bm25", "once")
    own.session_state["split"] = {dataset_id: {"by": "x"}}
    run(own)
    assert "hang together" not in html(own)
    assert not button(own).disabled and box(own, "bm25").value, "what was ticked is kept"
    give(own, PairSet.from_texts(texts, ["yes"], relevance=Relevance(np.ones((40, 1)))))
    tick_only(run(own), "bm25")
    assert html(own).count("nothing to rank") == 1
    assert button(own).disabled and "nothing to rank" in button(own).help


def test_too_many_jobs_are_refused_beside_the_others(own, monkeypatch):
    run(own)
    monkeypatch.setattr(state.queue(), "limit", 1)
    ask(own, "ssi", **ENDLESS)
    tick_only(own, "bm25")
    run(button(own).click())
    assert "as many as may" in html(own)


def choose_encoder(app):
    key = f"train-{app.session_state.dataset_id}-features"
    return run(app.segmented_control(key=key).set_value("pretrained"))


def test_methods_train_on_pretrained_vectors_and_say_so(own):
    choose_encoder(run(own))
    assert "not an encoder's vectors" in captions(own)
    tick_only(own, "cca")
    run(field(own, "cca", "n_components").set_value(5))
    run(button(own).click())
    names = until_trained(own).dataframe[0].value["run"].tolist()
    assert sorted(names) == ["CCA on pretrained vectors", "Cosine of vectors"]


def fitted_here():
    """All that was trained on this computer."""
    store = state.store()
    infos = store.runs.find(LOCAL_WORKSPACE)
    return [store.runs.get(info.id, LOCAL_WORKSPACE).pipeline() for info in infos]


def with_pictures(app, workspace):
    """The page on pictures with keywords, for one workspace."""
    ids = [f"{i}" for i in range(40)]
    pixels = np.random.default_rng(0).integers(0, 256, (40, 20, 20), dtype=np.uint8)
    sides = Items(ids, [f"w{i % 9}" for i in range(40)], "keyword"), Items(ids, pixels, "image")
    pairs = PairSet(*sides, Relevance.identity(40), name="pictures")
    return run(give(app, pairs, workspace))


def test_methods_train_on_the_vectors_of_an_encoder_of_pictures(app, tiny_clip, tmp_path):
    with_pictures(app, state.store().workspaces.open(LOCAL_WORKSPACE))
    key = f"train-{app.session_state.dataset_id}"
    choose_encoder(app)
    assert "Until a folder of a model is named" in html(app)
    assert "not an encoder's vectors" not in captions(app)
    for wrong in (str(tmp_path), "~nobody-of-this-name/x", "a\0b"):
        run(app.text_input(key=f"{key}-encoder").set_value(wrong))
        assert "holds no model" in html(app)
    run(app.text_input(key=f"{key}-encoder").set_value(tiny_clip))
    tick_only(app, "cca")
    run(field(app, "cca", "n_components").set_value(3))
    run(button(app).click())
    until_trained(app)
    assert app.dataframe[0].value["run"].tolist() == ["CCA on pretrained vectors"]
    assert [fitted.y_features_.model for fitted in fitted_here()] == [
        str(Path(tiny_clip).resolve())
    ]


def with_texts(app, workspace):
    """The page on texts, for one workspace, with an encoder chosen."""
    texts = [f"word{i % 9} and word{i % 7}" for i in range(63)]
    names = dict.fromkeys(("name", "x_name", "y_name"), "<img src=x onerror=alert(1)> **b**")
    pairs = PairSet.from_texts(texts, [f"a {text}" for text in texts], **names)
    return choose_encoder(run(give(app, pairs, workspace)))


def test_an_encoder_of_texts_is_read_from_a_folder(app, tiny_clip):
    with_texts(app, state.store().workspaces.open(LOCAL_WORKSPACE))
    assert "Until a folder of a model is named, all-MiniLM-L6-v2 reads the texts." in html(app)
    run(app.text_input(key=f"train-{app.session_state.dataset_id}-encoder").set_value(tiny_clip))
    assert "Until a folder" not in html(app)
    assert "&lt;img src=x" in html(app) and "<img" not in html(app), "names are no markup"
    assert not any("onerror" in str(e.value) for e in [*app.markdown, *app.caption])
    tick_only(app, "cosine")
    run(app)
    run(button(app).click())
    until_trained(app)
    assert [fitted.x_features_.model for fitted in fitted_here()] == [
        str(Path(tiny_clip).resolve())
    ]


def test_visitors_name_no_folder_of_the_computer(app):
    with_pictures(app, state.store().workspaces.create())
    assert not [c for c in app.segmented_control if c.key.endswith("-features")]
    with_texts(app, state.store().workspaces.create())
    assert not [c for c in app.text_input if c.key.endswith("-encoder")]


def form_key(app, method):
    return f"train-{app.session_state.dataset_id}-{method}"


def choose_way(app, method, way):
    return run(app.segmented_control(key=f"{form_key(app, method)}-way").set_value(way))


def test_everything_that_fits_is_ticked_at_once_with_its_cost(own):
    run(own)
    at_once = own.button(key="train-all")
    assert at_once.label.startswith("Select all ") and "GB" in at_once.label
    run(at_once.click())
    boxes = [c for c in own.checkbox if "-tick-" in c.key]
    assert len(boxes) > 15 and all(c.value for c in boxes)
    assert button(own).label == f"Train {len(boxes)} methods"
    run(own.button(key="train-first").click())
    ticked = sum(c.value for c in own.checkbox if "-tick-" in c.key)
    assert 2 <= ticked <= 3
    run(box(own, "bm25").set_value(True))
    assert any(f"{len(boxes) - ticked} more fit these data, 1 ticked" == e.label
               for e in own.expander)  # fmt: skip


def test_a_sweep_trains_every_value_on_every_split(own):
    tick_only(run(own), "bm25")
    key = form_key(choose_way(own, "bm25", "sweep"), "bm25")
    run(own.text_input(key=f"{key}-sweep-k1").set_value("3, 2"))
    assert button(own).label == "Train 2 runs"
    run(own.number_input(key=f"{key}-splits").set_value(2))
    assert button(own).label == "Train 4 runs"
    run(own.text_input(key=f"{key}-sweep-k1").set_value("3, much"))
    assert "is no number" in html(own) and not can_train(own)
    run(own.text_input(key=f"{key}-sweep-k1").set_value("3, 2"))
    run(button(own).click())
    until_trained(own)
    table = own.dataframe[0].value
    assert sorted(table["parameters"]) == [
        "", "k1 2", "k1 2; other split: by pair, seed 1", "other split: by pair, seed 1",
    ]  # fmt: skip
    assert "Across random splits" in [e.label for e in own.expander]
    assert not can_train(own), "all four are there"


def test_best_values_are_found_and_trained_with(own):
    tick_only(run(own), "cca")
    key = form_key(choose_way(own, "cca", "search"), "cca")
    assert not can_train(own) and "Find the best values first" in html(own)
    own.text_input(key=f"{key}-search-n_components").set_value("2, 6")
    run(own.text_input(key=f"{key}-search-regularization").set_value("0.1 1"))
    assert "4 settings by MRR" in html(own)
    run(own.button(key=f"{key}-search-start").click())
    until_trained(own)
    assert "Best values found" in said(own)
    found = next(e for e in own.expander if e.label.startswith("CCA: n_components"))
    assert "MRR" in found.label
    tried = own.dataframe[0].value
    assert len(tried) == 4 and (tried[""] == "chosen").sum() == 1
    run(next(c for c in own.segmented_control if c.key.endswith("-rule")).set_value("one_se"))
    run(next(b for b in own.button if b.label == "Train with these").click())
    until_trained(own)
    assert "n_components" in own.dataframe[1].value["parameters"][0]
    assert "it is one of the runs below" in said(own)
    run(next(b for b in own.button if b.label == "Discard").click())
    assert "Best values found" not in said(own)


def test_deleting_is_undone_and_names_and_notes_are_kept(own):
    tick_row(trained(own, {}), 0)
    run(own.text_area[0].set_value("first try <i>"))
    assert list(own.dataframe[0].value["note"]) == ["first try <i>"]
    tick_row(own, 0)
    assert "first try &lt;i&gt;" in html(own)
    run(own.button(key="train-delete").click())
    assert not own.dataframe and "Deleted: BM25." in html(own)
    run(own.button(key="train-undo").click())
    assert list(own.dataframe[0].value["note"]) == ["first try <i>"]
    assert "Deleted:" not in html(own)
    tick_row(own, 0)
    run(next(t for t in own.text_input if t.label == "Name").set_value("*mine* <b>"))
    assert own.dataframe[0].value["run"][0] == "*mine* <b>"
    tick_row(own, 0)
    name = next(t for t in own.text_input if t.label == "Name")
    run_id = name.key.removeprefix("train-name-")
    state.store().runs.delete(run_id, own.session_state.workspace)  # in another tab
    run(name.set_value("late"))
    assert "There is no such run here" in html(own)


def test_what_differs_and_again_with_a_change(own):
    trained(own, {}, {"k1": 2.0})
    key = own.dataframe[0].proto.id.split("-", 2)[2]
    own.session_state[key] = {"selection": {"rows": [0, 1], "columns": [], "cells": []}}
    run(own)
    assert ">setting<" in html(own) and "<td>k1</td>" in html(own)
    assert "<td>b</td>" not in html(own)
    tick_row(own, 0)

    def change(name, value):
        run(next(s for s in own.selectbox if s.label == "Change").set_value(name))
        run(next(n for n in own.number_input if n.label == name).set_value(value))

    def again():
        return next(b for b in own.button if b.label == "Train with this change")

    assert again().disabled, "nothing is changed yet"
    is_usual = not own.dataframe[0].value["parameters"][0]
    change("k1", 2.0 if is_usual else get_method("bm25")().k1)  # as in the other one
    assert again().disabled and "This run exists already" in html(own)
    change("b", 0.2)
    run(again().click())
    until_trained(own)
    assert len(own.dataframe[0].value) == 3
    assert any("b 0.2" in words for words in own.dataframe[0].value["parameters"])


def test_many_jobs_are_told_in_a_line_and_cancelled_together(own, monkeypatch):
    run(own)
    for k1 in (1.0, 1.1, 1.3, 1.4, 1.6, 1.7):
        ask(own, "ssi", **ENDLESS, margin=k1)
    run(own)
    lines = [b.proto.text for b in own.get("progress")]
    waiting = next(c.value for c in own.caption if c.value.startswith("Next: "))
    names = waiting.removeprefix("Next: ").split("; ")
    assert len(names) == 4 and not any(name in line for name in names for line in lines)
    cancels = [b.label for b in own.button if b.label.startswith("Cancel SSI")]
    assert len(set(cancels)) == len(cancels) and all("margin" in label for label in cancels)
    run(own.button(key="train-cancel-all").click())
    assert "Not finished" in said(own)
