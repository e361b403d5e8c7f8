"""A run of another system is imported on the Train page and stands beside ours in Compare."""

from __future__ import annotations

import pytest
from on_page import html, run

from simviz.data import PairSet
from simviz.evaluation.trec import trec_run
from simviz.pipeline import default_pipeline


@pytest.fixture(scope="module")
def home(make_home):
    texts = [f"{a}{b} {c}" for a in "bcdf" for b in "aeiou" for c in ("car", "bus", "ship")]
    pairs = PairSet.from_texts(texts, [f"the {t}" for t in texts], name="things")
    return make_home({"things": pairs}, {"bm25": ("things", "bm25")})


def test_a_run_is_imported_and_compared(visit, home):
    at, pairs = visit("train", data=home.data["things"]), home.pairs["things"]
    tfidf = default_pipeline("tfidf_cosine", pairs).fit(pairs)
    lines = "".join(trec_run(tfidf, pairs, tag="theirs")).encode()
    uploader = next(u for u in at.file_uploader if u.key.startswith("import-file"))
    uploader.upload("theirs.run", b"1 Q0 strange 1 2 x\n").run()
    at.button(key="import-keep").click().run()
    assert "no row names an x and a y item" in html(at)
    uploader = next(u for u in at.file_uploader if u.key.startswith("import-file"))
    uploader.upload("theirs.run", lines).run()
    at.text_input(key="import-name").set_value("Their system").run()
    run(at.button(key="import-keep").click())
    runs = next(d.value for d in at.dataframe if "run" in d.value)
    assert "Their system (imported)" in list(runs["run"])
    run(at.switch_page("pages/compare.py"))
    told = " ".join([html(at), *(str(d.value.to_dict()) for d in at.dataframe)])
    told += " ".join(str(m.value) for m in at.markdown)
    assert "Their system" in told
    for page in ("map", "search"):
        run(at.switch_page(f"pages/{page}.py"))
