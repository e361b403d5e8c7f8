"""The methods of Train: a line each, by family, that tells them apart."""

from __future__ import annotations

import numpy as np
import pytest
from on_page import go, html

from simviz.data import PairSet
from simviz.evaluation.differences import first_relevant_rank
from simviz.method_cards import FAMILIES
from simviz.methods import all_methods
from simviz.workbench.train.method_lines import summary_line

PAGE = "train"


def test_no_two_methods_have_the_same_line():
    lines = [summary_line(cls) for cls in all_methods().values()]
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
    app = visit(data=home.data["own"])
    ways = [e.proto for e in app.get("page_link") if "ask=" in e.proto.query_string]
    run = home.run("bm25")
    ranks = first_relevant_rank(run.part("validation").evaluation.rankings["x2y"])
    rows = run.arrays()["x_validation"]
    worst = [int(rows[i]) for i in np.argsort(-ranks, kind="stable")[:3] if ranks[i] > 1]
    assert 1 <= len(ways) == len(worst) <= 3
    for way, at in zip(ways, worst, strict=True):
        assert way.page == "search" and way.label == f"word{at} again"
        assert way.query_string == (
            f"data={home.data['own']}&run={run.id}&part=validation&ask=x{at}"
        )
    assert f"right answer at rank {np.nanmax(ranks):,.4g}" in [c.value for c in app.caption]
    where = {"data": home.data["own"], "run": run.id, "part": "validation"}
    asked = visit("search", **where, ask=f"x{worst[0]}")
    assert f"word{worst[0]} again" in html(asked)
    assert any(h.value.startswith("Why BM25 answers") for h in asked.subheader)


def test_methods_stand_by_family(app):
    go(app, data="demo:emoji")
    body = html(app)
    at = [body.find(f'"sv-family">{name}<') for name in FAMILIES.values()]
    there = [place for place in at if place >= 0]
    assert len(there) >= 5 and there == sorted(there)
    captions = " ".join(c.value for c in app.caption)
    assert "Directions on which the two sides agree · about" in captions
    assert "The leading directions of all rows; needs no pairs · about" in captions
