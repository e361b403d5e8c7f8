"""Data -> Audit: suspicious pairs one after another, and decisions that are kept."""

from __future__ import annotations

import csv
import io
import itertools
import re

import pytest
from on_page import go, html, run, said
from waiting import LONG

from simviz.data import PairSet
from simviz.jobs import JobQueue, JobSpec
from simviz.jobs.spec import AuditSpec
from simviz.workbench.data import audit
from simviz.workbench.shell import state

PAGE = "data"
HOSTILE = "<img src=x onerror=alert(1)> **bold** :material/add:"
ENGLISH = "big small tiny huge wide red blue green white black car house flower ship dress"
SPANISH = (
    "grande pequeño diminuto enorme ancho rojo azul verde blanco negro coche casa flor barco "
    "vestido"
)


def phrases():
    """Two languages, of which two pairs are swapped; one text is hostile."""
    both = dict(zip(ENGLISH.split(), SPANISH.split(), strict=True))
    english = list(both)
    x = list(itertools.product(english[:5], english[5:10], english[10:]))
    y = [" ".join(both[word] for word in reversed(one)) for one in x]
    x = [" ".join(one) for one in x]
    y[3], y[90] = y[90], y[3]
    x[3] = f"{x[3]} {HOSTILE}"
    return PairSet.from_texts(x, y, name="<b>phrases</b>", x_name="English", y_name="Spanish")


def audit_all(made, dataset_id):
    """Audit these phrases in a store."""
    asked = AuditSpec(dataset_id, phrases().digest, "audit", workspace=made.mine)
    with JobQueue(made.store) as queue:
        status = queue.wait(queue.submit(asked), LONG)
    assert status.state == "succeeded", status.message


@pytest.fixture(scope="module")
def home(make_home):
    """Pairs that were audited, others that were not, and some that are too few."""
    pairs = phrases()
    sets = {"pairs": pairs, "few": pairs.take(range(9), range(9))}
    made = make_home(sets, {"opca": ("pairs", "opca", {"n_components": 12})})
    audit_all(made, made.data["pairs"])
    return made


@pytest.fixture
def open_audit(serve, open_page):
    """Opens the audit of a data set of a store."""

    def opened(of, dataset_id):
        serve(of.root)
        return go(open_page(PAGE, of.mine), data=dataset_id, view="audit")

    return opened


@pytest.fixture
def audited(home, tmp_path, open_audit):
    """The audit of these pairs, in a store of its own."""
    return open_audit(home.copy(tmp_path / "store"), home.data["pairs"])


def press(app, start):
    """Press the one button whose key starts so."""
    [button] = [b for b in app.button if (b.key or "").startswith(f"data-audit-{start}")]
    button.click()
    return run(app)


def items(app):
    """The texts of both items that are to be judged."""
    return tuple(re.findall(r'<div class="sv-audited">(.*?)</div>', html(app))[:2])


def decisions(app):
    store, session = state.store(), app.session_state
    return store.decisions.find(session.dataset_id, session.workspace)


def test_the_most_suspicious_pair_is_shown_with_its_candidates_and_reason(audited):
    text = html(audited)
    assert "2 pairs of 125 are probably wrong" in text
    assert "swapped partner" in text and text.count("Would suit better:") == 2
    assert "What speaks for it: " in text
    press(audited, "later")  # the one of both that is hostile comes first or second
    text += html(audited)
    assert "&lt;img src=x onerror=alert(1)&gt; **bold** :material/add:" in text
    assert "<img" not in text and "&lt;b&gt;phrases" in text
    shortcuts = {b.proto.shortcut.casefold() for b in audited.button if b.proto.shortcut}
    assert shortcuts == {"y", "n", "l", "t", "x", "u"}


def test_decisions_are_kept_counted_and_undone(audited, open_page):
    seen = [items(audited)]
    press(audited, "later")
    seen.append(items(audited))
    assert "2 still to be decided" not in html(audited)
    press(audited, "y")
    assert "1 still to be decided" in html(audited)
    assert len({*seen, items(audited)}) == 3, "what was left for later comes last"
    audited.selectbox(key="data-audit-kind").set_value("later")
    assert items(run(audited)) == seen[0]
    press(audited, "wrong")
    assert "all decided" in html(audited)
    verdicts = [verdict.partition(" ")[0] for _, _, verdict in decisions(audited)]
    assert verdicts == ["y", "wrong"]
    again = open_page(PAGE, audited.session_state.workspace)
    go(again, data=audited.session_state.dataset_id, view="audit")
    assert "all decided" in html(again), "a reload shows them"
    press(again, "undo")
    assert [verdict[0] for _, _, verdict in decisions(again)] == ["y"]
    press(again, "drop-0")
    assert decisions(again) == [] and "still to be decided" not in html(again)


def decided(app, **verdicts):
    """Decide on pairs by their ids, and run the page again."""
    session = app.session_state
    made = [(*pair.split("_")[1:], verdict) for pair, verdict in verdicts.items()]
    state.store().decisions.put(session.dataset_id, session.workspace, made)
    return run(app)


def test_the_list_has_every_pair_with_its_decision(audited):
    app = decided(audited, p_3_3="y 90", p_90_90="right")
    assert "2 decisions kept" in {e.label for e in app.expander}
    mine = app.session_state.workspace
    [job] = [one for one in state.queue().jobs(mine) if one.spec.method == "audit"]
    found = audit.load_audit(job.id, mine, phrases())
    kept = {(x, y): verdict for x, y, verdict in decisions(app)}
    text = audit.list_text(phrases(), found, kept)
    head, *rows = csv.reader(io.StringIO(text))
    assert head[:5] == ["English", "Spanish", "x_id", "y_id", "probability_wrong"]
    ends = {row[2]: (row[0], row[7], *row[-2:]) for row in rows}
    assert len(rows) == 125 and {row[2] for row in rows[:2]} == {"3", "90"}
    assert ends["3"] == (f"big red ship {HOSTILE}", "90", "takes another partner", "90")
    assert ends["90"][2:] == ("right", "") and ends["5"][2:] == ("", "")


