"""Data -> Audit: suspicious pairs one after another, and decisions that are kept."""

from __future__ import annotations

import itertools

import pytest
from on_page import html, run, said
from waiting import LONG

from simviz.data import PairSet
from simviz.jobs import JobQueue
from simviz.jobs.spec import AuditSpec

pytestmark = pytest.mark.app
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


@pytest.fixture(scope="module")
def home(make_home):
    """Pairs that were audited, others that were not, and some that are too few."""
    pairs = phrases()
    made = make_home({"pairs": pairs, "few": pairs.take(range(9), range(9))}, {})
    asked = AuditSpec(made.data["pairs"], pairs.digest, "audit", workspace=made.mine)
    with JobQueue(made.store) as queue:
        status = queue.wait(queue.submit(asked), LONG)
    assert status.state == "succeeded", status.message
    return made


@pytest.fixture
def audited(home, tmp_path, serve, open_page):
    """The audit of these pairs, in a store of its own."""
    copy = home.copy(tmp_path / "store")
    serve(copy.root)
    app = open_page(PAGE, copy.mine)
    app.query_params.update(data=copy.data["pairs"], view="audit")
    return run(app)


def press(app, start):
    """Press the one button whose key starts so."""
    [button] = [b for b in app.button if (b.key or "").startswith(f"data-audit-{start}")]
    button.click()
    return run(app)


def decisions(app):
    from simviz.workbench.shell import state

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
    first = html(audited)
    press(audited, "later")
    assert html(audited) != first and "2 still to be decided" not in html(audited)
    press(audited, "y")
    assert "1 still to be decided" in html(audited)
    press(audited, "wrong")  # what was left for later has come again
    assert "all decided" in html(audited)
    verdicts = [verdict.partition(" ")[0] for _, _, verdict in decisions(audited)]
    assert verdicts == ["y", "wrong"]
    again = open_page(PAGE, audited.session_state.workspace)
    again.query_params.update(data=audited.session_state.dataset_id, view="audit")
    assert "all decided" in html(run(again)), "a reload shows them"
    press(again, "undo")
    assert [verdict[0] for _, _, verdict in decisions(again)] == ["y"]
    press(again, "drop-0")
    assert decisions(again) == [] and "still to be decided" not in html(again)


def test_health_leads_to_the_audit_with_its_count(home, visit):
    page = visit(data=home.data["pairs"])
    assert "2 pairs of 125 are probably wrong" in html(page)
    page.button(key="data-audit-open").click().run()
    assert not page.exception and page.query_params["view"] == "audit"
    assert "Would suit better:" in html(page)


def test_too_few_pairs_are_told_and_others_wait_to_be_asked(home, visit):
    page = visit(data=home.data["few"])
    assert "learns from 30 relevant pairs or more; here are 9" in html(page)
    page = visit(data=home.data["few"], view="audit")
    assert "learns from 30 relevant pairs or more; here are 9" in html(page)
    assert not [b for b in page.button if (b.key or "").startswith("data-audit")]
    page = visit(data="demo:emoji", view="audit")
    assert page.button(key="data-audit").label == "Audit 1,923 pairs"
    assert "about" in html(page)


def test_an_audit_is_asked_for_and_cancelled(home, tmp_path, serve, open_page):
    from simviz.workbench.shell import state

    copy = home.copy(tmp_path / "store")
    serve(copy.root)
    app = open_page(PAGE, copy.mine)
    app.query_params.update(data="demo:emoji", view="audit")
    run(app).button(key="data-audit").click()
    run(app)
    [status] = [s for s in state.queue().jobs(copy.mine) if s.is_active]
    assert status.spec.title == "Audit of the pairs"
    app.button(key=f"data-audit-cancel-{status.id}").click()
    run(app)
    assert "cancelled" in said(app)
