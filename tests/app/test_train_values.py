"""Lines of values: what is suggested, what is read."""

from __future__ import annotations

import pytest

from simviz.jobs import JobSpec
from simviz.methods import all_methods
from simviz.params import param_specs
from simviz.workbench.train import method_lines


@pytest.mark.parametrize("method", all_methods())
def test_what_is_suggested_is_allowed(method):
    specs = param_specs(all_methods()[method])
    assert set(method_lines.default_names(specs)) <= {spec.name for spec in specs}
    for spec in specs:
        values = method_lines.suggested(spec, spec.default)
        assert values
        if spec.kind in ("int", "float"):
            assert method_lines.read_values(spec, ", ".join(f"{v:g}" for v in values)) == values


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "at least one"), ("5, x", "no whole number"), ("0", "cannot be 0"), ("2.5", "no whole")],
)
def test_what_cannot_be_read_is_named(text, words):
    spec = param_specs(all_methods()["cca"])[0]
    with pytest.raises(ValueError, match=words):
        method_lines.read_values(spec, text)


def test_too_many_values_are_refused():
    spec = param_specs(all_methods()["cca"])[0]
    with pytest.raises(ValueError, match="at most 30"):
        method_lines.read_values(spec, " ".join(map(str, range(1, 50))))


def test_a_sweep_leaves_defaults_out_so_that_requests_stay_the_same():
    spec = JobSpec("demo:emoji", "0" * 32, "cca", {"rank": 5})
    made = method_lines.swept(spec, {"n_components": [50, 200]}, 2, {"n_components": 200})
    assert [m.params for m in made] == [
        {"rank": 5, "n_components": 50},
        {"rank": 5, "n_components": 50},
        {"rank": 5},
        {"rank": 5},
    ]
    assert [m.split.seed for m in made] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("begin", "values"), [(0.05, [0.005, 0.015, 0.05, 0.15]), (None, [0.01, 0.03, 0.1, 0.3])]
)
def test_rates_are_suggested_around_the_one_that_is_set(begin, values):
    (rate,) = (s for s in param_specs(all_methods()["s2net"]) if s.name == "learning_rate")
    assert method_lines.suggested(rate, begin) == values