def test_cleaned_pairs_become_another_data_set_and_the_old_one_stays(audited):
    verdicts = {"p_5_5": "wrong", "p_6_6": "right", "p_7_7": "add 8"}
    app = decided(audited, p_3_3="y 90", p_90_90="x 3", **verdicts)
    first, mine = app.session_state.dataset_id, app.session_state.workspace
    [keep] = [b for b in app.button if b.key == "data-audit-keep"]
    assert keep.help.startswith("Leave out 3 pairs, put in 2.")
    run(keep.click())
    second = app.session_state.dataset_id
    assert second != first and "Leave out 3 pairs, put in 2." in html(app)
    old, new = (state.store().datasets.get(i, mine).relevance.matrix for i in (first, second))
    assert (old != new).nnz == 5 and old[3, 3] == old[90, 90] == old[5, 5] == 1
    assert new[3, 90] == new[7, 8] == new[6, 6] == 1 and new[3, 3] == new[5, 5] == 0
    assert app.button(key="data-audit").label == "Audit 124 pairs"
    app.button(key="data-health-undo").click()
    assert run(app).session_state.dataset_id == first


def test_training_again_compares_on_held_out_pairs_that_nobody_changed(home, audited):
    queue, mine = state.queue(), home.mine
    parts = home.run("opca").arrays()
    held_out, learned = parts["x_validation"][0], parts["x_train"][:2]
    verdicts = {f"p_{i}_{i}": "wrong" for i in learned if i not in (3, 90)}
    n_changed = len(verdicts)
    app = decided(audited, **verdicts, **{f"p_{held_out}_{held_out}": "wrong"})
    assert f"{n_changed} of {n_changed + 1} changes" in html(app)
    run(app.button(key="data-audit-train").click())
    [job] = [s for s in queue.jobs(mine) if s.spec.title == "OPCA on corrected pairs"]
    assert queue.wait(job.id, LONG).state == "succeeded"
    run(app)
    before, now = (state.store().runs.get(i, mine) for i in (home.runs["opca"], job.digest))
    figures = (one.part("validation").evaluation for one in (before, now))
    first, second = (one.per_query("MRR", "x2y")[1:] for one in figures)
    text, n = html(app), len(first)
    assert f"on the {n} of {n + 1} validation queries of which no pair was changed" in text
    assert f"MRR {first.mean():.3f} before, {second.mean():.3f} now" in text
    assert "than all" in text and "data-audit-train" not in {b.key for b in app.button}
    assert JobSpec.from_json(now.spec).split == JobSpec.from_json(before.spec).split


def test_training_again_on_a_demo_makes_a_private_copy(
    make_home, give_demos, monkeypatch, open_audit
):
    give_demos(monkeypatch, {"emoji": phrases()})
    made = make_home({}, {"opca": ("demo:emoji", "opca", {"n_components": 12})})
    audit_all(made, "demo:emoji")
    learned = str(made.run("opca").arrays()["x_train"][0])
    app = decided(open_audit(made, "demo:emoji"), **{f"p_{learned}_{learned}": "wrong"})
    run(app.button(key="data-audit-train").click())
    own, mine = app.session_state.dataset_id, made.mine
    assert not own.startswith("demo:") and decisions(app) == [(learned, learned, "wrong")]
    asked = [one for one in state.queue().jobs(mine) if one.spec.dataset_id == own]
    titles = {"Audit of the pairs", "OPCA", "OPCA on corrected pairs"}
    assert len(asked) == 3 and {one.spec.title for one in asked} == titles
    for one in asked:
        assert state.queue().wait(one.id, LONG).state == "succeeded"
    assert "1 of 1 change is among" in html(run(app)) and "MRR" in html(app)
    runs = state.store().runs.find(mine, "demo:emoji")
    assert [one.method for one in runs] == ["opca"], "nobody else sees what was decided"


def test_health_leads_to_the_audit_with_its_count(home, visit):
    page = visit(data=home.data["pairs"])
    assert "2 pairs of 125 are probably wrong" in html(page)
    page.button(key="data-audit-open").click().run()
    assert not page.exception and page.query_params["view"] == "audit"
    assert "Would suit better:" in html(page)


def test_too_few_pairs_are_told_and_others_wait_to_be_asked(home, visit):
    for view in ("", "audit"):
        page = visit(data=home.data["few"], view=view)
        assert "learns from 30 relevant pairs or more; here are 9" in html(page)
    assert not [b for b in page.button if (b.key or "").startswith("data-audit")]
    page = visit(data="demo:emoji", view="audit")
    assert page.button(key="data-audit").label == "Audit 1,923 pairs"
    assert "about" in html(page)


def test_an_audit_is_asked_for_and_cancelled(home, tmp_path, open_audit):
    app = open_audit(home.copy(tmp_path / "store"), "demo:emoji")
    run(app.button(key="data-audit").click())
    [status] = [s for s in state.queue().jobs(home.mine) if s.is_active]
    assert status.spec.title == "Audit of the pairs"
    run(app.button(key=f"data-audit-cancel-{status.id}").click())
    assert "cancelled" in said(app)
