"""The papers page has a card for every experiment, runs one, and shows what it found."""

from __future__ import annotations

import re

import pytest
from on_page import go, run
from waiting import LONG

from simviz.data import PairSet
from simviz.experiments import (
    Claim,
    Figure,
    Findings,
    Series,
    Table,
    all_experiments,
    get_experiment,
)
from simviz.workbench.shell import state

PAGE = "papers"
NAME = "s2net_languages"


@pytest.fixture
def quick(monkeypatch):
    """An experiment that trains nothing."""

    def run(self, data, *, size="demo", seed=0, methods=None, progress=None):
        line = Series("CCA", (25.0, 50.0), (0.4, 0.5), "cca", low=(0.3, 0.4), high=(0.5, 0.6))
        return Findings(
            self.id,
            data.name,
            "a <b>few</b> pairs",
            size,
            seed,
            (Table("Table 1", ("method", "MRR", "MRR, published"), (("CCA", 0.5, 0.738),)),),
            (Figure("Figure 2", "dimensions", (line,), "dimensions", "MRR", "Of <i>test</i>."),),
            (
                Claim("CCA <i>is</i> ahead.", 0.1, p_value=0.01, test="paired randomisation"),
                Claim("OPCA is ahead.", -0.1, p_value=0.001, published="0.773"),
                Claim.at_every("It is at every k.", [Claim("k = 25", 0.1, p_value=0.5)]),
                Claim("CPLSA is ahead.", reason="CPLSA was not run."),
            ),
            ("A note.",),
        )

    monkeypatch.setattr(type(get_experiment(NAME)), "run", run)


def titles(app):
    return [heading.value for heading in app.subheader]


def html(app):
    return [e.proto.body for e in app.get("html")]


def until_run(app, on="demo"):
    """Run the experiment, until its job has ended."""
    run(app.button(key=f"papers-run-{NAME}-{on}").click())
    for status in state.queue().jobs(app.session_state["workspace"]):
        state.queue().wait(status.id, LONG)
    run(app)


def test_every_experiment_has_a_card(app):
    run(app)
    known = all_experiments().values()
    assert sorted(titles(app)) == sorted(cls.title for cls in known)
    buttons = [b for b in app.button if b.label == "Run on the demo"]
    assert len(buttons) == len(known)
    papers = {cls.paper.title for cls in known}
    assert {heading.value for heading in app.header} == papers


def test_verdicts_are_there_before_anything_is_run(app, quick):
    go(app, experiment=NAME)
    claim = "S2Net is ahead of OPCA."
    assert titles(app) == [get_experiment(NAME).title]
    before = next(body for body in html(app) if claim in body)
    assert "✓ holds" in before and "emoji" in before
    assert any(re.search(r"✓ \d+ hold, ✗ \d+ do not hold", body) for body in html(app))
    until_run(app)
    assert not any(claim in body for body in html(app))
    app.button(key="papers-all").click().run()
    assert len(titles(app)) == len(all_experiments())


def test_an_experiment_is_run_and_shown(app, quick):
    go(app, experiment=NAME)
    until_run(app)
    shown = "".join(html(app))
    claims = next(body for body in html(app) if 'role="list"' in body)
    for verdict in ("✓ holds", "✗ does not hold", "? undecided", "– not comparable"):
        assert verdict in claims
    assert "Test: paired randomisation." in claims and "The paper: 0.773." in claims
    assert "CPLSA was not run." in claims and "? k = 25: +0.100" in claims
    assert claims.count("The paper: ") == 1, "nothing is said of it beside the others"
    assert "CCA &lt;i&gt;is&lt;/i&gt; ahead." in claims, "text is never markup"
    assert "<b>few</b>" not in shown and "Of &lt;i&gt;test&lt;/i&gt;." in shown
    assert "0.738" in shown, "the paper's number beside ours"
    assert len(app.get("plotly_chart")) == 1
    assert app.code[-1].value.startswith(f"python -m simviz.experiments {NAME}")
    assert len(app.get("download_button")) == 2
    assert not [b for b in app.button if b.label == "Run on the demo"]


def test_size_seed_and_methods_are_chosen(app, quick):
    go(app, experiment=NAME)
    app.radio(key=f"papers-size-{NAME}").set_value("full").run()
    app.number_input(key=f"papers-seed-{NAME}").set_value(3).run()
    app.button_group(key=f"papers-methods-{NAME}").set_value(["cca", "opca"]).run()
    until_run(app)
    assert app.code[-1].value.endswith("--size full --seed 3 --methods opca cca")
    assert any("Size full, seed 3" in body for body in html(app))
    assert any("4 claims: ✓ 1 holds, ✗ 1 does not hold, ? 1 undecided" in b for b in html(app))
    app.number_input(key=f"papers-seed-{NAME}").set_value(4).run()
    assert [b for b in app.button if b.label == "Run on the demo"], "nobody ran that yet"


def test_what_takes_hours_is_left_to_the_command_line(app, monkeypatch):
    monkeypatch.setattr(type(get_experiment(NAME)), "full_minutes", {"emoji": 200.0})
    go(app, experiment=NAME)
    app.radio(key=f"papers-size-{NAME}").set_value("full").run()
    assert "about 3.3 h" in "".join(html(app))
    assert app.code[0].value == f"python -m simviz.experiments {NAME} --size full --seed 0"
    assert not [b for b in app.button if b.label == "Run on the demo"]


def test_a_result_of_another_protocol_is_not_shown(app, quick, monkeypatch):
    go(app, experiment=NAME)
    until_run(app)
    assert len(app.get("plotly_chart")) == 1
    experiment = get_experiment(NAME)
    monkeypatch.setattr(type(experiment), "revision", experiment.revision + 1)
    app.run()
    assert not app.get("plotly_chart")
    assert [b for b in app.button if b.label == "Run on the demo"]


def test_what_one_brought_is_offered_where_it_fits(app, quick):
    go(app, data="demo:pydocs")
    keys = {b.key for b in app.button}
    assert f"papers-run-{NAME}-own" not in keys, "summaries and documents are not aligned texts"
    go(app, data="demo:emoji")
    assert f"papers-run-{NAME}-own" not in {b.key for b in app.button}, "that is the demo"

    words = [f"word {i}" for i in range(60)]
    mine = PairSet.from_texts(words, [w.upper() for w in words], name="my *own* pairs")
    go(app, data=state.store().datasets.put(mine, app.session_state["workspace"]))
    assert app.button(key=f"papers-run-{NAME}-own").label == "Run on my \\*own\\* pairs"
    until_run(app, "own")
    assert any("--data FOLDER" in code.value for code in app.code)


@pytest.mark.parametrize("page", ["train", "compare", "map", "search", "data"])
def test_other_pages_take_an_experiment_for_a_job_of_its_own(app, quick, monkeypatch, page):
    def broken(self, data, **settings):
        raise ValueError("Nothing to see here.")

    monkeypatch.setattr(type(get_experiment(NAME)), "run", broken)
    go(app, data="demo:emoji")
    until_run(app)
    assert any("Nothing to see here." in text.value for text in app.text)
    run(app.switch_page(f"pages/{page}.py"))
