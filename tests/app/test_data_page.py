"""The Data page takes files apart, keeps what is good, and loses nothing to what is bad."""

from __future__ import annotations

from html import escape

import pytest
from on_page import go, hand_in, html, run
from waiting import until

from simviz.data.templates import make_template
from simviz.jobs import JobSpec
from simviz.markdown import escape_markdown
from simviz.workbench.shell import state

PAGE = "data"
GOOD = "query,document,label\n" + "".join(f"question {i},answer {i},1\n" for i in range(40))


def role(app, name):
    return next(s for s in app.selectbox if s.key.endswith(f"-{name}") and "-role-" in s.key)


def own(app):
    infos = state.store().datasets.find(app.session_state.workspace)
    return [info for info in infos if not info.is_demo]


def keep(app):
    """Press the button, then come back from where it leads."""
    run(app.button(key="data-keep").click())
    [info] = [i for i in own(app) if i.id == app.session_state.dataset_id]
    run(app.switch_page("pages/data.py"))
    return info


def test_demo_is_shown_with_its_pictures_and_its_split(app):
    app.run()
    run(app.button(key="data-demo-icons").click())
    text = html(app)
    assert "1,340" in text and "icons, pictures" in text
    assert "The test part asks for new icons among known keywords." in text
    assert app.dataframe[0].value["y"].str.startswith("data:image/png;base64,").all()
    run(app.selectbox(key="data-rows").select("y"))
    assert list(app.dataframe[0].value.columns[:2]) == ["content", "id"]


def test_chosen_split_is_remembered_for_training(app):
    go(app, data="demo:emoji")
    app.number_input(key="data-split-demo:emoji-test").set_value(30)
    app.number_input(key="data-split-demo:emoji-seed").set_value(7).run()
    assert "60 % are for training" in html(app)
    split = {"by": "pair", "fractions": (0.6, 0.1, 0.3), "seed": 7, "group_key": None}
    assert app.session_state["split"]["demo:emoji"] == split
    app.selectbox(key="data-switch").select("demo:icons").run()
    app.selectbox(key="data-switch").select("demo:emoji").run()
    assert app.number_input(key="data-split-demo:emoji-seed").value == 7


def test_file_is_understood_corrected_and_kept(app):
    text = hand_in(app, "q a.csv", GOOD + ",lonely,1\n")
    assert "40 pairs, 1 row left out" in text
    assert "guessed: &#x27;query&#x27; in its name" in text
    assert list(app.dataframe[1].value["why"]) == ["the x side is empty"]
    run(role(app, "label").select(""))
    assert "every row is a pair that belongs together" in html(app)
    info = keep(app)
    assert (info.name, info.x_name, info.n_x, info.n_judged) == ("q a", "query", 40, 40)
    assert "1 row left out because the x side is empty (line 42)." in info.notes
    assert "40" in html(app) and not app.file_uploader


BAD = {
    "empty.csv": (b"", "empty.csv is empty (0 bytes)"),
    "broken.zip": (b"PK nothing", "broken.zip is not a zip archive"),
    "hostile.csv": (b"<img src=x onerror=alert(1)>\nz\n", "&lt;img src=x"),
}


def test_bad_file_is_named_and_nothing_is_lost(app):
    go(app, data="demo:emoji", view="other")
    assert "40 pairs" in hand_in(app, "good.csv", GOOD)
    for name, (data, message) in BAD.items():
        text = hand_in(app, name, data)
        assert message in text and "<img" not in text
        assert "40 pairs" in text, "the good file still waits"
    assert app.session_state.dataset_id == "demo:emoji"
    for page in ("app.py", "pages/data.py"):
        run(app.switch_page(page))
    assert "40 pairs" in html(app), "and still after another page"
    assert keep(app).n_x == 40


def test_odd_file_is_read_with_a_note_and_shown_in_short(app):
    rows = f"{'x' * 1_000_000},b,1\nfuß,d,1\n".encode("latin-1")
    text = hand_in(app, "long.csv", b"query,document,label\n" + rows)
    for note in ("1,000,000 characters", "was read as Windows-1252", "counts as not relevant"):
        assert note in text
    assert max(len(str(v)) for v in app.dataframe[0].value.to_numpy().ravel()) < 400


