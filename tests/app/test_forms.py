"""Forms derived from classes: an input for each parameter, answers only where it differs."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest
from waiting import LONG

from simviz.data import PairSet
from simviz.methods import all_methods
from simviz.params import param_specs
from simviz.relevance import Relevance
from simviz.workbench.shell import forms
from simviz.workbench.train import method_lines


def page(method):
    from simviz.methods import get_method
    from simviz.params import param_specs
    from simviz.workbench.shell import forms

    specs = forms.shown_specs(param_specs(get_method(method)))
    import streamlit as st

    st.session_state["answer"] = forms.show(specs, key="f", start={"random_state": 0})


def form(method):
    app = AppTest.from_function(page, args=(method,), default_timeout=LONG).run()
    assert not app.exception, app.exception
    return app


@pytest.mark.parametrize("method", all_methods())
def test_every_parameter_has_an_input_and_its_words(method):
    specs = forms.shown_specs(param_specs(all_methods()[method]))
    app = form(method)
    inputs = [*app.number_input, *app.toggle, *app.selectbox]
    assert {i.label for i in inputs} == {spec.name for spec in specs}
    assert all(i.help for i in inputs)
    assert app.session_state["answer"] == {}, "an untouched form asks for nothing special"
    assert len(specs) == len(param_specs(all_methods()[method])), "none that only code can give"


def test_answers_with_what_differs_within_the_bounds_of_the_class():
    app = form("cca")
    app.number_input(key="f-n_components").set_value(12)
    app.number_input(key="f-regularization").set_value(0.5)
    app.number_input(key="f-rank").set_value(30)
    app.toggle(key="f-shared").set_value(True)
    app.run()
    set_to = {"n_components": 12, "regularization": 0.5, "shared": True, "rank": 30}
    assert app.session_state["answer"] == set_to
    app.number_input(key="f-rank").set_value(None)
    app.number_input(key="f-random_state").set_value(None)
    app.toggle(key="f-shared").set_value(False)
    app.run()
    answer = app.session_state["answer"]
    assert answer == {"n_components": 12, "regularization": 0.5, "random_state": None}
    power = app.number_input(key="f-correlation_power")
    assert (power.min, power.max) == (0.0, 1.0)
    box = form("heterogeneous_svd").selectbox(key="f-negative_weight")
    assert box.options == ["balanced", "paper", "per_x", "per_y"]
    specs = forms.shown_specs(param_specs(all_methods()["cca"]))
    by_data = {"key": "none", "defaults": {"shared": True}}
    assert forms.values(specs, **by_data) == {}
    assert forms.values(specs, start={"shared": False}, **by_data) == {"shared": False}


def test_methods_that_set_pairs_apart_need_some_that_do_not_match():
    judged = Relevance.from_pairs([0, 1], [0, 1], shape=(4, 4), unjudged="ignore")
    pairs = PairSet.from_texts(list("abcd"), list("efgh"), relevance=judged)
    methods = all_methods()
    assert "Needs pairs judged not relevant" in method_lines.why_not(methods["ssi"], pairs)
    assert method_lines.why_not(methods["cca"], pairs) is None
