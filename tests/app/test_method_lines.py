"""The methods of Train: a line each, by family, that tells them apart; values to try."""

from __future__ import annotations

from urllib.parse import parse_qsl

import numpy as np
import pytest
from on_page import go, html, said

from simviz.data import PairSet
from simviz.evaluation.differences import first_relevant_rank
from simviz.jobs import JobSpec
from simviz.method_cards import FAMILIES
from simviz.methods import all_methods
from simviz.params import param_specs
from simviz.workbench.train import method_lines

PAGE = "train"


def test_no_two_methods_have_the_same_line():
    lines = [method_lines.summary_line(cls) for cls in all_methods().values()]
    assert len(set(lines)) == len(lines) >= 24
    assert max(map(len, lines)) < 110 and not any("\n" in line for line in lines)
    assert not any(line.casefold().startswith("one space") for line in lines)


@pytest.fixture(scope="module")
def home(make_home):
    """Runs of which the best answers some queries wrong."""
    texts = [f"word{i} again" for i in range(60)]
    others = [f"word{i if i % 3 else i + 1} more" for i in range(60)]
    return make_home({"own": PairSet.from_texts(texts, others)}, {"bm25": ("own", "bm25")})


def test_the_hardest_queries_lead_to_why(visit, home):
    data, trained = home.data["own"], home.run("bm25")
    app = visit(data=data)
    ways = [e.proto for e in app.get("page_link") if "ask=" in e.proto.query_string]
    ranks = first_relevant_rank(trained.part("validation").evaluation.rankings["x2y"])
    rows = trained.arrays()["x_validation"]
    worst = [int(rows[i]) for i in np.argsort(-ranks, kind="stable")[:3] if ranks[i] > 1]
    assert 1 <= len(worst) <= 3
    address = f"data={data}&run={trained.id}&part=validation&ask=x"
    assert [(way.page, way.label, way.query_string) for way in ways] == [
        ("search", f"word{at} again", f"{address}{at}") for at in worst
    ]
    assert f"right answer at rank {np.nanmax(ranks):,.4g}" in [c.value for c in app.caption]
    asked = visit("search", **dict(parse_qsl(ways[0].query_string)))
    assert f"word{worst[0]} again" in html(asked)
    assert any(h.value.startswith("Why BM25 answers") for h in asked.subheader)


def test_methods_stand_by_family(app):
    body = html(go(app, data="demo:emoji"))
    at = [body.find(f'"sv-family">{name}<') for name in FAMILIES.values()]
    there = [place for place in at if place >= 0]
    assert len(there) >= 5 and there == sorted(there)
    assert "Directions on which the two sides agree · about" in said(app)
    assert "The leading directions of all rows; needs no pairs · about" in said(app)


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
    [
        ("", "at least one"),
        ("0", "cannot be 0"),
        ("2.5", "no whole"),
        (" ".join(map(str, range(1, 50))), "at most 30"),
    ],
)
def test_what_cannot_be_read_is_named(text, words):
    with pytest.raises(ValueError, match=words):
        method_lines.read_values(param_specs(all_methods()["cca"])[0], text)


def test_a_sweep_leaves_defaults_out_so_that_requests_stay_the_same():
    spec = JobSpec("demo:emoji", "0" * 32, "cca", {"rank": 5})
    made = method_lines.swept(spec, {"n_components": [50, 200]}, 2, {"n_components": 200})
    assert [m.params for m in made] == [{"rank": 5, "n_components": 50}] * 2 + [{"rank": 5}] * 2
    assert [m.split.seed for m in made] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("begin", "values"), [(0.05, [0.005, 0.015, 0.05, 0.15]), (None, [0.01, 0.03, 0.1, 0.3])]
)
def test_rates_are_suggested_around_the_one_that_is_set(begin, values):
    (rate,) = (s for s in param_specs(all_methods()["s2net"]) if s.name == "learning_rate")
    assert method_lines.suggested(rate, begin) == values