def test_what_roles_cannot_hold_is_mended_by_another_role(app):
    message = escape("id '1' stands for 'c' here")
    assert message in hand_in(app, "q.csv", "query_id,query,document\n1,a,b\n1,c,d\n")
    assert len(app.dataframe) == 1, "the file is shown for all that"
    assert not any(b.key == "data-keep" for b in app.button)
    run(role(app, "x_id").select(""))
    assert message not in html(app)
    assert any(b.key == "data-keep" for b in app.button)


def test_kept_data_are_listed_chosen_and_deleted_with_what_trains_on_them(app):
    hand_in(app, "first.csv", GOOD)
    first = keep(app)
    app.session_state["data-view"] = "other"
    hand_in(app, "second.csv", GOOD.replace("answer", "reply"))
    second = keep(app)
    app.session_state["data-view"] = "other"
    app.run()
    app.button(key=f"data-use-{first.id}").click().run()
    assert app.session_state.dataset_id == first.id
    workspace = app.session_state.workspace
    job = JobSpec(first.id, first.digest, "ssi", {"max_iter": 2000}, workspace=workspace)
    job_id = state.queue().submit(job)
    app.session_state["data-view"] = "other"
    app.run()
    run(app.button(key=f"data-delete-{first.id}").click())
    assert [info.id for info in own(app)] == [second.id]
    assert "dataset_id" not in app.session_state
    until(lambda: not state.queue().status(job_id).is_active)


def test_pasted_lines_are_read_as_a_file(app):
    run(app)
    run(app.button_group(key="data-way").set_value("paste"))
    app.text_area[0].set_value("x;y\nheart;corazón\ncar;coche\n").run()
    run(app.button(key="data-paste").click())
    assert "2 pairs" in html(app) and "separated by semicolons" in html(app)
    assert keep(app).n_x == 2


@pytest.mark.parametrize("name", ["triplets.csv", "texts-and-vectors.jsonl", "folders.zip"])
def test_every_shape_is_taken_and_kept(app, name):
    found = "6 pairs" if name == "triplets.csv" else "3 pairs"
    assert found in hand_in(app, name, make_template(name))
    assert keep(app).n_x >= 2


def test_a_shape_and_a_threshold_can_be_chosen(app):
    hand_in(app, "scores.csv", make_template("scores.csv"))
    [start] = [n for n in app.number_input if n.key.startswith("data-threshold-")]
    run(start.set_value(4.5))
    assert "relevant from 4.5" in html(app)
    assert keep(app).n_relevant == 1
    app.session_state["data-view"] = "other"
    hand_in(app, "g.csv", "title,kind\n" + "".join(f"t{i},{i % 3}\n" for i in range(9)))
    run(role(app, "shape").select("groups"))
    assert "18 pairs" in html(app)


def test_words_of_a_label_are_asked_for_and_read_again(app):
    odd = "*so* <b>so</b> :red[x]"
    app.run()
    words = ["same", "Subset", "disjoint", odd, odd, "can't tell"]
    lines = "".join(f"q{i},d{i},{word}\n" for i, word in enumerate(words))
    text = hand_in(app, "q.csv", "query,ad,label\n" + lines)
    assert "is not a label that can be understood" in text and "<b>so" not in text
    asked = {s.label: s for s in app.selectbox if s.key.startswith("data-word-")}
    known = ["2: relevant", "1: relevant, least", "not relevant"]
    assert [s.value for s in asked.values()] == [None, None, *known]
    first, second, *_ = asked
    assert first == escape_markdown(f"{odd} (2 rows)") and ":red[" not in first
    asked[first].select("3: relevant").run()
    assert "&quot;can&#x27;t tell&quot; (1 row)" in html(app), "what is left is asked for"
    [left] = [s for s in app.selectbox if s.label == second]
    run(left.select("not judged: leave out"))
    assert "5 pairs, 1 row left out" in html(app) and "<b>so" not in html(app)
    assert "same = 2" in html(app)
    kept = state.store().datasets.get(keep(app).id)
    assert sorted(kept.relevance.matrix.data) == [-1, 1, 2, 3, 3]
