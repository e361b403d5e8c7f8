"""Normalise: a column gets its groups; corrections are kept and trained with."""

from __future__ import annotations

import shutil

import pytest
from on_page import html, press, run
from waiting import LONG, until_trained

from simviz.data import Items, PairSet
from simviz.datasets import DEMOS, load_demo
from simviz.jobs import JobSpec, SplitSpec
from simviz.relevance import Relevance
from simviz.workbench.search import normalise
from simviz.workbench.shell import state

PAGE = "search"
JOBS = ("baker", "nurse", "pilot", "tailor", "welder", "farmer")


@pytest.fixture(scope="module")
def titles():
    """Three titles a group, and messy inputs that hold one of them."""
    y = [f"{job}{ending}" for job in JOBS for ending in ("", " assistant", " in chief")]
    x = [f"{form} {title}" for title in y for form in ("senior", "our new")]
    groups = [job for job in JOBS for _ in range(3)]
    rows = [i for i in range(len(x)) for _ in range(3)]
    columns = [3 * (i // 6) + j for i in range(len(x)) for j in range(3)]
    return PairSet(
        Items([f"x{i}" for i in range(len(x))], x, "text"),
        Items([f"y{i}" for i in range(len(y))], y, "text", {"group": groups}),
        Relevance.from_pairs(rows, columns, shape=(len(x), len(y))),
        name="jobs",
        x_name="inputs",
        y_name="titles",
    )


@pytest.fixture(scope="module")
def home(make_home, titles):
    """The titles with a run that learns nothing from pairs, and two that learn."""
    params = {"n_components": 4, "max_iter": 5}
    ways = (("tfidf_cosine", {}), ("ssi", params), ("cca", {"n_components": 3}))
    return make_home({"titles": titles}, {way[0]: ("titles", *way) for way in ways})


@pytest.fixture
def app(home, tmp_path, serve, open_page):
    """The column mode on a copy of these data."""
    copy = home.copy(tmp_path / "store")
    serve(copy.root)
    app = open_page(PAGE, copy.mine)
    app.session_state.dataset_id = copy.data["titles"]
    app.session_state["search-mode"] = "column"
    return run(app)


def shown(app):
    return (app.get("arrow_data_frame") or app.dataframe)[0].value


def with_all_groups(app):
    """Name the group of the best answer, however low its score is."""
    [limit] = app.slider
    run(limit.set_value(limit.min))


def choose(app, method):
    runs = state.store().runs.find(app.session_state.workspace, app.session_state.dataset_id)
    [info] = [i for i in runs if i.method == method]
    app.session_state["normalise-run"] = info.id


def test_lines_are_cleaned_and_bounded():
    lines, told = normalise.parse(" a  b \n\n a b\r\nc\x00")
    assert lines[0] == "a b" and len(lines) == 2 and not told
    lines, told = normalise.parse("\n".join(f"line {i}" for i in range(2_500)))
    assert len(lines) == normalise.MAX_LINES and told.startswith("500 lines")


def test_every_line_gets_its_group_and_what_is_known_is_counted(app, open_page):
    choose(app, "tfidf_cosine")
    lines = "senior baker\nnurse wanted\n<img src=x onerror=alert(1)>"
    run(app.text_area(key="normalise-text").set_value(lines))
    table = shown(app)
    assert table["group"].iloc[[0, 2]].tolist() == ["baker", "no group"]
    assert "Right where the group is known: 1 of 1 (train)" in html(app)
    assert "<img" not in html(app)
    with_all_groups(app)
    assert shown(app)["group"].tolist()[1] == "nurse"
    again = open_page(PAGE, app.session_state.workspace)
    again.session_state.dataset_id = app.session_state.dataset_id
    again.session_state["search-mode"] = "column"
    assert run(again).text_area[0].value == lines, "a reload keeps them"


def bring(app, data, name="names.csv"):
    app.get("file_uploader")[0].upload(name, data, "text/csv")
    return run(app)


def test_a_column_comes_as_a_file(app, monkeypatch):
    choose(app, "tfidf_cosine")
    texts = ["senior baker", "nurse, wanted"]
    bring(app, b"inputs\nsenior baker\n\nnurse, wanted\n", "names.txt")
    assert shown(app)["text"].tolist() == texts
    bring(app, b"senior baker\nnurse, wanted\nsenior baker\n")
    assert shown(app)["text"].tolist() == texts
    bring(app, b'inputs,no\nsenior baker,red\n"nurse, wanted",blue\n,green\n')
    assert shown(app)["text"].tolist() == texts
    assert not app.text_area, "the file is what counts"
    with_all_groups(app)
    assert shown(app)["group"].tolist() == ["baker", "nurse"]
    monkeypatch.setattr(normalise, "MAX_LINES", 2)
    column = next(s for s in app.selectbox if (s.key or "").startswith("normalise-column"))
    run(column.set_value("no"))
    assert shown(app)["text"].tolist() == ["red", "blue"]
    assert "1 lines beyond the first 2 are left out" in html(app)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\x80\x04\x95\x00", "pickle"),
        (b"", "empty"),
        (b"a\n" + b"x\n" * 7, "the limit is 6"),
        (b"\x1f\x8b\x08\x00junk", "gzip"),
        (b"a,b\n1,2,<img src=x>\n", "has 3 cells but the header has 2"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(app, monkeypatch, data, words):
    monkeypatch.setattr(normalise, "MAX_ROWS", 6)
    run(app)
    bring(app, data, "x.gz" if words == "gzip" else "names.csv")
    assert words in html(app) and "<img" not in html(app)
    assert not app.get("arrow_data_frame") and not app.dataframe


def test_examples_of_the_part_shown_fill_the_column(app, titles):
    assert app.query_params["part"] == "validation"
    part = "test"
    press(app, "Measured on", part)
    button = app.button(key="normalise-examples")
    assert button.label == f"Examples of the {part} part"
    run(button.click())
    lines = app.text_area(key="normalise-text").value.splitlines()
    rows = state.store().runs.get(app.session_state["normalise-run"]).arrays()[f"x_{part}"]
    assert len(lines) >= 3 and set(lines) <= set(titles.x.content[rows])
    assert f"of {len(lines)} ({part})." in html(app), "and the group of each is known"


def test_every_group_of_a_taxonomy_of_ones_own_can_be_answered(app):
    """No title is kept out of the answers because it is in the test part."""
    pairs = load_demo("job_titles")
    mine = app.session_state.workspace
    data = app.session_state.dataset_id = state.store().datasets.put(pairs, mine)
    # By group: the test part holds groups that training has never seen.
    split = SplitSpec(by="group", group_key="group")
    spec = JobSpec(data, pairs.digest, "tfidf_cosine", split=split, workspace=mine)
    state.queue().wait(state.queue().submit(spec), LONG)
    run(app)
    run(app.text_area(key="normalise-text").set_value("\n".join(pairs.y.content)))
    with_all_groups(app)
    taxonomy = {name for names in normalise.group_names(pairs) for name in names}
    assert len(taxonomy) == 191
    assert set(shown(app)["group"]) - {"no group"} == taxonomy


def test_corrections_are_kept_trained_with_and_compared(app):
    data, mine = app.session_state.dataset_id, app.session_state.workspace
    state.store().feedback.put(data, mine, [("dough wizard", "baker", 1)])
    run(app)
    choose(app, "tfidf_cosine")
    run(app.text_area(key="normalise-text").set_value("dough wizard\nsenior pilot"))
    assert "does not learn from pairs" in html(app)
    choose(app, "ssi")
    app.session_state["normalise-follows"] = True
    run(app)
    assert "not followed at once here. SSI cannot follow" in html(app) and not app.toggle
    run(app.button(key="normalise-train").click())
    assert not app.session_state["normalise-follows"], "what is trained has learned them"
    until_trained(app)
    run(app)
    newest = state.store().runs.get(app.session_state["normalise-run"], mine)
    [step] = newest.spec["augment"]
    assert (step["kind"], step["pairs"]) == ("feedback", [["dough wizard", "baker", 1]])
    assert "What the corrections changed" in [s.value for s in app.subheader]
    assert "On the validation part (" in html(app) and "top-1" in html(app)
    press(app, "Measured on", "test")
    assert "On the test part (" in html(app)
    others = [i for i in state.store().runs.find(mine, data) if i.id != newest.id]
    [before] = [i for i in others if i.method == "ssi"]
    shutil.rmtree(state.store().runs.get(before.id, mine).folder / "test")
    run(app)
    assert "On the test part (" not in html(app)
    assert "without scores for the test part" in " ".join(c.value for c in app.caption)
    run(app.button(key="normalise-drop-0").click())
    assert state.store().feedback.find(data, mine) == []


def correct(app, *verdicts):
    state.store().feedback.put(app.session_state.dataset_id, app.session_state.workspace, verdicts)


def test_corrections_are_followed_at_once_and_not_kept(app):
    correct(app, ("our head baker", "tailor", 1), ("our head baker", "baker", -1))
    run(app)
    choose(app, "cca")
    run(app.text_area(key="normalise-text").set_value("our head baker\nsenior baker"))
    plain = shown(app)
    assert plain["group"].tolist()[0] != "tailor" and "on validation" not in html(app)
    run(app.toggle(key="normalise-follows").set_value(True))
    followed, said = shown(app), html(app)
    assert followed["group"].tolist()[0] == "tailor"
    assert not followed["score"].equals(plain["score"])
    assert "MRR on validation" in said
    assert "CCA with 1 correction and CCA without corrections" in said
    assert "What the corrections changed" in [s.value for s in app.subheader]
    assert "Now in another group: 2 of 2 lines." in said
    assert "Training leaves" not in said
    run(app.button(key="normalise-drop-0").click())
    assert shown(app).equals(plain) and "on validation" not in html(app)
    correct(app, ("our head baker", "tailor", 1), ("our head baker", "baker", -1))
    assert shown(run(app)).equals(followed)
    run(app.toggle(key="normalise-follows").set_value(False))
    assert shown(app).equals(plain) and "on validation" not in html(app)


def test_what_was_corrected_in_the_table_is_followed_in_it(app, monkeypatch):
    """Its answers are another's from then on: no tick of before may be read beside them."""
    choose(app, "cca")
    app.text_area(key="normalise-text").set_value("our head baker\nsenior baker")
    correct(app, ("some person", "welder", 1))
    run(app)
    run(app.toggle(key="normalise-follows").set_value(True))
    edit, keys = normalise.st.data_editor, []

    def edited(data, *, key, **more):
        keys.append(key)
        out = edit(data, key=key, **more)
        if key == keys[0]:
            out.loc[0, "right group"] = "tailor"
        return out

    monkeypatch.setattr(normalise.st, "data_editor", edited)
    run(app)
    assert len(keys) == 2 and keys[0] != keys[1], "drawn anew with what follows"
    assert shown(app)["group"].tolist()[0] == "tailor"
    assert "CCA with 2 corrections" in html(app)
    assert app.toggle(key="normalise-follows").value


def test_corrections_of_held_out_texts_are_refused_and_the_others_followed(app, titles):
    choose(app, "cca")
    at = state.store().runs.get(app.session_state["normalise-run"]).arrays()["x_validation"][0]
    text = str(titles.x.content[at])
    app.session_state["normalise-follows"] = True
    app.text_area(key="normalise-text").set_value(f"our head baker\n{text}")
    plain = shown(run(app))
    correct(app, (text, "tailor", 1))
    assert shown(run(app)).equals(plain)
    assert f"1 correction not followed. “{text}” is in the validation part." in html(app)
    assert "1 correction is of the validation or test part. Training leaves it out" in html(app)
    assert "on validation" not in html(app)
    correct(app, ("our head baker", "tailor", 1))
    assert not shown(run(app)).equals(plain)
    assert "1 correction not followed" in html(app) and "CCA with 1 correction" in html(app)


def test_corrections_of_a_demo_are_trained_on_a_private_copy(app):
    mine, demo = app.session_state.workspace, "demo:job_titles"
    pairs = load_demo("job_titles")
    params = {"n_components": 2, "max_iter": 1}
    split = SplitSpec(by=DEMOS["job_titles"].split_by)
    state.queue().submit(JobSpec(demo, pairs.digest, "ssi", params, split, workspace=mine))
    until_trained(app)
    state.store().feedback.put(demo, mine, [("code poet", "software developer", 1)])
    app.session_state.dataset_id = demo
    run(app)
    run(app.text_area(key="normalise-text").set_value("code poet"))
    assert "private copy" in html(app)
    run(app.button(key="normalise-train").click())
    own = app.session_state.dataset_id
    assert own != demo and state.store().datasets.get(own, mine).digest == pairs.digest
    until_trained(app)
    assert [i.dataset_id for i in state.store().runs.find(mine, own)] == [own]
    assert [i.method for i in state.store().runs.find(mine, demo)] == ["ssi"]
