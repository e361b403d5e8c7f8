"""From a file that somebody brought to curves by dimension, and to what papers claim."""

from __future__ import annotations

import json
import re
from io import BytesIO

import numpy as np
import pyarrow as pa
import pytest
from on_page import control, html, press, run
from pyarrow import parquet
from waiting import until, until_trained

from simviz.methods import get_method
from simviz.workbench.shell import progress, state

PAGE = "data"
METHODS = {"S2Net", "OPCA", "CCA", "CL-LSI", "CPLSA", "JPLSA", "PLTM"}


def related() -> str:
    """Texts about three words, and texts in other letters about two of these."""
    rng = np.random.default_rng(0)
    lines = ["one,other"]
    for _ in range(90):
        about = rng.choice(30, 3, replace=False)
        left, right = ([*about[:n], *rng.choice(30, 2)] for n in (3, 2))
        lines.append(f"{' '.join(f'a{w}' for w in left)},{' '.join(f'z{w}' for w in right)}")
    return "\n".join(lines)


def press_on(app, key, page):
    """Press a button that leads to another page."""
    app.button(key=key).click()
    assert [title.value for title in run(app).title] == [page]
    return run(app.switch_page(f"pages/{page.lower()}.py"))


@pytest.fixture
def keep(app):
    """Hands a file in and keeps it, which leads to Train."""

    def kept(table):
        run(app)
        app.file_uploader[0].upload("mine.csv", table.encode())
        until(lambda: "data-keep" in {button.key for button in run(app).button})
        return press_on(app, "data-keep", "Train")

    return kept


def curves(app):
    """Names and heights of the curves of the one chart by dimension."""
    (chart,) = app.get("plotly_chart")
    drawn = [c for c in json.loads(chart.proto.spec)["data"] if c.get("showlegend", True)]
    return {re.sub(r" [\d.]+ at .*", "", curve["name"]): curve["y"] for curve in drawn}


def of_vectors():
    """A file of two vectors a row, the second near the first."""
    rng, content = np.random.default_rng(0), BytesIO()
    X = rng.standard_normal((80, 8))
    sides = X, X + rng.standard_normal((80, 8))
    columns = {name: list(Z) for name, Z in zip(("left", "right"), sides, strict=True)}
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()


def hand_in_vectors(app, space):
    """Hand vectors in, say of which space they are, and keep them."""
    run(app)
    app.file_uploader[0].upload("mine.parquet", of_vectors())
    until(lambda: "data-keep" in {button.key for button in run(app).button})
    asked = "Vectors of both sides are of"
    assert control(app, asked).value == "one"
    assert "Guessed: one space. Relevant pairs are nearer than others in cosine" in html(app)
    press(app, asked, space)
    return press_on(app, "data-keep", "Train")


def ticked(app):
    return [c.label for c in app.checkbox if "-tick-" in c.key and c.value]


def test_vectors_that_are_said_to_be_of_two_spaces_have_no_cosine(app):
    hand_in_vectors(app, "two")
    assert state.store().datasets.get(app.session_state.dataset_id).space == "two"
    assert "CCA" in ticked(app) and "Cosine of vectors" not in ticked(app)
    assert "The cosine of the vectors" not in html(app)


def test_the_cosine_of_vectors_is_trained_beside_their_adapters(app):
    hand_in_vectors(app, "one")
    assert ticked(app) == ["Cosine of vectors", "Ridge towards the identity", "CCA"]
    for box in app.checkbox:
        if "-tick-" in box.key:
            box.set_value(box.label == "Ridge towards the identity")
    run(app)
    assert "The cosine of the vectors is measured beside them." in html(app)
    run(app.button(key="train-start").click())
    until_trained(app)
    runs = state.store().runs.find(app.session_state.workspace)
    assert {info.method for info in runs} == {"cosine", "ridge_identity"}


# Thirty words have fewer directions than are asked for.
@pytest.mark.filterwarnings("ignore:.*is more than the data can give")
def test_seven_methods_by_dimensions_take_six_presses_from_the_preview(keep):
    app = keep(related())  # the first press

    def pressed(key):
        run(app.button(key=key).click())

    pressed("train-by-dimensions")
    pressed("train-start")
    until_trained(app)
    run(app)
    press_on(app, "train-next", "Compare")
    pressed("compare-dimensions-train")
    until(lambda: progress.background("dimensions").is_idle)
    of_one_part = curves(run(app))
    assert of_one_part.keys() == METHODS
    is_test = control(app, "Measured on").value == "test"
    press(app, "Measured on", "validation" if is_test else "test")
    of_the_other = curves(app)
    assert of_the_other.keys() == METHODS and of_the_other != of_one_part


def test_own_data_are_run_from_the_papers_page(keep):
    app, name, methods = keep(related()), "s2net_languages", ["cca", "cl_lsi"]
    app.switch_page("pages/papers.py").run()
    app.button_group(key=f"papers-methods-{name}").set_value(methods)
    printed = {e.proto.body for e in run(app).get("html")}
    run(app.button(key=f"papers-run-{name}-own").click())
    until_trained(app)
    run(app)
    shown = [e.proto.body for e in app.get("html") if e.proto.body not in printed]
    (claims,) = (body for body in shown if 'role="list"' in body)
    assert "was not run." in claims and "The paper: " in claims
    for method in methods:
        title = get_method(method).tags.title.split()[0].replace("-", "-?")
        assert re.search(f"<td[^>]*>{title}", html(app))
    assert app.get("plotly_chart")
